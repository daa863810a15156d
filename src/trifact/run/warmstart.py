"""Factors of another run as a beginning: rows are matched by name, new names keep their own.

What that run was trained on cannot be held out any more: a model that began with it would be
measured on facts that it has seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.graph.vocabulary import Vocabulary
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import Model


def check_alike(run: Run, config: TrainConfig) -> None:
    """Refuse a run whose factors are not of the kind that these settings want."""
    for name in ("model", "rank", "setting"):
        theirs, ours = getattr(run.config, name), getattr(config, name)
        if theirs != ours:
            raise RunError(f"{run.path}: its {name} is {theirs}, not {ours}; they must be the same")


def apart(graph: Graph, run: Run) -> Graph:
    """The graph with nothing held out that the run was trained on, and a note of what it knows.

    Facts that trifact drew are drawn anew; splits that came with the graph are never changed.
    """
    known = run.graph()
    entities = _places(known.entities, graph.entities)
    predicates = _places(known.predicates, graph.predicates)
    if not (entities >= 0).any():
        raise RunError(f"{run.path}: it knows no entity of {graph.name}; leave out --warm-start")
    facts = np.stack(
        [entities[known.train[:, 0]], predicates[known.train[:, 1]], entities[known.train[:, 2]]],
        axis=1,
    )
    trained = KnownAnswers.of(facts[(facts >= 0).all(axis=1)], predicates=len(graph.predicates))
    held_out = np.concatenate([graph.valid, graph.test])
    seen = int(trained.contains(held_out).sum())
    if seen and graph.draw is None:
        raise RunError(
            f"{run.path}: it was trained on {seen:,} of the {len(held_out):,} held-out facts of "
            f"{graph.name}, which would look too good; begin with a run that was not"
        )
    if seen:
        graph = graph.held_out_from(trained)
    note = (
        f"warm start: {run.path} knows {int((entities >= 0).sum()):,} of {len(graph.entities):,} "
        f"entities and {int((predicates >= 0).sum()):,} of {len(graph.predicates):,} predicates; "
        "what it was trained on is not held out"
    )
    return replace(graph, notes=tuple(dict.fromkeys((*graph.notes, note))))


def copy_factors(run: Run, *, into: Model, graph: Graph) -> None:
    """Copy the rows of all names that both know."""
    known, factors = run.graph(), run.factors()
    entities = _places(known.entities, graph.entities)
    predicates = _places(known.predicates, graph.predicates)
    if run.config.setting == "reciprocal":
        others = np.where(predicates < 0, predicates, predicates + len(graph.predicates))
        predicates = np.append(predicates, others)
    for name, table in into.tables.items():
        places = torch.from_numpy(predicates if name == "predicate" else entities)
        both = places >= 0
        table[places[both]] = factors[name][both].to(table)


def _places(theirs: Vocabulary, ours: Vocabulary) -> Ints:
    """The id that each of their names has with us; -1 where it has none."""
    ids = {name: i for i, name in enumerate(ours)}
    return np.array([ids.get(name, -1) for name in theirs], dtype=np.int64)
