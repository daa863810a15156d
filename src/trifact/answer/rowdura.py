"""The part of DURA that depends on one row: a weighted sum of the squares of its entries.

For every example with predicate b that has the row u on either side it is

    lambda sum_r (1 + |b_r|^2) |u_r|^2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from torch import Tensor

from trifact.answer.newton import Local
from trifact.answer.rowobjective import NONE
from trifact.tensor.trilinear import Field


@dataclass(frozen=True)
class DuraNorm:
    """A term of the row's objective; everything in it is float64."""

    field: Field
    coefficient: float
    reach: Tensor  # (F, R): the sum of 1 + |b|^2 over the examples of a fact
    weights: Tensor = NONE  # (F,)

    def weighted(self, weights: Tensor) -> Self:
        return replace(self, weights=weights)

    def at(self, u: Tensor) -> Local:
        gradient = self.field.stretch(u, self._factors)
        return Local(
            float(gradient @ u) / 2, gradient, lambda v: self.field.stretch(v, self._factors)
        )

    def by_fact(self, u: Tensor) -> Tensor:
        reach = 2 * self.coefficient * self.reach
        return self.field.stretch(u.expand(len(reach), -1), reach)

    @cached_property
    def _factors(self) -> Tensor:
        return 2 * self.coefficient * (self.weights @ self.reach)
