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
from trifact.graph.formats import choose
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, in_order
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source, text_lines, without_end
from trifact.graph.vocabulary import Vocabulary

READ = LoadConfig(valid=0.0, test=0.0)
Facts = str | os.PathLike[str] | Iterable[Any]


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


def read_newcomers(graph: Graph, source: Facts) -> Newcomers:
    """The new entities of a file or of tuples; an InputError where they cannot be solved."""
    other = load(source, READ)
    names = [name for name in other.entities if graph.entities.find(name) is None]
    if not names:
        raise _error("there is no new entity in it: the run knows all of them", source)
    wider = Vocabulary.of([*graph.entities, *names])
    entities = np.array([_id(wider, name) for name in other.entities], dtype=np.int64)
    places = np.array([_id(wider, name) for name in names], dtype=np.int64)
    old = np.delete(np.arange(len(wider)), places)
    theirs = np.concatenate(list(other.splits.values()))
    about = np.isin(entities[theirs[:, [0, 2]]], places).any(axis=1)
    predicates = _predicates(graph, other, theirs[about], source)
    subject, predicate, object_ = theirs[about].T
    facts = np.stack([entities[subject], predicates[predicate], entities[object_]], axis=1)
    labels = {int(entities[i]): label for i, label in other.entity_labels.items()}
    joined = _joined(graph, wider, old, facts, labels)
    own = _own_facts(facts, places, old)
    for name, some in zip(names, own, strict=True):
        if not len(some):
            why = "is new, and has no fact with an entity that the run knows; it needs one"
            raise _error(f"{name!r} {why}", source, name)
    return Newcomers(joined, places, old, facts, own, int((~about).sum()))


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


def _predicates(graph: Graph, other: Graph, facts: Ints, source: Facts) -> Ints:
    """The ids of the predicates of some facts; one that the run does not know is refused."""
    names, found = Names(graph), np.full(len(other.predicates), -1)
    for predicate in np.unique(facts[:, 1]).tolist():
        name = other.predicates[predicate]
        try:
            found[predicate] = names.predicate(name)
        except InputError as error:
            raise _error(f"{error.problem} (new ones need training)", source, name) from None
    return found


def _id(names: Vocabulary, name: str) -> int:
    place = names.find(name)
    assert place is not None
    return place


def _error(problem: str, source: Facts, name: str = "") -> InputError:
    """The error with its place: the file, and the first line that has a name."""
    if not isinstance(source, str | os.PathLike):
        return InputError(problem)
    path = Path(source)
    return InputError(problem, path=path, line=_line_of(path, name))


def _line_of(path: Path, name: str) -> int | None:
    """The first line of a TSV or CSV file one of whose cells is the name, where one can tell."""
    if not name or not path.is_file():
        return None
    source = Source.at(path, cap=int(READ.max_expanded_gb * 1e9))
    kind, _ = choose(source, "auto")
    if kind not in ("tsv", "csv"):
        return None
    with source.open() as stream:
        for number, line in text_lines(stream, BadLines(path, skip=True)):
            if name in without_end(line).split("\t" if kind == "tsv" else READ.delimiter):
                return number
    return None
