"""A discovery survives its own end at any step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import trifact
from tests.answer.test_sweep import DENSE
from tests.run.conftest import KeepRun
from trifact import durable
from trifact.answer import discovery, pausing
from trifact.answer.calibration import calibrate
from trifact.answer.discovery import Interrupted, discover
from trifact.answer.options import DiscoverConfig
from trifact.errors import OutputError
from trifact.run.run import Run


def kept(run: Run, out: Path, **more: object) -> bytes:
    """What is written, to the last byte."""
    discover(run, DiscoverConfig(top=30), out=out, **more)  # type: ignore[arg-type]
    assert not pausing.beside(out).exists()
    return out.read_bytes()


@pytest.fixture
def run(keep_run: KeepRun, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run with probabilities, whose discovery is kept after every step."""
    monkeypatch.setattr(discovery, "SAVE_SECONDS", 0.0)
    run = keep_run(DENSE)
    calibrate(run)
    return run


class Killed(BaseException):
    """As sudden as a kill: nothing of ours catches it."""


def after(steps: int, do: Callable[[], None]) -> Callable[[str, int, int], None]:
    """A progress that does something when so many steps are done."""
    left = [steps]

    def show(what: str, done: int, total: int) -> None:
        assert 0 < done <= total
        left[0] -= 1
        if left[0] == 0:
            do()

    return show


def die() -> None:
    raise Killed


@pytest.mark.parametrize("steps", range(1, 10))
def test_an_end_after_any_step_leaves_what_the_next_one_needs(
    run: Run, tmp_path: Path, steps: int
) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv"
    with pytest.raises(Killed):
        kept(run, out, progress=after(steps, die))
    assert pausing.beside(out).exists()
    assert not out.exists()
    done = [0]

    def count(what: str, now: int, total: int) -> None:
        done[0] += 1

    assert kept(run, out, progress=count) == whole
    assert done[0] == 10 - steps  # nine steps, and the one that was not kept is done again


KILLED = """
import os, signal, sys
from pathlib import Path
from trifact.answer import discovery
from trifact.answer.options import DiscoverConfig
from trifact.run.run import Run

discovery.SAVE_SECONDS = 0.0
left = [int(sys.argv[3])]

def show(what, done, total):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

discovery.discover(Run(sys.argv[1]), DiscoverConfig(top=30), out=Path(sys.argv[2]), progress=show)
"""


def test_a_discovery_that_was_killed_twice_goes_on(run: Run, tmp_path: Path) -> None:
    whole, out = kept(run, tmp_path / "whole.parquet"), tmp_path / "new.parquet"
    for steps in (3, 4):
        words = [sys.executable, "-c", KILLED, str(run.path), str(out), str(steps)]
        ended = subprocess.run(words, check=False, env={**os.environ})
        assert ended.returncode == -signal.SIGKILL
    assert kept(run, out) == whole


def test_ctrl_c_keeps_where_it_stands(run: Run, tmp_path: Path) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv"
    discovery.SAVE_SECONDS = 1000.0  # the fixture puts it back
    ask = after(4, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Interrupted, match="go on with the same command"):
        kept(run, out, progress=ask)
    assert kept(run, out) == whole


def test_another_request_does_not_go_on_with_what_is_there(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    with pytest.raises(Killed):
        kept(run, out, progress=after(3, die))
    with pytest.raises(OutputError, match="another discovery stopped here"):
        discover(run, DiscoverConfig(top=31), out=out)
    assert len(discover(run, DiscoverConfig(top=31), out=out, overwrite=True)) == 31
    other = tmp_path / "other.tsv"
    with pytest.raises(Killed):
        kept(run, other, progress=after(3, die))
    record = json.loads((run.path / "calibration.json").read_text())
    record["by_predicate"][0]["slope"] *= 2
    (run.path / "calibration.json").write_text(json.dumps(record))
    with pytest.raises(OutputError, match="another discovery stopped here"):
        kept(run, other)


def test_a_standing_that_is_damaged_is_refused(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    pausing.beside(out).write_bytes(b"\x07" * 50)
    with pytest.raises(OutputError, match=r"cannot be read .* overwrite=True to begin anew"):
        kept(run, out)
    assert kept(run, out, overwrite=True)


def test_what_is_there_is_not_overwritten_unless_asked(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="overwrite=True"):
        kept(run, out)
    assert out.read_text() == "mine"
    assert kept(run, out, overwrite=True) != b"mine"
    with pytest.raises(OutputError, match=r"name it .tsv, .csv, .json, .parquet or .nt"):
        kept(run, tmp_path / "new.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        kept(run, tmp_path / "file" / "new.tsv")


def test_ctrl_c_in_python_is_no_error_that_a_loop_goes_on_over(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out, keep = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv", pausing.keep

    def keep_and_ask(path: Path, request: pausing.Request, standing: pausing.Standing) -> None:
        keep(path, request, standing)
        if standing.done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(pausing, "keep", keep_and_ask)
    with pytest.raises(KeyboardInterrupt, match="go on with the same command or call"):
        trifact.load_run(run.path).discover(out, top=30)
    assert kept(run, out) == whole


def full_disk(monkeypatch: pytest.MonkeyPatch, *endings: str) -> None:
    """From now on nothing can be written to files that end so."""
    sync = durable.synced

    def full(path: Path) -> None:
        if path.name.endswith(tuple(f"{ending}.{os.getpid()}.part" for ending in endings)):
            raise OSError(28, "No space left on device")
        sync(path)

    monkeypatch.setattr(durable, "synced", full)


def test_a_standing_that_cannot_be_kept_does_not_end_the_discovery(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out, said = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv", list[str]()
    fill = after(2, lambda: full_disk(monkeypatch, ".discovery"))
    assert kept(run, out, progress=fill, say=said.append) == whole
    (sentence,) = said
    assert "No space left on device); the discovery goes on, but" in sentence
    assert [path.name for path in tmp_path.glob("*new.tsv*")] == ["new.tsv"]


def test_what_could_not_be_kept_is_not_said_to_be(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv"

    def fill_and_ask() -> None:
        full_disk(monkeypatch, ".discovery")
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"could not be kept: .*goes on from where it was kept"):
        kept(run, out, progress=after(4, fill_and_ask))
    monkeypatch.undo()  # there is room again
    assert kept(run, out) == whole


def test_a_disk_on_which_the_result_has_no_room_ends_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new.tsv"
    fill = after(2, lambda: full_disk(monkeypatch, ".discovery", ".tsv"))
    with pytest.raises(OutputError, match=r"new.tsv: .*No space left on device"):
        kept(run, out, progress=fill, say=[].append)
    assert not out.exists()


def test_a_second_discovery_to_the_same_file_is_refused(run: Run, tmp_path: Path) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "folder" / "new.tsv"
    refused = list[str]()

    def second() -> None:
        with pytest.raises(OutputError, match="another process is writing here") as error:
            kept(run, out, overwrite=True)
        refused.append(str(error.value))
        assert kept(run, out.with_name("other.tsv")) == whole

    assert kept(run, out, progress=after(3, second)) == whole
    assert len(refused) == 1
    assert sorted(path.name for path in out.parent.iterdir()) == ["new.tsv", "other.tsv"]


def test_the_lock_of_a_process_that_was_killed_locks_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".new.tsv.lock").touch()
    assert kept(run, tmp_path / "new.tsv")
    assert not (tmp_path / ".new.tsv.lock").exists()
