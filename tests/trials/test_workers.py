"""A worker says how its job ended, also when it is told to stop meanwhile."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import pytest

from trifact.graph.graph import Graph
from trifact.run.history import Epoch
from trifact.trials.workers import Job, _outcome

SETTINGS = {"rank": 4, "batch": 50, "epochs": 3, "validate_every": 1, "precision": "float32"}


class Leader:
    """The other end of a worker's pipe: stops it at its first epoch, and says why it is to end."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def send(self, epoch: Epoch) -> None:
        if epoch.epoch == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    def recv(self) -> str:
        return self.reason


@pytest.mark.parametrize(
    ("reason", "kind", "epochs"), [("hopeless", "pruned", 1), ("", "stopped", 0)]
)
def test_a_trial_that_is_pruned_and_stopped_at_once_is_pruned(
    reason: str, kind: str, epochs: int, graph: Graph, tmp_path: Path
) -> None:
    job = Job(0, tmp_path / "trial", SETTINGS)
    outcome = _outcome(job, graph, cast("Connection", Leader(reason)))
    assert (outcome.kind, outcome.epochs) == (kind, epochs)
    assert (outcome.mrr is None) == (kind == "stopped")


def test_a_trial_whose_verdict_was_not_heard_trains_no_further(
    graph: Graph, tmp_path: Path
) -> None:
    job = Job(0, tmp_path / "trial", SETTINGS)
    heard = _outcome(job, graph, cast("Connection", Leader("hopeless")))
    assert _outcome(replace(job, verdict="hopeless"), graph, cast("Connection", None)) == heard
