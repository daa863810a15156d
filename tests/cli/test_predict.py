"""From a trained run to answers: what `predict` and `score` print and write."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import trifact
from tests.cli.test_commands import run
from trifact.cli import app
from trifact.errors import TrifactError
from trifact.run import training
from trifact.run.options import TrainConfig


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run on World that has no calibration, and some files."""
    folder = tmp_path_factory.mktemp("runs")
    quick = TrainConfig(rank=8, epochs=2, batch=500, validate_every=0, precision="float32")
    training.train(trifact.load("World"), quick, out=folder / "world")
    (folder / "facts.tsv").write_text("France\thas capital\tParis\nFrance\thas capital\tAtlantis\n")
    (folder / "cities.txt").write_text("Paris\n\nBerlin\n")
    (folder / "none.txt").write_text("\n")
    return folder


def test_objects_are_shown_under_their_question(runs: Path) -> None:
    shown = run("predict", "world", "France", "has capital", "-k", "3", cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == "France · has capital · ?"
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert len(shown.stdout.strip().splitlines()) == 2 + 1 + 3
    assert "make one: trifact calibrate world" in shown.stderr


def test_subjects_and_predicates_are_asked_for_by_flags(runs: Path) -> None:
    words = ("predict", "world", "Paris", "has capital", "--object", "--known", "--format", "json")
    subjects = json.loads(run(*words, cwd=runs).stdout)
    assert {row["object"] for row in subjects} == {"Paris"}
    assert {"subject", "label", "score", "probability", "known"} <= set(subjects[0])
    words = ("predict", "world", "France", "Paris", "--predicate", "--known", "--format", "tsv")
    header, *rows = run(*words, cwd=runs).stdout.splitlines()
    assert header.split("\t")[:3] == ["subject", "predicate", "object"]
    assert any("has capital" in row and row.endswith("true") for row in rows)


def test_candidates_come_from_a_file(runs: Path) -> None:
    words = ("predict", "world", "Italy", "has capital", "--candidates", "cities.txt")
    found = json.loads(run(*words, "--format", "json", cwd=runs).stdout)
    assert {row["object"] for row in found} == {"Paris", "Berlin"}


def test_scores_of_a_file_keep_every_fact(runs: Path) -> None:
    done = run("score", "world", "facts.tsv", "--out", "scores.json", cwd=runs)
    assert done.returncode == 0, done.stderr
    assert "1 fact not scored" in done.stderr
    rows = {row["object"]: row for row in json.loads((runs / "scores.json").read_text())}
    assert rows["Paris"]["known"] is True
    assert rows["Atlantis"]["score"] is None
    again = run("score", "world", "facts.tsv", "--out", "scores.json", cwd=runs)
    assert again.returncode == 1
    assert "it exists already" in again.stderr
    assert "Atlantis" in run("score", "world", "facts.tsv", cwd=runs).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "France", "has capital"),
        ("score", "facts.tsv"),
        ("similar", "France"),
        ("similar", "--relations"),
    ],
)
def test_nothing_is_said_by_factors_that_were_altered(
    runs: Path, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "world", tmp_path / "copy")
    (factors,) = (tmp_path / "copy/checkpoints").glob("factors-*")
    content = bytearray(factors.read_bytes())
    content[-3] ^= 64
    factors.write_bytes(content)
    monkeypatch.chdir(runs)
    with pytest.raises(TrifactError, match="its content has changed since it was saved; copy"):
        app([words[0], str(tmp_path / "copy"), *words[1:]], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("predict", "nowhere", "a", "b"), "there is no such folder"),
        (("predict", "world", "a", "b", "--object", "--predicate"), "for predicates; give one"),
        (("predict", "world", "Frnace", "has capital"), "did you mean 'France'"),
        (("predict", "world", "France", "capital"), "did you mean 'has capital'"),
        (("predict", "world", "France", "has capital", "-k", "0"), "k must be at least 1"),
        (("predict", "world", "France", "has capital", "--candidates", "none.txt"), "no name in"),
        (("predict", "world", "France", "Paris", "--predicate", "--among", "observed"), "entities"),
        (("score", "world", "nothing.tsv"), "there is no such file"),
        (("score", "world", "facts.tsv", "--out", "x.doc"), "name it .tsv"),
    ],
)
def test_a_mistake_gets_one_sentence(
    runs: Path, words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    with pytest.raises(TrifactError, match=sentence):
        app([*words], standalone_mode=False)
