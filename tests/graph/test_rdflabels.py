"""Labels of RDF are shown, the best of several, and only for what is in some fact."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import trifact
from trifact.graph import facttable
from trifact.graph.rdflabels import LONGEST

Make = Callable[[str, bytes | str], Path]
FACTS = "<x:a> <x:p> <x:b> .\n<x:b> <x:p> _:c .\n"
RDFS = "http://www.w3.org/2000/01/rdf-schema#label"
SKOS = "http://www.w3.org/2004/02/skos/core#prefLabel"
SCHEMA = "https://schema.org/name"


def said(name: str, literal: str, predicate: str = RDFS) -> str:
    return f"{name} <{predicate}> {literal} .\n"


def test_entities_and_predicates_get_the_labels_of_their_statements(file: Make) -> None:
    labels = [
        said("<x:a>", '"the  A\\n"'),
        said("_:c", '"C"@en', SKOS),
        said("<x:p>", '"says"', SCHEMA),
        said("<x:not-there>", '"nowhere"'),
        said("<x:b>", '"no label"', "http://e/label"),
    ]
    graph = trifact.load(file("f.nt", "".join(labels) + FACTS), valid=0, test=0)
    shown = {graph.entities[i]: label for i, label in graph.entity_labels.items()}
    assert shown == {"x:a": "the A", "_:c": "C"}
    assert graph.predicate_labels == {0: "says"}
    assert len(graph.train) == 2
    assert "labels in the RDF: 2 of entities, 1 of predicates" in graph.notes
    assert any("1 fact with literals skipped" in note for note in graph.notes)


def test_nothing_is_said_of_labels_where_there_are_none(file: Make) -> None:
    graph = trifact.load(file("f.nt", FACTS + said("<x:other>", '"of nobody"')))
    assert not graph.entity_labels
    assert not any("labels" in note for note in graph.notes)


IN_ORDER = [
    ('"Apple"@en', RDFS),
    ('"Berry"@en', RDFS),
    ('"Aardvark"@en', SKOS),
    ('"A name"@en', SCHEMA),
    ('"Apfel"', SCHEMA),
    ('"Aepfel"@en-GB', RDFS),
    ('"A"@de', RDFS),
    ('"A"@de', SKOS),
    ('"A"@de-AT', RDFS),
    ('"A"@zh', RDFS),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_of_several_labels_the_rule_chooses(first: int, file: Make) -> None:
    statements = [said("<x:a>", *label) for label in IN_ORDER[first:]]
    random.Random(first).shuffle(statements)
    graph = trifact.load(file("f.nt", "".join(statements) + FACTS))
    assert graph.entity_labels[graph.entities.find("x:a") or 0] == IN_ORDER[first][0].split('"')[1]


def test_a_text_is_no_label(file: Make) -> None:
    texts = [
        said("<x:a>", f'"{"y" * (LONGEST + 1)}"'),
        said("<x:b>", '" "'),
        said("_:c", '"\\u0000"'),
    ]
    assert not trifact.load(file("f.nt", "".join(texts) + FACTS)).entity_labels


def test_more_labels_than_one_block(file: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facttable, "ROWS_AT_ONCE", 3)
    facts = [f"<x:{i}> <x:p> <x:{i + 1}> .\n" + said(f"<x:{i}>", f'"label {i}"') for i in range(10)]
    graph = trifact.load(file("f.nt", "".join(facts)), valid=0, test=0)
    assert len(graph.train) == 10
    shown = {graph.entities[i]: label for i, label in graph.entity_labels.items()}
    assert shown == {f"x:{i}": f"label {i}" for i in range(10)}


def test_a_file_of_labels_wins(file: Make) -> None:
    path = file("f.nt", FACTS + said("<x:a>", '"by RDF"') + said("<x:b>", '"by RDF"'))
    file("labels.tsv", "x:a\tby file\n")
    graph = trifact.load(path)
    assert {graph.entities[i]: label for i, label in graph.entity_labels.items()} == {
        "x:a": "by file",
        "x:b": "by RDF",
    }


def test_labels_come_with_literals_that_are_kept_too(file: Make) -> None:
    graph = trifact.load(file("f.nt", FACTS + said("<x:a>", '"A"@en')), literals="keep")
    assert '"A"@en' in graph.entities
    assert "A" in graph.entity_labels.values()
