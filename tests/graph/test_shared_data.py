"""The benchmark graphs are read exactly: their counts, and their distinct queries."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trifact
from trifact.graph.graph import Graph

DATA = os.environ.get("TRIFACT_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="TRIFACT_DATA does not say where the graphs are")

# entities, predicates, train, valid, test, valid and test facts with an entity that train lacks
COUNTS = {
    "WN18": (40_943, 18, 141_442, 5_000, 5_000, 0, 0),
    "WN18RR": (40_943, 11, 86_835, 3_034, 3_134, 210, 210),
    "FB15K": (14_951, 1_345, 483_142, 50_000, 59_071, 0, 0),
    "FB15K-237": (14_541, 237, 272_115, 17_535, 20_466, 9, 28),
    "Nations": (14, 55, 1_592, 199, 201, 0, 0),
    "Kinship": (104, 25, 8_544, 1_068, 1_074, 0, 0),
    "UMLS": (135, 46, 5_216, 652, 661, 0, 0),
    "CoDEx-S": (2_034, 42, 32_888, 1_827, 1_828, 0, 0),
    "DEBIAN12": (149_829, 61, 1_290_240, 8_760, 8_876, 0, 0),
}
# train facts with their reciprocals, and the distinct queries among them
QUERIES = {
    "WN18": (282_884, 171_254),
    "WN18RR": (173_670, 103_509),
    "FB15K": (966_284, 273_710),
    "FB15K-237": (544_230, 149_689),
}
MOST_ANSWERS = {"FB15K-237": 3_612}


@cache
def graph(name: str) -> Graph:
    if not Path(DATA, name).is_dir():
        pytest.skip(f"TRIFACT_DATA has no {name}")
    return trifact.load(name, cache=False)


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_are_those_that_are_published(name: str) -> None:
    loaded = graph(name)
    train_entities = np.unique(loaded.train[:, [0, 2]])
    unseen = [
        int((~np.isin(loaded.splits[split][:, [0, 2]], train_entities)).any(axis=1).sum())
        for split in ("valid", "test")
    ]
    sizes = [len(facts) for facts in loaded.splits.values()]
    assert (len(loaded.entities), len(loaded.predicates), *sizes, *unseen) == COUNTS[name]
    assert loaded.name == name


@pytest.mark.parametrize("name", QUERIES)
def test_the_distinct_queries_are_those_of_the_design(name: str) -> None:
    queries = graph(name).queries("train")
    assert (queries.facts, len(queries)) == QUERIES[name]


def test_the_query_with_most_answers() -> None:
    for name, most in MOST_ANSWERS.items():
        assert int(np.diff(graph(name).queries("train").offsets).max()) == most


@pytest.mark.parametrize("name", ["WN18", "WN18RR", "FB15K", "FB15K-237"])
def test_the_graphs_of_the_paper_have_no_duplicate_and_no_overlap(name: str) -> None:
    facts = np.concatenate(list(graph(name).splits.values()))
    assert len(np.unique(facts, axis=0)) == len(facts)


def test_labels_come_along() -> None:
    loaded = graph("WN18RR")
    assert len(loaded.entity_labels) > 40_000
    assert any("labels.tsv" in note for note in loaded.notes)
