"""Probabilities kept with a run: they come back as they were, and only to the factors they fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import check_calibration

import trifact
from tests.run.conftest import KeepRun
from trifact.answer.calibration import (
    Calibration,
    adopt,
    advice,
    calibrate,
    calibrate_new,
    judge,
    read_calibration,
)
from trifact.answer.chances import measures
from trifact.answer.options import CalibrateConfig
from trifact.cli.calibrating import run_calibration
from trifact.errors import ConfigError, RunError
from trifact.graph.graph import Graph
from trifact.graph.known import KnownAnswers, in_order
from trifact.run import training
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import Model

SCORES = np.linspace(-9, 0, 40)


def said_of(found: Calibration, graph: Graph, predicate: int) -> np.ndarray:
    """What is said of one fact, had it these scores."""
    facts = np.tile([3, predicate, 7], (len(SCORES), 1))
    return found.probabilities(facts, SCORES, graph.known("train"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that knows something about World."""
    config = TrainConfig(rank=10, epochs=6, batch=300, validate_every=0, precision="float32")
    return training.train(trifact.load("World"), config, out=tmp_path_factory.mktemp("w") / "run")


@pytest.fixture(scope="module")
def found(world: Run) -> Calibration:
    return calibrate(world)


def test_what_is_kept_comes_back_as_it_was(world: Run, found: Calibration) -> None:
    again = read_calibration(world)
    assert again is not None
    graph = world.graph()
    for predicate in range(len(graph.predicates)):
        said = said_of(found, graph, predicate)
        assert said_of(again, graph, predicate).tolist() == said.tolist()
        assert (np.diff(said) > 0).all()
    assert again.prior == found.prior
    assert again.record == found.record


def test_the_record_says_what_it_was_fitted_on(world: Run, found: Calibration) -> None:
    record, graph = found.record, world.graph()
    assert record["factors_sha256"] == world.factors_hash()
    assert record["graph"] == graph.content_hash
    assert record["fitted"]["split"] == "valid"
    assert record["fitted"]["k"] == 10
    assert record["fitted"]["questions"]["asked"] == record["fitted"]["questions"]["of"]
    counted = sum(row["true"] + row["false"] for row in record["by_predicate"])
    assert counted == record["reliability"]["weight"]
    assert record["prior"] == pytest.approx(record["reliability"]["share_true"], abs=1e-3)


def test_probabilities_hold_on_facts_they_were_not_fitted_on(
    world: Run, found: Calibration
) -> None:
    on_test = judge(world, found, CalibrateConfig())
    for kept in (found.record["reliability"], on_test):
        assert kept["ece"] < 0.05
        assert kept["brier"] < 0.8 * kept["brier_of_share"]
    whole = found.record["reliability_of_whole"]
    assert found.record["reliability"]["log_loss"] < whole["log_loss"]


def test_the_same_run_gives_the_same_calibration(world: Run, found: Calibration) -> None:
    assert calibrate(world).record == found.record


def test_another_prior_moves_the_odds_by_its_own(world: Run, found: Calibration) -> None:
    graph, other = world.graph(), found.with_prior(0.5)
    before, after = said_of(found, graph, 0), said_of(other, graph, 0)
    bayes = before / (1 - before) * (1 - found.prior) / found.prior  # prior odds of one
    np.testing.assert_allclose(after / (1 - after), bayes, rtol=1e-9)
    assert other.prior == 0.5
    back = said_of(other.with_prior(found.prior), graph, 0)
    np.testing.assert_allclose(back, before, rtol=1e-12)


@pytest.mark.parametrize("prior", [0.0, 1.0, -1.0, math.nan])
def test_a_prior_that_is_none_is_refused(found: Calibration, prior: float) -> None:
    with pytest.raises(ConfigError, match="prior must lie between 0 and 1"):
        found.with_prior(prior)


def test_a_predicate_that_validation_lacks_has_the_map_of_all(
    keep_run: KeepRun, towns: Graph
) -> None:
    held_out = np.concatenate([towns.valid, towns.test])
    graph = replace(towns, valid=in_order(held_out[held_out[:, 1] != 2]), test=towns.test[:0])
    found = calibrate(keep_run(graph))
    there = np.unique(graph.valid[:, 1]).tolist()
    assert 2 not in there
    assert [row["id"] for row in found.record["by_predicate"]] == there
    slope, intercept = found.record["whole"].values()
    known = graph.known("train")
    evidence = measures(np.tile([3, 2, 7], (len(SCORES), 1)), SCORES, known) @ found.answers.weights
    log_odds = slope * evidence + intercept
    np.testing.assert_allclose(said_of(found, graph, 2), 1 / (1 + np.exp(-log_odds)), rtol=1e-12)
    assert found.doubts(np.array(there)) == []
    assert (
        "the probabilities of 2 of these are those of" in found.doubts(np.array([2, 2, *there]))[0]
    )
    assert "the probabilities of these are those of" in found.doubts(np.array([2]))[0]


