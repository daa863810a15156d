"""A graph is what its facts are, in any order, and splitting it loses nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trifact
from tests.graph.test_known import FACTS
from trifact.graph.graph import MOST_HELD_OUT, split_facts
from trifact.graph.known import Ints, distinct

TRIPLES = [("b", "q", "a"), ("a", "p", "b"), ("c", "p", "a"), ("b", "p", "c"), ("a", "p", "b")]


def test_facts_in_another_order_are_the_same_graph() -> None:
    one, other = trifact.load(TRIPLES), trifact.load(TRIPLES[::-1])
    assert one.content_hash == other.content_hash
    assert all((one.splits[s] == other.splits[s]).all() for s in one.splits)
    assert trifact.load(TRIPLES[:-2]).content_hash != one.content_hash


def test_ids_follow_the_order_of_names() -> None:
    graph = trifact.load(TRIPLES, valid=0.0, test=0.0)
    assert list(graph.entities) == ["a", "b", "c"]
    assert list(graph.predicates) == ["p", "q"]
    assert graph.train.tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 2], [1, 1, 0], [2, 0, 0]]


def test_the_reciprocal_view_asks_every_fact_the_other_way_round() -> None:
    graph = trifact.load(TRIPLES, valid=0.0, test=0.0)
    both = graph.reciprocal("train")
    assert both[: len(graph.train)].tolist() == graph.train.tolist()
    assert both[len(graph.train) :].tolist() == [[o, p + 2, s] for s, p, o in graph.train.tolist()]


def test_a_graph_cannot_be_changed() -> None:
    graph = trifact.load(TRIPLES)
    with pytest.raises(ValueError, match="read-only"):
        graph.train[0, 0] = 1
    with pytest.raises(AttributeError):
        graph.train = graph.test  # type: ignore[misc]


@given(FACTS, st.integers(0, 3), st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0.0, 0.2]))
def test_splitting_keeps_every_fact_and_every_name_in_train(
    facts: Ints, seed: int, valid: float, test: float
) -> None:
    parts = split_facts(facts, (valid, test), seed)
    assert sorted(np.concatenate(parts).tolist()) == sorted(facts.tolist())
    train = parts[0]
    assert set(train[:, [0, 2]].ravel()) == set(facts[:, [0, 2]].ravel())
    assert set(train[:, 1]) == set(facts[:, 1])
    kept = [{tuple(f) for f in part.tolist()} for part in parts]
    assert not (kept[0] & kept[1] or kept[0] & kept[2] or kept[1] & kept[2])
    assert bool(len(parts[1])) <= bool(valid)
    assert bool(len(parts[2])) <= bool(test)


def many_facts(count: int) -> Ints:
    random = np.random.default_rng(0)
    ids = random.integers(0, 2000, (count, 3)) % np.array([2000, 5, 2000])
    return distinct(ids)


def test_a_split_holds_out_the_shares_asked_for() -> None:
    facts = many_facts(20_000)
    train, valid, test = split_facts(facts, (0.05, 0.1), seed=0)
    assert len(valid) == round(0.05 * len(facts))
    assert len(test) == round(0.1 * len(facts))
    other = split_facts(facts, (0.05, 0.1), seed=1)[1]
    assert valid.tolist() == split_facts(facts, (0.05, 0.1), seed=0)[1].tolist() != other.tolist()
    assert len(train) + len(valid) + len(test) == len(facts)


def test_no_more_than_twenty_thousand_facts_are_held_out() -> None:
    _, valid, test = split_facts(many_facts(500_000), (0.05, 0.05), seed=0)
    assert len(valid) == len(test) == MOST_HELD_OUT == 20_000


def test_at_least_one_fact_is_held_out_where_there_is_one() -> None:
    facts = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 1]])
    _, valid, test = split_facts(facts, (0.05, 0.05), seed=0)
    assert len(valid) == len(test) == 1


def test_a_chain_cannot_be_split_and_this_is_said() -> None:
    graph = trifact.load([("a", "p", "b"), ("c", "q", "d")])
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 0, 0)
    assert "not split" in graph.notes[-1]
