"""Answers equal those of a plain loop over all candidates; what is known is hidden or marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import trifact
from tests.run.conftest import KeepRun, random_model
from trifact.answer.best import largest
from trifact.answer.calibration import calibrate
from trifact.answer.options import PredictConfig
from trifact.answer.predictor import Predictor
from trifact.answer.run import Run
from trifact.answer.scorefile import score_file
from trifact.cli import app
from trifact.errors import ConfigError, InputError
from trifact.graph.graph import Graph
from trifact.tensor.models import MODELS, Model


def log_p(model: Model, entity: int, predicate: int) -> list[float]:
    """log p of every candidate of one question (reciprocal id), in float64."""
    tables = {name: table.double() for name, table in model.tables.items()}
    scores = type(model).of(tables).scores(torch.tensor([entity]), torch.tensor([predicate]))[0]
    return [float(x) for x in scores - scores.logsumexp(0)]


def plain_objects(graph: Graph, model: Model, subject: int, predicate: int) -> list[int]:
    """Unknown objects, best first: a sort of all candidates."""
    everything = {tuple(fact) for split in graph.splits.values() for fact in split.tolist()}
    scores = log_p(model, subject, predicate)
    unknown = [o for o in range(len(graph.entities)) if (subject, predicate, o) not in everything]
    return sorted(set(unknown) - own(graph, subject, predicate), key=lambda o: -scores[o])


def own(graph: Graph, entity: int, predicate: int) -> set[int]:
    """The entity that asks, if train has no entity with itself under the predicate."""
    loops = any(p == predicate and s == o for s, p, o in graph.train.tolist())
    return set() if loops else {entity}


@pytest.fixture(params=["complex", "cp", "distmult"])
def predictor(request: pytest.FixtureRequest, towns: Graph) -> Predictor:
    return Predictor(towns, random_model(request.param, towns))


def test_objects_are_those_of_a_plain_sort(predictor: Predictor) -> None:
    graph, model = predictor.graph, predictor.model
    for subject in range(len(graph.entities)):
        for predicate in range(len(graph.predicates)):
            wanted = plain_objects(graph, model, subject, predicate)
            found = predictor.objects(graph.entities[subject], graph.predicates[predicate], k=5)
            assert list(found.columns["object"]) == [graph.entities[o] for o in wanted[:5]]
            scores = log_p(model, subject, predicate)
            mine = np.array(found.columns["score"], dtype=float)
            assert np.allclose(mine, [scores[o] for o in wanted[:5]], atol=1e-5)
            assert not any(found.columns["known"])


def test_subjects_are_the_objects_of_the_reciprocal_question(predictor: Predictor) -> None:
    graph, model = predictor.graph, predictor.model
    asked = 4, len(graph.predicates) + 1
    scores = log_p(model, *asked)
    found = predictor.subjects(graph.predicates[1], graph.entities[4], k=3, known=True)
    others = set(range(len(scores))) - own(graph, 4, 1)
    best = sorted(others, key=lambda s: -scores[s])[:3]
    assert list(found.columns["subject"]) == [graph.entities[s] for s in best]
    assert set(found.columns["object"]) == {graph.entities[4]}


def test_the_standard_setting_answers_both_sides(towns: Graph) -> None:
    sizes = len(towns.entities), len(towns.predicates)
    asked = Predictor(towns, MODELS["complex"](*sizes, rank=3, scale=1.0))
    forward = asked.objects("e01", "p1", k=100, known=True)
    row = next(row for row in forward if row["object"] == "e05")
    back = asked.subjects("p1", "e05", k=100, known=True)
    other = next(row for row in back if row["subject"] == "e01")
    fact = asked.score([("e01", "p1", "e05")])[0]
    assert fact["score"] == pytest.approx((row["score"] + other["score"]) / 2, abs=1e-5)  # type: ignore[operator]


def test_known_answers_are_marked_when_they_are_shown(predictor: Predictor) -> None:
    graph = predictor.graph
    subject, predicate, _ = graph.test[0].tolist()
    names = graph.entities[subject], graph.predicates[predicate]
    everything = np.concatenate(list(graph.splits.values()))
    known = {graph.entities[o] for s, p, o in everything.tolist() if (s, p) == (subject, predicate)}
    shown = predictor.objects(*names, k=1000, known=True)
    others = {graph.entities[i] for i in own(graph, subject, predicate)}
    assert {row["object"] for row in shown} == set(graph.entities) - others
    assert {row["object"] for row in shown if row["known"]} == known
    hidden = predictor.objects(*names, k=1000)
    assert {row["object"] for row in hidden} == set(graph.entities) - known - others


def test_an_entity_answers_itself_only_where_train_has_that() -> None:
    graph = trifact.load(
        [("a", "likes", "a"), ("a", "sees", "b"), ("b", "sees", "c")], valid=0, test=0
    )
    asked = Predictor(graph, random_model("complex", graph))
    assert set(asked.objects("b", "likes").columns["object"]) == {"a", "b", "c"}
    assert set(asked.objects("b", "sees").columns["object"]) == {"a"}
    assert set(asked.subjects("sees", "b").columns["subject"]) == {"c"}


def test_an_entity_that_is_known_to_answer_itself_is_shown_with_the_known() -> None:
    """Though train has no such fact: the test fact is known, and all known ones are shown."""
    graph = trifact.load([("a", "sees", "b"), ("b", "sees", "c")], valid=0, test=0)
    graph = replace(graph, test=np.array([[0, 0, 0]]))
    asked = Predictor(graph, random_model("complex", graph))
    assert set(asked.objects("a", "sees").columns["object"]) == {"c"}
    assert set(asked.objects("a", "sees", known=True).columns["object"]) == {"a", "b", "c"}
    assert set(asked.subjects("sees", "a", known=True).columns["subject"]) == {"a", "b", "c"}
    assert set(asked.objects("b", "sees", known=True).columns["object"]) == {"a", "c"}


def test_of_those_that_tie_the_first_ids_are_taken() -> None:
    scores = torch.zeros(2, 30)
    scores[1, 7] = 1.0
    scores[1, 0] = -torch.inf
    rows, columns, values = largest(scores, 3)
    assert rows.tolist() == [0, 0, 0, 1, 1, 1]
    assert columns.tolist() == [0, 1, 2, 7, 1, 2]
    assert values.tolist() == [0, 0, 0, 1, 0, 0]
    nothing = largest(torch.full((2, 1), -torch.inf), 3)
    assert [len(part) for part in nothing] == [0, 0, 0]


def test_many_questions_at_once_are_each_alone(predictor: Predictor) -> None:
    graph = predictor.graph
    subjects = list(graph.entities)
    together = predictor.objects(subjects, "p0", k=4, budget_mb=1)
    apart = [row for name in subjects for row in predictor.objects(name, "p0", k=4)]
    assert [row["object"] for row in together] == [row["object"] for row in apart]
    assert [row["subject"] for row in together] == [row["subject"] for row in apart]


def test_predicates_come_by_the_score_of_the_fact(predictor: Predictor) -> None:
    graph = predictor.graph
    found = predictor.predicates("e03", "e07", known=True)
    facts = [("e03", name, "e07") for name in graph.predicates]
    scores = {row["predicate"]: row["score"] for row in predictor.score(facts)}
    assert sorted(scores, key=lambda name: -scores[name]) == list(found.columns["predicate"])  # type: ignore[operator]


def test_candidates_by_list_and_by_what_the_predicate_has(predictor: Predictor) -> None:
    graph = predictor.graph
    some = ["e02", "Town 4", "e09"]
    chosen = predictor.objects("e00", "p2", k=50, candidates=some, known=True)
    assert set(chosen.columns["object"]) == {"e02", "e04", "e09"}
    seen = {graph.entities[o] for _, p, o in graph.train.tolist() if p == 2}
    observed = predictor.objects("e00", "p2", k=50, among="observed", known=True)
    assert set(observed.columns["object"]) == seen


def test_labels_serve_as_names_and_are_shown(predictor: Predictor) -> None:
    by_label = predictor.objects("Town 2", "likes", k=3)
    assert list(by_label) == list(predictor.objects("e02", "p0", k=3))
    labels = predictor.graph.entity_labels
    for row in by_label:
        assert row["label"] == labels.get(predictor.graph.entities.find(str(row["object"])))  # type: ignore[arg-type]


def test_a_run_without_calibration_has_no_probabilities(keep_run: KeepRun, towns: Graph) -> None:
    asked = Run(keep_run(towns).path).predictor()
    found = asked.objects("e01", "p1")
    assert set(found.columns["probability"]) == {None}
    assert all(math.isfinite(float(score or 0)) for score in found.columns["score"])


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda p: p.objects("e001", "p0"), "there is no entity 'e001'; did you mean"),
        (lambda p: p.objects("e01", "like"), "there is no predicate 'like'; did you mean 'p0'"),
        (lambda p: p.objects("e01", "p0", k=0), "k must be at least 1, not 0"),
        (lambda p: p.objects("e01", "p0", k=10**9), "k must be at most 10000"),
        (lambda p: p.objects("e01", "p0", candidates=[]), "the list of candidates is empty"),
        (lambda p: p.objects("e01", "p0", candidates=["x y z"]), "there is no entity 'x y z'"),
        (lambda p: p.objects("e01", "p0", among="types"), "go together"),
        (lambda p: p.objects("e01", "p0", amongst="all"), "there is no setting 'amongst'"),
        (lambda p: p.objects(["e01", "e02"], ["p0", "p1", "p2"]), "2 entities and 3 predicates"),
        (lambda p: p.objects([], "p0"), "0 entities and 1 predicates"),
        (lambda p: p.objects("e01", "p0", candidates="x y z"), "there is no entity 'x y z'"),
        (lambda p: p.objects([None], "p0"), "a name must be text or a whole number, not None"),
        (lambda p: p.predicates("e01", "e02", among="observed"), "leave it out"),
        (lambda p: p.score([("e01", "p0", "e02")], among="observed"), "leave it out"),
        (lambda p: p.objects(None, "p0"), "a name must be text or a whole number, not None"),
        (lambda p: p.score(["abc"]), "a fact is a subject, a predicate and an object, not 'abc'"),
    ],
)
def test_a_mistake_gets_one_sentence(towns: Graph, ask: object, sentence: str) -> None:
    predictor = Predictor(towns, random_model("complex", towns))
    with pytest.raises((ConfigError, InputError), match=sentence.replace("?", r"\?")):
        ask(predictor)  # type: ignore[operator]


def test_whole_numbers_and_single_candidates_are_names_too() -> None:
    graph = trifact.load([(i, 7, i + 1) for i in range(9)], valid=0.0, test=0.0)
    predictor = Predictor(graph, random_model("complex", graph))
    asked, told = predictor.objects(3, 7, known=True), predictor.objects("3", "7", known=True)
    assert asked.columns == told.columns
    assert predictor.objects(np.int64(3), 7, candidates=5).columns["object"] == ["5"]
    assert predictor.objects("3", "7", candidates="5").columns["object"] == ["5"]
    assert predictor.score([(3, 7, 5)]).columns["subject"] == ["3"]
    assert predictor.score(zip([3], [7], [5], strict=True)).columns["subject"] == ["3"]


@pytest.mark.parametrize("kind", [np.array, tuple, iter])
def test_names_may_come_in_anything_that_can_be_gone_through(
    kind: Callable[[list[str]], Sequence[str]], predictor: Predictor
) -> None:
    several = ["e01", "e02"]
    asked = predictor.objects(kind(several), "p0", k=2, candidates=kind(["e03", "e04", "e05"]))
    told = predictor.objects(several, "p0", k=2, candidates=["e03", "e04", "e05"])
    assert asked.columns == told.columns


def test_facts_of_a_file_may_have_labels(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("Town 0\tlikes\te05\ne00\tp0\te05\nTown 77\tlikes\te05\n")
    found, notes = score_file(predictor, path, PredictConfig())
    by_label, by_name, unknown = found.columns["score"]
    assert by_label == by_name is not None
    assert unknown is None
    assert "1 fact not scored" in notes[-1]


def test_labels_of_predicates_in_a_file_cost_a_calibrated_run_nothing(
    keep_run: KeepRun, towns: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, path = keep_run(towns), tmp_path / "facts.tsv"
    calibrate(run)
    path.write_text("e00\tlikes\te05\ne00\tp0\te05\n")
    app(["score", str(run.path), str(path), "--format", "tsv"], standalone_mode=False)
    by_label, by_name = (line.split("\t") for line in capsys.readouterr().out.splitlines()[1:])
    assert by_label[3:] == by_name[3:]


def test_lazy_names_are_listed() -> None:
    assert {"Run", "Graph", "TrainConfig", "TrifactError", "load"} <= {*dir(trifact)}
