"""New entities without retraining: their rows are solved from their facts and join the tables.

Everything else stays as it was trained. Each new entity is solved for itself, against the old
ones alone, so their order does not matter; facts between two of them and self-loops are known
afterwards, but say nothing about a row. See docs/new-entities.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from trifact.answer.newcomers import Facts, Newcomers, read_newcomers
from trifact.answer.rows import NEGATIVES, Rows, Solved
from trifact.graph.graph import Graph
from trifact.graph.options import LoadConfig
from trifact.progress import Progress, silent
from trifact.run.machine import denormals_flushed
from trifact.run.run import Run
from trifact.tensor.models import Model

NAMED = 5  # entities of a kind; there may be thousands


@dataclass(frozen=True)
class Fold:
    """One new entity: its name, from how many facts it was solved, and what came out."""

    name: str
    facts: int
    solved: Solved
    seconds: float
    """Of the processor, all threads; the first entity also waits for what all have in common."""


@dataclass(frozen=True)
class Folded:
    """A graph and a model that know the new entities, too."""

    graph: Graph
    model: Model
    entities: tuple[Fold, ...]
    notes: tuple[str, ...]
    """What was done, for people."""
    doubts: tuple[str, ...]
    """What was left out, or not solved to the end."""


def fold(
    run: Run,
    facts: Facts,
    *,
    reading: LoadConfig | None = None,
    negatives: int = NEGATIVES,
    progress: Progress = silent,
) -> Folded:
    """Solve the rows of all new entities of a file or of tuples (subject, predicate, object).

    `reading` says how the file is read. Memory: a second copy of the entities' tables, and what
    `Rows` says.
    """
    graph, model = run.graph(), run.model()
    newcomers = read_newcomers(graph, facts, reading)
    rows, found = Rows(graph, model, run.config, negatives), list[Fold]()
    with denormals_flushed():
        for number, own in enumerate(newcomers.own):
            progress("folding in", number, len(newcomers.own))
            start, solved = time.process_time(), rows.solve(own)
            name = newcomers.graph.entities[int(newcomers.places[number])]
            found.append(Fold(name, len(own), solved, time.process_time() - start))
    wider = _widened(model, newcomers, [entity.solved for entity in found])
    return Folded(
        newcomers.graph, wider, tuple(found), _notes(newcomers, found), _doubts(newcomers, found)
    )


def _widened(model: Model, newcomers: Newcomers, solved: list[Solved]) -> Model:
    """The model with rows put in where the new names are."""
    old, new = torch.from_numpy(newcomers.old), torch.from_numpy(newcomers.places)
    tables = dict(model.tables)
    for name in solved[0].rows:
        table = model.tables[name]
        wider = table.new_empty(len(old) + len(new), table.shape[1])
        wider[old] = table
        wider[new] = torch.stack([each.rows[name] for each in solved]).to(table)
        tables[name] = wider
    return type(model).of(tables)


def _notes(newcomers: Newcomers, found: list[Fold]) -> tuple[str, ...]:
    """What was done, and what is known now but said nothing."""
    used, things = sum(entity.facts for entity in found), "entities" if len(found) > 1 else "entity"
    loops = int((newcomers.facts[:, 0] == newcomers.facts[:, 2]).sum())
    between = len(newcomers.facts) - used - loops
    notes = [*newcomers.notes, f"{len(found):,} new {things}, solved from {_facts(used)}"]
    if between:
        notes.append(f"{_facts(between)} between new entities: known now, not used to solve them")
    if loops:
        notes.append(f"{_facts(loops)} of an entity with itself: known now, not used to solve it")
    return tuple(notes)


def _doubts(newcomers: Newcomers, found: list[Fold]) -> tuple[str, ...]:
    doubts = list[str]()
    if newcomers.without:
        doubts.append(f"{_facts(newcomers.without)} without a new entity: left out")
    if newcomers.skipped:
        why = "their predicate is not known, or a new entity has no fact with a known one"
        doubts.append(f"{_facts(newcomers.skipped)} left out: {why}")
    if unsure := [entity.name for entity in found if not entity.solved.converged]:
        doubts.append(f"not solved to the end: {_some(unsure)}")
    if half := [entity.name for entity in found if not entity.solved.whole]:
        which = "as subject or as object no fact has them, and answers on that side say nothing"
        doubts.append(f"{which}: {_some(half)}")
    return tuple(doubts)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _facts(count: int) -> str:
    return f"{count:,} fact{'' if count == 1 else 's'}"
