"""A run ends with the best model, goes on bit by bit as if never stopped, and says what failed."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

import trifact
from trifact.errors import ConfigError, OutputError, RunError, TrainingError
from trifact.graph.graph import Graph
from trifact.run import checkpoint, machine, training
from trifact.run.folder import BEGUN, LOCK, clear_failed, name_for
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.descent import Objective

QUICK = TrainConfig(rank=8, epochs=4, validate_every=2, batch=50, precision="float32")


def numbers() -> Graph:
    """A small graph with structure: numbers, their successors and their parity."""
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 60:02}") for i in range(60)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(60)]
    facts += [(f"n{i:02}", "plus two", f"n{(i + 2) % 60:02}") for i in range(60)]
    return trifact.load(facts, valid=0.1, test=0.1)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return numbers()


def same(a: Run, b: Run, which: str = "last") -> bool:
    left, right = a.factors(which), b.factors(which)
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def test_a_run_keeps_everything_that_made_it(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK, out=tmp_path / "run")
    assert [epoch.epoch for epoch in run.history] == [1, 2, 3, 4]
    assert [epoch.mrr is not None for epoch in run.history] == [False, True, False, True]
    assert run.config == QUICK.replace(reg=run.config.reg)
    assert run.graph().content_hash == graph.content_hash
    assert run.metrics["mrr"] == max(e.mrr for e in run.history if e.mrr is not None)
    assert run.history[-1].loss < run.history[0].loss


@pytest.mark.parametrize("model", ["cp", "distmult", "complex"])
@pytest.mark.parametrize("setting", ["reciprocal", "standard"])
def test_the_same_seed_gives_the_same_factors(
    graph: Graph, tmp_path: Path, model: str, setting: str
) -> None:
    config = QUICK.replace(model=model, setting=setting)
    one = training.train(graph, config, out=tmp_path / "one")
    other = training.train(graph, config, out=tmp_path / "other")
    different = training.train(graph, config.replace(seed=1), out=tmp_path / "different")
    assert same(one, other)
    assert not same(one, different)


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "sgd"])
@pytest.mark.parametrize("stop_after", [1, 5, 9])
def test_a_run_that_was_stopped_goes_on_bit_by_bit(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str, stop_after: int
) -> None:
    config = QUICK.replace(optimizer=optimizer, schedule="plateau", lr=0.05)
    whole = training.train(graph, config, out=tmp_path / "whole")
    steps, original = 0, Objective.step

    def counted(self: Objective, *args: object) -> object:
        nonlocal steps
        steps += 1
        if steps == stop_after:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Objective, "step", counted)
    with pytest.raises(training.Interrupted, match="--resume"):
        training.train(graph, config, out=tmp_path / "parts")
    parts = training.resume(tmp_path / "parts")
    assert same(whole, parts)
    assert same(whole, parts, "best")
    assert [e.loss for e in whole.history] == [e.loss for e in parts.history]
    assert [e.mrr for e in whole.history] == [e.mrr for e in parts.history]


def test_more_epochs_are_as_if_they_had_been_asked_for_at_once(
    graph: Graph, tmp_path: Path
) -> None:
    whole = training.train(graph, QUICK, out=tmp_path / "whole")
    training.train(graph, QUICK.replace(epochs=2), out=tmp_path / "parts")
    assert same(whole, training.resume(tmp_path / "parts", epochs=4))


@pytest.mark.parametrize(
    ("graph", "name"),
    [("my.csv.gz", "my-cp-4"), ("my.txt", "my-cp-4"), ("v1.2/my", "v1.2-my-cp-4"), ("A", "A-cp-4")],
)
def test_a_folder_is_called_after_the_graph_without_its_ending(graph: str, name: str) -> None:
    assert name_for(graph, "cp", 4) == name


def test_fewer_epochs_than_are_done_are_refused(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK, out=tmp_path / "run")
    with pytest.raises(RunError, match="it is in epoch 4; epochs cannot be less"):
        training.resume(run.path, epochs=2)
    assert Run(run.path).config.epochs == 4


def test_threads_are_those_asked_for_while_it_trains(graph: Graph, tmp_path: Path) -> None:
    before, seen = torch.get_num_threads(), set[int]()

    def look(_: Epoch) -> None:
        seen.add(torch.get_num_threads())

    config = QUICK.replace(threads=before + 1)
    run = training.train(graph, config, out=tmp_path / "run", on_epoch=look)
    assert seen == {run.machine["threads"]} == {before + 1}
    assert torch.get_num_threads() == before


def test_a_run_killed_before_its_first_checkpoint_begins_anew(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = training.train(graph, QUICK, out=tmp_path / "whole")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Objective, "step", killed)
        training.train(graph, QUICK, out=tmp_path / "parts")
    assert same(whole, training.resume(tmp_path / "parts"))


def test_a_run_killed_within_an_epoch_goes_on_from_there(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long epochs are saved at steps; here at every one."""
    whole = training.train(graph, QUICK, out=tmp_path / "whole")
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(training, "SAVE_SHARE", math.inf)
    saved, parts = checkpoint.save, tmp_path / "parts"

    def killed(folder: Path, which: str, tables: Any, state: dict[str, Any], **more: Any) -> Any:
        if (state["epoch"], state.get("step")) == (2, 2):
            raise KeyboardInterrupt
        return saved(folder, which, tables, state, **more)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoint, "save", killed)
        training.train(graph, QUICK, out=parts)
    state = checkpoint.read_manifest(parts / "checkpoints", "last")["state"]
    assert (state["epoch"], state["step"]) == (2, 1)
    assert same(whole, training.resume(parts))
    assert same(whole, Run(parts), "best")


