"""What ranks come to: MRR, MR and Hits@k of groups of queries, with bootstrap intervals.

Pure functions of ranks (n, 2): n facts, towards the object and towards the subject. A *group*
is a mask of that shape; every mean is over the queries in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trifact.graph.known import Ints
from trifact.run.ranktable import SIDES, Bools, Floats, Ranked

TIES = ("realistic", "optimistic", "pessimistic")
LEVEL = 95
AT_ONCE = 2**22  # numbers of one block of resamples


def names(k: tuple[int, ...]) -> list[str]:
    """The metrics, in the order of the last axis of `values`."""
    return ["mrr", "mr", *(f"hits@{cut}" for cut in k)]


def values(ranks: Floats, k: tuple[int, ...]) -> Floats:
    """What each query adds to each metric: ranks (n, 2) -> (n, 2, m)."""
    return np.stack([1 / ranks, ranks, *((ranks <= cut).astype(float) for cut in k)], axis=2)


def mean(found: Floats, group: Bools) -> Floats:
    """The metrics of a group: (n, 2, m), (n, 2) -> (m,)."""
    return np.asarray(found[group].mean(axis=0))


def groups_of(facts: Ints, seen: Bools, categories: Mapping[str, Bools]) -> dict[str, Bools]:
    """The groups of every table: overall, the sides, the categories, seen and unseen facts.

    `categories` holds for each predicate and side whether it is of the category, (P, 2); groups
    without a query are left out.
    """
    everything = np.ones((len(facts), 2), dtype=bool)
    found = {"overall": everything}
    found |= {side: everything & (np.arange(2) == i) for i, side in enumerate(SIDES)}
    found |= {name: of[facts[:, 1]] for name, of in categories.items()}
    if not seen.all():
        found |= {"seen": everything & seen[:, None], "unseen": everything & ~seen[:, None]}
    return {name: group for name, group in found.items() if group.any()}


def bootstrap(
    found: Floats, groups: Mapping[str, Bools], *, resamples: int, seed: int
) -> dict[str, Floats]:
    """Means of groups when facts are drawn with replacement, both sides of a fact together.

    (n, 2, m) -> (resamples, m) a group. A resample is a weight for each fact, so one matrix
    product gives the sums of all groups and metrics.
    """
    masks = np.stack([*groups.values()], axis=2).astype(float)  # (n, 2, g)
    n, (g, m) = len(found), (masks.shape[2], found.shape[2])
    sums = np.einsum("nsg,nsm->ngm", masks, found).reshape(n, g * m)
    sizes, random = masks.sum(axis=1), np.random.default_rng(seed)
    step, means = max(1, AT_ONCE // n), list[Floats]()
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        drawn = random.integers(n, size=(count, n)) + n * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n).astype(float)
        with np.errstate(invalid="ignore"):  # a small group may not be drawn at all
            means.append((weights @ sums).reshape(count, g, m) / (weights @ sizes)[:, :, None])
    joined = np.concatenate(means)
    return {name: joined[:, i] for i, name in enumerate(groups)}


def interval(resampled: Floats) -> Floats:
    """The percentile interval of resampled means: (r, m) -> (2, m)."""
    tail = (100 - LEVEL) / 2
    return np.asarray(np.nanpercentile(resampled, [tail, 100 - tail], axis=0))


def tables(
    ranked: Ranked, groups: Mapping[str, Bools], *, k: tuple[int, ...], resamples: int, seed: int
) -> dict[str, dict[str, Any]]:
    """A table of metrics for each group: realistic, with intervals, and the other two ties."""
    found = {ties: values(ranked.under(ties), k) for ties in TIES}
    result = {name: _table(found, group, k) for name, group in groups.items()}
    if resamples:
        drawn = bootstrap(found["realistic"], groups, resamples=resamples, seed=seed)
        for name, table in result.items():
            table["interval"] = dict(zip(names(k), interval(drawn[name]).T.tolist(), strict=True))
    return result


def _table(found: Mapping[str, Floats], group: Bools, k: tuple[int, ...]) -> dict[str, Any]:
    realistic, *others = (_named(mean(found[ties], group), k) for ties in TIES)
    return {"queries": int(group.sum()), **realistic, **dict(zip(TIES[1:], others, strict=True))}


def by_predicate(
    ranked: Ranked, predicates: Ints, k: tuple[int, ...]
) -> dict[int, dict[str, dict[str, Any]]]:
    """Realistic metrics of each predicate that is asked for: both sides and each alone."""
    found = values(ranked.realistic, k)
    ids, which, counts = np.unique(predicates, return_inverse=True, return_counts=True)
    sums = np.zeros((len(ids), *found.shape[1:]))
    np.add.at(sums, which, found)
    sides = sums / counts[:, None, None]  # (p, 2, m)
    result = dict[int, dict[str, dict[str, Any]]]()
    for row, predicate in enumerate(ids.tolist()):
        count = int(counts[row])
        both = {"queries": 2 * count, **_named(sides[row].mean(axis=0), k)}
        each = {
            side: {"queries": count, **_named(sides[row, i], k)} for i, side in enumerate(SIDES)
        }
        result[predicate] = {"both": both, **each}
    return result


def macro(
    found: Mapping[int, Mapping[str, Mapping[str, Any]]], k: tuple[int, ...]
) -> dict[str, Any]:
    """The mean over predicates, each counting once."""
    rows = [[row["both"][name] for name in names(k)] for row in found.values()]
    return {"predicates": len(rows), **_named(np.mean(rows, axis=0), k)}


def _named(metrics: Floats, k: tuple[int, ...]) -> dict[str, Any]:
    return dict(zip(names(k), metrics.tolist(), strict=True))
