"""Tuning keeps to its time, compares at equal epochs, and says honestly what it found."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from trifact.errors import ConfigError, DivergedError, OutputError, TrainingError
from trifact.graph.graph import Graph
from trifact.run import checkpoint, machine, training
from trifact.run.folder import LOCK, locked
from trifact.run.options import TrainConfig, resolved
from trifact.run.run import Run
from trifact.trials.space import Choice, Range
from trifact.trials.tuning import (
    Candidate,
    Tuned,
    Tuning,
    TuningInterrupted,
    Watch,
    around,
    first_epochs,
    promoted,
    tune,
)

RULE = TrainConfig(rank=4, reg=0.01, batch=20, epochs=18, validate_every=2, precision="float32")


def ticking(step: float) -> Callable[[], float]:
    """A clock that goes on by a step whenever somebody looks: the same on every machine."""
    now = 0.0

    def look() -> float:
        nonlocal now
        now += step
        return now

    return look


def ladder(graph: Graph, folder: Path, rule: TrainConfig) -> Tuning:
    choices = around(rule, queries=100, given=())
    return Tuning(graph, rule, choices, folder, 1000.0, Watch(clock=ticking(0.7)))


def test_the_rungs_begin_so_that_enough_trials_fit_and_two_more_rungs_follow() -> None:
    assert first_epochs(180, setup=1, pace=1, most=100) == 9  # ten seconds for each of 18
    assert first_epochs(180, setup=1, pace=0.01, most=100) == 11  # then 33 and 99
    assert first_epochs(180, setup=1, pace=100, most=100) == 1
    assert first_epochs(180, setup=1, pace=1, most=4) == 1


def test_a_third_goes_on_and_at_least_one() -> None:
    found = [Candidate(n, {}, mrrs={3: mrr}) for n, mrr in enumerate((0.1, 0.5, 0.5, 0.3, 0.2))]
    assert [c.number for c in promoted(found, 3)] == [1, 2]
    assert [c.number for c in promoted(found[:1], 3)] == [0]


def test_what_is_tuned_lies_around_the_rule_and_what_is_given_stays(graph: Graph) -> None:
    rule = resolved(TrainConfig(), graph)
    found = around(rule, queries=1000, given=())
    assert found == {
        "rank": (50, 100, 200, 400),
        "reg": Range(0.05 / 30, 0.5, log=True),
        "lr": Range(0.02, 0.5, log=True),
        "batch": (12, 25, 50, 100, 200),
    }
    assert list(around(rule, queries=1000, given=("rank", "lr"))) == ["reg", "batch"]
    plain = rule.replace(regularizer="none", rank=1, batch=1)
    assert around(plain, queries=1, given=("lr",)) == {"rank": (1, 2)}
    with pytest.raises(ConfigError, match="nothing is left to tune"):
        around(rule, queries=1000, given=("rank", "reg", "lr", "batch"))


def test_few_go_far_and_the_rule_goes_as_far_as_any(graph: Graph, tmp_path: Path) -> None:
    tuning = ladder(graph, tmp_path, RULE)
    compared = tuning.run()
    rule, *others = tuning.candidates
    assert rule.settings == {"rank": 4, "reg": 0.01, "lr": 0.1, "batch": 20}
    assert compared == 18
    assert list(rule.mrrs) == [2, 6, 18]
    far = {epochs: [c for c in others if epochs in c.mrrs] for epochs in (2, 6, 18)}
    assert len(far[2]) == len(others) > 5
    assert len(far[6]) == -(-len(far[2]) // 3)
    assert len(far[18]) == -(-len(far[6]) // 3)
    assert min(c.mrrs[2] for c in far[6]) >= max(c.mrrs[2] for c in others if c not in far[6])
    best = tuning.best(compared)
    assert best.mrrs[18] == max(c.mrrs[18] for c in (rule, *far[18]))


def test_nothing_is_tried_twice_and_a_small_space_comes_to_an_end(
    graph: Graph, tmp_path: Path
) -> None:
    choices: dict[str, Choice] = {"rank": (2, 4, 8)}
    watch = Watch(clock=ticking(0.001))
    tuning = Tuning(graph, RULE, choices, tmp_path, 1000.0, watch)
    tuning.run()
    assert sorted(c.settings["rank"] for c in tuning.candidates) == [2, 4, 8]
    assert [c.number for c in tuning.candidates] == [0, 1, 2]


def test_it_beats_a_rule_that_is_bad(graph: Graph, tmp_path: Path) -> None:
    bad = RULE.replace(reg=3.0)
    tuning = ladder(graph, tmp_path, bad)
    compared = tuning.run()
    rule, best = tuning.candidates[0], tuning.best(compared)
    assert best.settings["reg"] < 3.0
    assert best.mrrs[compared] > rule.mrrs[compared]
    found = Tuned(bad.replace(**best.settings), tuple(tuning.candidates), best, compared)
    assert found.verdict == (
        f"at epoch {compared}: tuned {best.mrrs[compared]:.4f} "
        f"against {rule.mrrs[compared]:.4f} by the rule"
    )
    rows = [json.loads(line) for line in found.to_jsonl().splitlines()]
    assert [row["number"] for row in rows if row["chosen"]] == [best.number]


def test_the_final_run_is_what_was_promised(graph: Graph, tmp_path: Path) -> None:
    given = {"rank": 4, "batch": 20, "epochs": 9, "validate_every": 1, "precision": "float32"}
    lines = list[str]()
    watch = Watch(say=lines.append, clock=ticking(4.0))
    found = tune(graph, given, seconds=1000.0, within=tmp_path / "runs", watch=watch)
    assert not list((tmp_path / "runs").iterdir())  # nothing of the trials is kept
    assert set(found.best.settings) == {"reg", "lr"}
    assert "tuning reg, lr for 17 min" in lines[0]
    whole = found.config.replace(epochs=found.epochs, patience=found.epochs)
    run = training.train(graph, whole, out=tmp_path / "final")
    assert run.metrics["mrr"] == found.best.mrrs[found.epochs]
    if found.best.number:
        assert "tuned" in found.verdict
        assert found.config.reg == found.best.settings["reg"]
    else:
        assert "the rule was best" in found.verdict
        assert found.config == TrainConfig.from_values(given)


def test_the_verdict_is_honest() -> None:
    rule, other = Candidate(0, {}, mrrs={3: 0.5, 9: 0.6}), Candidate(1, {}, mrrs={3: 0.4, 9: 0.55})
    kept = Tuned(TrainConfig(epochs=9), (rule, other), rule, 9)
    assert kept.verdict == (
        "at epoch 9 the rule was best: 0.6000 against 0.5500 tuned; its settings are kept"
    )
    assert "did not suffice" in Tuned(TrainConfig(), (rule,), rule, 0).verdict


def test_an_early_verdict_says_that_it_is_a_guess() -> None:
    rule, other = Candidate(0, {}, mrrs={3: 0.5}), Candidate(1, {}, mrrs={3: 0.6})
    early = "; of 10 epochs that is early, so it is a guess"
    for best, words in ((other, "tuned 0.6000 against 0.5000 by the rule"), (rule, "are kept")):
        for epochs, end in ((9, words), (10, words + early)):
            found = Tuned(TrainConfig(epochs=epochs), (rule, other), best, 3)
            assert found.verdict.endswith(end)


def test_a_trial_ends_where_the_final_run_would(graph: Graph, tmp_path: Path) -> None:
    """One that does not learn at all has its patience; what it came to counts on every rung."""
    rule = RULE.replace(patience=2, validate_every=1)
    tuning = ladder(graph, tmp_path, rule)
    still = Candidate(1, {"lr": 1e-30})
    assert tuning._train(still, 6)
    assert still.converged
    assert still.epochs == 3
    assert still.needs(18) == 0
    assert tuning._train(still, 18)
    assert still.epochs == 3
    assert still.mrrs[6] == still.mrrs[18]
    late = Candidate(2, {})
    tuning.seconds = 0.0
    assert not tuning._train(late, 6)  # no time is another matter
    assert not late.converged


def test_the_final_run_has_the_precision_of_the_trials(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "faster_precision", lambda *about: "bfloat16")
    given = {"rank": 4, "batch": 20, "epochs": 3, "validate_every": 1}
    watch = Watch(clock=ticking(40.0))
    assert tune(graph, given, seconds=1000.0, within=tmp_path, watch=watch).config.precision == (
        "bfloat16"
    )


def test_ctrl_c_between_two_trials_says_the_best_so_far(graph: Graph, tmp_path: Path) -> None:
    def tell(line: str) -> None:
        if line.startswith("trial   2"):
            raise KeyboardInterrupt

    given = {"rank": 4, "batch": 20, "epochs": 9, "validate_every": 1, "precision": "float32"}
    watch = Watch(say=tell, clock=ticking(4.0))
    with pytest.raises(TuningInterrupted, match="best so far, with MRR"):
        tune(graph, given, seconds=1000.0, within=tmp_path, watch=watch)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device here")
def test_a_device_that_is_not_there_is_one_sentence(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="torch finds no cuda device here"):
        tune(graph, {"device": "cuda"}, seconds=9.0, within=tmp_path)


def test_without_time_the_rule_is_kept(graph: Graph, tmp_path: Path) -> None:
    found = tune(
        graph,
        {"rank": 4, "epochs": 9, "precision": "float32"},
        seconds=1.0,
        within=tmp_path,
        watch=Watch(clock=ticking(5.0)),
    )
    assert len(found.candidates) == 1
    assert found.config == TrainConfig(rank=4, epochs=9, precision="float32")
    assert "did not suffice" in found.verdict


def test_a_long_epoch_is_not_finished_when_the_time_is_up(graph: Graph, tmp_path: Path) -> None:
    seen = list[int]()

    def left(what: str, done: int, total: int) -> None:
        seen.append(total - done)

    watch = Watch(progress=left, clock=ticking(1.0))
    given = {"rank": 4, "batch": 1, "epochs": 9, "precision": "float32"}
    found = tune(graph, given, seconds=8.5, within=tmp_path, watch=watch)
    assert min(seen) > 20
    assert found.epochs == 0
    assert "did not suffice" in found.verdict
    assert not list(tmp_path.iterdir())


def test_what_a_kill_has_left_behind_goes_and_what_is_in_use_stays(
    graph: Graph, tmp_path: Path
) -> None:
    dead, alive = tmp_path / ".tuning-dead", tmp_path / ".tuning-alive"
    other = tmp_path / ".tuning-notes"  # of somebody who calls his folder so
    closed = tmp_path / ".tuning-closed"  # of somebody whose lock is not ours to take
    for folder in (dead / "0", alive / "0", closed / LOCK, other):
        folder.mkdir(parents=True)
    (dead / LOCK).touch()
    with locked(alive):
        settings = {"rank": 4, "epochs": 1, "validate_every": 1, "precision": "float32"}
        tune(graph, settings, seconds=1.0, within=tmp_path, watch=Watch(clock=ticking(5.0)))
    assert sorted(tmp_path.iterdir()) == [alive, closed, other]


def test_one_that_diverges_goes_no_further(graph: Graph, tmp_path: Path) -> None:
    tuning = ladder(graph, tmp_path, RULE)
    wild = Candidate(7, {"lr": 1e30})
    assert not tuning._train(wild, 2)
    assert not wild.mrrs
    with pytest.raises(TrainingError, match="diverged"):
        ladder(graph, tmp_path / "rule", RULE.replace(lr=1e30)).run()
    rule = Candidate(0, {"lr": 1e30})
    assert not tuning._train(rule, 3)
    assert rule.mrrs == {3: 0.0}  # others are better than that


def test_a_folder_that_goes_is_not_recommended(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"rank": 4, "epochs": 3, "validate_every": 1, "precision": "float32"}
    with pytest.raises(DivergedError, match="diverges at once; give a lower") as diverged:
        tune(graph, {**given, "lr": 1e30}, seconds=9.0, within=tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(checkpoint, "write_text", full)
    with pytest.raises(OutputError, match="is full; nothing of the tuning is kept") as not_saved:
        tune(graph, given, seconds=9.0, within=tmp_path)
    for error in (diverged, not_saved):
        assert str(tmp_path) not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_rule_that_diverges_later_is_not_kept(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = Tuning._trained

    def diverging(self: Tuning, candidate: Candidate, epochs: int) -> Run:
        if candidate.number == 0 and epochs > 2:
            raise DivergedError("the rule does not learn")
        return trained(self, candidate, epochs)

    monkeypatch.setattr(Tuning, "_trained", diverging)
    tuning = ladder(graph, tmp_path, RULE)
    compared = tuning.run()
    assert compared == 18
    assert tuning.candidates[0].mrrs[18] == 0.0
    assert tuning.best(compared).number != 0


def test_a_trial_for_which_memory_does_not_suffice_is_only_a_trial(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = Tuning._trained

    def failing(self: Tuning, candidate: Candidate, epochs: int) -> Run:
        if candidate.number == 1:
            raise RuntimeError("cannot allocate memory")
        return trained(self, candidate, epochs)

    monkeypatch.setattr(Tuning, "_trained", failing)
    tuning = ladder(graph, tmp_path, RULE)
    assert tuning.run() == 18
    assert not tuning.candidates[1].mrrs


def test_ctrl_c_tells_the_best_so_far(graph: Graph, tmp_path: Path) -> None:
    lines = list[str]()

    def stop(what: str, done: int, total: int) -> None:
        if any("trial   3" in line for line in lines):
            os.kill(os.getpid(), signal.SIGINT)

    watch = Watch(say=lines.append, progress=stop, clock=ticking(4.0))
    given = {"rank": 4, "epochs": 9, "validate_every": 1, "precision": "float32"}
    with pytest.raises(TuningInterrupted) as caught:
        tune(graph, given, seconds=1000.0, within=tmp_path, watch=watch)
    assert caught.value.exit_code == 130
    assert "best so far, with MRR" in str(caught.value)
    assert "--reg " in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("settings", [{"validate_every": 0}, {}])
def test_what_cannot_be_compared_is_refused(
    graph: Graph, tmp_path: Path, settings: dict[str, int]
) -> None:
    nothing_held_out = graph if settings else graph.all_in_train()
    with pytest.raises(ConfigError, match="nothing to validate on"):
        tune(nothing_held_out, settings, seconds=1.0, within=tmp_path)
