"""Maps from scores to probabilities: planted ones are found, few facts keep the map of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from trifact.answer import platt
from trifact.answer.platt import Maps, Problem, Sample, cross_validated, fit, sigmoid

Truth = list[tuple[float, float]]


def planted(maps: Truth, sizes: list[int], *, seed: int = 0) -> Sample:
    """Facts of several predicates, whose truth is drawn by given slopes and intercepts."""
    random = np.random.default_rng(seed)
    predicates = np.repeat(np.arange(len(maps)), sizes)
    scores = random.normal(-4, 2, len(predicates))
    slopes, intercepts = np.array(maps).T
    chance = expit(slopes[predicates] * scores + intercepts[predicates])
    return Sample(scores, predicates, random.random(len(scores)) < chance, np.ones(len(scores)))


def a_problem(seed: int = 0, size: int = 2) -> Problem:
    random = np.random.default_rng(seed)
    return Problem(
        platt.with_one(random.normal(size=(60, size - 1))),
        random.integers(3, size=60),
        random.random(60),
        random.integers(1, 4, 60).astype(float),
        random.normal(size=size),
        random.uniform(0.2, 0.8, size),
    )


@pytest.mark.parametrize("size", [2, 4])
def test_gradient_and_hessian_are_those_of_finite_differences(size: int) -> None:
    problem, step = a_problem(size=size), 1e-5
    theta = np.random.default_rng(1).normal(size=(3, size))
    gradient, hessian = problem.derivatives(theta)
    for f in range(size):
        more, less = theta.copy(), theta.copy()
        more[:, f] += step
        less[:, f] -= step
        slope = (problem.values(more) - problem.values(less)) / (2 * step)
        bend = (problem.derivatives(more)[0] - problem.derivatives(less)[0]) / (2 * step)
        np.testing.assert_allclose(gradient[:, f], slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(hessian[:, :, f], bend, rtol=1e-6, atol=1e-7)


def test_newton_finds_what_a_general_solver_finds() -> None:
    problem = a_problem()
    found = problem.minimum(np.zeros((3, 2)))

    def total(flat: np.ndarray) -> float:
        return float(problem.values(flat.reshape(3, 2)).sum())

    other = minimize(total, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(found.ravel(), other.x, atol=1e-4)
    assert problem.values(found).sum() <= other.fun + 1e-9


def test_newton_arrives_from_far_away() -> None:
    problem = replace(a_problem(), precision=np.full(2, 1e-3))
    near = problem.minimum(np.zeros((3, 2)))
    np.testing.assert_allclose(problem.minimum(np.full((3, 2), 50.0)), near, atol=1e-6)


def test_a_slope_that_is_held_stays_and_the_intercept_is_the_best_for_it() -> None:
    problem, start = a_problem(), np.full((3, 2), 2.0)
    found = problem.minimum(start, held=np.array([True, False, True]))
    assert found[[0, 2], 0].tolist() == [2.0, 2.0]
    gradient, _ = problem.derivatives(found)
    np.testing.assert_allclose(gradient[:, 1], 0, atol=1e-8)
    assert found[1] == pytest.approx(problem.minimum(np.zeros((3, 2)))[1], abs=1e-8)


def test_a_planted_map_is_found() -> None:
    found = fit(planted([(1.3, 4.0)], [200_000]), 1)
    np.testing.assert_allclose(found.whole, [1.3, 4.0], rtol=0.03)
    np.testing.assert_allclose(found.own[0], [1.3, 4.0], rtol=0.03)


def test_many_facts_give_a_predicate_its_own_map() -> None:
    truth = [(0.5, 1.0), (1.0, 4.0), (2.0, 9.0), (1.5, 3.0)]
    found = fit(planted(truth, [50_000] * 4), 4)
    np.testing.assert_allclose(found.own, truth, rtol=0.06)


def test_few_facts_keep_a_predicate_near_the_map_of_all() -> None:
    """Five predicates that are alike, and a sixth with two facts that say the opposite."""
    alike = planted([(1.0, 4.0)] * 5, [2000] * 5)
    odd = Sample(np.array([-8.0, 0.0]), np.array([5, 5]), np.array([True, False]), np.ones(2))
    both = Sample(
        *(np.concatenate([a, b]) for a, b in
          zip(vars(alike).values(), vars(odd).values(), strict=True))
    )  # fmt: skip
    found = fit(both, 6)
    np.testing.assert_allclose(found.own[5], found.whole, rtol=0.1, atol=0.1)


def test_a_predicate_without_facts_has_the_map_of_all() -> None:
    found = fit(planted([(1.0, 4.0), (2.0, 5.0)], [500, 500]), 4)
    assert found.own[2].tolist() == pytest.approx(found.whole.tolist(), abs=1e-12)
    assert found.own[3].tolist() == found.own[2].tolist()


def test_the_more_facts_the_farther_from_the_map_of_all() -> None:
    others = [(1.0, 4.0)] * 6
    apart = []
    for size in (5, 50, 5000):
        found = fit(planted([*others, (1.0, 1.0)], [2000] * 6 + [size]), 7)
        apart.append(abs(found.own[6, 1] - 1.0))
    assert apart == sorted(apart, reverse=True)


def test_copies_and_weights_are_the_same() -> None:
    few = planted([(1.0, 4.0), (2.0, 5.0)], [40, 60])
    heavy = replace(few, weights=np.where(np.arange(100) % 3 == 0, 3.0, 1.0))
    rows = np.repeat(np.arange(100), heavy.weights.astype(int))
    copies = Sample(*(column[rows] for column in vars(few).values()))
    np.testing.assert_allclose(fit(heavy, 2).own, fit(copies, 2).own, rtol=1e-6)


def test_where_scores_say_the_opposite_the_map_still_rises() -> None:
    upside_down = planted([(-2.0, -8.0)] * 3, [300] * 3)
    found = fit(upside_down, 3)
    assert found.whole[0] > 0
    assert (found.own[:, 0] > 0).all()


def test_a_slope_at_its_bound_is_the_best_of_those_that_keep_it() -> None:
    mixed = planted([(2.0, 8.0)] * 8 + [(-1.0, -4.0)], [500] * 9)
    features = platt.with_one(mixed.scores[:, None])
    problem = replace(a_problem(), features=features, groups=mixed.predicates,
                      targets=mixed.true.astype(float), weights=mixed.weights)  # fmt: skip
    free = problem.minimum(np.zeros((9, 2)))
    bound = platt._rising(problem, free, 0.3)
    assert free[8, 0] < 0.3
    assert bound[8, 0] == 0.3
    for slope in (0.3, 0.31, 0.5):
        for intercept in bound[8, 1] + np.array([-0.1, 0.0, 0.1]):
            other = bound.copy()
            other[8] = slope, intercept
            assert problem.values(other)[8] >= problem.values(bound)[8] - 1e-9


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-9, 0), st.integers(0, 2), st.booleans(), st.integers(1, 2)),
        min_size=1,
        max_size=30,
    )
)
def test_whatever_the_facts_probabilities_rise_with_the_score(
    facts: list[tuple[int, int, bool, int]],
) -> None:
    columns = list(zip(*facts, strict=True))
    sample = Sample(
        np.array(columns[0], dtype=float), np.array(columns[1]),
        np.array(columns[2]), np.array(columns[3], dtype=float),
    )  # fmt: skip
    found, scores = fit(sample, 3), np.linspace(-12, 0, 50)
    for predicate in range(3):
        said = found.probabilities(scores, np.full(50, predicate))
        assert (np.diff(said) > 0).all()
        assert (said > 0).all()
        assert (said < 1).all()


def test_facts_that_a_threshold_tells_apart_do_not_become_certain() -> None:
    scores = np.linspace(-8, 0, 100)
    apart = Sample(scores, np.zeros(100, dtype=np.int64), scores > -4, np.ones(100))
    said = fit(apart, 1).probabilities(scores, apart.predicates)
    assert 0 < said.min() < 0.02
    assert 0.98 < said.max() < 1


@pytest.mark.parametrize("true", [True, False])
def test_facts_of_one_kind_and_one_score_give_a_share_between_zero_and_one(true: bool) -> None:
    same = Sample(np.full(8, -3.0), np.zeros(8, dtype=np.int64), np.full(8, true), np.ones(8))
    said = fit(same, 1).probabilities(np.array([-3.0]), np.array([0]))[0]
    assert (0.8 < said < 1) if true else (0 < said < 0.2)
    assert same.prior == pytest.approx(0.9 if true else 0.1)


def test_cross_validation_never_shows_a_map_the_fact_it_speaks_of() -> None:
    """A fact whose truth is turned round changes what is said of all others, and not of itself."""
    sample = planted([(1.0, 4.0), (2.0, 6.0)], [50, 50])
    turned = sample.true.copy()
    turned[7] = not turned[7]
    before, _ = cross_validated(sample, 2)
    after, _ = cross_validated(replace(sample, true=turned), 2)
    assert before[7] == after[7]
    assert (before != after).sum() > 50


def test_cross_validation_of_one_fact_and_of_two() -> None:
    for size in (1, 2):
        own, whole = cross_validated(planted([(1.0, 4.0)], [size]), 1)
        assert np.isfinite(own).all()
        assert np.isfinite(whole).all()


def test_the_same_facts_give_the_same_maps() -> None:
    sample = planted([(1.0, 4.0), (2.0, 6.0)], [300, 20])
    assert fit(sample, 2).own.tolist() == fit(sample, 2).own.tolist()
    first, second = (cross_validated(sample, 2, seed=3)[0] for _ in range(2))
    assert first.tolist() == second.tolist()


def test_the_logistic_function_overflows_on_neither_side() -> None:
    x = np.array([-2000.0, -30, -1, 0, 1, 30, 2000])
    np.testing.assert_allclose(sigmoid(x), expit(x), rtol=1e-14)
    assert Maps(np.ones(2), np.ones((1, 2))).shifted(2.0).own.tolist() == [[1.0, 3.0]]
