"""An epoch meets every fact once on each side, whatever the batch, and again the same way."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.test_known import FACTS, PREDICATES
from trifact.graph.known import Ints, reciprocal
from trifact.graph.queries import Batch, Queries


def facts_of(batches: list[Batch]) -> Counter[tuple[int, int, int]]:
    met = Counter[tuple[int, int, int]]()
    for batch in batches:
        rows = zip(batch.rows, batch.answers, batch.multiplicities, strict=True)
        for row, answer, times in rows:
            met[int(batch.entities[row]), int(batch.predicates[row]), int(answer)] += int(times)
    return met


@given(FACTS, st.integers(0, 5), st.integers(1, 7), st.integers(0, 3))
def test_every_fact_is_met_as_often_as_it_is_there(
    facts: Ints, cap: int, batch_size: int, epoch: int
) -> None:
    queries = Queries.of(facts, predicates=PREDICATES)
    batches = list(queries.batches(seed=1, epoch=epoch, batch_size=batch_size, cap=cap))
    assert facts_of(batches) == Counter(map(tuple, reciprocal(facts, PREDICATES).tolist()))
    for batch in batches:
        sizes = np.bincount(batch.rows, minlength=len(batch.entities))
        assert len(batch.entities) <= batch_size
        assert (sizes >= 1).all()
        assert cap == 0 or (sizes <= cap).all()
        assert (np.diff(batch.rows) >= 0).all()


def some_queries() -> Queries:
    random = np.random.default_rng(0)
    facts = random.integers(0, 50, (500, 3)) % np.array([50, 3, 10])
    return Queries.of(facts, predicates=3)


def test_without_a_cap_no_query_is_met_twice() -> None:
    batches = list(some_queries().batches(seed=0, epoch=0, batch_size=16, cap=0))
    met = Counter(
        pair
        for b in batches
        for pair in zip(b.entities.tolist(), b.predicates.tolist(), strict=True)
    )
    assert set(met.values()) == {1}
    assert len(met) == len(some_queries())


def test_cap_one_is_a_batch_of_facts() -> None:
    queries = some_queries()
    batches = list(queries.batches(seed=0, epoch=0, batch_size=16, cap=1))
    assert all((b.rows == np.arange(len(b.entities))).all() for b in batches)
    assert sum(len(b.entities) for b in batches) == len(queries.answers)


def same(a: list[Batch], b: list[Batch]) -> bool:
    pairs = [(vars(x), vars(y)) for x, y in zip(a, b, strict=True)]
    return all(np.array_equal(x[key], y[key]) for x, y in pairs for key in x)


@pytest.mark.parametrize("cap", [0, 1, 3])
def test_batches_are_a_function_of_seed_and_epoch(cap: int) -> None:
    def epoch(seed: int, number: int) -> list[Batch]:
        return list(some_queries().batches(seed=seed, epoch=number, batch_size=20, cap=cap))

    assert same(epoch(0, 5), epoch(0, 5))
    first = epoch(0, 5)[0].entities
    assert (first != epoch(0, 6)[0].entities).any()
    assert (first != epoch(1, 5)[0].entities).any()


@pytest.mark.parametrize("cap", [0, 1, 3])
@pytest.mark.parametrize("size", [1, 20, 10**6])
def test_the_expected_number_of_answers_is_the_mean_over_batches(cap: int, size: int) -> None:
    queries = some_queries()
    batches = queries.batches(seed=0, epoch=1, batch_size=size, cap=cap)
    answers = [int(batch.multiplicities.sum()) for batch in batches]
    assert queries.expected_answers(size, cap) == pytest.approx(sum(answers) / len(answers))
