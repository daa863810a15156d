"""What one row of a table minimizes while all else is fixed: a convex function of D numbers.

An entity's facts give examples, towards objects and towards subjects. In some of them the row u
*asks*, as the entity of the query; in others it *stands* for the answer, as one of the candidates.
With the row left out of its own candidates, what depends on it in the training objective is

    f(u) = sum_q n_q log sum_k exp(query(u, b_q) . C_k) - its answers' scores      (Asking)
         + sum_c m_c log(1 + exp(Q_c . u - logZ_c)) - its scores where it answers  (Standing)
         + the regularizer                                           (rownorm.py, rowdura.py)

summed over examples instead of their mean. n_q of the row's examples ask with predicate q; m_c
examples ask query c, whoever answers, and logZ_c is over all others. Where training has the loss
of predicates too, the row asks for these as well, together with the other end of the fact. Scores
are linear in u, so f is convex. Facts have weights (F,): one whose weight is zero was never there.

Points, gradients and weights are float64; products with tables are made in the tables' type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from trifact.answer.newton import Local, Minimum, minimize
from trifact.errors import RunError
from trifact.tensor.trilinear import Way

NONE = torch.empty(0, dtype=torch.float64)  # the weights of no fact


class Term(Protocol):
    """A part of f, for weights of the facts."""

    def weighted(self, weights: Tensor) -> Self:
        """The same for other weights (F,)."""

    def at(self, u: Tensor) -> Local:
        """The term near u (D,)."""

    def by_fact(self, u: Tensor) -> Tensor:
        """The gradient at u that is due to each fact, for a unit of its weight: (F, D)."""


@dataclass(frozen=True)
class RowObjective:
    """f: the sum of its terms."""

    terms: tuple[Term, ...]
    weights: Tensor  # (F,)
    reached: Tensor  # (F,), bool: whether a fact says anything about the row
    width: int  # D

    def weighted(self, weights: Tensor) -> RowObjective:
        """The same for other weights of the facts (F,)."""
        return replace(self, terms=tuple(t.weighted(weights) for t in self.terms), weights=weights)

    def minimum(self, start: Tensor | None = None) -> Minimum:
        """The row (D,) at which f is smallest; zero if no fact says anything about it.

        The gradient has fallen to a share of what it is at zero, wherever the search starts.
        """
        zero = torch.zeros(self.width, dtype=torch.float64)
        if not bool(self.weights[self.reached].any()):
            return Minimum(zero, 0.0, 0, True)
        origin = self.at(zero)
        if not bool(origin.gradient.isfinite().all()):
            raise RunError("the factors of this run are no finite numbers; train it again")
        return minimize(self.at, zero if start is None else start, origin=origin)

    def at(self, u: Tensor) -> Local:
        """f near u (D,)."""
        parts = [term.at(u) for term in self.terms]

        def curvature(v: Tensor) -> Tensor:
            return torch.stack([part.curvature(v) for part in parts]).sum(0)

        gradient = torch.stack([part.gradient for part in parts]).sum(0)
        return Local(sum(part.value for part in parts), gradient, curvature)

    def by_fact(self, u: Tensor) -> Tensor:
        """The gradient at u that is due to each fact, for a unit of its weight: (F, D)."""
        found = self.terms[0].by_fact(u)
        for term in self.terms[1:]:  # one at a time: F may be large
            found += term.by_fact(u)
        return found


class Examples(NamedTuple):
    """n examples, each of one of the queries of a term and of one of the row's facts."""

    rows: Tensor  # (n,)
    facts: Tensor  # (n,)

    def counts(self, weights: Tensor, queries: int) -> Tensor:
        """The weight of the examples of each query: (queries,)."""
        return weights.new_zeros(queries).index_add_(0, self.rows, weights[self.facts])


class _Block(NamedTuple):
    """The queries with some partners: which they are, their shares (b, N) and their logZ (b,)."""

    which: slice
    shares: Tensor
    log_z: Tensor


