"""What `trifact search` says from its beginning to its end, and when it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_commands import run
from tests.cli.test_train import facts
from trifact.run.run import Run

__all__ = ["facts"]
SPACE = """
rank = 4
batch = 50
lr = {low = 0.1, high = 0.3}
epochs = 2
validate_every = 1
precision = "float32"

[search]
trials = 2
prune = false
"""


@pytest.fixture
def space(tmp_path: Path) -> str:
    (tmp_path / "space.toml").write_text(SPACE)
    return "space.toml"


def test_a_search_is_planned_done_shown_and_gone_on_with(
    facts: str, space: str, tmp_path: Path
) -> None:
    begun = run("search", space, "--graph", facts, "--out", "found", cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    said = " ".join(begun.stderr.split())
    assert "found: 2 trials over lr, chosen by TPE, none pruned; 2 to do with 1 worker" in said
    assert said.count(" done MRR ") == 2
    assert "the best settings: found/best.toml" in said
    rows = [line.split() for line in begun.stdout.splitlines() if " done " in line]
    assert [row[1] for row in rows] == ["done", "done"]
    assert float(rows[0][2]) >= float(rows[1][2])
    again = run("search", "--resume", "found", "--trials", "3", cwd=tmp_path)
    said = " ".join(again.stderr.split())
    assert "found: 3 trials over lr, chosen by TPE, none pruned; 1 to do with 1 worker" in said
    assert said.count(" done MRR ") == 1
    kept = [json.loads(line) for line in (tmp_path / "found/trials.jsonl").read_text().splitlines()]
    assert [row["state"] for row in kept] == ["done"] * 3
    assert len(Run(tmp_path / "found/trial-0002").history) == 2
    page = run("report", "found", "--out", "page.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("space.toml",), "say for which graph"),
        (("--resume", "found", "--graph", "World"), "--graph cannot change when a search goes on"),
        ((), "give a space and a --graph, or a search to --resume"),
    ],
)
def test_what_is_lacking_or_too_much_is_said(
    words: tuple[str, ...], sentence: str, space: str, tmp_path: Path
) -> None:
    done = run("search", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
