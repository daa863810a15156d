"""A search does every trial exactly once, whatever is killed, on however many machines."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy
from optuna.pruners import NopPruner

import trifact
from trifact.errors import ConfigError, OutputError, RunError
from trifact.graph.graph import Graph
from trifact.graph.known import in_order
from trifact.graph.storage import open_graph
from trifact.run import history, training
from trifact.run.checkpoint import read_manifest
from trifact.run.folder import CHECKPOINTS, HISTORY, locked
from trifact.run.run import Run
from trifact.trials import search, workers
from trifact.trials.database import StorageError
from trifact.trials.options import SearchConfig
from trifact.trials.pruning import first_cut, pruner
from trifact.trials.queue import TrialQueue
from trifact.trials.search import Search, SearchInterrupted, begin, look_into, reopen
from trifact.trials.space import Space
from trifact.trials.trial import Trial, best_of

PLAIN: dict[str, Any] = {
    "rank": 4,
    "batch": 50,
    "epochs": 3,
    "validate_every": 1,
    "precision": "float32",
}
GRID = Space.from_values({**PLAIN, "reg": [0.01, 0.1], "lr": [0.1, 0.3]})
ALL = SearchConfig(prune=False)


def points(trials: list[Trial]) -> list[tuple[Any, ...]]:
    return sorted(tuple(trial.settings[key] for key in ("reg", "lr")) for trial in trials)


def children() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid]


@pytest.fixture(scope="module")
def grid(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Search:
    """A grid that was gone through by two workers."""
    done = begin(graph, GRID, ALL.replace(workers=2), out=tmp_path_factory.mktemp("grid") / "s")
    done.run()
    return done


def test_a_grid_is_done_whole_and_once_by_two_workers(graph: Graph, grid: Search) -> None:
    trials = grid.trials()
    assert points(trials) == [(0.01, 0.1), (0.01, 0.3), (0.1, 0.1), (0.1, 0.3)]
    assert {trial.state for trial in trials} == {"done"}
    assert not children()
    for trial in trials:
        run = Run(grid.path / trial.folder)  # an ordinary run
        assert (run.config.reg, run.config.lr) == tuple(trial.settings.values())
        assert [epoch.epoch for epoch in run.history] == [1, 2, 3]
        assert run.metrics["mrr"] == trial.mrr == max(trial.course.values())
        assert list(trial.course.values()) == [epoch.mrr for epoch in run.history]
        assert run.graph().content_hash == graph.content_hash
    best = best_of(trials)
    assert best is not None
    assert best.mrr == max(trial.mrr or 0 for trial in trials)
    kept = trifact.TrainConfig.from_toml((grid.path / "best.toml").read_text())
    assert kept == GRID.config(best.settings)


def test_a_search_that_is_done_trains_nothing_more(graph: Graph, grid: Search) -> None:
    def files() -> dict[Path, int]:
        found = (path for path in grid.path.glob("trial-*/**/*") if path.is_file())
        return {path: path.stat().st_mtime_ns for path in found}

    before, told = files(), list[Trial]()
    with pytest.raises(ConfigError, match="a grid has all its points"):
        reopen(grid.path, trials=9)
    again = reopen(grid.path)
    assert again.config.workers == 2  # as it was begun with
    again.run(on_trial=told.append)
    assert not told
    assert before == files()
    rows = [json.loads(line) for line in (grid.path / "trials.jsonl").read_text().splitlines()]
    assert [row["state"] for row in rows] == ["done"] * 4
    assert (grid.path / "trials.csv").read_text().startswith("trial,state,mrr,best_epoch,")
    with pytest.raises(OutputError, match="it is not empty"):
        begin(graph, GRID, ALL, out=grid.path)


def test_a_worker_that_is_killed_loses_nothing(graph: Graph, tmp_path: Path) -> None:
    space = GRID.fixing({"lr": 0.1, "epochs": 8, "patience": 8})
    killed, told = list[int](), list[Trial]()

    def kill(what: str, done: int, total: int) -> None:
        if not killed and "trial 0 epoch 3" in what:
            killed.extend(children())
            os.kill(killed[0], signal.SIGKILL)

    done = begin(graph, space, ALL, out=tmp_path / "s")
    done.run(on_trial=told.append, progress=kill)
    assert len(killed) == 1
    assert [(trial.number, trial.state) for trial in told] == [
        (0, "cut off"),
        (0, "done"),
        (1, "done"),
    ]
    run = Run(tmp_path / "s" / "trial-0000")
    assert [epoch.epoch for epoch in run.history] == list(range(1, 9))
    plain = training.train(graph, run.config, out=tmp_path / "plain")
    assert run.metrics == plain.metrics
    assert [epoch.mrr for epoch in run.history] == list(done.trials()[0].course.values())


def test_a_trial_that_is_given_up_says_how_far_it_came(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "DEATHS", 1)
    space = GRID.fixing({"lr": 0.1, "epochs": 200, "patience": 200})
    killed = list[int]()

    def kill(what: str, done: int, total: int) -> None:
        if not killed and "trial 0 epoch 3" in what:
            killed.extend(children())
            os.kill(killed[0], signal.SIGKILL)

    done = begin(graph, space, ALL, out=tmp_path / "s")
    done.run(progress=kill)
    given_up, other = done.trials()
    assert (given_up.state, other.state) == ("failed", "done")
    assert given_up.epochs >= 3
    assert given_up.seconds > 0
    assert given_up.mrr == max(given_up.course.values())
    assert best_of([given_up]) is None


LEADER = """
import sys
from pathlib import Path
from trifact.trials.search import reopen
if __name__ == "__main__":
    reopen(Path(sys.argv[1]), workers=2).run()
