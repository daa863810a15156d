"""Ctrl-C and SIGTERM stop a training at a step or at its end, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import trifact
from tests.run.test_training import QUICK, graph
from trifact.answer.discovery import Interrupted
from trifact.errors import DivergedError, RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.run import training
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.run.signals import for_python
from trifact.trials.search import SearchInterrupted

__all__ = ["graph"]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "trifact", "train", *words]


def test_training_works_in_a_thread_where_signals_cannot_be_had(
    graph: Graph, tmp_path: Path
) -> None:
    thread = threading.Thread(
        target=training.train, args=(graph, QUICK), kwargs={"out": tmp_path / "run"}
    )
    thread.start()
    thread.join()
    assert len(Run(tmp_path / "run").history) == 4


def test_a_signal_after_the_last_step_is_heard_and_nothing_is_lost(
    graph: Graph, tmp_path: Path
) -> None:
    config = TrainConfig(rank=4, epochs=2, validate_every=1)

    def stop(epoch: Epoch) -> None:
        if epoch.epoch == 2:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(training.Interrupted, match=r"stopped at its end \(2 epochs\), all"):
        training.train(graph, config, out=tmp_path / "run", on_epoch=stop)
    assert len(training.resume(tmp_path / "run").history) == 2


def test_the_command_trains_stops_at_ctrl_c_and_goes_on(tmp_path: Path) -> None:
    words = ("World", "--out", "run", "--rank", "16", "--epochs", "200", "--validate-every", "1",
             "--patience", "200")  # fmt: skip
    with subprocess.Popen(
        command(*words), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        assert any("epoch" in line for line in child.stderr)  # waits for the first
        child.send_signal(signal.SIGINT)
        last = child.stderr.read().splitlines()[-1]
    assert child.returncode == 130
    assert "all is saved" in last
    done = len(Run(tmp_path / "run").history)
    resumed = subprocess.run(
        command("--resume", "run", "--epochs", str(done + 1)),
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "validation MRR" in resumed.stdout
    assert len(Run(tmp_path / "run").history) == done + 1


def test_an_epoch_under_way_cannot_be_left_out(graph: Graph, tmp_path: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("epoch 3/"):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(training.Interrupted, match="in epoch 3 after 1 steps"):
        training.train(graph, QUICK, out=tmp_path / "run", progress=stop)
    with pytest.raises(RunError, match="it is in epoch 3; epochs cannot be less"):
        training.resume(tmp_path / "run", epochs=2)
    assert len(training.resume(tmp_path / "run", epochs=3).history) == 3


@pytest.mark.parametrize("stopped", [training.Interrupted, SearchInterrupted, Interrupted])
def test_in_python_who_stops_work_stops_the_script(stopped: type[TrifactError]) -> None:
    with pytest.raises(KeyboardInterrupt, match="all is saved"), for_python():
        raise stopped("stopped, all is saved")
    with pytest.raises(TrifactError, match="diverged"), for_python():
        raise DivergedError("training diverged")


def test_ctrl_c_in_python_says_how_to_go_on(graph: Graph, tmp_path: Path) -> None:
    def stop(epoch: Epoch) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"all is saved; go on with: .* --resume"):
        trifact.train(graph, out=tmp_path / "run", rank=4, epochs=3, on_epoch=stop)
    assert len(training.resume(tmp_path / "run").history) == 3
