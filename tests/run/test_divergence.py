"""A run that diverged says so, keeps its last good state, and gives its folder free."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.run.test_training import QUICK, numbers, same
from trifact.errors import DivergedError, OutputError, RunError, TrainingError
from trifact.graph.graph import Graph
from trifact.run import training
from trifact.run.run import Run
from trifact.tensor.descent import Objective


@pytest.fixture(scope="module")
def graph() -> Graph:
    return numbers()


def test_divergence_stops_with_advice_and_the_last_good_state(graph: Graph, tmp_path: Path) -> None:
    config = QUICK.replace(optimizer="sgd", lr=1e6, validate_every=1)
    with pytest.raises(TrainingError, match="lower lr"):
        training.train(graph, config, out=tmp_path / "run")


def test_a_loss_far_beyond_that_of_knowing_nothing_is_divergence(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(DivergedError, match="lower lr"):
        training.train(graph, QUICK.replace(lr=1e5), out=tmp_path / "run")
    with pytest.raises(RunError, match="its training diverged; train anew with a lower lr"):
        Run(tmp_path / "run").factors("best")


def test_a_training_that_learned_nothing_says_so(graph: Graph, tmp_path: Path) -> None:
    idle = training.train(graph, QUICK.replace(optimizer="sgd", reg=30.0), out=tmp_path / "idle")
    said = "4 epochs, with the loss of a model that knows nothing (4.13); "
    assert idle.ended == f"{said}try less reg (now 30), another lr (now 0.1) or more epochs"
    assert training.resume(idle.path).ended == idle.ended  # and not twice
    slow = QUICK.replace(optimizer="sgd", regularizer="none", reg=None, lr=1e-9)
    ended = training.train(graph, slow, out=tmp_path / "slow").ended
    assert ended.endswith("(4.13); try another lr (now 1e-09) or more epochs")
    learned = training.train(graph, QUICK.replace(reg=0.05), out=tmp_path / "learned")
    assert learned.ended == "4 epochs"
    stopped = training.train(
        graph, slow, out=tmp_path / "stopped", on_epoch=lambda epoch: "that is enough"
    )
    assert stopped.ended == "that is enough"  # whoever ends it says why
    untouched = training.train(graph, QUICK.replace(epochs=0), out=tmp_path / "untouched")
    assert untouched.ended == "0 epochs"


def test_a_state_saved_before_diverging_stays_finite(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, original, steps = QUICK.replace(validate_every=1), Objective.step, 0

    def poisoned(self: Objective, *args: object) -> object:
        nonlocal steps
        steps += 1
        if steps > 10:
            self.model.tables["entity"].fill_(torch.nan)
        return original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Objective, "step", poisoned)
    with pytest.raises(TrainingError, match="the last good state is kept"):
        training.train(graph, config, out=tmp_path / "run")
    tables = Run(tmp_path / "run").factors("last")
    assert all(bool(table.isfinite().all()) for table in tables.values())


def test_the_folder_of_a_run_that_diverged_can_be_used_again(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "a run"
    for settings in ({"lr": 1e6, "batch": 1000}, {"lr": 1e30}):  # later, and at once
        wild = QUICK.replace(optimizer="sgd", validate_every=1, **settings)
        with pytest.raises(DivergedError, match=f"lower lr .* also with out='{path}'"):
            training.train(graph, wild, out=path)
        with pytest.raises(DivergedError):
            training.resume(path)
    again = training.train(graph, QUICK, out=path)
    fresh = training.train(graph, QUICK, out=tmp_path / "fresh")
    assert same(again, fresh)
    assert {entry.name for entry in path.iterdir()} == {e.name for e in fresh.path.iterdir()}
    with pytest.raises(OutputError, match="it is not empty"):
        training.train(graph, QUICK, out=path)


def test_what_was_made_of_a_run_that_diverged_is_not_lost(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(DivergedError):
        training.train(graph, QUICK.replace(optimizer="sgd", lr=1e30), out=tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="it is not empty"):
        training.train(graph, QUICK, out=tmp_path / "run")
    assert Run(tmp_path / "run").config.lr == 1e30


def test_a_run_that_diverged_and_goes_on_is_a_run_again(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverging(*_: object) -> None:
        raise DivergedError("it is all over")

    with monkeypatch.context() as patch, pytest.raises(DivergedError):
        patch.setattr(Objective, "step", diverging)
        training.train(graph, QUICK, out=tmp_path / "run")
    training.resume(tmp_path / "run")
    with pytest.raises(OutputError, match="it is not empty"):
        training.train(graph, QUICK, out=tmp_path / "run")


def test_what_diverged_leaves_no_best(graph: Graph, tmp_path: Path) -> None:
    wild = {"optimizer": "sgd", "lr": 3e38, "init_scale": 10.0, "validate_every": 0, "epochs": 1}
    config = QUICK.replace(**wild, batch=10**6)
    with pytest.raises(DivergedError, match="in epoch 1 "):
        training.train(graph, config, out=tmp_path / "run")
    assert not (tmp_path / "run/checkpoints/best.json").exists()
