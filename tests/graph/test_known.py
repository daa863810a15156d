"""The sorted indexes say what dictionaries would."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trifact.graph.known import Ints, KnownAnswers, distinct, in_order, ranges, reciprocal

ENTITIES, PREDICATES = 6, 3
FACT = st.tuples(
    st.integers(0, ENTITIES - 1), st.integers(0, PREDICATES - 1), st.integers(0, ENTITIES - 1)
)
FACTS = st.lists(FACT, max_size=40).map(
    lambda facts: np.array(facts, dtype=np.int64).reshape(-1, 3)
)


@given(FACTS)
def test_facts_are_in_order(facts: Ints) -> None:
    assert in_order(facts).tolist() == sorted(facts.tolist())
    expected = [list(fact) for fact in sorted({tuple(fact) for fact in facts.tolist()})]
    assert distinct(facts).tolist() == expected


@given(FACTS)
def test_ids_too_large_to_pack_are_sorted_all_the_same(facts: Ints) -> None:
    large = facts * 2**40
    assert in_order(large).tolist() == sorted(large.tolist())


@given(FACTS, FACTS)
def test_lookup_gives_what_a_dictionary_gives(some: Ints, others: Ints) -> None:
    known = KnownAnswers.of(some, others, predicates=PREDICATES)
    answers = defaultdict[tuple[int, int], set[int]](set)
    for s, p, o in [*some.tolist(), *others.tolist()]:
        answers[s, p].add(o)
        answers[o, p + PREDICATES].add(s)
    asked = [(e, p) for e in range(ENTITIES + 1) for p in range(2 * PREDICATES)]
    entities, predicates = np.array(asked, dtype=np.int64).T
    rows, found = known.lookup(entities, predicates)
    expected = [(row, a) for row, q in enumerate(asked) for a in sorted(answers.get(q, ()))]
    assert list(zip(rows.tolist(), found.tolist(), strict=True)) == expected
    assert len(known) == len(answers)


@given(FACTS, FACTS)
def test_a_fact_is_known_from_both_sides(facts: Ints, asked: Ints) -> None:
    known = KnownAnswers.of(facts, predicates=PREDICATES)
    there = {tuple(fact) for fact in facts.tolist()}
    expected = [tuple(fact) in there for fact in asked.tolist()]
    assert known.contains(asked).tolist() == expected
    assert known.contains(reciprocal(asked, PREDICATES)).tolist() == 2 * expected


def test_facts_of_one_question_are_looked_up_in_linear_memory() -> None:
    n = 20_000  # whose square would be 3 GB
    facts = np.stack([np.zeros(n), np.zeros(n), np.arange(n)], axis=1).astype(np.int64)
    known = KnownAnswers.of(facts[::2], predicates=1)
    tracemalloc.start()
    try:
        assert known.contains(facts).tolist() == [True, False] * (n // 2)
        assert tracemalloc.get_traced_memory()[1] < 100 * 8 * n
    finally:
        tracemalloc.stop()


def test_the_index_is_linear_in_the_facts() -> None:
    random = np.random.default_rng(0)
    facts = random.integers(0, 1000, (5000, 3)) % np.array([1000, 7, 1000])
    known = KnownAnswers.of(facts, predicates=7)
    size = known.questions.nbytes + known.offsets.nbytes + known.answers.nbytes
    assert size <= 3 * 2 * facts.nbytes / 3 + 8


@pytest.mark.parametrize("lengths", [[], [0], [3, 0, 2], [0, 0, 1]])
def test_ranges_lists_every_range(lengths: list[int]) -> None:
    starts = np.arange(len(lengths), dtype=np.int64) * 10
    flat, which = ranges(starts, starts + np.array(lengths, dtype=np.int64))
    assert flat.tolist() == [10 * i + j for i, n in enumerate(lengths) for j in range(n)]
    assert which.tolist() == [i for i, n in enumerate(lengths) for _ in range(n)]
