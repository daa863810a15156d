"""A search does every trial exactly once, whatever is killed, on however many machines."""

from __future__ import annotations

import getpass
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import trifact
from trifact.errors import ConfigError, OutputError, RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.run import history, training
from trifact.run.checkpoint import read_manifest
from trifact.run.folder import CHECKPOINTS, HISTORY
from trifact.run.run import Run
from trifact.trials import queue, search
from trifact.trials.database import Database
from trifact.trials.options import SearchConfig
from trifact.trials.queue import TrialQueue
from trifact.trials.search import Search, SearchInterrupted, begin, look_into, reopen
from trifact.trials.space import Space
from trifact.trials.trial import Trial, best_of
from trifact.trials.workers import Outcome

PLAIN: dict[str, Any] = {
    "rank": 4,
    "batch": 50,
    "epochs": 3,
    "validate_every": 1,
    "precision": "float32",
}
GRID = Space.from_values({**PLAIN, "reg": [0.01, 0.1], "lr": [0.1, 0.3]})
ALL = SearchConfig(prune=False)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a real server in a throw-away cluster, on a socket of its own."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("there is no PostgreSQL server here (Debian: apt-get install postgresql)")
    binaries = found[-1].parent
    user = "nobody" if os.getuid() == 0 else getpass.getuser()  # initdb refuses root
    folder = Path(tempfile.mkdtemp(prefix="trifact-postgres-"))
    shutil.chown(folder, user)

    def server(program: str, *words: str) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        whom = {"user": user, "extra_groups": []} if os.getuid() == 0 else {}
        command = [binaries / program, "-D", folder / "data", *words]
        subprocess.run(command, check=True, cwd=folder, **quiet, **whom)  # type: ignore[call-overload]

    server("initdb", "-U", "trifact", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8")
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    server("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    yield f"postgresql://trifact@/postgres?host={folder}"
    server("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'shared.db'}"
    server = sqlalchemy.make_url(request.getfixturevalue("postgres"))
    name = f"test_{time.time_ns()}"
    engine = sqlalchemy.create_engine(
        server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f"create database {name}"))
    engine.dispose()
    return server.set(database=name).render_as_string()


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


LEADER = """
import sys
from pathlib import Path
from trifact.trials.search import reopen
if __name__ == "__main__":
    reopen(Path(sys.argv[1]), workers=2).run()
"""


def test_a_leader_that_is_killed_takes_its_workers_along_and_can_be_followed(
    graph: Graph, tmp_path: Path
) -> None:
    long = GRID.fixing({"epochs": 20, "patience": 20, "lr": 0.1})
    begin(graph, long, ALL, out=tmp_path / "s")
    script = tmp_path / "leader.py"
    script.write_text(LEADER)
    with subprocess.Popen([sys.executable, script, tmp_path / "s"]) as leader:
        checkpoint = tmp_path / "s" / "trial-0000" / CHECKPOINTS / "last.json"
        while not checkpoint.exists():
            assert leader.poll() is None
            time.sleep(0.02)
        leader.kill()
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
    rule = search._pruner(space, SearchConfig())
    assert (rule._min_resource, rule._reduction_factor) == (4, 3)  # type: ignore[attr-defined]
    told = search._pruner(space, SearchConfig(min_epochs=7, reduction=2))
    assert (told._min_resource, told._reduction_factor) == (7, 2)  # type: ignore[attr-defined]


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


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals of POSIX")
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


def drawn(path: Path, *, of: int) -> list[dict[str, Any]]:
    """The trials that TPE wants, if small rates are good; as many as are missing are added."""
    queue = TrialQueue(Database.in_file(path), "tpe", "here")
    space = Space.from_values({"lr": {"low": 0.01, "high": 0.5, "log": True}, "rank": [1, 2, 3]})
    queue.fill([{} for _ in range(of)])
    queue.use(space, search._pruner(GRID, ALL), seed=3)
    while taken := queue.take():
        number, settings = taken
        queue.report(number, 1, 1 - settings["lr"])
        queue.finish(number, Outcome("done", mrr=1 - settings["lr"]))
    return [trial.settings for trial in queue.trials()]


def test_tpe_draws_the_same_with_the_same_seed_also_after_a_stop(tmp_path: Path) -> None:
    whole = drawn(tmp_path / "whole.db", of=14)
    assert drawn(tmp_path / "parts.db", of=6) == whole[:6]
    assert drawn(tmp_path / "parts.db", of=14) == whole
    rates = [settings["lr"] for settings in whole]
    assert len(set(rates)) == 14
    assert all(0.01 <= rate <= 0.5 for rate in rates)


MACHINE = """
import json, sys
from optuna.pruners import NopPruner
from trifact.trials.database import Database
from trifact.trials.space import Space
from trifact.trials.queue import TrialQueue
queue = TrialQueue(Database.of(sys.argv[1]), "race", sys.argv[2])
values = [float(k) for k in range(12)]
queue.fill([{"reg": value} for value in values])
queue.use(Space.from_values({"reg": values}), NopPruner(), seed=0)
while taken := queue.take():
    print(json.dumps(taken))
"""


def test_machines_that_begin_at_once_make_one_queue_and_take_each_trial_once(
    database: str,
) -> None:
    command = [sys.executable, "-W", "error", "-c", MACHINE, database]
    pipe = subprocess.PIPE
    machines = [subprocess.Popen([*command, f"m{k}"], stdout=pipe, text=True) for k in range(3)]
    lines = [line for machine in machines for line in machine.communicate()[0].splitlines()]
    assert [machine.returncode for machine in machines] == [0, 0, 0]
    taken = sorted(json.loads(line) for line in lines)
    assert taken == [[number, {"reg": float(number)}] for number in range(12)]


def queue_of(url: str, place: str) -> TrialQueue:
    queue = TrialQueue(Database.of(url), "one", place)
    queue.fill([{"reg": 0.01}, {"reg": 0.1}])
    queue.use(GRID.fixing({"lr": 0.1}), search._pruner(GRID, ALL), seed=0)
    return queue


def test_what_another_machine_left_is_taken_over_when_it_has_fallen_silent(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = queue_of(database, "one"), queue_of(database, "other")
    assert one.take() == (0, {"reg": 0.01})
    assert one.report(0, 1, 0.5) == ""
    assert other.take() == (1, {"reg": 0.1})
    assert other.take() is None
    assert other.elsewhere() == 1
    assert other.recover() == 1  # its own, as if it had been killed
    assert [trial.state for trial in one.trials()] == ["under way", "cut off"]
    monkeypatch.setattr(queue, "BEAT", 0.0)
    monkeypatch.setattr(queue, "SILENCE", 0.0)
    one.beat()
    assert other.elsewhere() == 1  # a sign of life
    assert other.elsewhere() == 1
    assert [trial.state for trial in one.trials()] == ["cut off", "cut off"]
    assert other.take() == (0, {"reg": 0.01})
    assert one.report(0, 2, 0.6) == "another machine went on with it"
    one.beat()
    one.finish(0, Outcome("done", mrr=0.6))
    assert other.trials()[0].state == "under way"
    other.finish(0, Outcome("done", mrr=0.7, best_epoch=2, epochs=3))
    assert (other.trials()[0].state, other.trials()[0].mrr) == ("done", 0.7)


def test_a_trial_whose_taker_was_killed_before_it_said_so_is_taken_over(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = queue_of(database, "one"), queue_of(database, "other")
    one._study.ask(one._distributions)
    monkeypatch.setattr(queue, "SILENCE", 0.0)
    assert other.elsewhere() == 1  # heard of for the first time
    assert other.elsewhere() == 1
    assert other.take() == (0, {"reg": 0.01})


def test_a_file_of_trials_is_the_same_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Database.of("sqlite:///here.db")) == f"sqlite:///{tmp_path / 'here.db'}"


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
        with pytest.raises(ConfigError, match=f"with another {what}; give another --name"):
            begin(graph, other, changed, out=tmp_path / "three")
        assert not (tmp_path / "three").exists()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nonsense", "storage must be sqlite:///FILE or postgresql://"),
        ("sqlite://", "storage must be sqlite:///FILE"),
        ("mysql://me:secret@there/x", "storage must be .*, not mysql://me:...@there/x"),
    ],
)
def test_a_storage_that_cannot_be_one_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Database.of(url)


def test_a_storage_that_does_not_answer_is_one_sentence(graph: Graph, tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    url = f"postgresql://me:secret@/x?host={tmp_path}"
    with pytest.raises(RunError, match="the storage of the trials does not work") as caught:
        begin(graph, GRID, ALL.replace(storage=url), out=tmp_path / "s")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_what_cannot_be_searched_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no validation facts"):
        begin(graph.all_in_train(), GRID, out=tmp_path / "s")
    ranged = Space.from_values({**PLAIN, "lr": {"low": 0.1, "high": 0.2}})
    with pytest.raises(ConfigError, match="lr is a range; a grid needs a list"):
        begin(graph, ranged, SearchConfig(sampler="grid"), out=tmp_path / "s")
    with pytest.raises(RunError, match="this is not the folder of a search"):
        reopen(tmp_path)
    with pytest.raises(RunError, match="sampler cannot change when a search goes on"):
        reopen(tmp_path, sampler="tpe")
    (tmp_path / "search.json").write_text('{"format": 99, "name": "", "place": "", "storage": ""}')
    with pytest.raises(RunError, match="its format is 99"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text("{}")
    with pytest.raises(RunError, match="this is no record of a search"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text("[]")
    with pytest.raises(RunError, match="this is no record of a search"):
        reopen(tmp_path)
    hidden = {"name": "x", "place": "y", "storage": "postgresql://me:***@there/x", "workers": 1}
    (tmp_path / "search.json").write_text(json.dumps({"format": 1, **hidden}))
    with pytest.raises(ConfigError, match=r"password .* is not kept; say it with .* --storage URL"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text(json.dumps({"format": 1, **hidden, "storage": ""}))
    with pytest.raises(RunError, match=r"trials\.db: the storage of this search is gone"):
        reopen(tmp_path)
    assert not (tmp_path / "trials.db").exists()
    assert not (tmp_path / "s").exists()


def test_an_error_of_the_machine_ends_the_search_with_its_sentence(
    graph: Graph, tmp_path: Path
) -> None:
    running = begin(graph, GRID, ALL, out=tmp_path / "s")
    (tmp_path / "s" / "trial-0000").write_text("a file where a folder should be")
    with pytest.raises(TrifactError, match="trial-0000"):
        running.run()
    assert [trial.state for trial in running.trials()][:1] == ["cut off"]
    assert not children()
