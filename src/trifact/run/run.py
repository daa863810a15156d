"""A run that has been trained: its settings, history, graph and factors, read when asked for."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from trifact.errors import RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.graph.storage import open_graph
from trifact.run import checkpoint, history
from trifact.run.folder import CHECKPOINTS, HISTORY, MACHINE, read_config
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.record import read_records
from trifact.tensor.models import MODELS, Model


class Run:
    """The run in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config  # noqa: B018 - a folder that is no run is refused at once

    def __repr__(self) -> str:
        parts = [self.config.model, f"rank {self.config.rank}"]
        try:
            found = self.metrics
        except TrifactError:  # it has no factors yet, or is damaged: whoever uses it is told
            return f"Run({self.path}: {', '.join(parts)})"
        parts += [f"epoch {found['epoch']}"]
        parts += [] if found["mrr"] is None else [f"validation MRR {found['mrr']:.4f}"]
        parts += [f"test MRR {found['test']['mrr']:.4f}"] if "test" in found else []
        return f"Run({self.path}: {', '.join(parts)})"

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
        """The best validation MRR and its epoch; as "test" those of the test facts, if evaluated.

        An evaluation of other factors than the present ones does not count.
        """
        state: dict[str, Any] = self._manifest("best")["state"]
        test = self.evaluations.get("test")
        if test is None or test["run"]["factors_sha256"] != self.factors_hash():
            return state
        return {**state, "test": test["filtered"]["overall"]}

    @property
    def machine(self) -> dict[str, Any]:
        """The machine it was trained on; nothing where that cannot be read any more."""
        try:
            found = json.loads((self.path / MACHINE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def evaluations(self) -> dict[str, dict[str, Any]]:
        """What was kept of each evaluation, by label: the content of its `metrics.json`."""
        return read_records(self.path)

    @property
    def ended(self) -> str:
        """Why training ended; empty while it has not."""
        return str(self._manifest("last")["state"]["finished"])

    @property
    def best_epoch(self) -> int:
        """The epoch that validation chose (the last one, if there was none)."""
        return self.epoch("best")

    def epoch(self, which: str) -> int:
        """The epoch at whose end a checkpoint was, the last whole one before it."""
        epoch = int(self._manifest(which)["state"]["epoch"])
        return epoch if which == "best" else epoch - 1  # `last` has the epoch under way

    def graph(self) -> Graph:
        """The graph it was trained on, as it was then."""
        return open_graph(self.path)

    def factors(self, which: str = "best") -> dict[str, Tensor]:
        """The factor tables of a checkpoint, "best" or "last", mapped into memory."""
        return checkpoint.load(self.path / CHECKPOINTS, which, "factors")[0]["factors"]

    def factors_hash(self, which: str = "best") -> str:
        """SHA-256 of the file of these factors: says whether something was made from them."""
        return str(self._manifest(which)["files"]["factors"]["sha256"])

    def refuse_change(self, known: str, which: str = "best") -> None:
        """Refuse to go on where the factors are no longer those of a known hash."""
        if self.factors_hash(which) != known:
            raise RunError(f"{self.path}: it is being trained, and its factors changed; try again")

    def model(self, which: str = "best") -> Model:
        """The model of a checkpoint."""
        return MODELS[self.config.model].of(self.factors(which))

    def _manifest(self, which: str) -> dict[str, Any]:
        return checkpoint.read_manifest(self.path / CHECKPOINTS, which)
