"""Facts about entities that a run does not know: read, matched by name, or refused."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trifact.answer.names import Names
from trifact.errors import InputError
from trifact.graph.delimited import records
from trifact.graph.formats import choose
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, in_order
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source
from trifact.graph.vocabulary import Vocabulary
from trifact.run.matching import places
from trifact.run.ranktable import Bools
from trifact.wording import setting

Facts = str | os.PathLike[str] | Iterable[Any] | Graph


@dataclass(frozen=True)
class Newcomers:
    """New entities with their facts, in the ids of a graph that knows them too."""

    graph: Graph
    places: Ints  # (n,): the ids of the new entities, ascending
    old: Ints  # (N,): the new id of every old entity, ascending
    facts: Ints  # all with a new entity
    own: list[Ints]
    """For each new entity its facts with old ones, in the old ids; the new one has the id N."""
    without: int
    """How many facts of the source have no new entity; they are left out."""
    skipped: int
    """How many have a predicate that is not known, or a new entity that cannot be solved."""
    notes: tuple[str, ...]
    """How the facts were read, for people."""


def read_newcomers(graph: Graph, source: Facts, reading: LoadConfig | None = None) -> Newcomers:
    """The new entities of a file or of tuples.

    An InputError where one of them, or a predicate, cannot be had; where bad lines are skipped,
    such facts are.
    """
    reading = (reading or LoadConfig()).replace(valid=0.0, test=0.0)
    other = source if isinstance(source, Graph) else load(source, reading)
    place = _Place(source, reading)
    theirs = np.concatenate(list(other.splits.values()))
    new = np.array([graph.entities.find(name) is None for name in other.entities])
    if not new.any():
        raise place.error("there is no new entity in it: the run knows all of them")
    _refuse_known([other.entities[i] for i in np.flatnonzero(new).tolist()], graph, place)
    about = new[theirs[:, [0, 2]]].any(axis=1)
    predicates = _predicates(graph, other, theirs[about], place)
    kept = about & (predicates[theirs[:, 1]] >= 0)
    solvable = _with_old_ones(theirs[kept], new)
    names = [other.entities[i] for i in np.flatnonzero(solvable).tolist()]
    lonely = new & ~solvable
    if lonely.any() and not (reading.skip_bad_lines and names):
        name = other.entities[int(np.argmax(lonely))]
        why = "is new, and has no fact with a predicate and another entity that the run knows"
        raise place.error(f"{name!r} {why}; it needs one{place.way_out if names else ''}", name)
    kept &= ~lonely[theirs[:, [0, 2]]].any(axis=1)
    wider = Vocabulary.of([*graph.entities, *names])
    entities = places(other.entities, wider)
    ids = places(Vocabulary.of(names), wider)
    old = np.delete(np.arange(len(wider)), ids)
    subject, predicate, object_ = theirs[kept].T
    facts = np.stack([entities[subject], predicates[predicate], entities[object_]], axis=1)
    labels = {int(entities[i]): label for i, label in other.entity_labels.items() if not lonely[i]}
    return Newcomers(
        _joined(graph, wider, old, facts, labels),
        ids,
        old,
        facts,
        _own_facts(facts, ids, old),
        without=int((~about).sum()),
        skipped=int(about.sum() - kept.sum()),
        notes=other.notes,
    )


def _with_old_ones(facts: Ints, new: Bools) -> Bools:
    """Which of the new entities have a fact with one that is not new."""
    ends, found = facts[:, [0, 2]], np.zeros_like(new)
    one = new[ends].sum(axis=1) == 1
    found[ends[one]] = True
    return found & new


def _refuse_known(names: list[str], graph: Graph, place: _Place) -> None:
    """Refuse new names by which old entities are called: a second one is hardly meant."""
    known = Names(graph)
    for name in names:
        if called := known.entities_called(name):
            old = f"is the label, or the end, of {graph.entities[called[0]]!r}"
            raise place.error(f"{name!r} {old}; write that name, or rename the new one", name)


def _own_facts(facts: Ints, places: Ints, old: Ints) -> list[Ints]:
    """The facts of each new entity with old ones, by the old ids, its own id being N."""
    ids = np.full(len(old) + len(places), len(old))
    ids[old] = np.arange(len(old))
    new = np.isin(facts[:, [0, 2]], places)
    one = new.sum(axis=1) == 1
    owner = np.searchsorted(places, np.where(new[one, 0], facts[one, 0], facts[one, 2]))
    order, counts = np.argsort(owner, kind="stable"), np.bincount(owner, minlength=len(places))
    mapped = np.stack([ids[facts[one, 0]], facts[one, 1], ids[facts[one, 2]]], axis=1)
    return np.split(mapped[order], np.cumsum(counts)[:-1])


def _joined(
    graph: Graph, wider: Vocabulary, old: Ints, facts: Ints, labels: Mapping[int, str]
) -> Graph:
    """The graph with its entities renumbered, and with facts more in train.

    Of the labels by the new ids, only those of new entities count.
    """
    splits = {
        split: np.stack([old[known[:, 0]], known[:, 1], old[known[:, 2]]], axis=1)
        for split, known in graph.splits.items()
    }
    splits["train"] = in_order(np.concatenate([splits["train"], facts]))
    kept = {int(old[i]): label for i, label in graph.entity_labels.items()}
    is_old = np.isin(np.arange(len(wider)), old)
    kept |= {place: label for place, label in labels.items() if not is_old[place]}
    return Graph(
        name=graph.name,
        entities=wider,
        predicates=graph.predicates,
        entity_labels=kept,
        predicate_labels=graph.predicate_labels,
        notes=graph.notes,
        draw=graph.draw,
        **splits,
    )


def _predicates(graph: Graph, other: Graph, facts: Ints, place: _Place) -> Ints:
    """The ids of the predicates of some facts; one that the run does not know is refused, or -1."""
    names, found = Names(graph), np.full(len(other.predicates), -1)
    for predicate in np.unique(facts[:, 1]).tolist():
        name = other.predicates[predicate]
        try:
            found[predicate] = names.predicate(name)
        except InputError as error:
            if not place.reading.skip_bad_lines:
                problem = f"{error.problem} (new ones need training){place.way_out}"
                raise place.error(problem, name) from None
    return found


@dataclass(frozen=True)
class _Place:
    """Where facts come from, for those that are refused."""

    source: Facts
    reading: LoadConfig

    @property
    def way_out(self) -> str:
        """What else one can do about facts that cannot be had."""
        return f"; {setting('skip_bad_lines', True)} leaves such facts out"

    def error(self, problem: str, name: str = "") -> InputError:
        """The error with its place: the file, and the first line that has a name."""
        if not isinstance(self.source, str | os.PathLike):
            return InputError(problem)
        path = Path(self.source)
        return InputError(problem, path=path, line=self._line_of(path, name))

    def _line_of(self, path: Path, name: str) -> int | None:
        """The first line of a TSV or CSV file one of whose cells is the name."""
        if not name or not path.is_file():
            return None
        source = Source.at(path, cap=self.reading.cap)
        kind, _ = choose(source, self.reading)
        if kind not in ("tsv", "csv"):
            return None
        config, bad = self.reading.replace(format=kind), BadLines(path, skip=True)
        with source.open() as stream:
            found = (n for n, cells in records(stream, config, bad) if name in cells)
            return next(found, None)
