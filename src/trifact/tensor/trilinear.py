"""The two fields that factors live in, and the trilinear product, written once.

A score is <a, b, c> over the reals and Re <a, b, conj(c)> over the complex numbers. Rows are
real: D = R numbers over the reals and D = 2R, as [re | im], over the complex numbers. In that
layout Re(x conj(y)) is the plain dot product of two rows, so every score is

    query(entity, predicate) . candidate

with query a∘b towards objects and c∘conj(b) towards subjects (∘ entry-wise).
"""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor

Role = Literal["subject", "predicate", "object"]
Towards = Literal["object", "subject"]


class Field(Protocol):
    """Numbers of `parts` real columns each; x, y: (..., D), factors: (..., R) or (..., 1)."""

    parts: int

    def times(self, x: Tensor, y: Tensor) -> Tensor:
        """x∘y, entry-wise in the field."""

    def times_conjugate(self, x: Tensor, y: Tensor) -> Tensor:
        """x∘conj(y), entry-wise in the field."""

    def modulus(self, x: Tensor) -> Tensor:
        """|x|, entry-wise: (..., R)."""

    def stretch(self, x: Tensor, factors: Tensor) -> Tensor:
        """x∘factors with real factors."""


class Real:
    """The real numbers: D = R."""

    parts = 1

    def times(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    times_conjugate = times

    def modulus(self, x: Tensor) -> Tensor:
        return x.abs()

    stretch = times


class Complex:
    """The complex numbers, [re | im]: D = 2R."""

    parts = 2

    def times(self, x: Tensor, y: Tensor) -> Tensor:
        return self._times(x, y, sign=1)

    def times_conjugate(self, x: Tensor, y: Tensor) -> Tensor:
        return self._times(x, y, sign=-1)

    def _times(self, x: Tensor, y: Tensor, *, sign: int) -> Tensor:
        (a, b), (c, d) = x.chunk(2, -1), y.chunk(2, -1)
        re = torch.addcmul(a * c, b, d, value=-sign)
        return torch.cat([re, torch.addcmul(b * c, a, d, value=sign)], -1)

    def modulus(self, x: Tensor) -> Tensor:
        return torch.hypot(*x.chunk(2, -1))

    def stretch(self, x: Tensor, factors: Tensor) -> Tensor:
        return torch.cat([half * factors for half in x.chunk(2, -1)], -1)


def query(field: Field, entity: Tensor, predicate: Tensor, *, towards: Towards) -> Tensor:
    """The vector whose dot product with a candidate row is the score: (B, D)."""
    if towards == "object":
        return field.times(entity, predicate)
    return field.times_conjugate(entity, predicate)


def adjoint(
    field: Field, d_query: Tensor, entity: Tensor, predicate: Tensor, *, towards: Towards
) -> tuple[Tensor, Tensor]:
    """From the gradient g of a query to those of its entity e and predicate b: (B, D) each.

    With <x, y> = Re(x conj(y)), q = e∘b gives d_e = g∘conj(b) and d_b = g∘conj(e);
    q = e∘conj(b) gives d_e = g∘b and d_b = e∘conj(g).
    """
    if towards == "object":
        d_predicate = field.times_conjugate(d_query, entity)
        return field.times_conjugate(d_query, predicate), d_predicate
    return field.times(d_query, predicate), field.times_conjugate(entity, d_query)
