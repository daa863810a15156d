"""From training to tables and back: what `evaluate`, `compare` and `classify` print and keep."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import trifact
from tests.cli.test_commands import run
from trifact.cli import app
from trifact.errors import OutputError, TrifactError
from trifact.run import training
from trifact.run.options import TrainConfig


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs on World and one on another graph."""
    folder, world = tmp_path_factory.mktemp("runs"), trifact.load("World")
    quick = TrainConfig(rank=4, epochs=1, batch=1000, validate_every=0, precision="float32")
    training.train(world, quick, out=folder / "one")
    training.train(world, quick.replace(model="cp"), out=folder / "two")
    other = trifact.load([(f"a{i}", p, f"b{i % 3}") for i in range(30) for p in ("p", "q")])
    training.train(other, quick, out=folder / "other")
    return folder


def test_an_evaluation_is_shown_kept_and_part_of_the_run(runs: Path) -> None:
    shown = run("evaluate", "one", "--raw", cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for words in ("Filtered by train, valid, test", "towards subjects", "m-m", "Raw", "H@10",
                  "mean predicate", "The 5 best and worst of 20 predicates"):  # fmt: skip
        assert words in shown.stdout
    kept = json.loads((runs / "one/evaluation/test/metrics.json").read_text())
    assert f"{kept['filtered']['overall']['mrr']:.4f}" in shown.stdout
    again = trifact.load_run(runs / "one")
    assert again.metrics["test"]["mrr"] == kept["filtered"]["overall"]["mrr"]


def test_an_evaluation_as_json_has_what_was_asked_for(runs: Path) -> None:
    words = ("--split", "valid", "--filter", "train,valid", "--k", "2,5", "--bootstrap", "20",
             "--type-constrained", "--double", "--json")  # fmt: skip
    done = run("evaluate", "one", *words, cwd=runs)
    found = json.loads(done.stdout)
    assert found["label"] == "valid-type-constrained-filter-train-valid-float64"
    assert found["protocol"]["k"] == [2, 5]
    assert "hits@5" in found["filtered"]["overall"]
    assert found["protocol"]["bootstrap"]["resamples"] == 20
    kept = runs / "one" / "evaluation" / found["label"] / "metrics.json"
    assert found == json.loads(kept.read_text())


def test_a_comparison_evaluates_what_was_not_and_shows_both(runs: Path) -> None:
    shown = run("compare", "one", "two", cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "Wilcoxon signed-rank, two-sided, zeros as by Pratt" in shown.stdout
    assert (runs / "two/evaluation/test/ranks.parquet").exists()
    results = json.loads(run("compare", "one", "two", "two/../two", "--json", cwd=runs).stdout)
    assert [result["runs"] for result in results] == [["one", "two"], ["one", "two/../two"]]
    assert results[0]["overall"] == results[1]["overall"]


def test_classification_is_shown_and_kept(runs: Path) -> None:
    graph = trifact.load_run(runs / "one").graph()
    for split in ("valid", "test"):
        facts = [(graph.entities[o], graph.predicates[p], graph.entities[s])
                 for s, p, o in graph.splits[split].tolist()]  # fmt: skip
        (runs / f"{split}.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    shown = run("classify", "one", "valid.tsv", "test.tsv", cwd=runs)
    assert shown.returncode == 0, shown.stderr
    assert "Accuracy" in shown.stdout
    assert (runs / "one/evaluation/classification.json").exists()


def test_a_run_that_cannot_be_written_to_is_measured_all_the_same(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        shutil.copytree(runs / name, tmp_path / name, ignore=shutil.ignore_patterns("evaluation"))
        (tmp_path / name / "evaluation").touch()  # no folder can be made here
    (tmp_path / "false.tsv").write_text("France\thas capital\tBerlin\n")
    monkeypatch.chdir(tmp_path)
    for words in (
        ("evaluate", "one"),
        ("compare", "one", "two"),
        ("classify", "one", "false.tsv", "false.tsv"),
        ("report", "one", "--out", "page.html"),
    ):
        app([*words], standalone_mode=False)
        said = " ".join(capsys.readouterr().err.split())
        assert "not kept: one/evaluation/" in said, words
        assert "kept in" not in said, words
    assert (tmp_path / "page.html").exists()
    with pytest.warns(UserWarning, match="not kept: .* cannot be written"):
        found = trifact.evaluate(trifact.load_run("one"))
    assert found.metrics["filtered"]["overall"]["mrr"] > 0


def test_a_report_has_no_place_in_a_run_that_cannot_be_written_to(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "one", tmp_path / "one")
    (tmp_path / "one/report.html").mkdir()  # no file can be made here
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match=r"report.html: cannot be .*; give another place: --out"):
        app(["report", "one"], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("evaluate", "nowhere"), "nowhere: there is no such folder; give that of a run"),
        (("evaluate", "."), "this is not the folder of a run; .*; runs in it: one, other, two"),
        (("evaluate", "one", "--k", "1,x"), "k must be int between commas, not '1,x'"),
        (("evaluate", "one", "--split", "dev"), "split must be one of"),
        (("evaluate", "one", "--types", "nowhere.tsv"), "nowhere.tsv: cannot be read"),
        (("compare", "one"), "give two runs or more"),
        (("compare", "one", "other"), "their graphs differ"),
        (("compare", "one", "two", "--label", "mine"), "there is no such evaluation"),
        (("classify", "one", "nowhere.tsv", "x.tsv"), "there is no such file"),
    ],
)
def test_a_mistake_gets_one_sentence(
    runs: Path, words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    with pytest.raises(TrifactError, match=sentence):
        app([*words], standalone_mode=False)
