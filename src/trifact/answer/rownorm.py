"""The part of the regularizer that depends on one row, summed over the examples of training.

Where the regularizer splits over rows (N3 and FRO by frequency) it is lambda/3 |u|^p for every
touch of the row. Else it is, for every example and every role of the row's table,

    lambda/3 sum_r (s_r + q |u_r|^p)^(alpha/p)

with q the row's frequency in that role, or one, and s_r what the other rows come to. That is the
regularizer of a table of two rows: s^(1/p) with weight one, and u with weight q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trifact.answer.newton import Local
from trifact.answer.rowobjective import NONE
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.run.options import TrainConfig
from trifact.run.preparation import norm_of
from trifact.tensor.models import Model
from trifact.tensor.regularizers import Regularizer
from trifact.tensor.trilinear import Role
from trifact.tensor.workspace import row_blocks

NUDGE = 1e-5  # of the differences that give the curvature; they are in float64


@dataclass(frozen=True)
class Norm:
    """A term of the row's objective; everything in it is float64."""

    regularizer: Regularizer
    model: Model
    table: str
    touches: Mapping[Role, Tensor]  # (F,) each: how often a fact has the row in a role
    rest: Mapping[Role, Tensor]  # (D,) each
    examples: int
    weights: Tensor = NONE  # (F,)

    def weighted(self, weights: Tensor) -> Self:
        return replace(self, weights=weights)

    def at(self, u: Tensor) -> Local:
        value, gradient = self._at(u, self._counts)

        def curvature(v: Tensor) -> Tensor:
            nudge = NUDGE / max(float(v.norm()), torch.finfo(v.dtype).tiny) * v
            ahead, behind = (self._at(u + way * nudge, self._counts)[1] for way in (1, -1))
            return (ahead - behind) * (float(v.norm()) / (2 * NUDGE))

        return Local(value, gradient, curvature)

    def by_fact(self, u: Tensor) -> Tensor:
        """What one more touch in a role adds, times how often a fact touches it there."""
        gradient, due = self._at(u, self._counts)[1], u.new_zeros(len(self.weights), len(u))
        reached = {role: touches for role, touches in self.touches.items() if self._counts[role]}
        for role, touches in reached.items():
            less = {**self._counts, role: self._counts[role] - 1}
            due += touches.unsqueeze(1) * (gradient - self._at(u, less)[1])
        return due

    def _at(self, u: Tensor, counts: Mapping[Role, float]) -> tuple[float, Tensor]:
        norm, field = self.regularizer, self.model.field
        if norm.by_rows:
            touched = u.new_tensor([sum(counts.values())])
            value, gradient = norm.rows(self.table, u[None], touched, field=field)
            return float(value), gradient[0]
        total, gradient = 0.0, torch.zeros_like(u)
        for role, count in counts.items() if norm.by_tables else ():
            frequency = count / self.examples if norm.weighting == "frequency" else 1.0
            weights, table = u.new_tensor([1.0, frequency]), torch.stack([self.rest[role], u])
            into = torch.zeros_like(table)
            value = norm.add_table(role, table, weights, field=field, into=into)
            total, gradient = (
                total + float(value) * self.examples,
                gradient + into[1] * self.examples,
            )
        return total, gradient

    @cached_property
    def _counts(self) -> dict[Role, float]:
        return {role: float(self.weights @ touches) for role, touches in self.touches.items()}


@dataclass(frozen=True)
class Norms:
    """The norms of all rows of a run's tables."""

    graph: Graph
    model: Model
    config: TrainConfig

    def of(self, table: str, facts: Ints, entity: int) -> Norm:
        """That of an entity's row in a table, for its facts (n, 3); N is the id of a new one."""
        columns: dict[Role, Ints] = {"subject": facts[:, 0], "object": facts[:, 2]}
        roles = [role for role in columns if self.model.roles[role] == table]
        touches = {
            role: np.ones(len(facts)) if self._reciprocal else (columns[role] == entity) * 1.0
            for role in roles
        }
        return Norm(
            self._regularizer,
            self.model,
            table,
            {role: torch.from_numpy(touched) for role, touched in touches.items()},
            {role: self._rest(role, entity) for role in roles},
            len(self.graph.train) * (2 if self._reciprocal else 1),
        )

    def _rest(self, role: Role, entity: int) -> Tensor:
        """s^(1/p) of all other rows; zero where s does not matter."""
        norm, table, field = self._regularizer, self.model.table(role), self.model.field
        sums = torch.zeros(self.model.rank, dtype=torch.float64)
        if norm.by_tables and norm.p != norm.alpha:
            weights = np.ones(len(table))
            if norm.weighting == "frequency":
                weights = self._frequencies(role)
            others = torch.from_numpy(np.where(np.arange(len(table)) == entity, 0.0, weights))
            for piece in row_blocks(table):
                sums += others[piece] @ field.modulus(table[piece].double()).pow_(norm.p)
        return torch.cat([sums.pow(1 / norm.p), sums.new_zeros((field.parts - 1) * len(sums))])

    @property
    def _reciprocal(self) -> bool:
        return self.config.setting == "reciprocal"

    def _frequencies(self, role: Role) -> NDArray[np.float64]:
        """The marginals of the examples, facts or these and their reciprocals: (n,), of sum one."""
        examples = self.graph.reciprocal("train") if self._reciprocal else self.graph.train
        column = examples[:, 0 if role == "subject" else 2]
        return np.bincount(column, minlength=self.model.entities) / len(column)

    @cached_property
    def _regularizer(self) -> Regularizer:
        norm = norm_of(self.config)
        assert isinstance(norm, Regularizer)  # DURA goes by facts: rowdura.py
        return norm