def test_factors_that_are_best_and_last_are_written_once(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = checkpoint._save_part, list[str]()

    def counted(folder: Path, part: str, tensors: dict[str, torch.Tensor]) -> dict[str, str]:
        written.append(part)
        return write(folder, part, tensors)

    monkeypatch.setattr(checkpoint, "_save_part", counted)
    training.train(graph, QUICK.replace(validate_every=1), out=tmp_path / "run")
    assert written.count("factors") == written.count("optimizer") == 4
    written.clear()
    run = training.train(graph, QUICK.replace(validate_every=0), out=tmp_path / "unvalidated")
    assert sorted(written) == ["factors", "optimizer"]
    assert run.factors_hash("best") == run.factors_hash("last")


def test_factors_that_a_step_has_changed_are_written(graph: Graph, tmp_path: Path) -> None:
    config = QUICK.replace(epochs=300, validate_every=1, patience=3)
    run = training.train(graph, config, out=tmp_path / "run")  # its last epochs are not its best
    alone = QUICK.replace(epochs=len(run.history), validate_every=0)
    assert same(run, training.train(graph, alone, out=tmp_path / "alone"))


def test_a_run_that_is_not_validated_has_its_last_factors_as_best(
    graph: Graph, tmp_path: Path
) -> None:
    config = QUICK.replace(validate_every=0, epochs=2)
    training.train(graph, config, out=tmp_path / "run")
    run = training.resume(tmp_path / "run", epochs=3)
    assert run.best_epoch == 3
    assert all(torch.equal(t, run.factors("last")[k]) for k, t in run.factors("best").items())


def test_what_goes_by_facts_is_trained_stopped_and_gone_on_with(
    graph: Graph, tmp_path: Path
) -> None:
    config = QUICK.replace(regularizer="dura", relations=0.5)
    once = training.train(graph, config, out=tmp_path / "once")
    first = training.train(graph, config.replace(epochs=2), out=tmp_path / "twice")
    assert same(once, training.resume(first.path, epochs=4))
    plain = training.train(graph, QUICK, out=tmp_path / "plain")
    assert once.history[0].loss > plain.history[0].loss  # there is one loss more


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"reg": 0.1, "regularizer": "none"}, "reg has no effect with regularizer none"),
        ({"reg_predicates": 0.1, "regularizer": "none"}, "reg_predicates has no effect"),
        ({"reg_predicates": 0.0, "regularizer": "dura"}, "reg_predicates has no effect"),
        ({"weighting": "none", "regularizer": "none"}, "weighting has no effect"),
        ({"weighting": "none", "regularizer": "dura"}, "with regularizer dura; leave it out"),
        ({"patience": 7, "validate_every": 0}, "patience has no effect with validate_every 0"),
    ],
)
def test_settings_without_effect_are_refused(
    graph: Graph, tmp_path: Path, settings: dict[str, Any], sentence: str
) -> None:
    for make in (TrainConfig.from_values, lambda settings: TrainConfig(**settings)):
        with pytest.raises(ConfigError, match=f"{sentence}.*; leave it out$|{sentence}$"):
            make(settings)
    with pytest.raises(ConfigError, match=sentence):
        trifact.train(graph, out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_settings_that_lose_their_effect_by_others_rest(graph: Graph, tmp_path: Path) -> None:
    made = QUICK.replace(reg=0.1, reg_predicates=0.2, weighting="none", patience=7)
    plain = made.replace(regularizer="none", validate_every=0)
    assert plain == QUICK.replace(regularizer="none", validate_every=0, reg=0.0)
    run = training.train(graph, QUICK.replace(patience=7), out=tmp_path / "run")
    assert training.resume(run.path, epochs=5, validate_every=0).config.patience == 5
    with pytest.raises(ConfigError, match="patience has no effect with validate_every 0"):
        training.resume(run.path, patience=9)


def test_runs_of_earlier_versions_may_have_settings_without_effect(
    graph: Graph, tmp_path: Path
) -> None:
    run = training.train(graph, QUICK.replace(regularizer="none"), out=tmp_path / "run")
    kept = run.path / "config.toml"
    kept.write_text(kept.read_text().replace("reg = 0.0", "reg = 0.05"))
    assert "reg = 0.05" in kept.read_text()
    assert Run(run.path).config == run.config
    assert len(training.resume(run.path, epochs=5).history) == 5


def test_a_second_loss_needs_a_second_predicate(tmp_path: Path) -> None:
    one = trifact.load([("a", "p", "b"), ("b", "p", "c")], valid=0.0, test=0.0)
    config = QUICK.replace(relations=0.5, setting="standard")
    with pytest.raises(TrainingError, match=r"it has one predicate.*; leave relations out"):
        training.train(one, config, out=tmp_path / "run")
    training.train(one, config.replace(setting="reciprocal"), out=tmp_path / "run")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a cuda device here")
def test_a_device_that_is_not_there_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no cuda device"):
        training.train(graph, QUICK.replace(device="cuda"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_some_settings_may_change_on_the_way(graph: Graph, tmp_path: Path) -> None:
    training.train(graph, QUICK, out=tmp_path / "run")
    with pytest.raises(RunError, match="lr cannot change"):
        training.resume(tmp_path / "run", lr=0.5)


def test_training_stops_when_validation_no_longer_gets_better(graph: Graph, tmp_path: Path) -> None:
    run = training.train(
        graph, QUICK.replace(epochs=300, validate_every=1, patience=3), out=tmp_path / "run"
    )
    measured = [e.mrr for e in run.history]
    assert len(measured) < 300
    assert len(measured) == run.best_epoch + 3
    assert max(m for m in measured if m is not None) == run.metrics["mrr"]


def test_the_best_factors_are_kept_not_the_last(graph: Graph, tmp_path: Path) -> None:
    run = training.train(
        graph, QUICK.replace(epochs=300, validate_every=1, patience=3), out=tmp_path / "run"
    )
    again = training.train(
        graph, QUICK.replace(epochs=run.best_epoch, validate_every=0), out=tmp_path / "again"
    )
    assert all(torch.equal(t, again.factors("last")[k]) for k, t in run.factors("best").items())


def test_a_folder_that_became_a_run_meanwhile_is_left_alone(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK, out=tmp_path / "run")
    with pytest.raises(OutputError, match="it is not empty"):
        clear_failed(run.path)
    assert same(run, Run(run.path))


def test_a_folder_that_holds_something_is_not_used(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(OutputError, match="it is not empty"):
        training.train(graph, QUICK, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("left", [(), ("vocabulary.parquet",), BEGUN[1:], (".graph.json.7.part",)])
def test_a_folder_whose_run_was_cut_off_before_there_was_any_is_used(
    graph: Graph, tmp_path: Path, left: tuple[str, ...]
) -> None:
    for name in (LOCK, *left):
        (tmp_path / name).write_text("")
    run = training.train(graph, QUICK, out=tmp_path)
    assert run.graph().content_hash == graph.content_hash
    assert not list(tmp_path.glob(".*.part"))


def test_a_table_of_somebody_else_is_not_the_beginning_of_a_run(
    graph: Graph, tmp_path: Path
) -> None:
    (tmp_path / "facts.parquet").write_text("mine")
    with pytest.raises(OutputError, match="it is not empty"):
        training.train(graph, QUICK, out=tmp_path)
    assert (tmp_path / "facts.parquet").read_text() == "mine"


def test_two_processes_cannot_train_one_run(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "run"
    training.train(graph, QUICK, out=path)
    refused: list[str] = []

    def try_again(epoch: Epoch) -> None:
        try:
            training.resume(path)
        except RunError as error:
            refused.append(str(error))

    training.resume(path, epochs=5, on_epoch=try_again)
    assert len(refused) == 1
    assert "another process is training here" in refused[0]


def test_training_that_beats_the_measured_peak_is_the_peak(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "peak_flops", lambda *_: 1.0)
    shares = [e.matmul_share for e in training.train(graph, QUICK, out=tmp_path / "run").history]
    assert all(0 < share <= 1 for share in shares)


@pytest.mark.parametrize("name", ["lr", "init_scale"])
def test_what_could_never_learn_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be over 0"):
        TrainConfig.from_values({name: 0.0})


@pytest.mark.parametrize("settings", [{"regularizer": "nuc2"}, {"weighting": "none"}])
def test_a_batch_may_be_larger_than_the_graph(
    graph: Graph, tmp_path: Path, settings: dict[str, str]
) -> None:
    config = QUICK.replace(reg=0.01, **settings)
    all_of_it = len(graph.queries("train"))
    one = training.train(graph, config.replace(batch=all_of_it), out=tmp_path / "one")
    two = training.train(graph, config.replace(batch=10**6), out=tmp_path / "two")
    assert same(one, two)


def test_training_leaves_the_processor_as_it_was(graph: Graph, tmp_path: Path) -> None:
    training.train(graph, QUICK, out=tmp_path / "run")
    assert torch.tensor(2.0**-1074, dtype=torch.float64).item() > 0


def test_a_graph_without_validation_keeps_the_last_epoch(tmp_path: Path) -> None:
    graph = trifact.load([("a", "p", "b"), ("b", "q", "c")])
    run = training.train(graph, QUICK, out=tmp_path / "run")
    assert run.metrics == {"epoch": 4, "mrr": None}
    best, last = run.factors("best"), run.factors("last")
    assert all(torch.equal(best[name], last[name]) for name in last)


def test_repeated_facts_count_as_often_as_they_are_there(tmp_path: Path) -> None:
    facts = [("a", "p", "b")] * 9 + [("a", "p", "c"), ("b", "p", "c")]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    config = QUICK.replace(regularizer="none", epochs=60, lr=0.3)
    model = training.train(graph, config, out=tmp_path / "run").model()
    scores = model.scores(torch.tensor([0]), torch.tensor([0]))
    shares = torch.softmax(scores, 1)[0]
    assert shares[1] == pytest.approx(0.9, abs=0.05)
