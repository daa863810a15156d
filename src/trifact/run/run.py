"""A run that has been trained: its settings, history, graph and factors, read when asked for."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from trifact.graph.graph import Graph
from trifact.graph.storage import open_graph
from trifact.run import checkpoint, history
from trifact.run.folder import CHECKPOINTS, HISTORY, read_config
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.tensor.models import MODELS, Model


class Run:
    """The run in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config  # noqa: B018 - a folder that is no run is refused at once

    def __repr__(self) -> str:
        config = self.config
        return f"Run({self.path}: {config.model}, rank {config.rank}, {self.metrics})"

    @cached_property
    def config(self) -> TrainConfig:
        """The settings it was trained with."""
        return read_config(self.path)

    @property
    def history(self) -> list[Epoch]:
        """What each epoch came to."""
        return history.read(self.path / HISTORY)

    @property
    def metrics(self) -> dict[str, Any]:
        """The best validation MRR and its epoch."""
        state: dict[str, Any] = self._manifest("best")["state"]
        return state

    @property
    def best_epoch(self) -> int:
        """The epoch that validation chose (the last one, if there was none)."""
        return int(self.metrics["epoch"])

    def graph(self) -> Graph:
        """The graph it was trained on, as it was then."""
        return open_graph(self.path)

    def factors(self, which: str = "best") -> dict[str, Tensor]:
        """The factor tables of a checkpoint, "best" or "last"."""
        return checkpoint.load(self.path / CHECKPOINTS, which, "factors")[0]["factors"]

    def model(self, which: str = "best") -> Model:
        """The model of a checkpoint."""
        model = MODELS[self.config.model](1, 1, rank=1)
        model.tables = self.factors(which)
        return model

    def _manifest(self, which: str) -> dict[str, Any]:
        return checkpoint.read_manifest(self.path / CHECKPOINTS, which)
