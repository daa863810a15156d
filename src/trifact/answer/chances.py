"""The chance of a pair: by its score, and by how many answers train has to its two questions.

The score of a fact compares it with other answers to the same questions. It does not say whether
a question has an answer that is missing, and of all pairs that make sense most belong to questions
that have none. What train has says something about it: who has acted in thirty films has acted in
more that are not recorded than who has acted in none. So

    evidence = a score + b log(1 + |(s, p, ?)|) + c log(1 + |(?, p, o)|),   a > 0,

with the numbers of answers that train has. (a, b, c) is a logistic regression, the same for all
predicates; each predicate then has a map from evidence to log-odds (see platt.py).

It is fitted on answers to questions of all kinds: half of those that are asked have an answer
among the validation facts, and the others stand for as many as there are of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trifact.answer.platt import Maps, Sample, cross_validated, fit, regression
from trifact.answer.reliability import measured
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.run.ranktable import Floats

if TYPE_CHECKING:
    from trifact.answer.pool import Pool

RIDGE = 1.0  # in standard deviations, as strong as a few facts
SPREAD = 1e-6  # a standard deviation under this is rounding
NAMES = ("score", "subject", "object")


@dataclass(frozen=True)
class Chances:
    """What makes a pair likely, for each predicate."""

    weights: Floats  # (3,): of the score, and of what train has of the subject and of the object
    maps: Maps
    """From evidence to log-odds."""
    confirmed: Ints
    """The predicates of which a validation fact was among the pairs, ascending."""

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

    def doubts(self, predicates: Ints) -> list[str]:
        """What to know about the chances of facts with these predicates: sentences."""
        unsure = int((~np.isin(predicates, self.confirmed)).sum())
        if not unsure:
            return []
        which = "these" if unsure == len(predicates) else f"{unsure:,} of these"
        return [f"the probabilities of {which} may be far off: no validation fact with their "
                "predicate was found among the pairs"]  # fmt: skip


def measures(facts: Ints, scores: Floats, train: KnownAnswers) -> Floats:
    """What evidence is made of, (n, 3)."""
    subjects, predicates, objects = facts.T
    ends = (of_subjects(train, subjects, predicates), of_objects(train, objects, predicates))
    return np.column_stack([scores, *ends])


def of_subjects(train: KnownAnswers, subjects: Ints, predicates: Ints) -> Floats:
    """log(1 + |(s, p, ?)|): (n,), (n,) -> (n,)."""
    return np.log1p(train.counts(subjects, predicates))


def of_objects(train: KnownAnswers, objects: Ints, predicates: Ints) -> Floats:
    """log(1 + |(?, p, o)|): (n,), (n,) -> (n,)."""
    return np.log1p(train.counts(objects, predicates + train.predicates))


def fit_chances(graph: Graph, pool: Pool) -> tuple[Chances, Sample]:
    """The chances that a pool of pairs gives, and its pairs by their evidence."""
    sample = pool.sample
    found = measures(pool.facts, sample.scores, graph.known("train"))
    centre = np.average(found, axis=0, weights=sample.weights)
    scale = np.sqrt(np.average((found - centre) ** 2, axis=0, weights=sample.weights))
    scale[scale < SPREAD] = np.inf  # what is the same for all pairs has no weight
    scale[0] = min(scale[0], 1 / SPREAD)  # but the score has
    weights = regression((found - centre) / scale, sample, ridge=RIDGE)[:-1] / scale
    seen = Sample(found @ weights, sample.predicates, sample.true, sample.weights)
    maps = fit(seen, len(graph.predicates))
    return Chances(weights, maps, np.unique(sample.predicates[sample.true])), seen


def record_of(graph: Graph, pool: Pool, *, folds: int, seed: int) -> dict[str, Any]:
    """What is kept of the chances that a pool gives; `chances_of` reads it."""
    (chances, seen), sample = fit_chances(graph, pool), pool.sample
    said, _ = cross_validated(seen, len(graph.predicates), folds=folds, seed=seed)
    return {
        **{name: pool.about[name] for name in ("k", "questions")},
        "weights": dict(zip(NAMES, chances.weights.tolist(), strict=True)),
        "whole": dict(zip(("slope", "intercept"), chances.maps.whole.tolist(), strict=True)),
        "by_predicate": [
            {"id": j, "slope": slope, "intercept": intercept, "confirmed": j in chances.confirmed}
            for j in np.unique(sample.predicates).tolist()
            for slope, intercept in [chances.maps.own[j].tolist()]
        ],
        "reliability": measured(said, seen.true, seen.weights),
    }


def chances_of(record: dict[str, Any], predicates: int) -> Chances:
    """The chances of a record; what cannot be one raises."""
    weights = np.array([record["weights"][name] for name in NAMES], dtype=np.float64)
    whole = np.array([record["whole"][name] for name in ("slope", "intercept")], dtype=np.float64)
    own = np.tile(whole, (predicates, 1))
    for row in record["by_predicate"]:
        own[int(row["id"])] = float(row["slope"]), float(row["intercept"])
    if not (np.isfinite(own).all() and np.isfinite(weights).all()):
        raise ValueError("a weight of its chances is not finite")
    if not ((own[:, 0] > 0).all() and weights[0] > 0):
        raise ValueError("a chance falls where the score rises")
    confirmed = [int(row["id"]) for row in record["by_predicate"] if row["confirmed"]]
    return Chances(weights, Maps(whole, own), np.array(confirmed, dtype=np.int64))