"""


KILLED = """
import os, signal, sys
from pathlib import Path
from trifact.trials.search import reopen

def kill(what, done, total):
    if "trial 0 epoch 3" in what:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    reopen(Path(sys.argv[1]), workers=2).run(progress=kill)
"""


def test_a_leader_that_is_killed_takes_its_workers_along_and_can_be_followed(
    graph: Graph, tmp_path: Path
) -> None:
    long = GRID.fixing({"epochs": 20, "patience": 20, "lr": 0.1})
    begin(graph, long, ALL, out=tmp_path / "s")
    script = tmp_path / "leader.py"
    script.write_text(KILLED)
    leader = subprocess.run([sys.executable, script, tmp_path / "s"], check=False)
    assert leader.returncode == -signal.SIGKILL
    follower = reopen(tmp_path / "s")
    under_way = [trial.number for trial in follower.trials() if trial.state == "under way"]
    assert 0 in under_way
    follower.run()
    assert [trial.state for trial in follower.trials()] == ["done", "done"]
    for trial in follower.trials():
        run = Run(tmp_path / "s" / trial.folder)
        assert [epoch.epoch for epoch in run.history] == list(range(1, 21))


def test_a_hopeless_trial_is_pruned_and_a_good_one_is_not(graph: Graph, tmp_path: Path) -> None:
    """One that diverges ends, too, and the search goes on."""
    space = Space.from_values({**PLAIN, "epochs": 9, "reg": 0.01, "lr": [0.1, 1e-9, 1e30, 0.3]})
    config = SearchConfig(min_epochs=3, sampler_seed=12)
    done = begin(graph, space, config, out=tmp_path / "s")
    done.run()
    assert [trial.settings["lr"] for trial in done.trials()] == [0.1, 1e30, 1e-9, 0.3]
    good, wild, hopeless, better = done.trials()
    assert [t.state for t in done.trials()] == ["done", "diverged", "pruned", "done"]
    assert "training diverged" in wild.reason
    assert hopeless.epochs == 3
    path = tmp_path / "s" / hopeless.folder
    state = read_manifest(path / CHECKPOINTS, "last")["state"]
    assert state["finished"] == hopeless.reason == "pruned by the search in epoch 3"
    assert Run(path).metrics["mrr"] == hopeless.mrr
    assert len(training.resume(path, patience=9).history) == 9  # it can go on like any other
    assert best_of(done.trials()) == max(good, better, key=lambda t: t.mrr or 0)


def test_one_whose_scores_are_no_numbers_has_diverged(graph: Graph, tmp_path: Path) -> None:
    """One step an epoch: the loss before it is finite, and validation finds out."""
    space = Space.from_values({**PLAIN, "epochs": 2, "batch": 10_000, "lr": [0.1, 1e30]})
    done = begin(graph, space, ALL, out=tmp_path / "s")
    done.run()
    states = {trial.settings["lr"]: trial.state for trial in done.trials()}
    assert states == {0.1: "done", 1e30: "diverged"}


def test_pruning_begins_where_it_is_told_to_or_by_rule() -> None:
    space = Space.from_values({**PLAIN, "epochs": 100, "validate_every": 3, "reg": [0.1, 0.2]})
    rule = pruner(space, SearchConfig())
    assert (rule._min_resource, rule._reduction_factor) == (4, 3)  # type: ignore[attr-defined]
    told = pruner(space, SearchConfig(min_epochs=7, reduction=2))
    assert (told._min_resource, told._reduction_factor) == (7, 2)  # type: ignore[attr-defined]
    early = pruner(space, SearchConfig(min_epochs=1))  # nothing is known before epoch 3
    assert early._min_resource == 3  # type: ignore[attr-defined]
    assert [first_cut(space, SearchConfig(min_epochs=n)) for n in (1, 7, 99)] == [3, 9, 99]
    assert first_cut(space, SearchConfig(min_epochs=100)) is None  # all are done by then
    assert isinstance(pruner(space, SearchConfig(min_epochs=100)), NopPruner)


def test_time_that_is_up_and_ctrl_c_save_and_say_how_to_go_on(graph: Graph, tmp_path: Path) -> None:
    endless = GRID.fixing({"epochs": 10**6, "patience": 10**6, "lr": 0.1})
    path, interrupted = tmp_path / "s", list[str]()
    begin(graph, endless, ALL.replace(timeout="4s"), out=path).run()
    before = history.read(path / "trial-0000" / HISTORY)  # none, if it was slow to begin

    def interrupt(what: str, done: int, total: int) -> None:
        if not interrupted and "epoch" in what and not what.endswith("epoch 0"):
            interrupted.append(what)
            os.kill(os.getpid(), signal.SIGINT)

    again = reopen(path)
    assert [trial.ended for trial in again.trials()] == [False, False]
    with pytest.raises(SearchInterrupted) as caught:
        again.run(progress=interrupt)
    assert str(caught.value) == (
        f"stopped with 0 of 2 trials done, all is saved; go on with: trifact search --resume {path}"
    )
    assert caught.value.exit_code == 130
    assert [trial.state for trial in again.trials()] == ["cut off", "waiting"]
    epochs = [epoch.epoch for epoch in Run(path / "trial-0000").history]
    assert epochs == list(range(1, len(epochs) + 1))
    assert len(epochs) > len(before)
    state = read_manifest(path / "trial-0000" / CHECKPOINTS, "last")["state"]
    assert state["epoch"] == len(epochs) + 1
    assert (path / "report.html").exists()
    assert not children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_while_workers_start_is_quiet(
    graph: Graph, tmp_path: Path, number: signal.Signals
) -> None:
    """As Ctrl-C on a terminal sends it, or `timeout`: to the leader and its workers at once."""
    begin(graph, GRID, ALL, out=tmp_path / "s")
    script = tmp_path / "leader.py"
    script.write_text(LEADER)
    command = [sys.executable, str(script), str(tmp_path / "s")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        while not any(t.state == "under way" for t in look_into(tmp_path / "s").trials()):
            assert leader.poll() is None
        os.killpg(leader.pid, number)
        said = leader.stdout.read()
    assert "SearchInterrupted: stopped with 0 of 4 trials done" in said
    assert "KeyboardInterrupt" not in said
    assert all(not trial.ended for trial in look_into(tmp_path / "s").trials())


def test_two_places_work_on_one_search(graph: Graph, tmp_path: Path, postgres: str) -> None:
    config = ALL.replace(storage=postgres)
    one = begin(graph, GRID.fixing({"epochs": 1}), config, out=tmp_path / "one")
    two = begin(graph, GRID.fixing({"epochs": 1}), config, out=tmp_path / "two")
    assert len(one.trials()) == len(two.trials()) == 4
    two.run()
    reopen(tmp_path / "one").run()
    assert [trial.state for trial in one.trials()] == ["done"] * 4
    assert len(list((tmp_path / "two").glob("trial-*"))) == 4
    assert not list((tmp_path / "one").glob("trial-*"))
    best = best_of(one.trials())
    assert best is not None
    assert two.folder_of_best(two.trials()) == tmp_path / "two" / best.folder
    assert one.folder_of_best(one.trials()) is None
    assert (tmp_path / "one/trials.csv").read_text() == (tmp_path / "two/trials.csv").read_text()
    for other, what in ((GRID, "space"), (GRID.fixing({"epochs": 1}), "search")):
        changed = config if what == "space" else config.replace(sampler_seed=5)
        with pytest.raises(ConfigError, match=f"with another {what}; give another name"):
            begin(graph, other, changed, out=tmp_path / "three")
        assert not (tmp_path / "three").exists()


def test_two_leaders_at_once_do_each_trial_once(
    graph: Graph, tmp_path: Path, postgres: str
) -> None:
    config, script = ALL.replace(storage=postgres, name="at once"), tmp_path / "leader.py"
    script.write_text(LEADER)
    space = GRID.fixing({"epochs": 2})
    places = [begin(graph, space, config, out=tmp_path / name).path for name in ("one", "two")]
    leaders = [subprocess.Popen([sys.executable, script, place]) for place in places]
    assert [leader.wait() for leader in leaders] == [0, 0]
    trials = look_into(places[0]).trials()
    assert [trial.state for trial in trials] == ["done"] * 4
    assert len([*tmp_path.glob("*/trial-*")]) == 4
    assert (tmp_path / "one/trials.csv").read_text() == (tmp_path / "two/trials.csv").read_text()


def test_a_storage_that_falls_silent_costs_no_epoch(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = GRID.fixing({"epochs": 50, "patience": 50, "lr": 0.1, "validate_every": 25})
    running, original = begin(graph, long, ALL, out=tmp_path / "s"), TrialQueue.report

    def fail(*_: object, **__: object) -> str:
        raise sqlalchemy.exc.OperationalError("", None, Exception("gone"))

    monkeypatch.setattr(TrialQueue, "report", fail)
    words = r"does not work \(gone\); all is saved; go on with: trifact search --resume"
    with pytest.raises(StorageError, match=words):
        running.run()
    state = read_manifest(tmp_path / "s" / "trial-0000" / CHECKPOINTS, "last")["state"]
    assert state["epoch"] > 25
    monkeypatch.setattr(TrialQueue, "report", original)
    reopen(tmp_path / "s").run()
    assert [trial.state for trial in running.trials()] == ["done", "done"]
    assert len(Run(tmp_path / "s" / "trial-0000").history) == 50


def test_a_trial_that_cannot_be_trained_fails_alone(graph: Graph, tmp_path: Path) -> None:
    """Its rank is not that of the run it would begin with."""
    before = training.train(graph, GRID.config({"reg": 0.01, "lr": 0.1}), out=tmp_path / "before")
    space = Space.from_values({**PLAIN, "rank": [4, 8], "warm_start": str(before.path)})
    done = begin(graph, space, ALL, out=tmp_path / "s")
    done.run()
    states = {trial.settings["rank"]: trial.state for trial in done.trials()}
    assert states == {4: "done", 8: "failed"}
    assert "its rank is 4, not 8" in next(t.reason for t in done.trials() if t.reason)


def test_a_trial_that_does_not_fit_the_graph_fails_alone(tmp_path: Path) -> None:
    ring = [(f"n{i:02}", "next", f"n{(i + 1) % 20:02}") for i in range(20)]
    space = Space.from_values({**PLAIN, "setting": "standard", "relations": [0.0, 0.5]})
    done = begin(trifact.load(ring, valid=0.2, test=0.0), space, ALL, out=tmp_path / "s")
    done.run()
    states = {trial.settings["relations"]: trial.state for trial in done.trials()}
    assert states == {0.0: "done", 0.5: "failed"}


def test_a_damaged_history_measures_nothing(tmp_path: Path) -> None:
    (tmp_path / HISTORY).write_bytes(b"\xff\n{}\n")
    assert workers.measured(tmp_path)["epochs"] == 0


def test_trials_begin_with_a_run_whose_facts_are_not_held_out(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(graph, train=in_order(np.concatenate([graph.train, graph.valid])))
    other = replace(other, valid=graph.valid[:0], test=graph.test[:0])
    before = training.train(other, GRID.config({"reg": 0.01, "lr": 0.1}), out=tmp_path / "before")
    monkeypatch.chdir(tmp_path)  # and the workers of the search are elsewhere
    space = Space.from_values({**PLAIN, "reg": [0.01, 0.1], "warm_start": "before"})
    done = begin(graph, space, ALL, out=tmp_path / "s")
    monkeypatch.chdir("/")
    done.run()
    assert [trial.state for trial in done.trials()] == ["done", "done"]
    assert not before.graph().known("train").contains(open_graph(done.path).valid).any()
    both = Space.from_values({**PLAIN, "warm_start": [str(before.path), ""]})
    with pytest.raises(ConfigError, match="warm_start is the same for all trials"):
        begin(graph, both, ALL, out=tmp_path / "t")


def test_a_search_under_way_gets_no_trials_from_outside(graph: Graph, tmp_path: Path) -> None:
    space = Space.from_values({**PLAIN, "lr": {"low": 0.1, "high": 0.2}})
    running = begin(graph, space, ALL.replace(trials=2), out=tmp_path / "s")
    with locked(running.path), pytest.raises(RunError, match="another process is training here"):
        reopen(running.path, trials=5)
    assert len(running.trials()) == 2
    assert len(reopen(running.path, trials=5).trials()) == 5
    with pytest.raises(ConfigError, match="it has 5 trials already"):
        reopen(running.path, trials=4)
