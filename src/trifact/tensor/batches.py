"""Queries with their answers, as tensors: what one step of training is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from trifact.tensor.trilinear import Towards
from trifact.tensor.workspace import rows_at_a_time


class Batch(NamedTuple):
    """B queries and their A answers: answer a is one of query rows[a], `rows` ascending.

    `weights` say how often a fact counts (its multiplicity in training); None: once. A query
    that shall weigh more hands its weight to its answers.
    """

    entities: Tensor  # (B,)
    predicates: Tensor  # (B,), reciprocal ids
    rows: Tensor  # (A,)
    answers: Tensor  # (A,)
    weights: Tensor | None = None  # (A,)

    def parts(self, predicates: int) -> Iterator[tuple[Towards, Batch]]:
        """The queries towards objects, then those towards subjects, predicates as table rows.

        `predicates` is the height of the predicate table; an id beyond it asks for subjects.
        """
        backwards = self.predicates >= predicates
        if not bool(backwards.any()):
            yield "object", self
            return
        if not bool(backwards.all()):
            yield "object", self._where(~backwards)
        part = self._where(backwards)
        yield "subject", part._replace(predicates=part.predicates - predicates)

    def _where(self, mask: Tensor) -> Batch:
        """The queries of a mask (B,), with their answers."""
        number, kept = mask.cumsum(0) - 1, mask[self.rows]
        weights = None if self.weights is None else self.weights[kept]
        rows, answers = number[self.rows[kept]], self.answers[kept]
        return Batch(self.entities[mask], self.predicates[mask], rows, answers, weights)


@dataclass
class Targets:
    """The sparse matrix Y (B, N) of a batch: weights[a] at (rows[a], answers[a]).

    `mass` (B,) is what each query weighs: Y 1. Of a range of candidates Y holds only the
    answers inside, and the mass still counts all.
    """

    rows: Tensor  # (A,), ascending
    answers: Tensor  # (A,)
    weights: Tensor  # (A,)
    mass: Tensor  # (B,)

    @classmethod
    def of(cls, batch: Batch, *, like: Tensor, scale: float = 1.0) -> Targets:
        """The weights of a batch times `scale`, in the type and place of `like`."""
        weights = like.new_full((len(batch.answers),), scale)
        if batch.weights is not None:
            weights *= batch.weights
        mass = like.new_zeros(len(batch.entities)).index_add_(0, batch.rows, weights)
        return cls(batch.rows, batch.answers, weights, mass)

    @classmethod
    def joined(cls, several: list[Targets]) -> Targets:
        """Those of several batches, whose queries follow each other."""
        starts = accumulate((len(targets.mass) for targets in several), initial=0)
        rows = [targets.rows + start for targets, start in zip(several, starts, strict=False)]
        others = ((targets.answers, targets.weights, targets.mass) for targets in several)
        return cls(torch.cat(rows), *map(torch.cat, zip(*others, strict=True)))

    def within(self, start: int, stop: int) -> Targets:
        """The answers start <= k < stop, counted from `start`."""
        inside = (self.answers >= start) & (self.answers < stop)
        rows, answers = self.rows[inside], self.answers[inside] - start
        return Targets(rows, answers, self.weights[inside], self.mass)

    def gather(self, candidates: Tensor) -> Tensor:
        """Y C: (N, D) -> (B, D)."""
        counts = torch.bincount(self.rows, minlength=len(self.mass))
        return _bags(self.answers, candidates, counts, self.weights)

    def scatter(self, queries: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Y^T Q on the rows that are not zero: distinct answers (u,) and their rows (u, D).

        Some at a time, as a query may have every entity for an answer; ascending.
        """
        ordered, order = self.answers.sort(stable=True)
        ids, counts = torch.unique_consecutive(ordered, return_counts=True)
        size = rows_at_a_time(queries)
        sizes = [int(some.sum()) for some in torch.split(counts, size)]
        pieces = torch.split(ids, size), torch.split(counts, size), torch.split(order, sizes)
        for some, many, pairs in zip(*pieces, strict=True):
            yield some, _bags(self.rows[pairs], queries, many, self.weights[pairs])


class Side(NamedTuple):
    """The queries of a batch that ask for one role, with the rows that they are made of."""

    towards: Towards
    batch: Batch
    targets: Targets
    entity: Tensor  # (B, D)
    predicate: Tensor  # (B, D)
    queries: Tensor  # (B, D)


def _bags(ids: Tensor, table: Tensor, counts: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of table rows; bag b takes the next counts[b] ids."""
    offsets = counts.cumsum(0) - counts
    return embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=weights)
