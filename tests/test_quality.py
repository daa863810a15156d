"""The figure of quality: what is read out of the records of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripts import quality
from scripts.quality import Curve

MRR = [None, 0.33, None, 0.346, 0.345]


def record(name: str = "run", **config: Any) -> dict[str, Any]:
    """Five epochs of 2,050 rows in 20 and more seconds."""
    history = [
        {"epoch": n, "seconds": 20.0 + n % 3, "queries_per_second": 2050 / (20 + n % 3), "mrr": mrr}
        for n, mrr in enumerate(MRR, 1)
    ]
    settings = {"cap": 0, "batch": 1000, "precision": "float32", **config}
    graph = {"name": "FB15K-237"}
    return {"name": name, "graph": graph, "config": settings, "history": history}


def test_a_curve_is_what_the_record_says() -> None:
    curve = Curve.of(record())
    assert (curve.steps, curve.seconds) == (3, 20.0)  # the last step has 50 rows
    assert curve.points == ((2, 0.33), (4, 0.346), (5, 0.345))
    assert (curve.passed, curve.best) == (4, (4, 0.346))


def test_a_goal_that_was_not_passed() -> None:
    made = record()
    made["history"] = made["history"][:2]
    curve = Curve.of(made)
    assert curve.passed is None
    assert "| not yet | – | 0.3300 (2 of 2) |" in "\n".join(quality.section([curve]))


@pytest.mark.parametrize(
    ("config", "label"),
    [
        ({}, "no cap, 1,000 queries a step"),
        ({"cap": 1, "batch": 3636}, "cap 1, 3,636 examples a step"),
        ({"cap": 32}, "cap 32, 1,000 chunks a step"),
        ({"precision": "bfloat16"}, "no cap, 1,000 queries a step, bfloat16"),
    ],
)
def test_labels(config: dict[str, Any], label: str) -> None:
    assert Curve.of(record(**config)).label == label


def test_seconds_of_an_emulated_run_are_shown_nowhere() -> None:
    curve = Curve.of(record("nocap-bfloat16-emulated", precision="bfloat16"))
    assert curve.seconds is None
    text = "\n".join(quality.section([curve]))
    assert "| 3 | – | 0.345 | 4 | – |" in text
    assert "emulated" in text


def test_only_records_of_graphs_with_a_goal_are_curves(tmp_path: Path) -> None:
    other = record()
    other["graph"] = {"name": "UMLS"}
    for name, made in {"one": record(), "other": other}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
    assert [curve.graph for curve in quality.curves(tmp_path)] == ["FB15K-237"]


def test_a_picture_says_of_which_curves_it_is(tmp_path: Path) -> None:
    shown = [Curve.of(record()), Curve.of(record("x-emulated", precision="bfloat16"))]
    quality.draw(shown, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.info["Curves"] == quality.digest(shown)
    assert quality.digest(shown) != quality.digest(shown[:1])
