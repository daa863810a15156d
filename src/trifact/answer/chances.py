"""The chance that a fact is true: by its score, and by how many answers train has to its questions.

The score of a fact compares it with other answers to the same questions. It does not say whether
a question has an answer that is missing: who has acted in thirty films has acted in more that are
not recorded than who has acted in none. Nor is it fair to the answers of a question that has many:
they share one probability, most of which goes to those that are known. So

    evidence = a score + b log(1 + |(s, p, ?)|) + c log(1 + |(?, p, o)|),   a > 0,

with the numbers of answers that train has, the fact itself not counted. (a, b, c) is a logistic
regression, the same for all predicates; each predicate then has a map from evidence to log-odds
(see platt.py). What the chance means depends on the pool that it is fitted on (see pool.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trifact.answer.platt import Maps, Sample, cross_validated, fit, regression, sigmoid
from trifact.answer.reliability import measured
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.run.ranktable import Bools, Floats

if TYPE_CHECKING:
    from trifact.answer.pool import Pool

RIDGE = 1.0  # in standard deviations, as strong as a few facts
SPREAD = 1e-6  # a standard deviation under this is rounding
NAMES, MAP = ("score", "subject", "object"), ("slope", "intercept")
SCORE_ALONE = dict(zip(NAMES, (1.0, 0.0, 0.0), strict=True))


@dataclass(frozen=True)
class Chances:
    """What makes a fact likely, for each predicate."""

    weights: Floats  # (3,): of the score, and of what train has of the subject and of the object
    maps: Maps
    """From evidence to log-odds."""
    confirmed: Ints
    """The predicates that there were facts for to fit a map of their own, ascending."""

    def line(self, predicate: int) -> tuple[float, float, float, float]:
        """Log-odds as a sum: the factors of score, subject and object, and what is added."""
        slope, intercept = self.maps.own[predicate].tolist()
        score, subject, object_ = (slope * self.weights).tolist()
        return score, subject, object_, intercept

    def log_odds(self, facts: Ints, scores: Floats, train: KnownAnswers) -> Floats:
        """Of facts (n, 3) with their scores (n,), `train` being what the model was trained on."""
        evidence = measures(facts, scores, train) @ self.weights
        slopes, intercepts = self.maps.own[facts[:, 1]].T
        return np.asarray(slopes * evidence + intercepts)

    def probabilities(self, facts: Ints, scores: Floats, train: KnownAnswers) -> Floats:
        """The same as shares of one; rising with the score."""
        return sigmoid(self.log_odds(facts, scores, train))

    def shifted(self, log_odds: float) -> Chances:
        """The same with something added to all log-odds."""
        return replace(self, maps=self.maps.shifted(log_odds))

    def unsure(self, predicates: Ints) -> str:
        """Which of some facts, given their predicates, have no map of their own; or nothing."""
        count = int((~np.isin(predicates, self.confirmed)).sum())
        if not count:
            return ""
        return "these" if count == len(predicates) else f"{count:,} of these"


def measures(facts: Ints, scores: Floats, train: KnownAnswers) -> Floats:
    """What evidence is made of, (n, 3)."""
    subjects, predicates, objects = facts.T
    itself = train.contains(facts)
    of_subject = of_subjects(train, subjects, predicates, but=itself)
    of_object = of_objects(train, objects, predicates, but=itself)
    return np.column_stack([scores, of_subject, of_object])


def of_subjects(
    train: KnownAnswers, subjects: Ints, predicates: Ints, *, but: Bools | bool = False
) -> Floats:
    """log(1 + |(s, p, ?)|): (n,), (n,) -> (n,); one answer less where `but`."""
    return np.log1p(train.counts(subjects, predicates) - but)


def of_objects(
    train: KnownAnswers, objects: Ints, predicates: Ints, *, but: Bools | bool = False
) -> Floats:
    """log(1 + |(?, p, o)|): (n,), (n,) -> (n,); one answer less where `but`."""
    return of_subjects(train, objects, predicates + train.predicates, but=but)


def fit_chances(graph: Graph, pool: Pool) -> tuple[Chances, Sample]:
    """The chances that a pool gives, and its facts by their evidence."""
    sample = pool.sample
    found = measures(pool.facts, sample.scores, graph.known("train"))
    centre = np.average(found, axis=0, weights=sample.weights)
    scale = np.sqrt(np.average((found - centre) ** 2, axis=0, weights=sample.weights))
    scale[scale < SPREAD] = np.inf  # what is the same for all facts has no weight
    scale[0] = min(scale[0], 1 / SPREAD)  # but the score has
    weights = regression((found - centre) / scale, sample, ridge=RIDGE)[:-1] / scale
    seen = Sample(found @ weights, sample.predicates, sample.true, sample.weights)
    maps = fit(seen, len(graph.predicates))
    return Chances(weights, maps, np.unique(sample.predicates[sample.true])), seen


def record_of(graph: Graph, pool: Pool, *, folds: int, seed: int) -> dict[str, Any]:
    """What is kept of the chances that a pool of pairs gives; `chances_of` reads it."""
    (chances, seen), sample = fit_chances(graph, pool), pool.sample
    said, _ = cross_validated(seen, len(graph.predicates), folds=folds, seed=seed)
    return {
        **{name: pool.about[name] for name in ("k", "questions")},
        **of_all(chances),
        "by_predicate": [
            {"id": j, "slope": slope, "intercept": intercept, "confirmed": j in chances.confirmed}
            for j in np.unique(sample.predicates).tolist()
            for slope, intercept in [chances.maps.own[j].tolist()]
        ],
        "reliability": measured(said, seen.true, seen.weights),
    }


def of_all(chances: Chances) -> dict[str, Any]:
    """What is kept of chances that is the same for all predicates."""
    weights, whole = chances.weights.tolist(), chances.maps.whole.tolist()
    return {
        "weights": dict(zip(NAMES, weights, strict=True)),
        "whole": dict(zip(MAP, whole, strict=True)),
    }


def chances_of(record: dict[str, Any], predicates: int) -> Chances:
    """The chances of a record; what cannot be one raises."""
    weights = np.array([record["weights"][name] for name in NAMES], dtype=np.float64)
    whole = np.array([record["whole"][name] for name in MAP], dtype=np.float64)
    own = np.tile(whole, (predicates, 1))
    for row in record["by_predicate"]:
        own[int(row["id"])] = [float(row[name]) for name in MAP]
    if not (np.isfinite(own).all() and np.isfinite(weights).all()):
        raise ValueError("a slope, an intercept or a weight is not finite")
    if not ((own[:, 0] > 0).all() and whole[0] > 0 and weights[0] > 0):
        raise ValueError("a chance falls where the score rises")
    confirmed = [int(row["id"]) for row in record["by_predicate"] if row.get("confirmed", True)]
    return Chances(weights, Maps(whole, own), np.array(confirmed, dtype=np.int64))
