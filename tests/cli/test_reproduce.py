"""`trifact reproduce` from a recipe to a table; it stops in order, and refuses in one sentence."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from trifact.cli.reproduce import reproduce
from trifact.errors import ConfigError
from trifact.paper import plan
from trifact.run.training import Interrupted
from trifact.tensor.descent import Objective

RECIPE = """
dataset = "Toy"
row = "complex-n3-reciprocal"
size = "small"
[train]
rank = 4
batch = 50
epochs = 3
validate_every = 1
precision = "float32"
[choose]
values = [0.01, 0.1]
epochs = 1
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph that is known by name and a recipe for it."""
    facts = [f"n{i}\tnext\tn{(i + 1) % 40}\n" for i in range(40)]
    (tmp_path / "data/Toy").mkdir(parents=True)
    for split, part in (("train", facts[8:]), ("valid", facts[:4]), ("test", facts[4:8])):
        (tmp_path / "data/Toy" / f"{split}.txt").write_text("".join(part))
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/Toy-complex-n3-reciprocal-small.toml").write_text(RECIPE)
    monkeypatch.setenv("TRIFACT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TRIFACT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    """What the command prints; an error is raised as it is."""
    app = typer.Typer()
    app.command()(reproduce)
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    return done.stdout


TOY = ("--datasets", "Toy", "--recipes", "recipes")


def test_a_table_is_run_kept_and_shown(here: Path) -> None:
    before = run("table2", *TOY, "--show")
    assert "not run" in before
    assert not (here / "runs").exists()
    assert not (here / "results").exists()
    after = run("table2", *TOY)
    assert "not run" not in after
    assert (here / "results/paper/Toy-complex-n3-reciprocal-small.json").exists()
    assert len([*(here / "runs/paper").iterdir()]) == 2
    assert run("table2", *TOY, "--show") == after
    assert run("table2", *TOY) == after


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Objective.step

    def step(self: Objective, *args: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Objective, "step", step)
        with pytest.raises(Interrupted, match="all is saved; go on with the same command"):
            run("table2", *TOY)
    assert "not run" not in run("table2", *TOY)


def test_when_the_time_is_over_the_table_is_shown_as_it_is(here: Path) -> None:
    assert "not run" in run("table2", *TOY, "--time", "0.000001s")
    assert not (here / "results").exists()
    assert "not run" not in run("table2", *TOY, "--time", "1h")


@pytest.mark.parametrize("what", plan.TARGETS)
def test_every_part_is_shown_without_records(what: str) -> None:
    shown = run(what, "--show")
    assert "not run" in shown


def test_studies_are_made_and_shown() -> None:
    assert "40" in run("table1", "--datasets", "Toy")
    assert "100.0 %" in run("symmetry", "--datasets", "Toy")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("table9",), "there is no 'table9' here; known: table1"),
        (("table2", "--rows", "cp-n4-standard"), "table2 has no row 'cp-n4-standard'; near: "),
        (("table2", "--time", "soon"), "'soon' is not a duration"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        run(*words)
