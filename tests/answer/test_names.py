"""Names are found by name, then by label; what is not there gets what is near."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trifact
from trifact.answer.names import Names, near
from trifact.errors import InputError
from trifact.graph.graph import Graph


@pytest.fixture
def graph() -> Graph:
    found = trifact.load([("Q1", "P1", "Q2"), ("Q2", "P1", "Q3"), ("France", "P2", "Q1")])
    ids = {name: i for i, name in enumerate(found.entities)}
    labels = {ids["Q1"]: "Paris", ids["Q2"]: "Lyon", ids["Q3"]: "Lyon", ids["France"]: "Q2"}
    return replace(found, entity_labels=labels, predicate_labels={0: "has capital"})


def test_a_name_comes_before_a_label(graph: Graph) -> None:
    names = Names(graph)
    assert graph.entities[names.entity("Q2")] == "Q2"  # France is labelled so
    assert graph.entities[names.entity("Paris")] == "Q1"
    assert names.predicate("has capital") == 0


def test_a_label_of_several_asks_which(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"'Lyon' is the label of several.*'Q2', 'Q3'$"):
        Names(graph).entity("Lyon")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Prais", "'Q1' (Paris)"),  # neighbours swapped
        ("pARIS", "'Q1' (Paris)"),
        ("Frnce", "'France' (Q2)"),
        ("Fran", "'France' (Q2)"),
    ],
)
def test_what_is_near_is_named(graph: Graph, typed: str, meant: str) -> None:
    assert near(typed, graph.entities, graph.entity_labels)[0] == meant


def test_the_beginning_of_a_word_is_near_and_short_texts_come_first() -> None:
    names = ["pkg:linux-image-amd64-dbg", "pkg:linux-image-kvm", "pkg:gnulinux"]
    assert near("linux-im", names, {}) == ["'pkg:linux-image-kvm'", "'pkg:linux-image-amd64-dbg'"]


def test_nothing_near_is_said() -> None:
    with pytest.raises(InputError, match="no name or label that is near"):
        Names(trifact.load([("a", "b", "c")])).entity("something else")


def test_an_empty_name_is_no_name() -> None:
    with pytest.raises(InputError, match="there is no entity ''"):
        Names(trifact.load([("a", "b", "c")])).entity("")


def test_long_labels_are_cut_and_few_are_shown() -> None:
    names = [f"Qx{i}" for i in range(9)]
    found = near("Qx", names, {0: "long " * 20})
    assert len(found) == 5
    assert found[0].endswith("…)")
