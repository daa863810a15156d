"""True against false: the best threshold is the best, and a planted truth is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trifact
from tests.run.conftest import KeepRun
from trifact.errors import RunError
from trifact.run import training
from trifact.run.classification import Judged, Thresholds, best_threshold, classify, keep, measured
from trifact.run.options import TrainConfig


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=12))
def test_no_threshold_is_better_than_the_best(facts: list[tuple[int, bool]]) -> None:
    scores, true = np.array([s for s, _ in facts], dtype=float), np.array([t for _, t in facts])
    found = int(((scores >= best_threshold(scores, true)) == true).sum())
    cuts = np.arange(-4, 5) - 0.5
    assert found == max(int(((scores >= cut) == true).sum()) for cut in [*cuts, 9])


def test_a_threshold_lies_in_the_middle_of_two_scores() -> None:
    assert best_threshold(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 1, 1], bool)) == 3.0


def test_a_predicate_with_one_kind_of_facts_takes_the_threshold_of_all() -> None:
    judged = Judged(
        np.array([0, 0, 0, 0, 1, 1]),
        np.array([1.0, 2.0, 4.0, 8.0, 5.0, 6.0]),
        np.array([0, 0, 1, 1, 1, 1], bool),
    )
    found = Thresholds.of(judged)
    assert found.by_predicate == {0: 3.0}
    assert found.otherwise == 3.0
    assert found.accepted(judged).tolist() == [False, False, True, True, True, True]


def test_a_score_at_the_threshold_is_accepted() -> None:
    judged = Judged(np.zeros(3, np.int64), np.array([2.0, 3.0, 4.0]), np.ones(3, bool))
    found = Thresholds.of(judged)
    assert found.otherwise == 2.0
    assert found.accepted(judged).all()


def test_measures_by_hand() -> None:
    judged = Judged(
        np.zeros(5, np.int64), np.array([1.0, 2, 3, 4, 4]), np.array([0, 1, 0, 1, 1], bool)
    )
    found = measured(judged, judged.scores >= 3)
    assert (found["true"], found["false"]) == (3, 2)
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["recall"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["auc"] == pytest.approx(5 / 6)
    nothing = measured(judged, np.zeros(5, bool))
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)


def test_a_planted_parity_is_told_from_its_opposite(tmp_path: Path) -> None:
    facts = [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(60)]
    facts += [(f"n{i:02}", "twin", f"n{(i + 2) % 60:02}") for i in range(60)]
    facts += [(f"n{i:02}", "twin", f"n{(i + 4) % 60:02}") for i in range(60)]
    graph = trifact.load(facts, valid=0.1, test=0.1)
    config = TrainConfig(rank=16, epochs=60, validate_every=0, reg=0.01, precision="float32")
    run = training.train(graph, config, out=tmp_path / "run")
    files = {}
    for split in ("valid", "test"):
        opposite = {"even": "odd", "odd": "even"}
        rows = [[graph.entities[s], graph.predicates[p], graph.entities[o]]
                for s, p, o in graph.splits[split].tolist()]  # fmt: skip
        false = [[s, p, opposite.get(o) or f"n{(int(o[1:]) + 7) % 60:02}"] for s, p, o in rows]
        files[split] = tmp_path / f"{split}_negatives.txt"
        files[split].write_text(
            "".join("\t".join(row) + "\n" for row in [*false, *rows[:2], ["x", "y", "z"]])
        )
    found = classify(
        run, negatives={s: trifact.load(f, valid=0.0, test=0.0) for s, f in files.items()}
    )
    assert found["test"]["accuracy"] > 0.8
    assert found["test"]["auc"] > 0.85
    assert found["left_out"]["test"] == {
        "facts": 1, "entities": 2, "predicates": 1, "known": 2
    }  # fmt: skip
    assert found["test"]["true"] == found["test"]["false"] == len(graph.test)
    keep(found, tmp_path / "kept.json")
    assert found == json.loads((tmp_path / "kept.json").read_text())


def test_false_facts_that_nobody_knows_are_an_error(keep_run: KeepRun, tmp_path: Path) -> None:
    run = keep_run(trifact.load([(f"a{i}", "p", "b") for i in range(9)], valid=0.2, test=0.2))
    (tmp_path / "other.tsv").write_text("x\ty\tz\n")
    other = trifact.load(tmp_path / "other.tsv", valid=0.0, test=0.0)
    with pytest.raises(RunError, match=r"other.tsv: the run knows the names of none of its facts"):
        classify(run, negatives=dict.fromkeys(("valid", "test"), other))
    true = trifact.load([("a1", "p", "b")], valid=0.0, test=0.0)
    with pytest.raises(RunError, match="all of its facts are facts of the graph, so none is false"):
        classify(run, negatives=dict.fromkeys(("valid", "test"), true))
