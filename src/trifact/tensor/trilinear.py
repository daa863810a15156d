"""The two fields that factors live in, and the trilinear product, written once.

A score is <a, b, c> over the reals and Re <a, b, conj(c)> over the complex numbers. Rows are
real: D = R numbers over the reals and D = 2R, as [re | im], over the complex numbers. In that
layout Re(x conj(y)) is the plain dot product of two rows, so every score is

    query(entity, predicate) . candidate

with query a∘b towards objects and c∘conj(b) towards subjects (∘ entry-wise).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

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


class Way(NamedTuple):
    """How one of a query's two rows makes it with the other, which is linear in it; its adjoint."""

    query: Callable[[Tensor, Tensor], Tensor]
    """From the row and the other one to the query: (B, D) each."""
    back: Callable[[Tensor, Tensor], Tensor]
    """From the gradient of the query and the other row to that of the row."""


def way(field: Field, role: Role, towards: Role) -> Way:
    """The way of the row in a role; the other row has the role that is left.

    With <x, y> = Re(x conj(y)), the gradient g of q = x∘y gives x that of g∘conj(y), and y
    likewise; that of q = x∘conj(y) gives x that of g∘y, and y that of x∘conj(g).
    """
    if towards == "object":
        return Way(field.times, field.times_conjugate)
    if role == "object":
        return Way(field.times_conjugate, field.times)
    return Way(lambda u, c: field.times_conjugate(c, u), lambda g, c: field.times_conjugate(c, g))


def asker(towards: Towards) -> Role:
    """The role of the entity of a query."""
    return "subject" if towards == "object" else "object"


def query(field: Field, entity: Tensor, predicate: Tensor, *, towards: Towards) -> Tensor:
    """The vector whose dot product with a candidate row is the score: (B, D)."""
    return way(field, asker(towards), towards).query(entity, predicate)


def adjoint(
    field: Field, d_query: Tensor, entity: Tensor, predicate: Tensor, *, towards: Towards
) -> tuple[Tensor, Tensor]:
    """From the gradient of a query to those of its entity and predicate: (B, D) each."""
    d_entity = way(field, asker(towards), towards).back(d_query, predicate)
    return d_entity, way(field, "predicate", towards).back(d_query, entity)
