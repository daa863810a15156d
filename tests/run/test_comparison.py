"""Two runs on the same queries: signs, tests and shares are right, and strangers are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, wilcoxon

import trifact
from tests.run.conftest import KeepRun
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.run.comparison import Contestant, compare, signed_rank
from trifact.run.evaluation import evaluate
from trifact.run.protocol import EvaluateConfig
from trifact.run.run import Run


def ring(size: int = 40) -> Graph:
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % size:02}") for i in range(size)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(size)]
    return trifact.load(facts, valid=0.1, test=0.3)


def contestant(run: Run, config: EvaluateConfig | None = None) -> Contestant:
    return Contestant(run.path.name, run.graph(), evaluate(run, config))


def test_differences_are_those_of_the_metrics_and_shares_add_up(keep_run: KeepRun) -> None:
    graph = ring()
    a, b = (contestant(keep_run(graph, f"run{seed}", seed=seed)) for seed in (0, 1))
    found = compare(a, b, resamples=200)
    first, second = (c.evaluation.metrics["filtered"]["overall"] for c in (a, b))
    for name in ("mrr", "mr", "hits@1", "hits@3", "hits@10"):
        row = found["overall"][name]
        assert row["first"] == pytest.approx(first[name])
        assert row["difference"] == pytest.approx(second[name] - first[name])
        assert row["interval"][0] <= row["difference"] <= row["interval"][1]
    whole = found["overall"]["mrr"]["difference"]
    assert sum(row["adds"] for row in found["by_predicate"]) == pytest.approx(whole)
    assert sum(row["adds"] for row in found["by_category"].values()) == pytest.approx(whole)
    gains = [row["adds"] for row in found["by_predicate"]]
    assert gains == sorted(gains, reverse=True)


def test_a_run_against_itself_differs_in_nothing(keep_run: KeepRun) -> None:
    a = contestant(keep_run(ring()))
    found = compare(a, a, resamples=50)
    assert found["overall"]["mrr"]["interval"] == [0, 0]
    assert found["wilcoxon"]["ranks_by_query"]["p"] == 1.0
    pairs = len(a.evaluation.ranks.facts)
    assert found["wilcoxon"]["mrr_by_fact"] == {
        "pairs": pairs, "better": 0, "worse": 0, "equal": pairs, "p": 1.0
    }  # fmt: skip


def test_the_other_order_turns_every_sign_and_no_test(keep_run: KeepRun) -> None:
    graph = ring()
    a, b = (contestant(keep_run(graph, f"run{seed}", seed=seed)) for seed in (0, 1))
    one, other = compare(a, b, resamples=50), compare(b, a, resamples=50)
    difference = one["overall"]["mrr"]["difference"]
    assert other["overall"]["mrr"]["difference"] == pytest.approx(-difference)
    for name in ("ranks_by_query", "mrr_by_fact"):
        assert other["wilcoxon"][name]["p"] == pytest.approx(one["wilcoxon"][name]["p"])
        assert other["wilcoxon"][name]["better"] == one["wilcoxon"][name]["worse"]


def test_the_pairs_of_the_two_tests_are_queries_and_facts(keep_run: KeepRun) -> None:
    graph = ring()
    a, b = (contestant(keep_run(graph, f"run{seed}", seed=seed)) for seed in (0, 1))
    found = compare(a, b, resamples=50)["wilcoxon"]
    before, after = (c.evaluation.ranks.filtered.realistic for c in (a, b))
    by_query = wilcoxon(before.ravel(), after.ravel(), zero_method="pratt")
    by_fact = wilcoxon((1 / after).mean(1), (1 / before).mean(1), zero_method="pratt")
    assert found["ranks_by_query"]["p"] == pytest.approx(by_query.pvalue)
    assert found["mrr_by_fact"]["p"] == pytest.approx(by_fact.pvalue)
    assert found["ranks_by_query"]["better"] == int((after < before).sum())
    assert found["mrr_by_fact"]["better"] == int(((1 / after - 1 / before).mean(1) > 1e-12).sum())
    assert found["ranks_by_query"]["pairs"] == 2 * found["mrr_by_fact"]["pairs"]
    assert found["zeros"] == "pratt"


def test_the_signed_rank_test_of_a_textbook() -> None:
    """Darwin's maize (Wilcoxon's own example is of this kind): exact two-sided p = 0.041."""
    gains = np.array([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75], dtype=float)
    found = signed_rank(gains)
    assert found["p"] == pytest.approx(0.04126, abs=1e-5)
    assert (found["better"], found["worse"], found["equal"]) == (13, 2, 0)


def test_zeros_are_ranked_and_then_dropped() -> None:
    """By hand, after Pratt: ranks of |x| with the zeros in, statistics over the others."""
    gains = np.array([0.0, 0.0, 1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] * 6)
    found = signed_rank(gains)
    n, zeros = len(gains), 12
    order = np.abs(gains)
    ranks = np.array([(order < x).sum() + ((order == x).sum() + 1) / 2 for x in order])
    statistic = ranks[gains > 0].sum()
    mean = (n * (n + 1) - zeros * (zeros + 1)) / 4
    variance = n * (n + 1) * (2 * n + 1) - zeros * (zeros + 1) * (2 * zeros + 1)
    ties = sum(t**3 - t for t in np.unique(order[order > 0], return_counts=True)[1])
    z = (statistic - mean) / np.sqrt((variance - ties / 2) / 24)
    assert found["p"] == pytest.approx(2 * norm.sf(abs(z)), rel=1e-6)
    assert (found["better"], found["worse"], found["equal"]) == (42, 6, 12)


def test_runs_of_different_graphs_are_refused(keep_run: KeepRun) -> None:
    a, b = contestant(keep_run(ring(), "a")), contestant(keep_run(ring(30), "b"))
    with pytest.raises(RunError, match="a and b cannot be compared: their graphs differ"):
        compare(a, b)


def test_it_is_said_if_only_the_splits_differ(keep_run: KeepRun) -> None:
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 40:02}") for i in range(40)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(40)]
    one, other = (
        contestant(keep_run(trifact.load(facts, test=0.3, split_seed=seed), f"run{seed}"))
        for seed in (0, 1)
    )
    with pytest.raises(RunError, match="the facts are the same, but split differently; train"):
        compare(one, other)


def test_evaluations_of_different_facts_or_protocols_are_refused(keep_run: KeepRun) -> None:
    run = keep_run(ring())
    a = contestant(run)
    with pytest.raises(RunError, match="evaluated on different facts"):
        compare(a, contestant(run, EvaluateConfig(split="valid")))
    with pytest.raises(RunError, match="their candidates differs, all and type-constrained"):
        compare(a, contestant(run, EvaluateConfig(type_constrained=True)))
    for name, types in (("one", "city"), ("two", "port")):
        (run.path / name).mkdir()
        rows = [
            (entity, types if i < 9 else "all") for i, entity in enumerate(run.graph().entities)
        ]
        (run.path / name / "types.tsv").write_text("".join(f"{e}\t{t}\n" for e, t in rows))
    by_types = [EvaluateConfig(types=str(run.path / name / "types.tsv")) for name in ("one", "two")]
    with pytest.raises(RunError, match="their types_sha256 differs"):
        compare(*(contestant(run, config) for config in by_types))
    order = [
        contestant(run, EvaluateConfig(filter=f)) for f in (("train", "test"), ("test", "train"))
    ]
    assert compare(*order)["overall"]["mrr"]["difference"] == 0
    with pytest.raises(RunError, match="their filter differs"):
        compare(a, contestant(run, EvaluateConfig(filter=("train",))))


def test_gains_that_cancel_are_none() -> None:
    """Ranks 10 and 3 in place of 3 and 10: the sums of their reciprocals differ by rounding."""
    gain = ((1 / 10 - 1 / 3) + (1 / 3 - 1 / 10) + 1e-17) / 2
    assert gain != 0
    found = signed_rank(np.array([gain, -gain, 0.25, -0.1, 0.3]))
    assert (found["better"], found["worse"], found["equal"]) == (2, 1, 2)
