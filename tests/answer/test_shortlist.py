"""A shortlist keeps the best of all that came by."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trifact.answer.shortlist import Found, Shortlist, best_of


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 30), st.sampled_from([None, 1, 4]))
def test_a_shortlist_is_the_best_of_all_that_came_by(
    data: st.DataObject, size: int, each: int | None
) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 100)))
    shortlist, everything = Shortlist(size, each=each, floor=0.1), Found.nothing()
    for _ in range(data.draw(st.integers(0, 12))):
        count = int(random.integers(0, 40))
        facts = random.integers(0, 50, (count, 3))
        facts[:, 1] = random.integers(3)
        keys, scores = random.integers(0, 12, (2, count)) / 4  # many are equal
        came = Found(facts, -scores, keys)
        everything = Found.joined(everything, came)
        shortlist.add(came[np.flatnonzero(keys >= shortlist.floor)])
    enough = everything[np.flatnonzero(everything.keys >= 0.1)]
    wanted = best_of(enough, size, each=each)
    found = shortlist.best()
    assert found.facts.tolist() == wanted.facts.tolist()
    assert found.keys.tolist() == wanted.keys.tolist()
    again = Shortlist(size, each=each, floor=0.1)
    again.restore(found)
    assert again.best().facts.tolist() == wanted.facts.tolist()
