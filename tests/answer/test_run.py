"""A run in Python: what commands do is a method of it, and everything prints as one short line."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trifact
from trifact.answer import calibration
from trifact.answer.run import Run
from trifact.answer.similarity import similar_entities, similar_predicates
from trifact.errors import ConfigError
from trifact.graph.graph import Graph
from trifact.graph.storage import open_graph, save_graph
from trifact.run import run as floor
from trifact.run.folder import new_folder
from trifact.run.history import Epoch

KeepRun = Callable[..., floor.Run]


@pytest.fixture
def run(towns: Graph, keep_run: KeepRun) -> Run:
    return trifact.load_run(keep_run(towns).path)


def test_what_is_alike(run: Run) -> None:
    graph, model = run.graph(), run.model()
    assert run.similar("Town 2") == similar_entities(model, graph, "e02")
    assert run.similar(["e01", "e03"], k=2).columns["name"] == ["e01"] * 2 + ["e03"] * 2
    assert run.similar("likes", predicate=True) == similar_predicates(model, graph, "p0")


def test_factors_leave(run: Run, tmp_path: Path) -> None:
    (file,) = run.export(str(tmp_path / "factors.npz"), format="numpy")
    with np.load(file) as found:
        assert np.array_equal(found["entities"], run.factors()["entity"])


def test_facts_of_another_graph_come_as_a_path_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("e01\tp1\te02\ne03\tp1\te04\n")
    by_path = run.evaluate(tmp_path / "f.tsv", bootstrap=0).metrics["filtered"]
    assert (
        by_path == run.evaluate(trifact.load(tmp_path / "f.tsv"), bootstrap=0).metrics["filtered"]
    )
    with pytest.raises(
        trifact.TrifactError, match="a fact is a subject, a predicate and an object"
    ):
        run.predictor().score([("e01", "p1")])  # type: ignore[list-item]


@pytest.mark.parametrize("form", [lambda towns: towns, Graph.all_in_train])
def test_the_graph_of_a_run_is_no_other_one(
    run: Run, towns: Graph, form: Callable[[Graph], Graph]
) -> None:
    """Its train facts are not ranked with the test facts, also where the splits were drawn."""
    assert towns.draw is not None
    for split in ("test", "valid"):
        found = run.evaluate(form(towns), split=split, bootstrap=0)
        assert np.array_equal(found.ranks.facts, towns.splits[split])


NAME, FACT = "a name must be text or a whole number", "a fact is a subject, a predicate and an"


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda run: run.predictor().objects("e01", np.array([["p1"]])), NAME),
        (lambda run: run.explain(np.array(["e01"]), "p1", "e02"), NAME),
        (lambda run: run.similar(np.array([["e01"]])), NAME),
        (lambda run: run.predictor().score([5]), f"{FACT} object, not 5"),
        (lambda run: run.predictor().score([], k=3), "k is about answers, and here all"),
        (lambda run: run.predictor([("e01", "p1", "x")], valid=0.2), "valid is about splitting"),
        (lambda run: run.predictor().score(["abc"]), f"{FACT} object, not 'abc'"),
        (lambda run: run.predictor().score([b"abc"]), f"{FACT} object, not b'abc'"),
        (lambda run: run.predictor().score([("e01", "p1")]), f"{FACT} object, not ..e01"),
        (lambda run: run.model("final"), "checkpoint must be one of best, last, not 'final'"),
    ],
)
def test_what_is_no_name_fact_or_checkpoint_is_one_sentence(
    run: Run, ask: Callable[[Run], object], sentence: str
) -> None:
    with pytest.raises(trifact.TrifactError, match=sentence):
        ask(run)


def test_new_facts_are_written_again_only_if_that_is_said(run: Run, tmp_path: Path) -> None:
    run.discover(tmp_path / "new.tsv", top=5)
    with pytest.raises(trifact.TrifactError, match="it exists already"):
        run.discover(tmp_path / "new.tsv", top=4)
    run.discover(tmp_path / "new.tsv", top=4, overwrite=True)
    assert (tmp_path / "new.tsv").read_text().count("\n") == 1 + 4


def test_training_can_be_watched_and_ended(towns: Graph, tmp_path: Path) -> None:
    seen = list[int]()

    def watch(epoch: Epoch) -> str | None:
        seen.append(epoch.epoch)
        return "that is enough" if epoch.epoch == 2 else None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few facts give no probabilities
        run = trifact.train(towns, rank=2, epochs=9, out=tmp_path / "run", on_epoch=watch)
    assert (seen, run.ended) == ([1, 2], "that is enough")


@pytest.mark.filterwarnings("ignore:no probabilities")
def test_what_is_no_text_ends_no_training(towns: Graph, tmp_path: Path) -> None:
    """Such as what a progress bar returns when it is moved on."""
    moves: Any = lambda _: True  # noqa: E731
    run = trifact.train(towns, rank=2, epochs=2, out=tmp_path / "run", on_epoch=moves)
    assert len(run.history) == 2


def test_ctrl_c_behind_training_says_where_the_run_is(
    towns: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "calibrate_new", stopped)
    with pytest.raises(KeyboardInterrupt, match="run is trained; its probabilities are made by"):
        trifact.train(towns, rank=2, epochs=1, out=tmp_path / "run")


def test_a_run_without_factors_prints_too(run: Run, tmp_path: Path) -> None:
    shutil.copy(run.path / "config.toml", tmp_path)
    assert repr(Run(tmp_path)) == f"Run({tmp_path}: complex, rank {run.config.rank})"


def test_a_folder_whose_name_looks_like_a_pattern_is_itself(towns: Graph, tmp_path: Path) -> None:
    for name in ("run1", "run[1]", "run?", "run*"):
        save_graph(towns if name == "run1" else towns.all_in_train(), new_folder(tmp_path / name))
    for name in ("run[1]", "run?", "run*"):
        assert not len(open_graph(tmp_path / name).valid)


def test_the_method_evaluates_as_the_function_does(run: Run) -> None:
    assert run.evaluate(k=(1, 3)).metrics == trifact.evaluate(run, k=(1, 3)).metrics


def test_everything_prints_as_one_short_line(run: Run) -> None:
    fact = ("e01", "p1", "e02")
    found = [run.evaluate(), run, run.calibrate(), run.discover(top=3), run.explain(*fact)]
    lines = [repr(one).replace(str(run.path), "RUN").replace("RUN/", "") for one in found]
    assert all(len(line) <= 80 and "\n" not in line for line in lines)
    assert [line.partition(":")[0] for line in lines[:2]] == [
        "Evaluation(evaluation/test",
        "Run(RUN",
    ]
    assert "test MRR" in lines[1]
    assert lines[2].startswith("Calibration(3 predicates, prior ")
    assert lines[3] == "Discovery(3 rows, 8 columns)"
    assert lines[4].startswith("Explanation(e01 · p1 · Town 2: ")


def test_what_can_be_loaded_can_be_trained_on(tmp_path: Path) -> None:
    facts = [(f"e{i}", "next", f"e{i + 1}") for i in range(20)]
    with pytest.warns(UserWarning, match="no probabilities"):
        run = trifact.train(facts, out=tmp_path / "run", rank=2, epochs=1)
    assert len(run.graph().entities) == 21
    with pytest.raises(trifact.TrifactError, match="nowhere"):
        trifact.train(tmp_path / "nowhere.tsv", rank=2)


def test_new_entities_may_come_as_a_graph(run: Run) -> None:
    facts = [("new", "p1", "e02"), ("new", "p0", "e03")]
    given = [run.predictor(which).objects("new", "p1") for which in (facts, trifact.load(facts))]
    assert given[0] == given[1]
    with pytest.raises(ConfigError, match="about reading facts; give some to read"):
        run.predictor(trifact.load(facts), skip_bad_lines=True)


def test_reading_is_only_for_facts_that_are_read(run: Run) -> None:
    with pytest.raises(ConfigError, match="skip_bad_lines is about reading facts; give some"):
        run.predictor(skip_bad_lines=True)


def test_what_is_for_its_own_answers_is_refused_beside_false_facts(run: Run) -> None:
    with pytest.raises(ConfigError, match="k and questions are for answers of its own"):
        run.calibrate("false.tsv", k=3)
