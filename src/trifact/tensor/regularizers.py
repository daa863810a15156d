"""The family Omega_p^alpha of Lacroix, Usunier and Obozinski (2018), weighted or not.

    Omega = 1/3 sum_d sum_r (sum_i q_i^(d) |u_ir^(d)|^p)^(alpha/p)

over the modes d (subject, predicate, object) and the R columns of their tables; |.| is the
modulus where factors are complex, and q^(d) are the marginal frequencies of the rows in training
(weighting `frequency`) or ones (`none`).

| name | p | alpha |                                                                      |
|------|---|-------|----------------------------------------------------------------------|
| n3   | 3 | 3     | nuclear 3-norm; the authors' later code leaves out the 1/3, so its   |
|      |   |       | lambda is a third of ours                                            |
| fro  | 2 | 2     | squared Frobenius norm; the paper's equation has no 1/3 either       |
| nuc2 | 2 | 3     | nuclear 2-norm                                                       |

Where p = alpha the sum splits over rows, and to regularize the rows that a fact touches, once for
every fact, *is* the weighting by frequency, summed over an epoch. Otherwise whole tables are
needed. Gradients are written out, so that |u|^(p-2) u is zero at zero, for complex u too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from trifact.tensor.registry import choose
from trifact.tensor.trilinear import Field, Role
from trifact.tensor.workspace import row_blocks

Weighting = Literal["frequency", "none"]
POWERS: dict[str, tuple[float, float]] = {"n3": (3.0, 3.0), "fro": (2.0, 2.0), "nuc2": (2.0, 3.0)}


@dataclass(frozen=True)
class Regularizer:
    """lambda Omega_p^alpha, with one lambda for entities (both modes) and one for predicates."""

    p: float
    alpha: float
    entity: float
    predicate: float
    weighting: Weighting = "frequency"

    @property
    def by_rows(self) -> bool:
        """Whether it asks for the rows that a batch touches."""
        return self._asks and self.p == self.alpha and self.weighting == "frequency"

    @property
    def by_tables(self) -> bool:
        """Whether it asks for whole tables."""
        return self._asks and not self.by_rows

    @property
    def _asks(self) -> bool:
        return self.entity != 0 or self.predicate != 0

    def coefficient(self, name: str) -> float:
        """lambda of a table or role."""
        return self.predicate if name == "predicate" else self.entity

    def rows(
        self, name: str, rows: Tensor, counts: Tensor, *, field: Field
    ) -> tuple[Tensor, Tensor]:
        """lambda/3 sum_i n_i sum_r |u_ir|^p of rows (n, D) with counts (n,); gradient (n, D).

        Being homogeneous of degree p, the value is <gradient, u> / p.
        """
        factors = counts.unsqueeze(1) * (self.coefficient(name) * self.p / 3)
        gradient = _derivative(rows, factors, p=self.p, field=field)
        return gradient.flatten().dot(rows.flatten()) / self.p, gradient

    def add_table(
        self, name: str, table: Tensor, weights: Tensor, *, field: Field, into: Tensor
    ) -> Tensor:
        """lambda/3 sum_r s_r^(alpha/p), s_r = sum_i q_i |u_ir|^p, of a table (n, D) with q (n,).

        Adds the gradient, alpha lambda/3 s_r^(alpha/p - 1) q_i |u_ir|^(p-2) u_ir.
        """
        third, ratio = self.coefficient(name) / 3, self.alpha / self.p
        sums = table.new_zeros(table.shape[1] // field.parts)  # (R,)
        for piece in row_blocks(table):
            sums += weights[piece] @ field.modulus(table[piece]).pow_(self.p)
        outer = _power(sums, ratio - 1) * (third * self.alpha)
        for piece in row_blocks(table):
            factors = weights[piece].unsqueeze(1) * outer
            into[piece] += _derivative(table[piece], factors, p=self.p, field=field)
        return sums.pow(ratio).sum() * third


NOTHING = Regularizer(3.0, 3.0, 0.0, 0.0)


def regularizer(
    name: str, *, entity: float, predicate: float | None = None, weighting: Weighting = "frequency"
) -> Regularizer:
    """The regularizer of a name; `entity` is lambda, for predicates too if they have no other."""
    if name == "none":
        return NOTHING
    p, alpha = choose(POWERS, name, kind="regularizer")
    return Regularizer(p, alpha, entity, entity if predicate is None else predicate, weighting)


def _derivative(u: Tensor, factors: Tensor, *, p: float, field: Field) -> Tensor:
    """factors |u|^(p-2) u, a p-th of the gradient of factors |u|^p."""
    if p == 2:
        return field.stretch(u, factors)
    return field.stretch(u, _power(field.modulus(u), p - 2).mul_(factors))


def _power(x: Tensor, exponent: float) -> Tensor:
    """x^exponent for x >= 0; zero where a negative exponent meets zero."""
    power = x.pow(exponent)
    return power if exponent >= 0 else power.masked_fill_(x == 0, 0.0)


def frequencies(facts: Tensor, *, entities: int, predicates: int) -> dict[Role, Tensor]:
    """The marginals q of the examples (n, 3): float32, each sums to one.

    In the reciprocal setting the reciprocals are examples too, with predicates of their own.
    """
    sizes: dict[Role, int] = {"subject": entities, "predicate": predicates, "object": entities}
    columns = zip(sizes.items(), facts.T, strict=True)
    return {role: torch.bincount(ids, minlength=n) / len(facts) for (role, n), ids in columns}
