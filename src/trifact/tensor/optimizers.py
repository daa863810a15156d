"""Adagrad, Adam and SGD on factor tables, in place, and schedules of their rate.

The arithmetic is torch's own, fused into one pass where torch has that. A gradient is a whole
table or, where only some rows were touched, just these: Adagrad and SGD leave a row without
gradient as it is, so they go over the touched rows only. State is plain tensors by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam

from trifact.tensor.gradients import Gradient, Rows
from trifact.tensor.registry import choose


class Optimizer(Protocol):
    """Moves tables against their gradients; `state` is all it remembers but the rate."""

    rate: float
    state: dict[str, Tensor]

    def update(self, name: str, table: Tensor, gradient: Gradient) -> None:
        """One step of one table, in place; `name` is the table's, and of its state."""


@dataclass
class SGD:
    """table -= rate * gradient."""

    rate: float = 0.1
    state: dict[str, Tensor] = field(default_factory=dict)

    def update(self, name: str, table: Tensor, gradient: Gradient) -> None:
        if isinstance(gradient, Rows):
            table.index_add_(0, gradient.ids, gradient.values, alpha=-self.rate)
        else:
            table.add_(gradient, alpha=-self.rate)


@dataclass
class Adagrad:
    """sum += g^2; table -= rate * g / (sqrt(sum) + eps) (Duchi, Hazan and Singer 2011)."""

    rate: float = 0.1
    eps: float = 1e-10
    state: dict[str, Tensor] = field(default_factory=dict)

    def update(self, name: str, table: Tensor, gradient: Gradient) -> None:
        total = _remembered(self.state, f"{name}.sum", table)
        if isinstance(gradient, Rows):
            self._update_rows(table, total, gradient)
            return
        adagrad(
            [table],
            [gradient],
            [total],
            [torch.zeros((), device=table.device)],  # steps, for a decay that is zero
            fused=table.device.type == "cpu",
            lr=self.rate,
            weight_decay=0.0,
            lr_decay=0.0,
            eps=self.eps,
            maximize=False,
        )

    def _update_rows(self, table: Tensor, total: Tensor, gradient: Rows) -> None:
        ids, values = gradient
        sums = total.index_select(0, ids).addcmul_(values, values)
        total.index_copy_(0, ids, sums)
        move = values / sums.sqrt_().add_(self.eps)
        table.index_add_(0, ids, move, alpha=-self.rate)


@dataclass
class Adam:
    """Adam with torch's constants (Kingma and Ba 2014); its moments fade in every row."""

    rate: float = 1e-3
    eps: float = 1e-8
    state: dict[str, Tensor] = field(default_factory=dict)

    def update(self, name: str, table: Tensor, gradient: Gradient) -> None:
        dense = gradient.whole(table) if isinstance(gradient, Rows) else gradient
        adam(
            [table],
            [dense],
            [_remembered(self.state, f"{name}.mean", table)],
            [_remembered(self.state, f"{name}.square", table)],
            [],
            [_remembered(self.state, f"{name}.steps", torch.empty(()))],
            fused=table.device.type == "cpu",
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.rate,
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
        )


def _remembered(state: dict[str, Tensor], name: str, like: Tensor) -> Tensor:
    """The tensor of that name, zeros like another when first asked for."""
    if name not in state:
        state[name] = torch.zeros_like(like)
    return state[name]


OPTIMIZERS: dict[str, type[SGD] | type[Adagrad] | type[Adam]] = {
    "adagrad": Adagrad,
    "adam": Adam,
    "sgd": SGD,
}


def optimizer(name: str, *, rate: float) -> Optimizer:
    """The optimizer of a name, with no memory yet."""
    return choose(OPTIMIZERS, name, kind="optimizer")(rate=rate)


@dataclass
class Constant:
    """The rate stays what it is."""

    def after(self, rate: float, mrr: float) -> float:
        return rate


@dataclass
class Plateau:
    """Multiplies the rate by `factor` once MRR has not risen for `patience` validations."""

    factor: float = 0.5
    patience: int = 3
    best: float = -1.0
    waited: int = 0

    def after(self, rate: float, mrr: float) -> float:
        """The rate to go on with, given the one until now and a validation's MRR."""
        self.waited = 0 if mrr > self.best else self.waited + 1
        self.best = max(self.best, mrr)
        if self.waited < self.patience:
            return rate
        self.waited = 0
        return rate * self.factor


SCHEDULES: dict[str, type[Constant] | type[Plateau]] = {"constant": Constant, "plateau": Plateau}
