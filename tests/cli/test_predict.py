"""From a trained run to answers: what `predict` and `score` print and write."""

from __future__ import annotations

import dataclasses
import json
import re
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
    (folder / "wrong.txt").write_text("Paris\n\nBerln\n")
    return folder


def test_objects_are_shown_under_their_question(runs: Path) -> None:
    shown = run("predict", "world", "France", "has capital", "-k", "3", cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == "France · has capital · ?"
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert len(shown.stdout.strip().splitlines()) == 2 + 1 + 3
    assert "make one with: trifact calibrate world" in shown.stderr
    assert "1 known answer not shown; --known shows all" in shown.stderr


def test_an_explanation_is_of_the_fact_that_was_asked_about(runs: Path) -> None:
    words = ("France", "has capital", "Paris", "--side", "object", "--tries", "5", "-k", "2")
    found = json.loads(run("explain", "world", *words, "--format", "json", cwd=runs).stdout)
    assert found["labels"] == [*words[:3]]
    assert found["side"] == "object"
    shown = run("explain", "world", *words, cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == "France · has capital · Paris"


def test_factors_leave_in_the_format_that_was_asked_for(runs: Path, tmp_path: Path) -> None:
    to = tmp_path / "factors.npz"
    done = run("export", "world", "--to", str(to), "--format", "numpy", cwd=runs)
    assert done.returncode == 0, done.stderr
    assert str(to) in done.stderr
    again = run("export", "world", "--to", str(to), "--format", "numpy", cwd=runs)
    assert again.returncode == 1
    assert "--overwrite" in again.stderr


def test_a_question_the_wrong_way_round_is_noticed(runs: Path) -> None:
    for words, turn in (((), "object of 'has capital'; ask with --object"), (("--object",), "")):
        shown = run("predict", "world", "Paris", "has capital", *words, cwd=runs)
        assert ("the graph has 'Paris' only as" in shown.stderr) == bool(turn)
        assert turn in shown.stderr
    shown = run("predict", "world", "France", "has capital", "--object", cwd=runs)
    assert "'France' only as subject of 'has capital'; ask without --object" in shown.stderr


def test_numbers_are_whole_though_the_first_answer_has_no_label(tmp_path: Path) -> None:
    facts = [(f"entity {i}", "likes", f"entity {(i + 1) % 9}") for i in range(9)]
    graph = trifact.load(facts, valid=0, test=0)
    labels = dict.fromkeys(
        range(1, 9, 2), "a label that takes a line of the screen for itself " * 2
    )
    graph = dataclasses.replace(graph, entity_labels=labels)
    quick = TrainConfig(rank=2, epochs=1, validate_every=0, precision="float32")
    training.train(graph, quick, out=tmp_path / "run")
    for name in graph.entities:
        shown = run("predict", "run", name, "likes", cwd=tmp_path).stdout
        cells = [line.split() for line in shown.partition(" score \n")[2].splitlines()]
        assert cells
        assert all(re.fullmatch(r"-?\d+\.\d{3}", row[-1]) for row in cells), shown
        assert all(row[0] == "entity" for row in cells)


def test_who_can_have_no_probabilities_is_told_so(tmp_path: Path) -> None:
    graph = trifact.load([("a", "likes", "b"), ("b", "likes", "c")], valid=0, test=0)
    quick = TrainConfig(rank=2, epochs=1, validate_every=0, precision="float32")
    training.train(graph, quick, out=tmp_path / "run")
    for words in (("predict", "run", "a", "likes"), ("discover", "run")):
        said = run(*words, cwd=tmp_path).stderr
        assert "fitting one takes at least 5 validation facts, and there are 0; train with" in said
        assert "trifact calibrate" not in said


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
        (("predict", "world", "France", "has capital", "--types", "nowhere"), "go together"),
        (("predict", "world", "France", "has capital", "--among", "types"), "go together"),
        (("predict", "world", "has capital", "has capital"), "it is one of the predicates"),
        (("predict", "world", "France", "Paris"), "it is one of the entities"),
        (("predict", "world", "France", "has capital", "--budget-mb", "0"), "^--budget-mb must be"),
        (
            ("predict", "world", "France", "has capital", "--candidates", "wrong.txt"),
            r"wrong.txt:3: there is no entity 'Berln'; did you mean 'Berlin'",
        ),
        (("score", "world", "nothing.tsv"), "there is no such file"),
        (("score", "world", "facts.tsv", "--out", "x.doc"), "name it .tsv"),
        (("predict", "world", "France", "Paris", "--header", "no"), "give one with --with"),
        (("evaluate", "world", "--columns", "1,2,3"), "--columns is about a file.* --graph"),
        (("calibrate", "world", "--skip-bad-lines"), "--skip-bad-lines is about.* --negatives"),
        (("calibrate", "world", "--test-negatives", "x.tsv"), "give both"),
        (("discover", "world", "--predicates", ""), "predicates is empty; leave it out"),
        (("calibrate", "world", "--negatives", "x.tsv", "-k", "3"), "leave out --negatives"),
    ],
)
def test_a_mistake_gets_one_sentence(
    runs: Path, words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    with pytest.raises(TrifactError, match=sentence):
        app([*words], standalone_mode=False)


def test_scores_come_in_the_order_of_the_lines_repeated_ones_too(runs: Path) -> None:
    lines = ["Spain,has capital,Madrid", "France,has capital,Paris", "Spain,has capital,Madrid"]
    lines += ["Atlantis,has capital,Paris", "Algeria,has neighbour,Libya"]
    (runs / "order.csv").write_text("\n".join(lines) + "\n")
    shown = run("score", "world", "order.csv", "--format", "tsv", cwd=runs)
    assert [",".join(line.split("\t")[:3]) for line in shown.stdout.splitlines()[1:]] == lines
    assert "order.csv: 5 facts (CSV by name)" in shown.stderr
    assert "order.csv: 1 fact not scored" in shown.stderr


def test_facts_about_new_entities_are_scored_as_they_are_answers(runs: Path) -> None:
    (runs / "zog.tsv").write_text("Zog\tlocated in\tEurope\nZog\thas neighbour\tItaly\n")
    (runs / "wanted.tsv").write_text("Zog\thas neighbour\tFrance\nZog\tlocated in\tEurope\n")
    words = ("--with", "zog.tsv", "--format", "json")
    shown = run("score", "world", "wanted.tsv", *words, cwd=runs)
    wanted, given = json.loads(shown.stdout)
    shown = run("predict", "world", "Zog", "France", "--predicate", *words, cwd=runs)
    (answer,) = [r for r in json.loads(shown.stdout) if r["predicate"] == "has neighbour"]
    assert wanted["score"] == pytest.approx(answer["score"], rel=1e-5)
    assert (wanted["known"], given["known"]) == (False, True)


def test_what_a_message_recommends_for_a_file_of_facts_can_be_said(runs: Path) -> None:
    (runs / "wide.csv").write_text("7;Rome;located in;Italy\n8;Zog;located in;Italy\n")
    refused = run("score", "world", "wide.csv", cwd=runs)
    assert "expected 3 columns, found 1; another separator? see --delimiter" in refused.stderr
    refused = run("score", "world", "wide.csv", "--delimiter", ";", cwd=runs)
    assert "expected 3 columns, found 4; choose three with --columns" in refused.stderr
    said = ("--delimiter", ";", "--columns", "2,3,4")
    rows = json.loads(run("score", "world", "wide.csv", *said, "--format", "json", cwd=runs).stdout)
    assert [row["subject"] for row in rows] == ["Rome", "Zog"]
    shown = run("predict", "world", "Zog", "located in", "--with", "wide.csv", *said, cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert "wide.csv: 2 facts (CSV with ';' by name, columns 2, 3, 4)" in shown.stderr
    for words in (
        ("evaluate", "world", "--graph", "wide.csv", "--bootstrap", "0"),
        ("calibrate", "world", "--negatives", "wide.csv", "--skip-bad-lines"),
        ("classify", "world", "wide.csv", "wide.csv"),
    ):
        done = run(*words, *said, cwd=runs)
        assert "wide.csv: 2 facts" in done.stderr, done.stderr
