"""What is no run is told what it is, and so is a folder that cannot be one."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

import trifact
from tests.run.conftest import KeepRun
from tests.run.test_evaluation import graph_of
from trifact.errors import InputError, OutputError, RunError
from trifact.graph.storage import open_graph
from trifact.run.evaluation import evaluate, read_evaluation
from trifact.run.folder import LOCK, locked, read_config, told_apart
from trifact.run.protocol import EvaluateConfig


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not the folder of a run"):
        trifact.load_run(tmp_path)
    for number in range(5):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "config.toml").touch()
    with pytest.raises(RunError, match="runs in it: run0, run1, run2, and 2 more"):
        trifact.load_run(tmp_path)


def test_a_run_that_may_not_be_read_is_a_run_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, **_: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", denied)
    for read in (trifact.load_run, open_graph):
        with pytest.raises(
            RunError, match=r"(config.toml|graph.json): cannot be read \(Permission"
        ):
            read(tmp_path)


def test_a_folder_may_be_called_as_a_column(keep_run: KeepRun) -> None:
    """Elsewhere `key=value` in a path is a column of the Parquet files below it."""
    graph = graph_of([(0, 0, 1), (1, 0, 0)])
    path = "split=3/name=x/label=x/kind=x/id=x/subject=7/predicate=7/object=7/side=1/optimistic=9"
    run = keep_run(graph, path)
    assert run.graph().content_hash == graph.content_hash
    found = evaluate(run, EvaluateConfig(split="train"))
    kept = read_evaluation(run, found.path.name)
    assert np.array_equal(kept.ranks.facts, found.ranks.facts)
    assert np.array_equal(kept.ranks.filtered.optimistic, found.ranks.filtered.optimistic)


def test_runs_whose_folders_are_called_the_same_go_by_their_paths() -> None:
    assert told_apart([Path("a/refit"), Path("b/refit"), Path("a/c")]) == [
        "a/refit",
        "b/refit",
        "c",
    ]


def test_a_disk_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(OutputError, match=r"it cannot be locked .*; give a folder on another disk"):
        locked(tmp_path).__enter__()


def test_a_folder_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"caf\\xe9.*: this path is not UTF-8; rename"):
        trifact.train([("a", "p", "b")], rank=1, epochs=1, out=tmp_path / os.fsdecode(b"caf\xe9"))


def test_a_damaged_run_is_said_to_be_one(keep_run: KeepRun) -> None:
    run = keep_run(graph_of([(0, 0, 1), (1, 0, 0)]))
    (run.path / "machine.json").write_text("")
    assert run.machine == {}
    history = run.path / "history.jsonl"
    history.write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="this is not a history"):
        _ = run.history
    (run.path / "config.toml").write_text("")
    with pytest.raises(RunError, match="it is damaged, or not of a run"):
        read_config(run.path)


def test_a_folder_that_cannot_be_written_is_said_by_its_name(tmp_path: Path) -> None:
    (tmp_path / LOCK).mkdir()
    with pytest.raises(OutputError, match=rf"^{tmp_path}: cannot be written \("), locked(tmp_path):
        pass
