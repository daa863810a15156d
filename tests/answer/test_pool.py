"""What counts as true and as false: never a known fact as false, and the plain twin agrees."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import trifact
from tests.run.conftest import random_model
from trifact.answer.options import CalibrateConfig
from trifact.answer.pool import Pool, pool_of, pool_with, questions
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import in_order
from trifact.tensor.models import Model
from trifact.tensor.scoring import fact_scores

FACT = st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 5))
FACTS = st.lists(FACT, min_size=1, max_size=12)


@cache
def names() -> Graph:
    """Six entities and two predicates."""
    facts = [(f"e{i}", f"p{j}", f"e{(i + j) % 6}") for i in range(6) for j in range(2)]
    return trifact.load(facts, valid=0.0, test=0.0)


def with_splits(*splits: list[tuple[int, int, int]]) -> Graph:
    train, valid, test = (in_order(np.array(s, dtype=np.int64).reshape(-1, 3)) for s in splits)
    return replace(names(), train=train, valid=valid, test=test)


def in_double(model: Model) -> Model:
    model.tables = {name: table.double() for name, table in model.tables.items()}
    return model


def plain_pool(graph: Graph, model: Model, k: int) -> dict[tuple[int, int, int], tuple[int, bool]]:
    """Question by question: each answer, how often it was one, and whether it is true."""
    count, found = len(graph.predicates), Counter[tuple[int, int, int]]()
    valid = {tuple(fact) for fact in graph.valid.tolist()}
    hidden = {tuple(fact) for fact in [*graph.train.tolist(), *graph.test.tolist()]}
    asked = {(s, p) for s, p, _ in valid} | {(o, p + count) for _, p, o in valid}
    for entity, predicate in asked:
        scores = model.scores(torch.tensor([entity]), torch.tensor([predicate]))[0].tolist()
        facts = [(entity, predicate, i) if predicate < count else (i, predicate - count, entity)
                 for i in range(len(scores))]  # fmt: skip
        order = sorted((-score, fact) for score, fact in zip(scores, facts, strict=True))
        loops = {p for s, p, o in graph.train.tolist() if s == o}
        left_out = {fact for fact in facts if fact[0] == fact[2] and fact[1] not in loops} | hidden
        found.update([fact for _, fact in order if fact not in left_out][:k])
    return {fact: (times, fact in valid) for fact, times in found.items()}


def as_dict(pool: Pool) -> dict[tuple[int, int, int], tuple[int, bool]]:
    rows = zip(pool.facts.tolist(), pool.sample.weights, pool.sample.true, strict=True)
    return {(s, p, o): (int(weight), bool(true)) for (s, p, o), weight, true in rows}


@settings(max_examples=60, deadline=None)
@given(FACTS, FACTS, FACTS, st.integers(1, 7), st.integers(0, 9))
def test_the_pool_is_that_of_the_plain_twin_and_no_known_fact_is_false(
    train: list[tuple[int, int, int]],
    valid: list[tuple[int, int, int]],
    test: list[tuple[int, int, int]],
    k: int,
    seed: int,
) -> None:
    graph = with_splits(train, valid, test)
    model = in_double(random_model("complex", graph, seed=seed))
    pool = pool_of(graph, model, CalibrateConfig(k=k))
    assert as_dict(pool) == plain_pool(graph, model, k)
    false = pool.facts[~pool.sample.true]
    assert not graph.known().contains(false).any()
    others = graph.known("train", "test")
    assert not others.contains(pool.facts).any()
    assert graph.known("valid").contains(pool.facts[pool.sample.true]).all()


def test_scores_are_those_of_facts(towns: Graph) -> None:
    model = in_double(random_model("complex", towns))
    pool = pool_of(towns, model, CalibrateConfig())
    scores = fact_scores(model, torch.from_numpy(pool.facts), predicates=len(towns.predicates))
    np.testing.assert_allclose(pool.sample.scores, scores.numpy(), rtol=1e-12)
    assert pool.sample.predicates.tolist() == pool.facts[:, 1].tolist()


def test_a_small_memory_gives_the_same_pool() -> None:
    world = trifact.load("World")
    model = in_double(random_model("complex", world))
    config = CalibrateConfig(k=3, questions=300)
    small, large = (pool_of(world, model, config.replace(budget_mb=mb)) for mb in (1, 999))
    assert small.facts.tolist() == large.facts.tolist()
    assert small.sample.weights.tolist() == large.sample.weights.tolist()
    np.testing.assert_allclose(small.sample.scores, large.sample.scores, rtol=1e-12)


def test_questions_are_drawn_by_the_seed_and_none_twice() -> None:
    world = trifact.load("World")
    everything, whole = questions(world, "valid", most=10**9, seed=0)
    some, of = questions(world, "valid", most=100, seed=1)
    again, _ = questions(world, "valid", most=100, seed=1)
    other, _ = questions(world, "valid", most=100, seed=2)
    assert (len(everything), len(some), of) == (whole, 100, whole)
    assert some.tolist() == again.tolist() != other.tolist()
    drawn = {tuple(row) for row in some.tolist()}
    assert len(drawn) == 100
    assert drawn <= {tuple(row) for row in everything.tolist()}


def test_the_test_split_is_judged_with_train_and_valid_hidden() -> None:
    graph = with_splits([(0, 0, 1)], [(0, 0, 2)], [(0, 0, 3)])
    pool = pool_of(graph, random_model("complex", graph), CalibrateConfig(k=6), split="test")
    facts = [tuple(fact) for fact in pool.facts.tolist()]
    assert (0, 0, 1) not in facts
    assert (0, 0, 2) not in facts
    assert pool.facts[pool.sample.true].tolist() == [[0, 0, 3]]
    assert as_dict(pool)[0, 0, 3] == (2, True)


def test_given_false_facts_count_once_and_known_ones_are_left_out(tmp_path: Path) -> None:
    graph = with_splits([(0, 0, 1)], [(2, 1, 3), (4, 0, 5)], [(1, 1, 1)])
    path = tmp_path / "false.tsv"
    path.write_text("e0\tp0\te1\ne1\tp1\te1\ne5\tp0\te5\ne5\tp0\te5\nx\tp0\te1\n")
    false = trifact.load(path, valid=0.0, test=0.0)
    pool = pool_with(graph, random_model("complex", graph), CalibrateConfig(), false)
    assert as_dict(pool) == {
        (2, 1, 3): (1, True),
        (4, 0, 5): (1, True),
        (5, 0, 5): (1, False),
    }
    left = {"facts": 1, "entities": 1, "predicates": 0, "known": 2}
    assert pool.about["left_out"] == left
    assert pool.about["negatives"] == "false.tsv"


def test_without_facts_that_were_held_out_there_is_nothing_to_fit_on(tmp_path: Path) -> None:
    graph = names()
    model = random_model("complex", graph)
    with pytest.raises(RunError, match="its split valid is empty"):
        pool_of(graph, model, CalibrateConfig())
    held = with_splits([(0, 0, 1)], [(0, 0, 2)], [])
    (tmp_path / "true.tsv").write_text("e0\tp0\te1\n")
    with pytest.raises(RunError, match="so none is false"):
        pool_with(held, model, CalibrateConfig(), trifact.load(tmp_path / "true.tsv"))


def test_a_model_whose_training_has_diverged_is_refused(towns: Graph) -> None:
    model = random_model("complex", towns)
    model.tables["entity"][0, 0] = torch.nan
    with pytest.raises(RunError, match="finite number"):
        pool_of(towns, model, CalibrateConfig())
