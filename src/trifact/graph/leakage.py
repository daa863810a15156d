"""Test facts that other predicates give away.

Two predicates that say (nearly) the same, or the same the other way round, let a model look the
answer up instead of inferring it. A predicate that is its own inverse (is married to) is not
that: it is symmetric, and shown apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trifact.graph.graph import Graph
from trifact.graph.known import distinct

NEARLY = 0.8


@dataclass(frozen=True)
class LeakyPair:
    """Two predicates that share most of their pairs of entities; `kind` says which way round."""

    first: int
    second: int
    kind: str
    shared: int
    overlap: float
    """Shared pairs, as a share of the larger predicate's facts."""


@dataclass(frozen=True)
class Leakage:
    """The pairs, largest first, and what they give away."""

    pairs: list[LeakyPair]
    symmetric: list[int]
    """Predicates that are (nearly) their own inverse."""
    test_facts_given_away: int
    """Test facts that train has under the other predicate of a pair."""
    test_facts_reversed: int
    """Test facts of symmetric predicates that train has the other way round."""


def leakage_of(graph: Graph, *, nearly: float = NEARLY) -> Leakage:
    """Overlaps are counted over all splits, what they give away from train to test."""
    pairs = sorted(_overlapping(graph, nearly), key=lambda pair: -pair.shared)
    others = [pair for pair in pairs if pair.first != pair.second]
    symmetric = [pair for pair in pairs if pair.first == pair.second]
    return Leakage(
        pairs=others,
        symmetric=[pair.first for pair in symmetric],
        test_facts_given_away=_given_away(graph, others),
        test_facts_reversed=_given_away(graph, symmetric),
    )


def _overlapping(graph: Graph, nearly: float) -> Iterator[LeakyPair]:
    """Every two predicates that share enough pairs of entities, by two sparse products.

    With M[predicate, (i, k)] = 1 for a fact, and R the same for (k, i), duplicates are M Mᵀ and
    inverses M Rᵀ; a predicate is always its own duplicate, which says nothing.
    """
    from scipy import sparse  # takes as long as all of ours together, and few need it

    subject, predicate, obj = distinct(np.concatenate(list(graph.splits.values()))).T
    there, back = subject * len(graph.entities) + obj, obj * len(graph.entities) + subject
    pairs, column = np.unique(np.concatenate([there, back]), return_inverse=True)
    shape = len(graph.predicates), len(pairs)
    ones = np.ones(len(subject), dtype=np.int64)
    forward = sparse.csr_array((ones, (predicate, column[: len(ones)])), shape=shape)
    reverse = sparse.csr_array((ones, (predicate, column[len(ones) :])), shape=shape)
    sizes = np.bincount(predicate, minlength=shape[0])
    for kind, other, diagonal in (("inverse", reverse, 0), ("duplicate", forward, 1)):
        shared = sparse.triu(forward @ other.T, k=diagonal).tocoo()
        overlap = shared.data / np.maximum(sizes[shared.row], sizes[shared.col])
        columns = (shared.row, shared.col, shared.data, overlap)
        enough = (column[overlap >= nearly].tolist() for column in columns)
        for first, second, count, share in zip(*enough, strict=True):
            yield LeakyPair(first, second, kind, count, share)


def _given_away(graph: Graph, pairs: list[LeakyPair]) -> int:
    """Test facts that train has under a partner of their predicate."""
    partners = {(p.first, p.second, p.kind) for p in pairs}
    asked, said = [np.empty(0, dtype=np.int64)], [graph.test[:0]]
    for first, second, kind in partners | {(q, p, kind) for p, q, kind in partners}:
        rows = np.flatnonzero(graph.test[:, 1] == first)
        facts = graph.test[rows] if kind == "duplicate" else graph.test[rows][:, ::-1]
        asked.append(rows)
        said.append(facts * np.array([1, 0, 1]) + np.array([0, second, 0]))
    known = graph.known("train").contains(np.concatenate(said))
    return len(np.unique(np.concatenate(asked)[known]))
