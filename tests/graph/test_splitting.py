"""Splitting facts loses none, keeps every name in train, and holds out nothing that was seen."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import trifact
from tests.graph.test_known import FACTS, PREDICATES
from trifact.graph.known import Ints, KnownAnswers, distinct
from trifact.graph.splitting import MOST_HELD_OUT, Draw


def parts_of(facts: Ints, draw: Draw) -> tuple[Ints, Ints, Ints]:
    train, valid, test = draw.split(facts).values()
    return train, valid, test


@given(FACTS, st.integers(0, 3), st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0.0, 0.2]))
def test_splitting_keeps_every_fact_and_every_name_in_train(
    facts: Ints, seed: int, valid: float, test: float
) -> None:
    parts = parts_of(facts, Draw(valid, test, seed))
    assert sorted(np.concatenate(parts).tolist()) == sorted(facts.tolist())
    train = parts[0]
    assert set(train[:, [0, 2]].ravel()) == set(facts[:, [0, 2]].ravel())
    assert set(train[:, 1]) == set(facts[:, 1])
    kept = [{tuple(f) for f in part.tolist()} for part in parts]
    assert not (kept[0] & kept[1] or kept[0] & kept[2] or kept[1] & kept[2])
    assert bool(len(parts[1])) <= bool(valid)
    assert bool(len(parts[2])) <= bool(test)


def many_facts(count: int) -> Ints:
    random = np.random.default_rng(0)
    ids = random.integers(0, 2000, (count, 3)) % np.array([2000, 5, 2000])
    return distinct(ids)


def test_a_split_holds_out_the_shares_asked_for() -> None:
    facts = many_facts(20_000)
    train, valid, test = parts_of(facts, Draw(0.05, 0.1, seed=0))
    assert len(valid) == round(0.05 * len(facts))
    assert len(test) == round(0.1 * len(facts))
    other = parts_of(facts, Draw(0.05, 0.1, seed=1))[1]
    assert valid.tolist() == parts_of(facts, Draw(0.05, 0.1, seed=0))[1].tolist() != other.tolist()
    assert len(train) + len(valid) + len(test) == len(facts)


def test_no_more_than_twenty_thousand_facts_are_held_out() -> None:
    _, valid, test = parts_of(many_facts(500_000), Draw(0.05, 0.05, seed=0))
    assert len(valid) == len(test) == MOST_HELD_OUT == 20_000


def test_at_least_one_fact_is_held_out_where_there_is_one() -> None:
    facts = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 1]])
    _, valid, test = parts_of(facts, Draw(0.05, 0.05, seed=0))
    assert len(valid) == len(test) == 1


@given(FACTS, FACTS, st.integers(0, 3))
def test_nothing_that_was_trained_on_is_held_out(facts: Ints, trained: Ints, seed: int) -> None:
    known = KnownAnswers.of(trained, predicates=PREDICATES)
    splits = Draw(0.3, 0.3, seed).split(facts, known)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == sorted(facts.tolist())
    assert set(splits["train"][:, [0, 2]].ravel()) == set(facts[:, [0, 2]].ravel())
    assert set(splits["train"][:, 1]) == set(facts[:, 1])
    held_out = distinct(np.concatenate([splits["valid"], splits["test"]]))
    assert not known.contains(held_out).any()
    new = distinct(facts)
    assert len(held_out) <= (~known.contains(new)).sum() // 2


def test_a_chain_cannot_be_split_and_this_is_said() -> None:
    graph = trifact.load([("a", "p", "b"), ("c", "q", "d")])
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (2, 0, 0)
    assert graph.notes[-1].startswith("not split")


def test_where_few_facts_are_free_neither_share_is_exceeded() -> None:
    chain = [(i, 0, i + 1) for i in range(100)] + [(i, 0, i + 2) for i in range(40)]
    for valid, test in ((0.01, 0.5), (0.5, 0.01), (0.5, 0.5), (0.0, 0.5)):
        train, *held = parts_of(np.array(chain), Draw(valid, test, seed=0))
        free = sum(map(len, held))
        assert len(train) + free == 140
        for part, share in zip(held, (valid, test), strict=True):
            assert len(part) <= round(share * 140)
        if valid == test:
            assert abs(len(held[0]) - len(held[1])) <= 1
        else:
            assert min(map(len, held)) == round(min(valid, test) * 140)
