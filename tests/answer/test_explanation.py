"""Explanations: a planted reason is named first, and drops are what solving anew says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scripts import check_explanations

import trifact
from tests.answer.test_rows import made, small_graph
from tests.run.conftest import keep
from tests.run.conftest import poisoned as poisoned
from trifact.answer.calibration import advice, calibrate
from trifact.answer.explanation import _Question, explain
from trifact.answer.options import ExplainConfig
from trifact.answer.predictor import Predictor
from trifact.answer.rows import Rows
from trifact.cli.explaining import run_explanation
from trifact.errors import InputError, RunError
from trifact.graph.graph import Graph
from trifact.graph.known import in_order
from trifact.progress import silent
from trifact.run import training
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import MODELS

KeepRun = Callable[..., Run]
CITIES = ("Lisbon", "Athens", "Prague", "Warsaw", "Oslo")
COLOURS = ("red", "green", "blue", "black")
SOMEBODY = ("person 07", "speaks", "the language of Prague")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Who lives in a city speaks its language; colours and friends say nothing about it.

    Person 7 lives in Prague, and nobody says what he speaks.
    """
    random, facts = np.random.default_rng(1), list[tuple[str, str, str]]()
    for number in range(60):
        person = f"person {number:02}"
        city = CITIES[2] if number == 7 else CITIES[int(random.integers(5))]
        facts.append((person, "lives in", city))
        if number != 7:
            facts.append((person, "speaks", f"the language of {city}"))
        for colour in random.choice(COLOURS, 2, replace=False).tolist():
            facts.append((person, "likes", colour))
        facts.append((person, "knows", f"person {(number + 11) % 60:02}"))
    config = TrainConfig(rank=12, epochs=120, validate_every=0, reg=0.02, precision="float32")
    graph = trifact.load(facts, valid=0.0, test=0.0)
    return training.train(graph, config, out=tmp_path_factory.mktemp("people") / "run")


def test_the_planted_reason_comes_first(people: Run) -> None:
    found = explain(people, SOMEBODY)
    first = found.reasons[0]
    assert (first["predicate"], first["object"]) == ("lives in", "Prague")
    drops = [float(row["drop"] or 0) for row in found.reasons]
    assert drops == sorted(drops, reverse=True)
    assert drops[0] > 3 * abs(drops[1])
    assert (found.facts, found.tried, found.split, found.probability) == (5, 5, None, None)
    assert found.converged
    assert found.trained == pytest.approx(found.solved, abs=0.3)
    assert all(row["predicate"] == "speaks" for row in found.similar)
    assert found.similar[0]["object"] == "the language of Prague"


def test_from_the_other_side_its_speakers_are_the_reason(people: Run) -> None:
    found = explain(people, SOMEBODY, ExplainConfig(side="object", k=3))
    assert found.side == "object"
    assert all(row["object"] == "the language of Prague" for row in found.reasons)
    assert len(found.reasons) == 3


def test_a_fact_that_is_known_rests_on_itself(people: Run) -> None:
    graph = people.graph()
    speaks = graph.predicates.find("speaks")
    s, _, o = graph.train[graph.train[:, 1] == speaks][0].tolist()
    told = graph.entities[s], "speaks", graph.entities[o]
    found = explain(people, told)
    assert found.split == "train"
    assert tuple(found.reasons[0][name] for name in ("subject", "predicate", "object")) == told
    assert all((row["subject"], row["object"]) != (told[0], told[2]) for row in found.similar)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_the_probability_is_that_of_the_fact(keep_run: KeepRun, towns: Graph, split: str) -> None:
    run = keep_run(towns)
    calibrate(run)
    s, p, o = next(fact for fact in towns.splits[split].tolist() if fact[0] != fact[2])
    fact = towns.entities[s], towns.predicates[p], towns.entities[o]
    found = explain(run, fact)
    scored = Predictor.of(run).score([fact])[0]
    assert found.split == split
    assert found.probability == pytest.approx(scored["probability"], rel=1e-6)


