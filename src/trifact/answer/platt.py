"""From scores to probabilities: a logistic map for each predicate, drawn to the one of all.

    p(true | score s, predicate j) = 1 / (1 + exp(-(a_j s + b_j))),   a_j > 0

**The map of all**, (a, b), is Platt's (1999): it minimizes the log-loss against the targets
t = (n+ + 1) / (n+ + 2) of true and 1 / (n- + 2) of false facts, which keep it finite where a
threshold tells all of them apart.

**The map of a predicate** minimizes, with scores x of mean 0 and variance 1, its own log-loss and
its distance from the map of all, theta = (slope, intercept):

    sum_i w_i [log(1 + exp eta_i) - t_i eta_i] + 1/2 sum_f (theta_jf - theta_f)^2 / v_f

where eta_i = theta_j1 x_i + theta_j2. The variances v say how much predicates differ, and are
learned from them (empirical Bayes): v_f <- mean_j [(theta_jf - theta_f)^2 + error_jf], the step
of EM with Laplace's approximation, error_j the diagonal of the inverse Hessian. So a predicate
with few facts keeps the map of all, and one with many gets its own.

The problems are convex, with two parameters each, and solved for all predicates at once by
Newton's method with halved steps (for Platt's: Lin, Lin and Weng 2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trifact.graph.known import Ints
from trifact.run.ranktable import Bools, Floats

LEAST = 0.01  # slope of the map of all, per standard deviation of the score
FLATTEST = 0.05  # slope of a predicate's map, as a share of that
RIDGE = 1e-6  # precision of the map of all around zero: for scores that are all equal
NARROWEST, WIDEST = 1e-6, 10.0  # variances between predicates
STEPS, HALVINGS, TOLERANCE = 100, 40, 1e-9
ROUNDS, SETTLED = 100, 0.01


@dataclass(frozen=True)
class Sample:
    """Facts with their score, predicate, truth, and how much each counts: (n,) each."""

    scores: Floats
    predicates: Ints
    true: Bools
    weights: Floats

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, which: Bools) -> Sample:
        """Some of the facts."""
        return Sample(*(column[which] for column in vars(self).values()))

    @property
    def counts(self) -> tuple[float, float]:
        """How much the true facts count, and the false ones."""
        true = float(self.weights[self.true].sum())
        return true, float(self.weights.sum()) - true

    @property
    def targets(self) -> Floats:
        """Platt's: (n+ + 1) / (n+ + 2) for true facts and 1 / (n- + 2) for false ones."""
        true, false = self.counts
        return np.where(self.true, (true + 1) / (true + 2), 1 / (false + 2))

    @property
    def prior(self) -> float:
        """The share of true facts, (n+ + 1) / (n + 2): never quite zero or one."""
        true, false = self.counts
        return (true + 1) / (true + false + 2)


@dataclass(frozen=True)
class Maps:
    """log-odds = slope * score + intercept: of all facts, and of each predicate."""

    whole: Floats  # (2,): slope, intercept
    own: Floats  # (P, 2)

    def probabilities(self, scores: Floats, predicates: Ints) -> Floats:
        """By the maps of the predicates: (n,), (n,) -> (n,)."""
        slopes, intercepts = self.own.T
        return sigmoid(slopes[predicates] * scores + intercepts[predicates])

    def shifted(self, log_odds: float) -> Maps:
        """The same with something added to all log-odds."""
        more = np.array([0.0, log_odds])
        return Maps(self.whole + more, self.own + more)


