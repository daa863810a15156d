"""A graph is what its facts are, in any order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trifact

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


def test_splits_of_ones_own_are_put_in_order_and_are_no_draw() -> None:
    graph = trifact.load([(f"e{i}", "p", f"e{j}") for i in range(6) for j in range(6)], valid=0.2)
    assert graph.drawn
    assert replace(graph, train=graph.train[::-1].astype(np.int32)).train.dtype == np.int64
    assert replace(graph, train=graph.train[::-1]).content_hash == graph.content_hash
    assert not replace(graph, valid=graph.test, test=graph.valid).drawn
    assert not graph.all_in_train().drawn


def test_a_graph_cannot_be_changed() -> None:
    graph = trifact.load(TRIPLES)
    with pytest.raises(ValueError, match="read-only"):
        graph.train[0, 0] = 1
    with pytest.raises(AttributeError):
        graph.train = graph.test  # type: ignore[misc]
