"""Facts of another graph in the ids of this one, matched by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.graph.vocabulary import Vocabulary
from trifact.progress import Progress, silent


@dataclass(frozen=True)
class Matched:
    """The facts all of whose names are known, and what had to be left out."""

    facts: Ints
    known: NDArray[np.bool_]
    """Which of the given facts these are."""
    left_out: dict[str, int]
    """Facts with a name that is not known, and the distinct such entities and predicates."""


def match(graph: Graph, other: Graph, facts: Ints) -> Matched:
    """Facts (n, 3) of `other` as facts of `graph`."""
    entities = _ids(other.entities, graph.entities)
    predicates = _ids(other.predicates, graph.predicates)
    columns = entities[facts[:, 0]], predicates[facts[:, 1]], entities[facts[:, 2]]
    mapped = np.stack(columns, axis=1)
    known = np.all(mapped >= 0, axis=1)
    used, asked = np.unique(facts[:, [0, 2]]), np.unique(facts[:, 1])
    counts = {
        "facts": int((~known).sum()),
        "entities": int((entities[used] < 0).sum()),
        "predicates": int((predicates[asked] < 0).sum()),
    }
    return Matched(mapped[known], known, counts)


def match_file(graph: Graph, path: Path, progress: Progress = silent) -> Matched:
    """The facts of a file, in the ids of the graph."""
    other = load(path, LoadConfig(valid=0.0, test=0.0), progress=progress)
    matched = match(graph, other, other.train)
    if not len(matched.facts):
        raise RunError(f"{path}: the run knows the names of none of its facts")
    return matched


def false_facts(
    graph: Graph, path: Path, progress: Progress = silent
) -> tuple[Ints, dict[str, int]]:
    """The facts of a file that are said to be false, and what was left out of it.

    That is what `match` leaves out, and the facts that the graph has as true ("known").
    """
    matched = match_file(graph, path, progress)
    known = graph.known().contains(matched.facts)
    if known.all():
        raise RunError(f"{path}: all of its facts are facts of the graph, so none is false")
    return matched.facts[~known], {**matched.left_out, "known": int(known.sum())}


def _ids(names: Vocabulary, known: Vocabulary) -> Ints:
    """The id of each name among the known ones, or -1."""
    found = (known.find(name) for name in names)
    return np.array([-1 if i is None else i for i in found], dtype=np.int64)
