"""Factors of another run as a beginning: rows are matched by name, new names keep their own."""

from __future__ import annotations

import torch
from torch import Tensor

from trifact.errors import RunError
from trifact.graph.graph import Graph
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


def copy_factors(run: Run, *, into: Model, graph: Graph) -> int:
    """Copy the rows of all names that both know; returns how many entities these are."""
    known, factors = run.graph(), run.factors()
    entities = _matches(graph.entities, known.entities)
    predicates = _matches(graph.predicates, known.predicates)
    if run.config.setting == "reciprocal":
        sizes = torch.tensor([[len(graph.predicates)], [len(known.predicates)]])
        predicates = torch.cat([predicates, predicates + sizes], dim=1)
    for name, table in into.tables.items():
        here, there = predicates if name == "predicate" else entities
        table[here] = factors[name][there].to(table)
    return entities.shape[1]


def _matches(ours: Vocabulary, theirs: Vocabulary) -> Tensor:
    """Pairs of ids of the same name: (2, n)."""
    pairs = ((i, theirs.find(name)) for i, name in enumerate(ours))
    found = [(i, j) for i, j in pairs if j is not None]
    return torch.tensor(found, dtype=torch.int64).reshape(-1, 2).T
