"""Chances of pairs: planted ones are found, a record gives them again, counts are of train."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import trifact
from tests.answer.test_pool import in_double
from tests.answer.test_sweep import DENSE, graphs
from tests.run.conftest import KeepRun, random_model
from tests.run.test_evaluation import graph_of
from trifact.answer.calibration import adopt, calibrate, read_calibration
from trifact.answer.chances import Chances, chances_of, fit_chances, measures, record_of
from trifact.answer.discovery import discover
from trifact.answer.options import CalibrateConfig, DiscoverConfig
from trifact.answer.platt import Sample
from trifact.answer.pool import Pool, pool_of_pairs
from trifact.answer.roles import pairs_of
from trifact.errors import ConfigError, RunError
from trifact.graph.graph import Graph
from trifact.run.reliability import FILE
from trifact.tensor.scoring import fact_scores


def planted(weights: tuple[float, float, float], intercepts: list[float]) -> tuple[Graph, Pool]:
    """Pairs of World whose truth is drawn by given weights and one intercept for each predicate."""
    world, random = trifact.load("World"), np.random.default_rng(1)
    sizes = len(world.entities), len(intercepts), len(world.entities)
    facts = np.concatenate([random.integers(sizes, size=(40_000, 3)), world.train[:8_000]])
    facts = facts[facts[:, 1] < len(intercepts)]
    scores = random.normal(-4, 2, len(facts))
    evidence = measures(facts, scores, world.known("train")) @ np.array(weights)
    true = random.random(len(facts)) < expit(evidence + np.array(intercepts)[facts[:, 1]])
    return world, Pool(facts, Sample(scores, facts[:, 1], true, np.ones(len(facts))), {})


def test_planted_weights_and_maps_are_found() -> None:
    weights, intercepts = (1.4, 0.6, -0.4), [3.0, 5.0, 4.0]
    world, pool = planted(weights, intercepts)
    chances, _ = fit_chances(world, pool)
    for predicate, intercept in enumerate(intercepts):
        assert chances.line(predicate) == pytest.approx((*weights, intercept), abs=0.25)


def test_what_is_the_same_for_all_pairs_has_no_weight(keep_run: KeepRun) -> None:
    chances = calibrate(keep_run(DENSE)).pairs  # every subject has three objects, and vice versa
    assert chances is not None
    assert chances.weights[0] > 0
    assert chances.weights[1:].tolist() == [0, 0]


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_measures_count_the_other_distinct_facts_of_train(graph: Graph) -> None:
    train = {tuple(fact) for fact in graph.train.tolist()}
    n, p = len(graph.entities), len(graph.predicates)
    facts = np.array([(s, j, o) for s in range(n) for j in range(p) for o in range(n)])
    found = measures(facts, np.zeros(len(facts)), graph.known("train"))
    for (s, j, o), row in zip(facts.tolist(), found.tolist(), strict=True):
        others = train - {(s, j, o)}
        ends = sum(f[:2] == (s, j) for f in others), sum(f[1:] == (j, o) for f in others)
        assert row == pytest.approx([0.0, *(math.log(1 + count) for count in ends)])


def plain_pool(graph: Graph, scores: np.ndarray, k: int) -> dict[tuple[int, int, int], int]:
    """Question by question, all of them: how often a pair is among the k best answers."""
    pairs, found = pairs_of(graph), dict[tuple[int, int, int], int]()
    count, loops = len(graph.predicates), {p for s, p, o in graph.train.tolist() if s == o}
    hidden = {tuple(fact) for fact in [*graph.train.tolist(), *graph.test.tolist()]}
    for p in range(count):
        sides = pairs.subjects(p).tolist(), pairs.objects(p).tolist()
        for side in (0, 1):
            for entity in sides[side]:
                facts = [(entity, p, e) if side == 0 else (e, p, entity) for e in sides[1 - side]]
                answers = sorted(
                    (-scores[entity, p + side * count, e], fact)
                    for e, fact in zip(sides[1 - side], facts, strict=True)
                    if fact not in hidden and (fact[0] != fact[2] or p in loops)
                )
                for _, fact in answers[:k]:
                    found[fact] = found.get(fact, 0) + 1
    return found


@settings(max_examples=40, deadline=None)
@given(graphs(), st.integers(1, 4))
def test_the_pool_of_all_questions_is_that_of_the_plain_twin(graph: Graph, k: int) -> None:
    model = in_double(random_model("complex", graph))
    pool = pool_of_pairs(graph, model, CalibrateConfig(k=k), pairs_of(graph))
    n, sides = len(graph.entities), 2 * len(graph.predicates)
    every = np.array([[s, p] for s in range(n) for p in range(sides)])
    scores = model.scores(*(torch_of(every[:, i]) for i in (0, 1))).numpy().reshape(n, sides, n)
    assert dict(zip(map(tuple, pool.facts.tolist()), pool.sample.weights, strict=True)) == (
        plain_pool(graph, scores, k)
    )
    assert (pool.sample.true == graph.known("valid").contains(pool.facts)).all()
    told = fact_scores(model, torch_of(pool.facts), predicates=len(graph.predicates))
    np.testing.assert_allclose(pool.sample.scores, told.numpy(), rtol=1e-12)


def torch_of(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def test_drawn_questions_stand_for_all_of_their_kind() -> None:
    world = trifact.load("World")
    model, pairs = random_model("complex", world), pairs_of(world)
    few, whole = (
        pool_of_pairs(world, model, CalibrateConfig(questions=most), pairs) for most in (600, 10**9)
    )
    assert few.about["questions"]["asked"] == 600
    assert whole.about["questions"]["asked"] == whole.about["questions"]["of"]
    shares = [pool.sample.counts[0] / sum(pool.sample.counts) for pool in (few, whole)]
    assert shares[0] == pytest.approx(shares[1], rel=0.5)  # not the half that have an answer
    assert few.sample.weights.sum() == pytest.approx(600 * 10, rel=0.2)


def test_a_record_gives_the_same_chances_again() -> None:
    world, pool = planted((1.4, 0.6, -0.4), [3.0, 5.0])
    pool.about.update(k=10, questions={})
    record = json.loads(json.dumps(record_of(world, pool, folds=2, seed=0)))
    again, (chances, _) = chances_of(record, len(world.predicates)), fit_chances(world, pool)
    assert record["reliability"]["ece"] < 0.03
    for name in ("weights", "confirmed"):
        assert getattr(again, name).tolist() == getattr(chances, name).tolist()
    assert again.maps.own.tolist() == chances.maps.own.tolist()
    falling = {**record["weights"], "score": -1.0}
    for bad in ({"weights": falling}, {"weights": dict[str, float]()}, {"whole": {"slope": 1.0}}):
        with pytest.raises((ValueError, KeyError)):
            chances_of({**record, **bad}, len(world.predicates))


def test_a_refit_goes_by_the_chances_of_its_run(keep_run: KeepRun) -> None:
    run, refit = keep_run(DENSE), keep_run(DENSE.all_in_train(), "refit", seed=1)
    calibration = calibrate(run)
    adopt(calibration, refit)
    found = discover(refit, DiscoverConfig(top=30))
    assert found.about["order"] == "probability"
    assert isinstance(calibration.pairs, Chances)


def test_a_calibration_of_an_older_version_or_of_too_few_facts_has_no_chances(
    keep_run: KeepRun,
) -> None:
    run = keep_run(DENSE)
    calibrate(run)
    kept = json.loads((run.path / FILE).read_text())
    del kept["chances"]
    (run.path / FILE).write_text(json.dumps(kept))
    assert discover(run).about["order"] == "score"
    with pytest.raises(ConfigError, match="older version; make one with: trifact calibrate"):
        discover(run, DiscoverConfig(min_probability=0.5))
    (run.path / FILE).write_text(json.dumps({**kept, "chances": None}))
    with pytest.raises(ConfigError, match="too few validation facts"):
        discover(run, DiscoverConfig(min_probability=0.5))
    (run.path / FILE).write_text(json.dumps({**kept, "chances": {"weights": 3}}))
    with pytest.raises(RunError, match="this is no calibration"):
        read_calibration(run)


def test_where_everybody_has_the_one_answer_there_are_no_pairs_and_no_chances(
    keep_run: KeepRun,
) -> None:
    ring = [(i, 0, (i + 1) % 30) for i in range(30)]  # one answer on both sides, all of them known
    graph = graph_of(ring, valid=[(i, 0, (i + 2) % 30) for i in range(30)])
    calibration = calibrate(keep_run(graph), CalibrateConfig(k=30))
    assert calibration.pairs is None
    assert calibration.record["chances"] is None
