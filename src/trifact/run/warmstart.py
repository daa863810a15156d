"""Factors of another run as a beginning: rows are matched by name, new names keep their own.

What that run was trained on cannot be held out any more: a model that began with it would be
measured on facts that it has seen. The same holds for what that run began with; so a run keeps
what its factors have seen, and needs no folder of its ancestors.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.graph.storage import seen_facts
from trifact.run.matching import match, places
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.wording import setting


def check_parent(run: Run, config: TrainConfig, out: Path | None) -> None:
    """Refuse a run whose factors are not of the kind that is wanted, or would be replaced."""
    if out is not None and out.resolve() == run.path:
        raise RunError(f"{run.path}: a run cannot begin with itself; give another {setting('out')}")
    for name in ("model", "rank", "setting"):
        theirs, ours = getattr(run.config, name), getattr(config, name)
        if theirs != ours:
            raise RunError(f"{run.path}: its {name} is {theirs}, not {ours}; they must be the same")
    run.factors_hash()  # refused, too, if it has none yet


def apart(graph: Graph, run: Run) -> Graph:
    """The graph with nothing held out that the run was trained on, and a note of what it knows.

    Facts that trifact drew are drawn anew; splits that came with the graph are never changed.
    """
    known = run.graph()
    entities = places(graph.entities, known.entities) >= 0
    predicates = places(graph.predicates, known.predicates) >= 0
    if not entities.any():
        unknown = f"{run.path}: it knows no entity of {graph.name}"
        raise RunError(f"{unknown}; leave out {setting('warm_start')}")
    index = KnownAnswers.of(_seen(graph, known, run), predicates=len(graph.predicates))
    held_out = np.concatenate([graph.valid, graph.test])
    seen = int(index.contains(held_out).sum())
    if seen and not graph.drawn:
        raise RunError(
            f"{run.path}: it was trained on {seen:,} of the {len(held_out):,} held-out facts of "
            f"{graph.name}, which would look too good; begin with a run that was not"
        )
    if seen:
        graph = graph.held_out_from(index)
    note = (
        f"warm start: {run.path} knows {entities.sum():,} of {len(graph.entities):,} "
        f"entities and {predicates.sum():,} of {len(graph.predicates):,} predicates; "
        "what it was trained on is not held out"
    )
    return replace(graph, notes=tuple(dict.fromkeys((*graph.notes, note))))


def inherited(graph: Graph, run: Run) -> Ints:
    """What the run has seen that is no train fact of the graph, by its ids, each once."""
    seen = _seen(graph, run.graph(), run)
    return np.unique(seen[~graph.known("train").contains(seen)], axis=0)


def _seen(graph: Graph, known: Graph, run: Run) -> Ints:
    """The facts that the run was trained on, or one it began with, by the ids of a graph.

    Of those that a run began with it knows the facts between names of its own graph, `known`.
    """
    return match(graph, known, np.concatenate([known.train, seen_facts(run.path)])).facts


def copy_factors(run: Run, *, into: Model, graph: Graph) -> None:
    """Copy the rows of all names that both know."""
    known, factors = run.graph(), run.factors()
    entities = places(known.entities, graph.entities)
    predicates = places(known.predicates, graph.predicates)
    if run.config.setting == "reciprocal":
        others = np.where(predicates < 0, predicates, predicates + len(graph.predicates))
        predicates = np.append(predicates, others)
    for name, table in into.tables.items():
        here = torch.from_numpy(predicates if name == "predicate" else entities)
        both = here >= 0
        table[here[both]] = factors[name][both].to(table)