def test_influence_says_nearly_what_leaving_out_does(people: Run) -> None:
    graph, rows = people.graph(), Rows(people.graph(), people.model(), people.config)
    prague, speaks = graph.entities.find("Prague"), graph.predicates.find("lives in")
    asker = graph.entities.find("person 07")
    assert prague is not None and speaks is not None and asker is not None
    question = _Question.of(rows, (asker, speaks, prague), side="object")
    u = question.objective.minimum().point
    exact = question.drops(u, np.arange(len(question.distinct)), silent)
    assert len(exact) > 10
    assert float(np.corrcoef(question.influence(u), exact)[0, 1]) > 0.95


def test_where_there_are_many_facts_the_most_promising_are_tried(people: Run) -> None:
    fact = ("person 07", "lives in", "Prague")
    everything = explain(people, fact, ExplainConfig(side="object", k=100, tries=100))
    some = explain(people, fact, ExplainConfig(side="object", k=100, tries=4))
    assert everything.tried == everything.facts > 4
    assert some.tried == len(some.reasons) == 4
    assert some.reasons[0] == everything.reasons[0]


@pytest.mark.parametrize("setting", ["reciprocal", "standard"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_fact_of_weight_zero_was_never_there(name: str, setting: str) -> None:
    """The row without a fact is the row of a graph without it."""
    rows = made(name, setting)
    train = np.unique(rows.graph.train, axis=0)
    rows = replace(rows, graph=replace(rows.graph, train=train))
    own = train[((train[:, [0, 2]] == 4).sum(axis=1)) == 1]
    left = own[1]
    rest = replace(rows.graph, train=train[(train != left).any(axis=1)])
    weights = torch.ones(len(own)).double()
    weights[1] = 0
    anew = replace(rows, graph=rest).objectives(own[(own != left).any(axis=1)], 4)
    for table, objective in rows.objectives(own, 4).items():
        found = objective.weighted(weights).minimum()
        assert found.converged
        torch.testing.assert_close(found.point, anew[table].minimum().point, atol=1e-4, rtol=1e-4)


def test_the_last_fact_leaves_a_row_of_zeros(keep_run: KeepRun) -> None:
    graph = trifact.load([("a", "p", "b"), ("b", "p", "c"), ("c", "p", "d")], valid=0.0, test=0.0)
    found = explain(keep_run(graph), ("a", "p", "c"))
    assert found.facts == 1
    drop = float(found.reasons[0]["drop"] or 0)
    assert found.solved - drop == pytest.approx(-np.log(3))  # among three others


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (("e03", "p0", "e03"), "'e03' is subject and object; there is no other side"),
        (("e3", "p0", "e01"), "there is no entity 'e3'; did you mean"),
        (("e03", "p", "e01"), "there is no predicate 'p'; did you mean"),
        (("lonely", "p0", "e01"), "train has no fact that says anything about 'lonely'"),
    ],
)
def test_what_cannot_be_explained_is_said(
    fact: tuple[str, str, str], problem: str, keep_run: KeepRun
) -> None:
    facts = [(f"e{s:02}", f"p{p}", f"e{o:02}") for s, p, o in small_graph().train.tolist()]
    graph = trifact.load([*facts, ("lonely", "p0", "lonely")], valid=0.0, test=0.0)
    with pytest.raises(InputError, match=problem):
        explain(keep_run(graph), fact)


def test_facts_that_do_not_reach_a_row_explain_nothing(tmp_path: Path) -> None:
    """Standard CP: as a subject, only the facts count in which the entity is one."""
    facts = [("a", "p", "b"), ("c", "p", "b"), ("a", "p", "d"), ("c", "p", "a")]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    model = MODELS["cp"](len(graph.entities), 1, rank=2, scale=1.0)
    path = keep(tmp_path / "run", graph, model, name="cp").path
    config = Run(path).config.replace(setting="standard")
    (path / "config.toml").write_text(config.to_toml())
    with pytest.raises(InputError, match="says anything about 'b'"):
        explain(Run(path), ("b", "p", "d"))
    found = explain(Run(path), ("a", "p", "c"))
    assert (found.facts, found.tried) == (2, 2)
    assert all(row["subject"] == "a" for row in found.reasons)
    only = explain(Run(path), ("c", "p", "d"), ExplainConfig(side="object"))
    assert only.facts == 1
    drop = float(only.reasons[0]["drop"] or 0)
    assert only.solved - drop == pytest.approx(-np.log(3))