def sigmoid(log_odds: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow on either side."""
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1.0, small) / (1.0 + small))


def logit(probability: float) -> float:
    """log p / (1 - p): minus infinity of 0, infinity of 1."""
    with np.errstate(divide="ignore"):
        return float(np.log(probability) - np.log1p(-probability))


def fit(sample: Sample, predicates: int) -> Maps:
    """The map of all and those of P `predicates`; one without a fact gets the map of all."""
    centre, scale = _standard(sample)
    x = (sample.scores - centre) / scale
    whole = _platt(x, sample)
    own = _shrunk(x, sample, whole, predicates)

    def of_scores(theta: Floats) -> Floats:
        slope = theta[..., 0] / scale
        return np.stack([slope, theta[..., 1] - slope * centre], axis=-1)

    return Maps(of_scores(whole), of_scores(own))


def cross_validated(
    sample: Sample, predicates: int, *, folds: int = 5, seed: int = 0
) -> tuple[Floats, Floats]:
    """The probability of each fact by maps that did not see it: its predicate's, that of all."""
    part = np.random.default_rng(seed).permutation(len(sample)) % folds
    own, whole = np.empty(len(sample)), np.empty(len(sample))
    for fold in range(folds):
        left_out = part == fold
        maps, scores = fit(sample.part(~left_out), predicates), sample.scores[left_out]
        own[left_out] = maps.probabilities(scores, sample.predicates[left_out])
        whole[left_out] = sigmoid(maps.whole[0] * scores + maps.whole[1])
    return own, whole


@dataclass(frozen=True)
class Problem:
    """The penalized log-losses of G groups of facts, each with its own theta: (K,).

    Of each fact what is measured, its group, the target in [0, 1], and its weight.
    """

    features: Floats  # (n, K)
    groups: Ints  # (n,)
    targets: Floats  # (n,)
    weights: Floats  # (n,)
    centre: Floats  # (K,): what theta is drawn to
    precision: Floats  # (K,): how strongly

    def values(self, theta: Floats) -> Floats:
        """What is minimized: (G, K) -> (G,)."""
        eta = self._log_odds(theta)
        losses = self.weights * (np.logaddexp(0.0, eta) - self.targets * eta)
        apart = 0.5 * self.precision * (theta - self.centre) ** 2
        return np.asarray(self._sum(losses, len(theta)) + apart.sum(axis=1))

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian: (G, K) -> (G, K), (G, K, K)."""
        share, columns = sigmoid(self._log_odds(theta)), self.features.T
        first = self.weights * (share - self.targets)
        second = self.weights * share * (1 - share)
        gradient = np.stack([self._sum(first * x, len(theta)) for x in columns], axis=1)
        hessian = np.empty((*theta.shape, theta.shape[1]))
        for i, x in enumerate(columns):
            for j, y in enumerate(columns[: i + 1]):
                hessian[:, i, j] = hessian[:, j, i] = self._sum(second * x * y, len(theta))
        hessian += np.diag(self.precision)
        return gradient + self.precision * (theta - self.centre), hessian

    def minimum(self, start: Floats, *, held: Bools | None = None) -> Floats:
        """The best theta of each group, by Newton's method; where `held`, its first stays."""
        theta = start
        for _ in range(STEPS):
            gradient, hessian = self.derivatives(theta)
            if held is not None:
                gradient[held, 0], hessian[held, 0, 1:], hessian[held, 1:, 0] = 0, 0, 0
            step = np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], np.float64)
            theta = self._descended(theta, step)
            if np.abs(step).max(initial=0.0) < TOLERANCE:
                break
        return theta

    def _descended(self, theta: Floats, step: Floats) -> Floats:
        """A step of each group, halved until it does not climb."""
        bar = self.values(theta)
        bar = bar + 1e-10 * (1 + np.abs(bar))  # for what rounding does
        size = np.ones((len(theta), 1))
        for _ in range(HALVINGS):
            climbs = self.values(theta - size * step) > bar
            if not climbs.any():
                break
            size[climbs] /= 2
        return theta - size * step

    def _log_odds(self, theta: Floats) -> Floats:
        return np.asarray((theta[self.groups] * self.features).sum(axis=1))

    def _sum(self, values: Floats, size: int) -> Floats:
        return np.bincount(self.groups, values, minlength=size).astype(np.float64, copy=False)


def _platt(x: Floats, sample: Sample) -> Floats:
    """The map of all, (2,)."""
    return regression(x[:, None], sample, ridge=RIDGE)


def regression(x: Floats, sample: Sample, *, ridge: float) -> Floats:
    """The weights of what is measured, (n, K), and an intercept: (K + 1,), the first rising."""
    features, size = with_one(x), x.shape[1] + 1
    together, nowhere = np.zeros(len(x), dtype=np.int64), np.zeros(size)
    problem = Problem(
        features, together, sample.targets, sample.weights, nowhere, np.full(size, ridge)
    )
    return np.asarray(_rising(problem, problem.minimum(np.zeros((1, size))), LEAST)[0])


def with_one(x: Floats) -> Floats:
    """A column of ones after the others, for an intercept: (n, K) -> (n, K + 1)."""
    return np.column_stack([x, np.ones(len(x))])


def _shrunk(x: Floats, sample: Sample, whole: Floats, predicates: int) -> Floats:
    """The maps of the predicates, (P, 2)."""
    theta, variance = np.tile(whole, (predicates, 1)), np.ones(2)
    there = np.bincount(sample.predicates, minlength=predicates) > 0
    if not there.any():
        return theta
    targets, groups = sample.targets, sample.predicates
    features = with_one(x[:, None])
    problem = Problem(features, groups, targets, sample.weights, whole, 1 / variance)
    for _ in range(ROUNDS):
        problem = replace(problem, precision=1 / variance)
        theta = problem.minimum(theta)
        errors = np.linalg.inv(problem.derivatives(theta)[1])[:, [0, 1], [0, 1]]
        found = ((theta - whole) ** 2 + errors)[there].mean(axis=0).clip(NARROWEST, WIDEST)
        settled = np.abs(np.log(found / variance)).max() < SETTLED
        variance = found
        if settled:
            break
    return _rising(problem, theta, FLATTEST * whole[0])


def _rising(problem: Problem, theta: Floats, least: float) -> Floats:
    """The best theta with a first number of at least `least`, from the best without that bound.

    The problem is convex: where the bound is broken, the best that keeps it lies on it.
    """
    flat = theta[:, 0] < least
    if not flat.any():
        return theta
    start = theta.copy()
    start[flat, 0] = least
    return problem.minimum(start, held=flat)


def _standard(sample: Sample) -> tuple[float, float]:
    """Mean and standard deviation of the scores; one where they do not differ."""
    if not len(sample):
        return 0.0, 1.0
    centre = float(np.average(sample.scores, weights=sample.weights))
    scale = float(np.sqrt(np.average((sample.scores - centre) ** 2, weights=sample.weights)))
    return centre, scale or 1.0
