"""What is said about a graph is so: against counts by hand, and against the benchmarks."""

from __future__ import annotations

import os

import numpy as np
import pytest

import trifact
from trifact.graph.description import Description, describe
from trifact.graph.graph import Graph
from trifact.graph.leakage import leakage_of
from trifact.graph.vocabulary import Vocabulary


def graph_of(*, test: list[tuple[str, str, str]], train: list[tuple[str, str, str]]) -> Graph:
    entities = Vocabulary.of(name for s, _, o in train + test for name in (s, o))
    predicates = Vocabulary.of(p for _, p, _ in train + test)

    def ids(facts: list[tuple[str, str, str]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        rows = [(entities.find(s), predicates.find(p), entities.find(o)) for s, p, o in facts]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    return Graph("toy", entities, predicates, ids(train), ids([]), ids(test))


def test_sizes_duplicates_overlaps_loops_and_unseen_names_are_counted() -> None:
    train = [("a", "p", "b"), ("a", "p", "b"), ("b", "p", "b")]
    test = [("a", "p", "b"), ("a", "p", "new"), ("a", "q", "b")]
    found = describe(graph_of(train=train, test=test))
    assert found.sizes == {"train": 3, "valid": 0, "test": 3}
    assert found.duplicates == {"train": 1, "valid": 0, "test": 0}
    assert found.overlaps == {"train and valid": 0, "train and test": 1, "valid and test": 0}
    assert found.self_loops == 1
    assert (found.unseen_entities, found.unseen_predicates) == (1, 1)
    assert found.unseen_facts == {"valid": 0, "test": 2}
    assert (found.questions, found.distinct_queries, found.most_answers) == (6, 3, 2)
    assert found.degrees.tolist() == [2, 3, 0]  # one with itself counts once
    assert [row.category for row in found.predicates] == ["m-1", ""]
    assert found.by_category["m-1"] == (1, 2)


def test_names_that_differ_by_their_spelling_alone_are_told() -> None:
    train = [("São Tomé", "in", "x"), ("Sa\u0303o_tome\u0301", "In", "X "), ("SAO TOME", "of", "y")]
    found = describe(graph_of(train=train, test=[]))
    names = [{"São Tomé", "Sa\u0303o_tome\u0301"}, {"X ", "x"}, {"In", "in"}]
    assert sorted(map(sorted, names)) == sorted(map(sorted, found.spelled_alike))


@pytest.mark.parametrize(
    ("facts", "category"),
    [
        ([("a", "p", "x"), ("b", "p", "y")], "1-1"),
        ([("a", "p", "x"), ("a", "p", "y")], "1-m"),
        ([("a", "p", "x"), ("b", "p", "x")], "m-1"),
        ([(s, "p", o) for s in "ab" for o in "xy"], "m-m"),
        ([("a", "p", "x"), ("a", "p", "y"), ("b", "p", "z")], "1-1"),
    ],
)
def test_categories_follow_the_rule_of_the_paper(
    facts: list[tuple[str, str, str]], category: str
) -> None:
    found = describe(graph_of(train=facts, test=[]))
    assert [row.category for row in found.predicates] == [category]


def brute_force_leaks(graph: Graph, nearly: float) -> set[tuple[str, str, str, int]]:
    pairs = {p: set[tuple[int, int]]() for p in range(len(graph.predicates))}
    for s, p, o in np.concatenate(list(graph.splits.values())).tolist():
        pairs[p].add((s, o))
    found = set()
    for p in pairs:
        for q in range(p, len(pairs)):
            for kind in ("inverse", "duplicate"):
                turned = {(o, s) for s, o in pairs[q]} if kind == "inverse" else pairs[q]
                shared = len(pairs[p] & turned)
                large = max(len(pairs[p]), len(pairs[q]))
                if shared and shared / large >= nearly and (p, kind) != (q, "duplicate"):
                    found.add((graph.predicates[p], graph.predicates[q], kind, shared))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_leaky_pairs_are_those_that_brute_force_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    facts = [(f"e{s}", f"p{p}", f"e{o}") for s, p, o in random.integers(0, 5, (60, 3))]
    graph = graph_of(train=facts[:50], test=facts[50:])
    leakage = leakage_of(graph, nearly=0.3)
    names = graph.predicates
    pairs = {(names[x.first], names[x.second], x.kind, x.shared) for x in leakage.pairs}
    expected = brute_force_leaks(graph, 0.3)
    assert pairs == {leak for leak in expected if leak[0] != leak[1]}
    assert {names[p] for p in leakage.symmetric} == {x[0] for x in expected if x[0] == x[1]}


def test_test_facts_given_away_are_counted_once() -> None:
    train = [("a", "p", "b"), ("b", "inverse", "a"), ("c", "inverse", "a"), ("a", "same", "c"),
             ("a", "same", "b")]  # fmt: skip
    leakage = leakage_of(graph_of(train=train, test=[("a", "p", "c")]))
    assert len(leakage.pairs) == 3
    assert leakage.test_facts_given_away == 1


def test_a_symmetric_predicate_is_no_leaky_pair() -> None:
    leakage = leakage_of(graph_of(train=[("a", "p", "b")], test=[("b", "p", "a")]))
    assert (leakage.pairs, leakage.symmetric) == ([], [0])
    assert (leakage.test_facts_given_away, leakage.test_facts_reversed) == (0, 1)


@pytest.mark.skipif("TRIFACT_DATA" not in os.environ, reason="needs the graphs of $TRIFACT_DATA")
def test_fb15k_and_wn18_leak_and_their_successors_do_not() -> None:
    def given_away(name: str) -> float:
        graph = trifact.load(name)
        return leakage_of(graph).test_facts_given_away / len(graph.test)

    assert given_away("FB15K") > 0.6
    assert given_away("WN18") > 0.7
    assert given_away("FB15K-237") < 0.001
    assert given_away("WN18RR") == 0


def test_an_empty_split_can_be_described() -> None:
    found = describe(graph_of(train=[("a", "p", "a")], test=[]))
    assert isinstance(found, Description)
    assert found.grouping_ratio == 1
