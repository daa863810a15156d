"""DURA, the duality-induced regularizer of Zhang, Cai and Wang (2020), for diagonal models.

For every fact (i, j, k), with |.| entry-wise the modulus,

    lambda sum_r |a_ir|^2 + |a_ir b_jr|^2 + |c_kr|^2 + |c_kr b_jr|^2

lambda stands before the sum as published, with no 1/3; the authors' own runs of ComplEx weigh
|.|^2 by 1/2 and the products by 3/2. It splits over facts but not over rows, so that counts of
touched rows do not suffice; yet of a query with n answers only sums are needed:

    value = n |a|^2 . (1 + |b|^2) + sum_k |c_k|^2 . (1 + |b|^2)
    d_b   = 2 b∘(n |a|^2 + sum_k |c_k|^2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trifact.tensor.batches import Side
from trifact.tensor.gradients import Found
from trifact.tensor.models import Model


@dataclass(frozen=True)
class Dura:
    """lambda times the mean over the facts; subjects and objects play the same part in it."""

    coefficient: float

    def facts(self, model: Model, side: Side, *, share: float, found: Found) -> Tensor:
        """A `share` of it, of the facts of some queries; adds its gradients."""
        field, twice = model.field, 2 * share * self.coefficient
        origin, target = model.source(side.towards), model.roles[side.towards]
        batch, targets = side.batch, side.targets
        reach = field.modulus(side.predicate).square_().add_(1)  # (B, R)
        asked = field.modulus(side.entity).square_().mul_(targets.mass.unsqueeze(1))  # (B, R)
        value, squares, answers = _dot(asked, reach), list[Tensor](), list[Tensor]()
        for ids, reached in targets.scatter(reach):  # (u,), (u, R)
            rows = model.tables[target].index_select(0, ids)  # (u, D)
            answers.append(ids)
            squares.append(field.modulus(rows).square_())  # (u, R)
            value += _dot(squares[-1], reached)
            found.add(target, ids, field.stretch(rows, reached.mul_(twice)))
        place = torch.searchsorted(torch.cat(answers), targets.answers)
        sums = replace(targets, answers=place).gather(torch.cat(squares))  # (B, R)
        found.add(
            "predicate", batch.predicates, field.stretch(side.predicate, (asked + sums) * twice)
        )
        factors = reach.mul_(targets.mass.unsqueeze(1)).mul_(twice)
        found.add(origin, batch.entities, field.stretch(side.entity, factors))
        return value * (twice / 2)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return torch.dot(x.flatten(), y.flatten())
