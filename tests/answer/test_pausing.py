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

from tests.answer.test_sweep import DENSE
from tests.run.conftest import KeepRun
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
    with pytest.raises(OutputError, match=r"cannot be read .* --overwrite to begin anew"):
        kept(run, out)
    assert kept(run, out, overwrite=True)


def test_what_is_there_is_not_overwritten_unless_asked(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="--overwrite"):
        kept(run, out)
    assert out.read_text() == "mine"
    assert kept(run, out, overwrite=True) != b"mine"
    with pytest.raises(OutputError, match=r"name it .tsv, .csv, .json, .parquet or .nt"):
        kept(run, tmp_path / "new.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        kept(run, tmp_path / "file" / "new.tsv")
