"""Ranks of answers among the candidates, filtered and raw, in bounded memory.

The rank of an answer counts the candidates that stand before it: those with a larger score
(optimistic), or with a larger or equal one (pessimistic), plus one for itself. Known answers of
the query other than the one asked for do not count; they are taken out of the *counts*, and no
score is touched. All scores of a query, the answer's too, come from one product.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trifact.errors import DivergedError
from trifact.progress import Progress, silent
from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace

AT_ONCE = 2**22  # bytes of scores that are compared at a time: they stay in a cache
EXACT = 2**24  # up to so many ones a sum in float32 is exact


class Ranks(NamedTuple):
    """One rank an answer, 1 the best; where no scores are tied the two are equal."""

    optimistic: Tensor  # (A,) int64
    pessimistic: Tensor  # (A,) int64

    @property
    def realistic(self) -> Tensor:
        """The mean of the two, float64: the expected rank if ties are broken at random.

        On the CPU, for not every device has float64.
        """
        return (self.optimistic + self.pessimistic).cpu().double() / 2

    def mrr(self) -> float:
        """The mean reciprocal of the realistic ranks."""
        return float(self.realistic.reciprocal().mean())


class Allowed(NamedTuple):
    """The candidates of each predicate, where not every entity is one."""

    offsets: Tensor  # (2P + 1,), by reciprocal id
    entities: Tensor  # those of predicate q are entities[offsets[q]:offsets[q + 1]]

    def mask(self, predicates: Tensor, entities: int) -> Tensor:
        """Whether an entity is a candidate of a predicate: (k,) -> (k, N) bool."""
        mask = torch.zeros(len(predicates), entities, dtype=torch.bool, device=predicates.device)
        for row, q in zip(mask, predicates.tolist(), strict=True):
            row[self.entities[self.offsets[q] : self.offsets[q + 1]]] = True
        return mask


class Asked(NamedTuple):
    """B distinct queries, A answers to rank and K known answers to leave out (none: raw ranks).

    An answer that is to be ranked is always a candidate, also where `allowed` lacks it.
    """

    entities: Tensor  # (B,)
    predicates: Tensor  # (B,), reciprocal ids; in their order, blocks are of one side
    rows: Tensor  # (A,) ascending: the query of each answer
    answers: Tensor  # (A,)
    known_rows: Tensor  # (K,) ascending: the query of each known answer
    known: Tensor  # (K,), distinct within a query
    allowed: Allowed | None = None


def ranks(
    model: Model,
    asked: Asked,
    *,
    budget: int = 64 * 2**20,
    double: bool = False,
    progress: Progress = silent,
) -> Ranks:
    """The ranks of all answers, the known ones left out."""
    return filtered_and_raw(model, asked, budget=budget, double=double, progress=progress)[0]


def filtered_and_raw(
    model: Model,
    asked: Asked,
    *,
    budget: int = 64 * 2**20,
    double: bool = False,
    progress: Progress = silent,
) -> tuple[Ranks, Ranks]:
    """The ranks of all answers without the known ones and among all, from the same products.

    Half of `budget` bytes hold the scores of distinct queries (of one at least), the rest is for
    counting: which candidates are allowed, a piece that fits a cache, and the known answers of
    these queries (all of them together are no more than the facts they come from).
    `double` scores in float64, with a copy of the tables.
    """
    if not len(asked.answers):
        return Ranks(asked.answers, asked.answers), Ranks(asked.answers, asked.answers)
    model = _in_double(model) if double else model
    work, found = Workspace(budget // 2), list[_Counts]()
    for block in work.blocks(len(asked.entities), model.table("object")):
        progress("ranking", block.start, len(asked.entities))
        scored = _Scored.of(model, asked, block, work)
        found.append(scored.counts(work))
    larger, as_large, known_larger, known_as_large = (
        torch.cat(counts) for counts in zip(*found, strict=True)
    )
    raw = Ranks(larger + 1, as_large + 1)
    return Ranks(raw.optimistic - known_larger, raw.pessimistic - known_as_large), raw


class _Counts(NamedTuple):
    """For each answer the candidates before it, and the known answers among them: (a,) int64."""

    larger: Tensor
    as_large: Tensor
    """A larger or equal score; the answer itself is not counted."""
    known_larger: Tensor
    known_as_large: Tensor


@dataclass(frozen=True)
class _Scored:
    """The scores of a block of queries, and what is asked about them."""

    scores: Tensor  # (b, N)
    rows: Tensor  # (a,), from the start of the block
    answers: Tensor  # (a,)
    target: Tensor  # (a,): their scores, from the same product as those of their rivals
    known_rows: Tensor  # (k,)
    known: Tensor  # (k,)
    mask: Tensor | None  # (p, N): the candidates of the predicates of the block
    kinds: Tensor  # (b,): the row of `mask` of each query

    @classmethod
    def of(cls, model: Model, asked: Asked, block: slice, work: Workspace) -> _Scored:
        entities, predicates = asked.entities[block], asked.predicates[block]
        buffer = work.logits(len(entities), model.table("object"))[:, : model.entities]
        scores = model.scores(entities, predicates, out=buffer)
        if scores.amax().isnan():
            raise DivergedError("a score of this model is not a number; its training has diverged")
        rows, answers = _within(asked.rows, asked.answers, block)
        mask, kinds = None, predicates
        if asked.allowed is not None:
            distinct, kinds = torch.unique(predicates, return_inverse=True)
            mask = asked.allowed.mask(distinct, model.entities)
        known = _within(asked.known_rows, asked.known, block)
        return cls(scores, rows, answers, scores[rows, answers], *known, mask, kinds)

    def counts(self, work: Workspace) -> _Counts:
        """Over all candidates, piece by piece, and over the known answers."""
        size = max(1, AT_ONCE // (self.scores.shape[1] * self.scores.itemsize))
        starts = range(0, max(1, len(self.rows)), size)
        found = [self._count(slice(start, start + size), work) for start in starts]
        larger, as_large = (torch.cat(counts) for counts in zip(*found, strict=True))
        return _Counts(larger, as_large, *self._count_known())

    def _count(self, piece: slice, work: Workspace) -> tuple[Tensor, Tensor]:
        """Candidates with a larger, and with a larger or equal score than some answers."""
        rows, bar = self.rows[piece], self.target[piece].unsqueeze(1)  # (a,), (a, 1)
        width, like = self.scores.shape[1], self.scores
        rivals = torch.index_select(
            self.scores, 0, rows, out=work.array("rivals", len(rows), width, like=like)
        )
        if width > EXACT:
            like = like.new_empty(0, dtype=torch.float64)
        marks = work.array("marks", len(rows), width, like=like)  # ones and zeros: sums are fast
        mask = None if self.mask is None else self.mask.index_select(0, self.kinds[rows])
        larger = _total(torch.gt(rivals, bar, out=marks), mask)
        as_large = _total(torch.ge(rivals, bar, out=marks), mask)
        return larger, as_large - self._allows(rows, self.answers[piece])

    def _count_known(self) -> tuple[Tensor, Tensor]:
        """The same among the known answers of each query: sorted once, then found by bisection."""
        counted = self._allows(self.known_rows, self.known).bool()
        rows, known, width = self.known_rows[counted], self.known[counted], self.scores.shape[1]
        scores = self.scores[rows, known]
        order = scores.argsort()
        scores = scores[order[rows[order].argsort(stable=True)]]  # by query, then ascending
        first = torch.searchsorted(rows, self.rows)
        last = torch.searchsorted(rows, self.rows, right=True)
        itself = torch.isin(self.rows * width + self.answers, rows * width + known).long()
        larger = last - _bisect(scores, self.target, first, last, right=True)
        as_large = last - _bisect(scores, self.target, first, last, right=False)
        return larger, as_large - itself

    def _allows(self, rows: Tensor, entities: Tensor) -> Tensor:
        """One where an entity is a candidate of a query, else zero: int64."""
        if self.mask is None:
            return torch.ones_like(rows)
        return self.mask[self.kinds[rows], entities].long()


def _total(marks: Tensor, mask: Tensor | None) -> Tensor:
    return (marks if mask is None else marks.mul_(mask)).sum(1).long()


def _in_double(model: Model) -> Model:
    twin = copy.copy(model)
    twin.tables = {name: table.double() for name, table in model.tables.items()}
    return twin


def _within(rows: Tensor, ids: Tensor, block: slice) -> tuple[Tensor, Tensor]:
    """The entries whose row lies in the block, rows counted from its start."""
    edges = rows.new_tensor([block.start, block.stop])
    first, last = torch.searchsorted(rows, edges).tolist()
    return rows[first:last] - block.start, ids[first:last]


def _bisect(scores: Tensor, bar: Tensor, low: Tensor, high: Tensor, *, right: bool) -> Tensor:
    """Where scores[low:high], ascending, reach the bar, or (right) rise above it: (a,)."""
    longest = int((high - low).max()) if len(low) else 0
    for _ in range(longest.bit_length()):
        middle = (low + high) // 2
        score = scores[middle.clamp_max(len(scores) - 1)]
        below = (low < high) & (score <= bar if right else score < bar)
        low, high = torch.where(below, middle + 1, low), torch.where(below, high, middle)
    return low
