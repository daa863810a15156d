"""Facts of another graph in the ids of this one, matched by name; what files call by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.vocabulary import Vocabulary

SEARCH = 20  # names to read, in whose time one is found by bisection


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
    entities = places(other.entities, graph.entities)
    predicates = places(other.predicates, graph.predicates)
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


def match_some(graph: Graph, other: Graph) -> Matched:
    """All facts of `other` as facts of `graph`; refused if that is none."""
    matched = match(graph, other, np.concatenate(list(other.splits.values())))
    if not len(matched.facts):
        raise RunError(f"{other.name}: the run knows the names of none of its facts")
    return matched


def false_facts(graph: Graph, other: Graph) -> tuple[Ints, dict[str, int]]:
    """The facts of `other`, which are said to be false, and what was left out of them.

    That is what `match` leaves out, and the facts that the graph has as true ("known").
    """
    matched = match_some(graph, other)
    known = graph.known().contains(matched.facts)
    if known.all():
        known_names = " with names that the run knows" if matched.left_out["facts"] else ""
        facts = f"all of its facts{known_names} are facts of the graph"
        raise RunError(f"{other.name}: {facts}, so none is false")
    return matched.facts[~known], {**matched.left_out, "known": int(known.sum())}


class Called:
    """Ids by name, or by a label that no other has: how files may call what a graph knows."""

    def __init__(self, names: Vocabulary, labels: Mapping[int, str]) -> None:
        times = Counter(labels.values())
        self._names = names
        self._by_label = {label: i for i, label in labels.items() if times[label] == 1}

    def find(self, name: str) -> int | None:
        """The id, or None where it is neither."""
        place = self._names.find(name)
        return self._by_label.get(name) if place is None else place


def places(names: Vocabulary, known: Vocabulary) -> Ints:
    """The id of each name among the known ones, or -1."""
    if len(names) * SEARCH < len(known):
        found = map(known.find, names)
        return np.array([-1 if place is None else place for place in found], dtype=np.int64)
    ids = {name: i for i, name in enumerate(known)}
    return np.array([ids.get(name, -1) for name in names], dtype=np.int64)
