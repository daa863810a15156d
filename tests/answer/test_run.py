"""A run in Python: what commands do is a method of it, and everything prints as one short line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trifact
from trifact.answer.run import Run
from trifact.answer.similarity import similar_entities, similar_predicates
from trifact.graph.graph import Graph
from trifact.run import run as floor

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