@dataclass(frozen=True)
class Asking:
    """The examples in one direction whose query has the row: one query for each partner.

    `own` is the row's place among the candidates, where it is not counted; None if it has none.
    An example counts `times`. Shares of about `budget` bytes are held at a time, those of two
    points within a step.
    """

    way: Way
    candidates: Tensor  # (N, D)
    own: int | None
    partners: Tensor  # (k, D)
    examples: Examples
    pulls: Tensor  # (n, D): the score of each example's answer is its product with u
    times: float = 1.0
    weights: Tensor = NONE  # (F,)
    budget: int = 16 * 2**20

    def weighted(self, weights: Tensor) -> Self:
        return replace(self, weights=weights)

    def at(self, u: Tensor) -> Local:
        kept = list(self._blocks(u)) if self._at_once >= len(self.partners) else None
        log_z, means = self._logz_and_means(kept or self._blocks(u))
        value = float(self._counts @ log_z - self._pull @ u)
        gradient = self._counts @ means - self._pull

        def curvature(v: Tensor) -> Tensor:
            bent = [self._bent(v, block) for block in kept or self._blocks(u)]
            return self._counts @ torch.cat(bent)

        return Local(value, gradient, curvature)

    def by_fact(self, u: Tensor) -> Tensor:
        _, means = self._logz_and_means(self._blocks(u))
        due = (means[self.examples.rows] - self.pulls.double()).mul_(self.times)
        return due.new_zeros(len(self.weights), len(u)).index_add_(0, self.examples.facts, due)

    def log_probabilities(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """log p(answer | query) of the examples, and its gradients: (n,), (n, D)."""
        log_z, means = self._logz_and_means(self._blocks(u))
        pulls, rows = self.pulls.double(), self.examples.rows
        return pulls @ u - log_z[rows], pulls - means[rows]

    def _logz_and_means(self, blocks: Iterable[_Block]) -> tuple[Tensor, Tensor]:
        """logZ of the queries and their gradients, back at the row: (k,), (k, D)."""
        log_z, means = list[Tensor](), list[Tensor]()
        for which, shares, own_log_z in blocks:
            log_z.append(own_log_z.double())
            means.append(self._back(shares @ self.candidates, which))
        return torch.cat(log_z), torch.cat(means)

    def _bent(self, v: Tensor, block: _Block) -> Tensor:
        """J^T C^T (diag(s) - s s^T) C J v of each query, s its shares, J from row to query."""
        moved = self._queries(v, block.which) @ self.candidates.T  # (b, N)
        moved -= torch.linalg.vecdot(block.shares, moved).unsqueeze(1)
        return self._back(moved.mul_(block.shares) @ self.candidates, block.which)

    def _blocks(self, u: Tensor) -> Iterator[_Block]:
        for start in range(0, len(self.partners), self._at_once):
            which = slice(start, start + self._at_once)
            logits = self._queries(u, which) @ self.candidates.T  # (b, N)
            if self.own is not None:
                logits[:, self.own] = -torch.inf
            log_z = logits.logsumexp(1)
            yield _Block(which, logits.sub_(log_z.unsqueeze(1)).exp_(), log_z)

    def _queries(self, u: Tensor, which: slice) -> Tensor:
        partners = self.partners[which]
        return self.way.query(u.to(partners.dtype).expand_as(partners), partners)

    def _back(self, d_queries: Tensor, which: slice) -> Tensor:
        """Gradients of queries (b, D), of the row: (b, D)."""
        return self.way.back(d_queries, self.partners[which]).double()

    @property
    def _at_once(self) -> int:
        return max(1, self.budget // (len(self.candidates) * self.candidates.itemsize))

    @cached_property
    def _counts(self) -> Tensor:
        return self.times * self.examples.counts(self.weights, len(self.partners))

    @cached_property
    def _pull(self) -> Tensor:
        return self.times * (self.weights[self.examples.facts] @ self.pulls.double())


@dataclass(frozen=True)
class Standing:
    """The queries of others that have the row as a candidate, right or wrong."""

    queries: Tensor  # (c, D)
    log_z: Tensor  # (c,), float64, over all candidates but the row
    others: Tensor  # (c,): how many examples with another answer ask it
    examples: Examples
    weights: Tensor = NONE  # (F,)

    def weighted(self, weights: Tensor) -> Self:
        return replace(self, weights=weights)

    def at(self, u: Tensor) -> Local:
        offsets = self._offsets(u)
        chance = offsets.sigmoid()
        value = float(self._mass @ _softplus(offsets) - self._right @ (offsets + self.log_z))
        gradient = self._sum(self._mass * chance - self._right)
        spread = self._mass * chance * (1 - chance)

        def curvature(v: Tensor) -> Tensor:
            return self._sum(spread * self._times(v))

        return Local(value, gradient, curvature)

    def by_fact(self, u: Tensor) -> Tensor:
        rows, facts = self.examples
        wrong = self._offsets(u).sigmoid()[rows] - 1
        due = wrong.unsqueeze(1) * self.queries[rows].double()
        return due.new_zeros(len(self.weights), len(u)).index_add_(0, facts, due)

    def _offsets(self, u: Tensor) -> Tensor:
        return self._times(u) - self.log_z

    def _times(self, v: Tensor) -> Tensor:
        return (self.queries @ v.to(self.queries.dtype)).double()

    def _sum(self, factors: Tensor) -> Tensor:
        return (factors.to(self.queries.dtype) @ self.queries).double()

    @cached_property
    def _right(self) -> Tensor:
        return self.examples.counts(self.weights, len(self.queries))

    @cached_property
    def _mass(self) -> Tensor:
        return self.others + self._right


def _softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), at any size of x."""
    return torch.logaddexp(x, torch.zeros_like(x))