def test_factors_that_are_no_numbers_are_refused(
    towns: Graph, poisoned: Callable[[Graph], Run]
) -> None:
    with pytest.raises(RunError, match="no finite numbers"):
        explain(poisoned(towns), ("e03", "p0", "e05"))


def test_it_is_printed_within_80_columns_and_as_json(
    people: Run, towns: Graph, keep_run: KeepRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run_explanation(people.path, SOMEBODY, settings={"k": 3}, form="table")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "person 07 · speaks" in shown
    assert "the graph does not have it" in shown
    assert "as trained" in shown
    assert "solved anew from its 5 facts" in shown
    assert "Facts of person 07 that it rests on" in shown
    assert "The most similar known facts" in shown
    run_explanation(people.path, SOMEBODY, settings={"k": 3}, form="json")
    told = json.loads(capsys.readouterr().out)
    assert told["fact"] == list(SOMEBODY)
    assert [row["object"] for row in told["reasons"]][:1] == ["Prague"]
    assert told == json.loads(json.dumps(explain(people, SOMEBODY, ExplainConfig(k=3)).to_dict()))
    labelled = keep_run(towns)
    run_explanation(labelled.path, ("Town 2", "likes", "e05"), settings={}, form="table")
    assert "Town 2 · likes · e05" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["table", "json"])
def test_its_probability_is_doubted_as_in_answers(
    towns: Graph, keep_run: KeepRun, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    held_out = np.concatenate([towns.valid, towns.test])
    graph = replace(towns, valid=in_order(held_out[held_out[:, 1] != 2]), test=towns.test[:0])
    run = keep_run(graph)
    run_explanation(run.path, ("e01", "p2", "e03"), settings={"k": 1}, form=form)
    assert f"no probabilities: the run has no calibration; {advice(run)}" in capsys.readouterr().err
    calibrate(run)
    run_explanation(run.path, ("e01", "p2", "e03"), settings={"k": 1}, form=form)
    assert "are those of an average predicate" in capsys.readouterr().err
    run_explanation(run.path, ("e01", "p1", "e03"), settings={"k": 1}, form=form)
    assert capsys.readouterr().err == ""
    false = [(f"e{i:02}", "p1", f"e{j:02}") for i in range(9) for j in range(9)]
    calibrate(run, negatives=trifact.load(false, valid=0.0, test=0.0))
    run_explanation(run.path, ("e01", "p1", "e03"), settings={"k": 1}, form=form)
    assert "fitted on true facts and the false ones of" in capsys.readouterr().err
    assert len(explain(run, ("e01", "p2", "e03")).to_dict()["doubts"]) == 2


def test_a_summary_by_hand() -> None:
    """Two answers: without the named fact one falls from 1 to 4, without the random one none."""
    fell, same = {"rank": 4.0, "log_p": -3.0}, {"rank": 1.0, "log_p": -1.0}
    rows = [{**same, "said": 1.5, "named": fell, "random": same}]
    rows += [{**same, "said": 0.1, "named": same, "random": same}]
    found = check_explanations.summary(rows)
    assert (found["named"]["rank_fell"], found["random"]["rank_fell"]) == (0.5, 0.0)
    assert found["named"]["mean_reciprocal_rank"] == pytest.approx(0.375)
    assert found["paired"]["log_p"]["mean"] == pytest.approx(1.0)
    assert found["paired"]["log_rank"]["mean"] == pytest.approx(np.log(4) / 2)
    assert found["paired"]["log_p"]["interval"] == pytest.approx([0.0, 2.0])
    assert found["spearman_of_said_and_real_drop"] == pytest.approx(1.0)
