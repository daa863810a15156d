"""Metrics by hand, and intervals that cover what they should."""

from __future__ import annotations

import numpy as np
import pytest

import trifact
from trifact.graph.description import membership, predicate_rows
from trifact.run import metrics
from trifact.run.ranktable import Ranked

RANKS = np.array([[1, 2], [4, 1], [10, 20], [1, 1]])
K = (1, 3, 10)


def ranked(optimistic: np.ndarray = RANKS, ties: int = 0) -> Ranked:
    return Ranked(optimistic, optimistic + ties)


def everything(n: int = 4) -> dict[str, np.ndarray]:
    return metrics.groups_of(np.zeros((n, 3), dtype=np.int64), np.ones(n, dtype=bool), {})


def test_metrics_of_eight_ranks_by_hand() -> None:
    found = metrics.tables(ranked(), everything(), k=K, resamples=0, seed=0)
    assert found["overall"]["queries"] == 8
    assert found["overall"]["mrr"] == pytest.approx((1 + 0.5 + 0.25 + 1 + 0.1 + 0.05 + 2) / 8)
    assert found["overall"]["mr"] == pytest.approx(40 / 8)
    assert [found["overall"][f"hits@{k}"] for k in K] == pytest.approx([4 / 8, 5 / 8, 7 / 8])
    assert found["object"]["mrr"] == pytest.approx((1 + 0.25 + 0.1 + 1) / 4)
    assert found["subject"]["mr"] == pytest.approx(24 / 4)


def test_the_three_ties_of_a_rank_between_2_and_5() -> None:
    found = metrics.tables(
        ranked(np.array([[2, 2]]), ties=3), everything(1), k=(2, 3, 4, 5), resamples=0, seed=0
    )["overall"]
    assert (found["mr"], found["optimistic"]["mr"], found["pessimistic"]["mr"]) == (3.5, 2, 5)
    assert found["mrr"] == pytest.approx(1 / 3.5)  # of the mean rank, not the mean of the two
    hits = [[row[f"hits@{k}"] for k in (2, 3, 4, 5)] for row in
            (found, found["optimistic"], found["pessimistic"])]  # fmt: skip
    assert hits == [[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]]


def test_predicates_and_their_macro_average_by_hand() -> None:
    found = metrics.by_predicate(ranked(), np.array([5, 7, 5, 7]), (1,))
    assert found[5]["both"] == {"queries": 4, "mrr": (1 + 0.5 + 0.1 + 0.05) / 4, "mr": 33 / 4,
                                "hits@1": 0.25}  # fmt: skip
    assert found[7]["object"]["mrr"] == pytest.approx((0.25 + 1) / 2)
    assert found[7]["subject"] == {"queries": 2, "mrr": 1, "mr": 1, "hits@1": 1}
    macro = metrics.macro(found, (1,))
    assert macro["predicates"] == 2
    assert macro["hits@1"] == pytest.approx((0.25 + 0.75) / 2)


def test_a_predicate_is_mirrored_towards_subjects() -> None:
    """`has child` has out-degree 3 and in-degree 1: 1-m towards objects, m-1 towards subjects."""
    facts = [(f"parent{i}", "has child", f"child{i}{j}") for i in range(4) for j in range(3)]
    facts += [(f"parent{i}", "is", f"child{i}0") for i in range(4)]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    child, same = graph.predicates.find("has child"), graph.predicates.find("is")
    assert child is not None
    rows = predicate_rows(graph)
    assert (rows[child].facts, rows[child].subjects, rows[child].objects) == (12, 4, 12)
    of = membership(predicate_rows(graph))
    assert of["1-m"][child].tolist() == [True, False]
    assert of["m-1"][child].tolist() == [False, True]
    assert of["1-1"][same].tolist() == [True, True]


def test_categories_are_groups_of_queries_not_of_facts() -> None:
    facts = np.array([[0, 0, 1], [2, 1, 3]])
    of = {"1-m": np.array([[True, False], [False, False]]),
          "m-1": np.array([[False, True], [False, False]]),
          "m-m": np.zeros((2, 2), dtype=bool)}  # fmt: skip
    groups = metrics.groups_of(facts, np.array([True, False]), of)
    assert [*groups] == ["overall", "object", "subject", "1-m", "m-1", "seen", "unseen"]
    assert groups["1-m"].tolist() == [[True, False], [False, False]]
    assert groups["unseen"].tolist() == [[False, False], [True, True]]


def test_intervals_are_reproducible_and_contain_the_mean() -> None:
    ranks = np.random.default_rng(0).geometric(0.2, size=(300, 2))
    one, again, other = (
        metrics.tables(ranked(ranks), everything(300), k=K, resamples=500, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one["overall"]["interval"] != other["overall"]["interval"]
    for table in one.values():
        for name, (low, high) in table["interval"].items():
            assert low < table[name] < high


def test_resampling_keeps_the_two_sides_of_a_fact_together() -> None:
    """Sides that cancel within every fact leave a mean without any spread."""
    sides = np.random.default_rng(0).normal(size=(50, 1, 1))
    found = np.concatenate([1 + sides, 1 - sides], axis=1)  # (n, 2, 1)
    drawn = metrics.bootstrap(found, everything(50), resamples=200, seed=0)
    assert np.ptp(drawn["overall"]) < 1e-12
    assert np.ptp(drawn["object"]) > 0.1


@pytest.mark.parametrize("at_once", [metrics.AT_ONCE, 8])  # all of them, and two resamples
def test_a_resample_is_a_mean_over_facts_drawn_with_replacement(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """The slow twin draws the same facts one resample after the other."""
    monkeypatch.setattr(metrics, "AT_ONCE", at_once)
    found = metrics.values(ranked().realistic, K)
    groups = everything() | {"some": np.array([[1, 0], [0, 1], [0, 0], [1, 1]], dtype=bool)}
    drawn = metrics.bootstrap(found, groups, resamples=20, seed=5)
    chosen = np.random.default_rng(5).integers(4, size=(20, 4))
    for name, group in groups.items():
        for row, facts in enumerate(chosen):
            if group[facts].any():
                slow = found[facts][group[facts]].mean(axis=0)
                assert drawn[name][row] == pytest.approx(slow)


def test_95_percent_of_the_intervals_cover_the_truth() -> None:
    random, covered, trials = np.random.default_rng(7), 0, 300
    for trial in range(trials):
        found = random.normal(size=(80, 2, 1)) + random.normal(size=(80, 1, 1))  # sides correlate
        drawn = metrics.bootstrap(found, everything(80), resamples=200, seed=trial)
        low, high = metrics.interval(drawn["overall"])[:, 0]
        covered += low < 0 < high
    assert 0.90 < covered / trials < 0.98


def test_a_group_that_is_not_always_drawn_still_has_an_interval() -> None:
    group = {"one": np.array([[True, False], *[[False, False]] * 3])}
    drawn = metrics.bootstrap(metrics.values(ranked().realistic, K), group, resamples=50, seed=0)
    assert np.isnan(drawn["one"]).any()
    assert metrics.interval(drawn["one"])[:, 0].tolist() == [1.0, 1.0]
