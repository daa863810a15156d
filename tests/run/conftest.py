"""Runs that nobody trained: a graph and factors as they are wanted, kept as a run is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from trifact.graph.graph import Graph
from trifact.graph.storage import save_graph
from trifact.run import checkpoint
from trifact.run.folder import CHECKPOINTS, save_config
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import MODELS, Model

KeepRun = Callable[..., Run]


def random_model(name: str, graph: Graph, *, rank: int = 4, seed: int = 0) -> Model:
    """A reciprocal model with factors of order one."""
    sizes = len(graph.entities), 2 * len(graph.predicates)
    return MODELS[name](*sizes, rank=rank, scale=1.0, seed=seed)


def with_ties(model: Model) -> Model:
    """The same with whole numbers as factors, so that many scores are exactly equal."""
    model.tables = {name: table.sign() for name, table in model.tables.items()}
    return model


def keep(path: Path, graph: Graph, model: Model, *, name: str = "complex") -> Run:
    """A run whose best factors are those of the model."""
    path.mkdir(parents=True, exist_ok=True)
    save_graph(graph, path)
    config = TrainConfig(model=name, rank=model.rank, reg=0.1, batch=10, precision="float32")
    save_config(path, config)
    about = {"epoch": 1, "mrr": None}
    checkpoint.save(path / CHECKPOINTS, "best", {"factors": model.tables}, about)
    return Run(path)


@pytest.fixture
def keep_run(tmp_path: Path) -> KeepRun:
    """A function that keeps a graph and a seed's random factors as a run of some name."""

    def make(graph: Graph, folder: str = "run", *, seed: int = 0, ties: bool = False) -> Run:
        model = random_model("complex", graph, seed=seed)
        return keep(tmp_path / folder, graph, with_ties(model) if ties else model)

    return make


@pytest.fixture
def poisoned(keep_run: KeepRun) -> Callable[[Graph], Run]:
    """A run one of whose factors is not a number."""

    def make(graph: Graph) -> Run:
        run = keep_run(graph)
        tables = run.factors()
        tables["entity"][0, 0] = torch.nan
        checkpoint.save(run.path / CHECKPOINTS, "best", {"factors": tables}, run.metrics)
        return run

    return make
