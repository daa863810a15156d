"""The scores of all pairs that make sense: some subjects times some objects of a predicate.

The score of a fact (see tensor/scoring.py) has two normalizers,

    1/2 (q(s,p).c(o) - logZ(s,p) + q(o,p').c(s) - logZ(o,p')),

q a query, c a candidate row, p' = p + P. They are made first: one product of every distinct query
with all N entities, of which only logZ is kept. These queries are those of an epoch of training,
and nearly all of the work. Then the pairs S x O of a predicate go by in tiles; with rows of twice
the length both sides of a tile are one product,

    [q(s,p) | c(s)] . [c(o) | q(o,p')],

and in the standard setting, where the two sides are the same number, the first half is enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trifact.graph.known import Ints
from trifact.run.candidates import Candidates
from trifact.run.ranktable import Bools
from trifact.tensor.models import Model
from trifact.tensor.ranking import AT_ONCE
from trifact.tensor.scoring import log_sum_exp
from trifact.tensor.workspace import Workspace

LARGEST_TILE = 2**20  # pairs; beyond it products gain nothing, and passes over it leave the cache


class Tile(NamedTuple):
    """Some subjects and some objects of a predicate: places among all that it has."""

    predicate: int
    subjects: slice
    objects: slice

    @property
    def pairs(self) -> int:
        """How many pairs it holds."""
        subjects, objects = (int(s.stop - s.start) for s in (self.subjects, self.objects))
        return subjects * objects


@dataclass(frozen=True)
class Pairs:
    """The pairs of some predicates, and the queries that their scores take."""

    candidates: Candidates
    chosen: Ints
    """The predicates, ascending."""
    predicates: int
    """P, those of the whole graph."""

    def subjects(self, predicate: int) -> Ints:
        """The subjects that make sense, ascending."""
        return self.candidates.of(predicate + self.predicates)

    def objects(self, predicate: int) -> Ints:
        """The objects that make sense, ascending."""
        return self.candidates.of(predicate)

    def count(self) -> int:
        """All pairs, known ones and self-loops too."""
        return sum(len(self.subjects(p)) * len(self.objects(p)) for p in self.chosen.tolist())

    def contains(self, facts: Ints) -> Bools:
        """Which facts (n, 3) are such pairs."""
        found = np.zeros(len(facts), dtype=bool)
        for predicate in np.intersect1d(facts[:, 1], self.chosen).tolist():
            its = np.flatnonzero(facts[:, 1] == predicate)
            known = np.isin(facts[its, 0], self.subjects(predicate))
            found[its] = known & np.isin(facts[its, 2], self.objects(predicate))
        return found

    def queries(self) -> tuple[Tensor, Tensor]:
        """The distinct queries as entities and predicates (reciprocal ids), (Q,) each.

        First all towards objects, then all towards subjects, each by predicate.
        """
        asked = [*self.chosen, *(self.chosen + self.predicates)]
        lists = [self._asking(int(predicate)) for predicate in asked]
        entities = np.concatenate([np.empty(0, dtype=np.int64), *lists])
        predicates = np.repeat(np.array(asked, dtype=np.int64), [len(each) for each in lists])
        return torch.from_numpy(entities), torch.from_numpy(predicates)

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where the queries of a predicate (reciprocal id) begin."""
        asked = [*self.chosen.tolist(), *(self.chosen + self.predicates).tolist()]
        ends = np.cumsum([0, *(len(self._asking(predicate)) for predicate in asked)])
        return dict(zip(asked, ends[:-1].tolist(), strict=True))

    def tiles(self, model: Model, budget: int) -> Iterator[Tile]:
        """All pairs, in tiles that take about `budget` bytes each."""
        table = model.table("object")
        numbers, width = budget // 2 // table.itemsize, table.shape[1]
        most_rows = max(1, numbers // (16 * width))
        area = max(1, min(LARGEST_TILE, numbers // 2))
        for predicate in self.chosen.tolist():
            subjects, objects = len(self.subjects(predicate)), len(self.objects(predicate))
            columns = max(1, min(objects, most_rows, math.isqrt(area)))
            rows = max(1, min(most_rows, area // columns))
            for some in _near_equal(subjects, rows):
                for others in _near_equal(objects, columns):
                    yield Tile(predicate, some, others)

    def _asking(self, predicate: int) -> Ints:
        """The entities that are asked with a predicate: those that answer it the other way."""
        return self.candidates.of((predicate + self.predicates) % (2 * self.predicates))


def log_normalizers(model: Model, entities: Tensor, predicates: Tensor, work: Workspace) -> Tensor:
    """log sum_k exp X[entity, predicate, k] of one block of queries: (b,).

    The rows are summed in pieces that fit a cache: scores are written once and read once.
    """
    buffer = work.logits(len(entities), model.table("object"))[:, : model.entities]
    scores = model.scores(entities, predicates, out=buffer)
    size = max(1, AT_ONCE // (model.entities * scores.itemsize))
    return torch.cat([log_sum_exp(piece) for piece in torch.split(scores, size)])


@dataclass(frozen=True)
class PairScores:
    """The scores of facts, tile by tile, once all normalizers are known."""

    model: Model
    pairs: Pairs
    log_z: Tensor
    """(Q,), in the order of the queries of the pairs."""
    work: Workspace = field(default_factory=Workspace)

    def of(self, tile: Tile) -> Tensor:
        """The scores of a tile's facts, (subjects, objects), until the next tile is asked for."""
        pairs, predicate = self.pairs, tile.predicate
        subjects = torch.from_numpy(pairs.subjects(predicate)[tile.subjects])
        objects = torch.from_numpy(pairs.objects(predicate)[tile.objects])
        left, right = self._rows(subjects, objects, predicate)
        buffer = self.work.array("tile", len(subjects), len(objects), like=self.log_z)
        scores = torch.mm(left, right.T, out=buffer)
        if not self._one_sided:
            scores.div_(2)
        scores.sub_(self._normalizers(predicate, tile.subjects)[:, None] / 2)
        return scores.sub_(self._normalizers(predicate + pairs.predicates, tile.objects) / 2)

    @property
    def _one_sided(self) -> bool:
        """Whether both sides of a fact have the same score: the standard setting."""
        return self.model.predicates == self.pairs.predicates

    def _rows(self, subjects: Tensor, objects: Tensor, predicate: int) -> tuple[Tensor, Tensor]:
        """What to multiply for the sum of both sides or, where they are the same, for one."""
        candidates = self.model.table("object")
        forward = self._queries(subjects, predicate)
        answers = candidates.index_select(0, objects)
        if self._one_sided:
            return forward, answers
        backward = self._queries(objects, predicate + self.pairs.predicates)
        left = torch.cat([forward, candidates.index_select(0, subjects)], 1)
        return left, torch.cat([answers, backward], 1)

    def _queries(self, entities: Tensor, predicate: int) -> Tensor:
        predicates = torch.full_like(entities, predicate)
        return self.model.queries(entities, predicates, towards="object")

    def _normalizers(self, predicate: int, which: slice) -> Tensor:
        start = self.pairs.starts[predicate]
        return self.log_z[start + which.start : start + which.stop]


def _near_equal(count: int, most: int) -> Iterator[slice]:
    """Slices of `count` things, near equal, none of more than `most`."""
    size = max(1, -(-count // max(1, -(-count // most))))
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
