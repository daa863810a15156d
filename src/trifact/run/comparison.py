"""Runs side by side on the same queries: differences, whether they are more than chance, and where.

Two paired tests, both Wilcoxon's signed-rank test, two-sided: on the rank pairs of all queries, as
the paper does, and by fact on the mean reciprocal rank of its two sides (the two queries of a fact
are not independent). Zeros are treated as by Pratt: differences of zero are ranked with the
others and then dropped, so that the number of equal pairs is not ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from trifact.errors import RunError
from trifact.graph.description import CATEGORIES, membership, predicate_rows
from trifact.graph.graph import Graph
from trifact.run import metrics
from trifact.run.evaluation import Evaluation
from trifact.run.ranktable import SIDES, Floats

ZEROS = "pratt"
DIGITS = 12  # sums of reciprocal ranks that are equal differ in the sixteenth
MUST_AGREE = ("filter", "candidates", "types_sha256", "precision")


@dataclass(frozen=True)
class Contestant:
    """An evaluation of a run, what to call it, and the run's graph."""

    name: str
    graph: Graph
    evaluation: Evaluation


def compare(
    first: Contestant, second: Contestant, *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """The second less the first, in plain values; a positive difference of MRR is an improvement.

    Schema: docs/evaluation.md.
    """
    _check_comparable(first, second)
    table = first.evaluation.ranks
    k = tuple(first.evaluation.metrics["protocol"]["k"])
    before, after = (c.evaluation.ranks.filtered.realistic for c in (first, second))
    found = metrics.values(after, k) - metrics.values(before, k)
    groups = metrics.groups_of(table.facts, table.seen, membership(predicate_rows(first.graph)))
    drawn = metrics.bootstrap(found, groups, resamples=resamples, seed=seed)
    tables = {
        name: _difference(metrics.values(before, k)[group], found[group], drawn[name], k)
        for name, group in groups.items()
    }
    return {
        "runs": [first.name, second.name],
        "graph": first.evaluation.metrics["graph"],
        "label": first.evaluation.metrics["label"],
        "overall": tables["overall"],
        "by_side": {side: tables[side] for side in SIDES},
        "by_category": _with_shares(
            {name: tables[name] for name in CATEGORIES if name in tables}, tables["overall"]
        ),
        **{name: tables[name] for name in ("seen", "unseen") if name in tables},
        "by_predicate": _by_predicate(first, 1 / before, 1 / after),
        "wilcoxon": {
            "zeros": ZEROS,
            "ranks_by_query": signed_rank((before - after).ravel()),
            "mrr_by_fact": signed_rank((1 / after).mean(axis=1) - (1 / before).mean(axis=1)),
        },
    }


def pooled(
    pairs: Sequence[tuple[Contestant, Contestant]], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """The gain of MRR of second runs over first ones, each pair with a seed of its own.

    A fact's gain is its mean over the pairs, so the interval and the test are those of the facts;
    how far the seeds are apart is shown by their differences.
    """
    gains = []
    for first, second in pairs:
        _check_comparable(first, second)
        _check_comparable(pairs[0][0], first)
        before, after = (c.evaluation.ranks.filtered.realistic for c in (first, second))
        gains.append(1 / after - 1 / before)  # (n, 2)
    mean = np.mean(gains, axis=0)
    everything = {"overall": np.ones(mean.shape, dtype=bool)}
    drawn = metrics.bootstrap(mean[:, :, None], everything, resamples=resamples, seed=seed)
    return {
        "pairs": len(pairs),
        "differences": [float(gain.mean()) for gain in gains],
        "difference": float(mean.mean()),
        "interval": metrics.interval(drawn["overall"])[:, 0].tolist(),
        "mrr_by_fact": signed_rank(mean.mean(axis=1)),
    }


def signed_rank(gains: Floats) -> dict[str, Any]:
    """Wilcoxon's test that gains of pairs (n,) are chance, and how many favour the second run."""
    gains = gains.round(DIGITS)
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    found = {"pairs": len(gains), "better": better, "worse": worse}
    found["equal"] = len(gains) - better - worse
    p = float(wilcoxon(gains, zero_method=ZEROS).pvalue) if better + worse else 1.0
    return {**found, "p": p}


def _check_comparable(first: Contestant, second: Contestant) -> None:
    one, other = first.evaluation.metrics, second.evaluation.metrics
    place = f"{first.name} and {second.name}"
    if one["graph"]["content_hash"] != other["graph"]["content_hash"]:
        names = f"{one['graph']['name']} and {other['graph']['name']}"
        if not _facts_differ(first, second):
            names = "the facts are the same, but split differently; train both on the same splits"
        raise RunError(f"{place} cannot be compared: their graphs differ ({names})")
    if not np.array_equal(first.evaluation.ranks.facts, second.evaluation.ranks.facts):
        raise RunError(f"{place} cannot be compared: they were evaluated on different facts")
    for key in MUST_AGREE:
        a, b = one["protocol"].get(key), other["protocol"].get(key)
        if a != b:
            raise RunError(f"{place} cannot be compared: their {key} differs, {a} and {b}")


def _facts_differ(first: Contestant, second: Contestant) -> bool:
    """Whether it is more than the splits in which two graphs differ."""
    one, other = (contestant.graph.all_in_train() for contestant in (first, second))
    return one.content_hash != other.content_hash


def _difference(before: Floats, found: Floats, drawn: Floats, k: tuple[int, ...]) -> dict[str, Any]:
    """The metrics of a group before, the mean difference and its interval."""
    rows = zip(
        metrics.names(k),
        before.mean(axis=0).tolist(),
        found.mean(axis=0).tolist(),
        metrics.interval(drawn).T.tolist(),
        strict=True,
    )
    return {
        "queries": len(found),
        **{
            name: {"first": first, "difference": difference, "interval": interval}
            for name, first, difference, interval in rows
        },
    }


def _with_shares(
    tables: dict[str, dict[str, Any]], overall: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """What a category adds to the overall difference of MRR: its difference times its share."""
    for table in tables.values():
        share = table["queries"] / overall["queries"]
        table["adds"] = table["mrr"]["difference"] * share
    return tables


def _by_predicate(first: Contestant, before: Floats, after: Floats) -> list[dict[str, Any]]:
    """What each predicate adds to the overall difference of MRR, the largest gain first."""
    graph, predicates = first.graph, first.evaluation.ranks.facts[:, 1]
    ids, which, counts = np.unique(predicates, return_inverse=True, return_counts=True)
    sums = [np.bincount(which, weights=side.sum(axis=1)) for side in (before, after)]
    gains = (sums[1] - sums[0]) / (2 * len(predicates))
    return [
        {
            "predicate": graph.predicates[int(ids[row])],
            "label": graph.predicate_label(int(ids[row])),
            "queries": 2 * int(counts[row]),
            "first": float(sums[0][row] / (2 * counts[row])),
            "difference": float((sums[1][row] - sums[0][row]) / (2 * counts[row])),
            "adds": float(gains[row]),
        }
        for row in np.argsort(-gains, kind="stable").tolist()
    ]