def test_next_to_nothing_is_not_fitted_on(world: Run) -> None:
    false = trifact.load([("France", "has capital", "Berlin")], valid=0.0, test=0.0)
    with pytest.raises(RunError, match="too few to fit probabilities on, at least 5 of either"):
        calibrate(world, negatives=false)
    with pytest.raises(RunError, match="too few to fit probabilities on, at least 5 of either"):
        calibrate(world, CalibrateConfig(questions=1))


def test_factors_that_change_while_they_are_used_are_refused(
    world: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Run.model

    def changed(run: Run) -> Model:
        monkeypatch.setattr(Run, "factors_hash", lambda *_: "other")
        return load(run)

    monkeypatch.setattr(Run, "model", changed)
    with pytest.raises(RunError, match="its factors changed; try again"):
        calibrate(world)


def test_a_run_without_calibration_has_none(keep_run: KeepRun, towns: Graph) -> None:
    assert read_calibration(keep_run(towns)) is None


def test_a_run_without_validation_facts_cannot_be_calibrated(
    keep_run: KeepRun, towns: Graph
) -> None:
    run = keep_run(towns.all_in_train())
    with pytest.raises(RunError, match="its split valid is empty"):
        calibrate(run)
    assert not (run.path / "calibration.json").exists()


def test_a_calibration_of_other_factors_is_refused(keep_run: KeepRun, towns: Graph) -> None:
    calibrate(keep_run(towns, seed=1))
    with pytest.raises(RunError, match="made for other factors than the run now has"):
        read_calibration(keep_run(towns, seed=2))


def _set(*path: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        inner: Any = record
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_set("format", value=3), "its format is 3, this trifact reads up to 2"),
        (_set("format", value="x"), "this is no calibration"),
        (_set("whole", value={"slope": 1.0}), "a part is missing"),
        (_set("whole", "slope", value=-1.0), "falls where the score rises"),
        (_set("by_predicate", 0, "slope", value=0.0), "falls where the score rises"),
        (_set("by_predicate", 0, "intercept", value=float("nan")), "is not finite"),
        (lambda record: record.pop("weights"), "a part is missing"),
        (_set("by_predicate", 0, "id", value=99), "this is no calibration"),
        (_set("by_predicate", value=7), "this is no calibration"),
        (_set("prior", value=1.5), "the prior is no share"),
        (_set("prior", value="x"), "this is no calibration"),
        (lambda record: record.pop("prior"), "it has no 'prior'"),
    ],
)
def test_a_damaged_or_newer_file_is_refused(
    keep_run: KeepRun, towns: Graph, change: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    run = keep_run(towns)
    record = calibrate(run).record
    change(record)
    (run.path / "calibration.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match=sentence):
        read_calibration(run)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe"])
def test_a_file_that_is_no_json_is_refused(keep_run: KeepRun, towns: Graph, content: bytes) -> None:
    run = keep_run(towns)
    (run.path / "calibration.json").write_bytes(content)
    with pytest.raises(RunError, match="this is no calibration"):
        read_calibration(run)


def test_a_calibration_of_the_first_format_goes_by_the_score_alone(
    keep_run: KeepRun, towns: Graph
) -> None:
    run = keep_run(towns)
    record = {**calibrate(run).record, "format": 1}
    slope, intercept = (record["by_predicate"][0][name] for name in ("slope", "intercept"))
    del record["weights"]
    (run.path / "calibration.json").write_text(json.dumps(record))
    again = read_calibration(run)
    assert again is not None
    said = said_of(again, towns, record["by_predicate"][0]["id"])
    np.testing.assert_allclose(said, 1 / (1 + np.exp(-slope * SCORES - intercept)), rtol=1e-12)


def test_a_fact_of_train_does_not_speak_for_itself(world: Run, found: Calibration) -> None:
    graph = world.graph()
    fact, train = graph.train[17], graph.known("train")
    others = KnownAnswers.of(graph.train[(graph.train != fact).any(axis=1)],
                             predicates=len(graph.predicates))  # fmt: skip
    said = [found.probabilities(fact[None], SCORES[:1], known) for known in (train, others)]
    assert said[0].tolist() == said[1].tolist()


def test_a_refit_adopts_the_calibration_and_says_so(keep_run: KeepRun, towns: Graph) -> None:
    first = calibrate(keep_run(towns))
    refit = keep_run(towns.all_in_train(), "refit", seed=5)
    adopt(first, refit)
    again = read_calibration(refit)
    assert again is not None
    assert again.answers.maps.own.tolist() == first.answers.maps.own.tolist()
    assert again.record["fitted"]["note"] == "fitted before the refit"
    assert again.record["fitted"]["factors_sha256"] == first.record["factors_sha256"]
    assert again.record["factors_sha256"] == refit.factors_hash()


def test_training_keeps_a_calibration_of_the_same_factors(keep_run: KeepRun, towns: Graph) -> None:
    said, run = list[str](), keep_run(towns)
    first = calibrate(run, CalibrateConfig(k=7))
    again = calibrate_new(run, say=said.append)
    assert again is not None
    assert again.record == first.record
    other = keep_run(towns, "other", seed=5)
    (other.path / "calibration.json").write_bytes((run.path / "calibration.json").read_bytes())
    anew = calibrate_new(other, say=said.append)
    assert anew is not None
    assert anew.record["factors_sha256"] == other.factors_hash()
    assert anew.record["fitted"]["k"] == CalibrateConfig().k
    assert said == []
    names, predicate = [*towns.entities][:9], towns.predicates[0]
    false = trifact.load([(a, predicate, b) for a in names for b in names], valid=0.0, test=0.0)
    calibrate(run, negatives=false)
    (other.path / "calibration.json").write_bytes((run.path / "calibration.json").read_bytes())
    calibrate_new(other, say=said.append)
    assert len(said) == 1
    assert "they are fitted anew, on the model's own answers" in said[0]


def test_calibrate_is_recommended_only_where_it_can_do_something(
    keep_run: KeepRun, towns: Graph
) -> None:
    assert len(towns.valid) >= 5
    own, few = keep_run(towns), keep_run(replace(towns, valid=towns.valid[:4]), "few")
    assert advice(own) == f"make one with: trifact calibrate {own.path}"
    known = keep_run(
        replace(towns, train=in_order(np.concatenate([towns.train, towns.valid]))), "k"
    )
    for run, count in ((few, 4), (known, 0)):  # of the last one train has all
        assert advice(run).startswith(
            f"fitting one takes at least 5 validation facts, and there are {count};"
        )
        with pytest.raises(RunError):
            calibrate(run)
    refit = keep_run(towns.all_in_train(), "run/refit")
    assert advice(refit) == f"{advice(own)} && trifact train --resume {refit.path}"
    lost = keep_run(towns.all_in_train(), "few/refit")
    assert advice(lost) == advice(few)


def test_a_run_of_other_predicates_cannot_adopt_it(keep_run: KeepRun, towns: Graph) -> None:
    first = calibrate(keep_run(towns))
    other = trifact.load([(f"a{i}", p, "b") for i in range(9) for p in "xyz"], valid=0.0, test=0.0)
    with pytest.raises(RunError, match="its predicates are not those of the calibration"):
        adopt(first, keep_run(other, "other"))


def test_given_false_facts_are_kept_by_name_and_shown(
    world: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = world.graph()
    for split in ("valid", "test"):
        rows = [(graph.entities[o], graph.predicates[p], graph.entities[s])
                for s, p, o in graph.splits[split].tolist()]  # fmt: skip
        (tmp_path / f"{split}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    monkeypatch.setenv("COLUMNS", "80")
    files, config = (tmp_path / "valid.tsv", tmp_path / "test.tsv"), CalibrateConfig()
    run_calibration(world.path, config, negatives=files, reading={}, as_json=False)
    shown = capsys.readouterr()
    assert max(map(len, shown.out.splitlines())) <= 80
    for words in (
        "World",
        "false facts of valid.tsv",
        "prior 0.",
        "a map for each predicate",
        "one map for all",
        "test facts, by predicate",
        "0.9 to 1.0",
        "the least sure of",
        "Pairs, for discover: evidence = ",
    ):
        assert words in shown.out
    assert "kept in" in shown.err
    kept = json.loads((world.path / "calibration.json").read_text())
    assert kept["fitted"]["negatives"] == "valid.tsv"
    run_calibration(world.path, config, negatives=files, reading={}, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("test")["ece"] < 0.1
    assert printed == kept
    (tmp_path / "others.tsv").write_text("a\tb\tc\n")
    others = files[1], tmp_path / "others.tsv"
    with pytest.raises(RunError, match="none of its facts"):
        run_calibration(world.path, config, negatives=others, reading={}, as_json=False)
    assert json.loads((world.path / "calibration.json").read_text()) == kept


def test_on_false_facts_that_people_verified_probabilities_hold_and_beat_the_others() -> None:
    record = json.loads((check_calibration.RECORDS / "CoDEx-S.json").read_text(encoding="utf-8"))
    on_test = record["given"]["test"]
    ours = on_test.pop(check_calibration.OURS)
    assert ours["ece"] < 0.05
    assert {
        check_calibration.PLATT,
        check_calibration.SCORE,
        "exp of the score",
        "sigmoid of X",
    } <= set(on_test)
    for other in on_test.values():
        assert ours["brier"] < other["brier"]
        assert other["brier_less_ours"][0] > 0  # the lower end of its 95 % interval
