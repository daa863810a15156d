"""A queue of trials is one for all machines, and loses none."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from optuna.pruners import SuccessiveHalvingPruner
from sqlalchemy.engine.default import DefaultDialect

from tests.trials.test_search import ALL, GRID
from trifact.errors import ConfigError, RunError
from trifact.trials import queue
from trifact.trials.database import PAUSES, Database, StorageError
from trifact.trials.pruning import pruner
from trifact.trials.queue import TrialQueue
from trifact.trials.space import Space
from trifact.trials.workers import Outcome


def drawn(path: Path, *, of: int) -> list[dict[str, Any]]:
    """The trials that TPE wants, if small rates are good; as many as are missing are added."""
    queue = TrialQueue(Database.in_file(path), "tpe", "here")
    space = Space.from_values({"lr": {"low": 0.01, "high": 0.5, "log": True}, "rank": [1, 2, 3]})
    queue.fill([{} for _ in range(of)])
    queue.use(space, pruner(GRID, ALL), seed=3)
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
    queue.use(GRID.fixing({"lr": 0.1}), pruner(GRID, ALL), seed=0)
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


def test_trials_that_were_let_wait_while_they_are_trained_stay_where_they_are(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept goes on with what nobody took, and begins nothing twice."""
    one, other = queue_of(database, "one"), queue_of(database, "other")
    assert [one.take(), one.take()] == [(0, {"reg": 0.01}), (1, {"reg": 0.1})]
    monkeypatch.setattr(queue, "SILENCE", 0.0)
    assert [other.elsewhere(), other.elsewhere()] == [2, 2]
    assert other.take() == (0, {"reg": 0.01})
    assert one.take() is None  # 1 waits, and is trained here
    assert one.report(1, 1, 0.4) == ""
    assert [trial.state for trial in other.trials()] == ["under way", "under way"]
    assert other.take() is None
    assert one.report(0, 1, 0.5) == "another machine went on with it"
    other.give_back(0)
    assert one.take() is None  # its training here has been told to end
    one.finish(0, Outcome("pruned", "another machine went on with it"))
    assert [trial.state for trial in one.trials()] == ["cut off", "under way"]
    assert one.take() == (0, {"reg": 0.01})
    one.finish(1, Outcome("done", mrr=0.4))
    assert one.trials()[1].mrr == 0.4


def test_a_trial_that_waits_is_work_that_is_left(database: str) -> None:
    """Given back between two looks of a machine that has nothing to do, it is no end."""
    one, other = queue_of(database, "one"), queue_of(database, "other")
    for number in range(2):
        one.take()
        one.give_back(number) if number else one.finish(number, Outcome("done", mrr=0.5))
    assert other.elsewhere() == 1


def test_tables_of_another_version_of_optuna_are_refused(database: str) -> None:
    with Database.of(database).open().engine.begin() as connection:
        connection.execute(sqlalchemy.text("update alembic_version set version_num = 'v0.9.0.a'"))
    with pytest.raises(StorageError, match="no longer compatible with the table schema"):
        Database.of(database).open()


def test_a_verdict_outlives_who_has_heard_it(database: str) -> None:
    """Killed between the verdict and the end, a hopeless trial is still hopeless."""
    first = queue_of(database, "one")
    first.use(GRID.fixing({"lr": 0.1}), SuccessiveHalvingPruner(1, 2), seed=0)
    assert first.take() == (0, {"reg": 0.01})
    assert first.report(0, 1, 0.5) == ""
    first.finish(0, Outcome("done", mrr=0.5))
    assert first.take() == (1, {"reg": 0.1})
    assert first.report(1, 1, 0.1) == "pruned by the search in epoch 1"
    first._taken[1].set_user_attr("outcome", vars(Outcome("pruned")))  # half of its end
    again = queue_of(database, "one")
    assert again.recover() == 1
    assert again.trials()[1].state == "cut off"
    assert again.take() == (1, {"reg": 0.1})
    assert again.verdict(1) == "pruned by the search in epoch 1"
    assert again.verdict(0) == ""


def test_a_trial_at_its_last_epoch_is_done_however_bad(database: str) -> None:
    """Cut off between its last validation and its end, it is no pruned one when taken again."""
    queue = queue_of(database, "one")
    queue.use(GRID.fixing({"lr": 0.1}), SuccessiveHalvingPruner(1, 2), seed=0)
    for number, mrr in enumerate((0.5, 0.1)):
        queue.take()
        assert queue.report(number, 1, mrr, last=True) == ""
        assert queue.verdict(number) == ""


def test_a_death_in_a_trial_of_others_is_not_counted(database: str) -> None:
    one, other = queue_of(database, "one"), queue_of(database, "other")
    assert one.take() == (0, {"reg": 0.01})
    one._requeue(0)  # it fell silent
    assert other.take() == (0, {"reg": 0.01})
    other.finish(0, Outcome("done", mrr=0.5))
    assert one.count_death(0) == 1
    one.give_back(0)
    assert other.trials()[0].state == "done"


def test_a_trial_whose_taker_was_killed_before_it_said_so_is_taken_over(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = queue_of(database, "one"), queue_of(database, "other")
    one._study.ask(one._distributions)
    monkeypatch.setattr(queue, "SILENCE", 0.0)
    assert other.elsewhere() == 2  # heard of for the first time; the second trial waits
    assert other.elsewhere() == 2
    assert other.take() == (0, {"reg": 0.01})


@pytest.mark.parametrize("times", [2, len(PAUSES) + 1])
def test_a_database_that_is_away_for_a_moment_is_waited_for_and_then_given_up(
    database: str, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    queue, connect = queue_of(database, "one"), DefaultDialect.connect
    pauses, asked = list[float](), 0

    def failing(self: DefaultDialect, *words: Any, **named: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked <= times:
            assert self.loaded_dbapi is not None
            raise self.loaded_dbapi.OperationalError("the server starts up")
        return connect(self, *words, **named)

    monkeypatch.setattr(DefaultDialect, "connect", failing)
    monkeypatch.setattr(time, "sleep", pauses.append)
    if times == 2:
        assert queue.take() == (0, {"reg": 0.01})
    else:
        refused = pytest.raises(StorageError, match=r"does not work \(the server starts up\)$")
        with refused, queue.database.answering():
            queue.take()
    assert pauses == list(PAUSES[:times])


def test_a_database_that_never_answered_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    (tmp_path / "a.db").mkdir()
    with pytest.raises(StorageError, match="unable to open database file"):
        Database.in_file(tmp_path / "a.db").open()


def test_what_should_have_begun_is_not_made(database: str) -> None:
    for _ in range(2):
        with pytest.raises(RunError, match="it has no search one; begin a new one"):
            TrialQueue(Database.of(database), "one", "here", begun=True)
    queue_of(database, "here")
    assert len(TrialQueue(Database.of(database), "one", "here", begun=True).trials()) == 2


def test_a_file_of_trials_is_the_same_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(Database.of("sqlite:///here.db")) == f"sqlite:///{tmp_path / 'here.db'}"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nonsense", "storage must be sqlite:///FILE or postgresql://"),
        ("sqlite://", "storage must be sqlite:///FILE"),
        ("mysql://me:secret@there/x", "storage must be .*, not mysql://me:...@there/x"),
        ("postgresql://me@there/x?password=secret", "USER:PASSWORD@HOST, where it is hidden"),
    ],
)
def test_a_storage_that_cannot_be_one_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Database.of(url)
