"""Names are found by name, label or the end of an IRI; what is not there gets what is near."""

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


WIKI = "http://www.wikidata.org/entity/"


@pytest.fixture
def iris() -> Graph:
    facts = [
        (f"{WIKI}Q42", f"{WIKI}P31", f"{WIKI}Q5"),
        (f"{WIKI}Q142", "http://e/vocabulary#located_in", "http://e/place#Q5"),
        ("http://sws.geonames.org/3017382/", "located in", "Africa/Lagos"),
        ("Q43", "located in", f"{WIKI}Q43"),
    ]
    return trifact.load(facts)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Q42", f"{WIKI}Q42"),  # and not Q142
        (f"<{WIKI}Q42>", f"{WIKI}Q42"),
        ("3017382", "http://sws.geonames.org/3017382/"),
        ("Q43", "Q43"),  # a name before the end of another
        ("<Q43>", "Q43"),
    ],
)
def test_an_iri_is_found_in_brackets_and_by_its_end(iris: Graph, typed: str, name: str) -> None:
    assert iris.entities[Names(iris).entity(typed)] == name


def test_so_are_predicates_and_paths_of_freebase(iris: Graph) -> None:
    assert iris.predicates[Names(iris).predicate("located_in")].endswith("#located_in")
    graph = trifact.load([("/m/0d05w3", "/people/person/nationality", "/m/09c7w0")])
    assert Names(graph).predicate("nationality") == 0


def test_the_end_of_several_asks_which(iris: Graph) -> None:
    either = f"'http://e/place#Q5', '{WIKI}Q5'|'{WIKI}Q5', 'http://e/place#Q5'"
    with pytest.raises(InputError, match=rf"'Q5' is the end of several; .*entity: (?:{either})$"):
        Names(iris).entity("Q5")


def test_a_label_comes_before_an_end(iris: Graph) -> None:
    labelled = replace(iris, entity_labels={0: "Q42"})
    assert Names(labelled).entity("Q42") == 0
    bracketed = replace(iris, entity_labels={0: "Q42", 1: "<Q42>"})
    assert Names(bracketed).entity("<Q42>") == 1
    assert iris.entities[0] != f"{WIKI}Q42"


@pytest.mark.parametrize(
    "typed", ["Lagos", "", "/", "<>", "//www.wikidata.org/entity/Q42", "\udcff"]
)
def test_what_is_no_end_of_an_iri_is_not_found(iris: Graph, typed: str) -> None:
    with pytest.raises(InputError, match="there is no entity"):
        Names(iris).entity(typed)


@pytest.mark.parametrize(
    "typed", ["Duglas_Adams", "douglas adams", f"{WIKI}Douglas_Adam", "http://e/Douglas_Adams"]
)
def test_of_iris_the_ends_are_compared(typed: str) -> None:
    others = ["Dog", "Adam", "Ad_Douglasum", "Douglas_Fir"]
    names = [f"{WIKI}{end}" for end in (*others, "Douglas_Adams")]
    assert near(typed, names, {})[0] == f"'{WIKI}Douglas_Adams'"
    assert near("Zx", names, {}) == near(f"{WIKI}Zx", names, {}) == []


def test_where_ends_are_equal_the_whole_decides() -> None:
    names = ["/film/film/country", "/people/person/country", "/film/firm/county"]
    found = near("people/person/country", names, {})
    assert found[:1] == ["'/people/person/country'"]


def test_blanks_at_the_ends_of_a_name_tell_it_from_others_and_else_do_not_matter() -> None:
    facts = [("a", " likes", "b"), ("a", "likes", "c"), ("b", " has ", "c"), ("b", "has  ", "d")]
    names = Names(trifact.load([*facts, ("c", "is near ", "d")]))
    found = [names.predicate(name) for name in (" likes", "likes", "is near", " is near ")]
    assert [names.graph.predicates[j] for j in found] == [" likes", "likes", *["is near "] * 2]
    with pytest.raises(InputError, match=r"several; say which predicate: ' has ', 'has  '"):
        names.predicate("has")
    for nobody in ("", " "):
        with pytest.raises(InputError, match="there is no predicate"):
            names.predicate(nobody)
