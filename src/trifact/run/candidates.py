"""Candidates that a predicate may have: those that train has with it, or those of their types."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from trifact.errors import InputError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, ranges
from trifact.graph.sources import BadLines, Source, text_lines, without_end
from trifact.run.matching import Called
from trifact.tensor.ranking import Allowed

LARGEST = 10**9  # bytes of a file of types, unpacked
BETWEEN = "; "


@dataclass(frozen=True)
class Candidates:
    """By predicate (reciprocal ids): entities[offsets[q]:offsets[q + 1]], ascending."""

    offsets: Ints
    entities: Ints

    def of(self, predicate: int) -> Ints:
        """The candidates of one predicate."""
        return self.entities[self.offsets[predicate] : self.offsets[predicate + 1]]

    def allowed(self, device: torch.device) -> Allowed:
        """As a model's ranks take it."""
        return Allowed(*(torch.as_tensor(a, device=device) for a in (self.offsets, self.entities)))

    def lacking(self, questions: Ints) -> int:
        """How many answers of questions (n, 3), predicates reciprocal, are no candidates."""
        size = int(max(self.entities.max(initial=0), questions[:, 2].max(initial=0))) + 1
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        known = owner * size + self.entities
        return int((~np.isin(questions[:, 1] * size + questions[:, 2], known)).sum())


def observed(graph: Graph) -> Candidates:
    """Towards objects the objects that train has with a predicate, towards subjects the subjects.

    An entity answers q where it can be asked the other way round, (entity, q + P).
    """
    known, sides = graph.known("train"), 2 * len(graph.predicates)
    entities = known.questions // sides
    answered = (known.questions % sides + len(graph.predicates)) % sides
    order = np.lexsort((entities, answered))
    return Candidates(_offsets(np.bincount(answered, minlength=sides)), entities[order])


def of_types(graph: Graph, path: Path) -> Candidates:
    """Entities that share a type with one that train has there; those themselves in any case."""
    by_entity, by_type = _types(graph, path)
    found = observed(graph)
    lists = []
    for predicate in range(len(found.offsets) - 1):
        there = found.of(predicate)
        types = np.unique(_gather(by_entity, there))
        lists.append(np.union1d(there, _gather(by_type, types)))
    sizes = np.array([len(entities) for entities in lists], dtype=np.int64)
    return Candidates(_offsets(sizes), np.concatenate(lists))


def _types(graph: Graph, path: Path) -> tuple[Candidates, Candidates]:
    """The types of each entity, and the entities of each type."""
    pairs, numbers = list[tuple[int, int]](), dict[str, int]()
    bad, known = BadLines(path, skip=False), Called(graph.entities, graph.entity_labels)
    with Source.at(path, cap=LARGEST).open() as stream:
        for number, line in text_lines(stream, bad):
            cells = without_end(line).split("\t")
            if cells == [""]:
                continue
            if len(cells) != 2:
                bad.report(number, f"expected an entity, a TAB and a type, found {len(cells)}")
            entity = known.find(cells[0])
            if entity is not None:
                kinds = filter(None, cells[1].split(BETWEEN))
                pairs += [(entity, numbers.setdefault(kind, len(numbers))) for kind in kinds]
    if not pairs:
        raise InputError("it has a type for none of the graph's entities", path=path)
    entities, types = np.unique(np.array(pairs, dtype=np.int64), axis=0).T
    order = np.lexsort((entities, types))
    return (
        Candidates(_offsets(np.bincount(entities, minlength=len(graph.entities))), types),
        Candidates(_offsets(np.bincount(types, minlength=len(numbers))), entities[order]),
    )


def _gather(lists: Candidates, which: Ints) -> Ints:
    return lists.entities[ranges(lists.offsets[which], lists.offsets[which + 1])[0]]


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
