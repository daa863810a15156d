"""A shortlist keeps the best of all that came by, and knows what it need not see."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.answer.test_sweep import a_calibration
from trifact.answer.calibration import Calibration
from trifact.answer.ordering import ByProbability
from trifact.answer.platt import Maps
from trifact.answer.shortlist import Found, Shortlist, best_of


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 30), st.sampled_from([None, 1, 4]))
def test_a_shortlist_is_the_best_of_all_that_came_by(
    data: st.DataObject, size: int, each: int | None
) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 100)))
    order = ByProbability(a_calibration(3))
    shortlist, everything = Shortlist(size, order, each=each, least=0.1), Found.nothing()
    for _ in range(data.draw(st.integers(0, 12))):
        count, predicate = int(random.integers(0, 40)), int(random.integers(3))
        facts = random.integers(0, 50, (count, 3))
        facts[:, 1] = predicate
        scores = -random.integers(0, 12, count) / 4  # many are equal
        everything = Found.joined(everything, Found(facts, scores, order.keys(scores, predicate)))
        useful = scores >= shortlist.bar(predicate)
        shortlist.add(facts[useful], scores[useful])
    enough = everything[np.flatnonzero(everything.keys >= 0.1)]
    wanted = best_of(enough, size, each=each)
    found = shortlist.best()
    assert found.facts.tolist() == wanted.facts.tolist()
    assert found.keys.tolist() == wanted.keys.tolist()
    again = Shortlist(size, order, each=each, least=0.1)
    again.restore(found)
    assert again.best().facts.tolist() == wanted.facts.tolist()


@settings(max_examples=200, deadline=None)
@given(st.floats(0.01, 20), st.floats(-30, 30), st.floats(1e-9, 1))
def test_a_bar_is_where_the_probability_is_reached(a: float, b: float, key: float) -> None:
    order = ByProbability(Calibration(Maps(np.ones(2), np.array([[a, b]])), 0.5, {}))
    bar = order.bar(key, 0)
    if bar == math.inf:  # not even a certain answer is enough
        assert order.keys(np.zeros(1), 0)[0] < key
        return
    assert order.keys(np.array([bar]), 0)[0] < key
    slightly = 1e-5 * max(1.0, -bar)
    assert order.keys(np.array([bar + slightly]), 0)[0] >= key
