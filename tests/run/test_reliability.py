"""The report's section on probabilities: shown where they are current, and only there."""

from __future__ import annotations

import json

import pytest

import trifact
from tests.run.conftest import KeepRun
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.run.reliability import FILE, reliability
from trifact.run.run import Run


@pytest.fixture
def graph() -> Graph:
    return trifact.load([(f"a{i}", "p", f"b{i % 3}") for i in range(12)], valid=0.2, test=0.2)


def kept(run: Run, **changes: object) -> None:
    bins = [
        {"low": i / 10, "high": (i + 1) / 10, "weight": 4.0 * (i % 2), "said": i / 10, "true": 0.5}
        for i in range(10)
    ]
    measures = {"ece": 0.0123, "brier": 0.2, "brier_of_share": 0.25, "share_true": 0.5}
    record = {
        "format": 1,
        "factors_sha256": run.factors_hash(),
        "fitted": {"split": "valid", "negatives": None, "k": 7, "note": ""},
        "prior": 0.5,
        "whole": {"slope": 1.0, "intercept": 0.0},
        "by_predicate": [],
        "reliability": {**measures, "bins": bins},
        **changes,
    }
    (run.path / FILE).write_text(json.dumps(record))


def test_a_run_without_calibration_has_no_section(keep_run: KeepRun, graph: Graph) -> None:
    assert reliability(keep_run(graph)) == ""


def test_the_section_shows_said_against_true(keep_run: KeepRun, graph: Graph) -> None:
    run = keep_run(graph)
    kept(run)
    shown = reliability(run)
    assert shown.count("<svg") == 2
    assert shown.count("<circle") == 5  # the bins that have facts
    assert "expected calibration error 0.0123" in shown
    assert "7 best answers" in shown


def test_false_facts_that_were_given_and_a_refit_are_named(keep_run: KeepRun, graph: Graph) -> None:
    run = keep_run(graph)
    fitted = {
        "split": "valid",
        "negatives": "<no>.tsv",
        "k": None,
        "note": "fitted before the refit",
    }
    kept(run, fitted=fitted)
    shown = reliability(run)
    assert "the false facts of &lt;no&gt;.tsv" in shown
    assert "It was fitted before the refit." in shown


def test_a_calibration_of_other_factors_is_not_shown(keep_run: KeepRun, graph: Graph) -> None:
    run = keep_run(graph)
    kept(run, factors_sha256="0" * 64)
    assert reliability(run) == ""


def test_a_damaged_one_is_an_error(keep_run: KeepRun, graph: Graph) -> None:
    run = keep_run(graph)
    (run.path / FILE).write_text("{")
    with pytest.raises(RunError, match="this is no calibration"):
        reliability(run)
