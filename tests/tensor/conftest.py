"""Slow twins: the objective as the paper writes it, fact by fact, for autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from trifact.tensor.batches import Batch
from trifact.tensor.descent import Objective
from trifact.tensor.dura import Dura
from trifact.tensor.models import MODELS, Model


def native(model: Model, rows: Tensor) -> Tensor:
    """Rows as torch's own numbers: complex where they are stored as [re | im]."""
    return torch.complex(*rows.chunk(2, -1)) if model.field.parts == 2 else rows


def score_tensor(model: Model, tables: dict[str, Tensor]) -> Tensor:
    """The whole tensor X[i, j, k] by its definition."""
    a, b, c = (native(model, tables[name]) for name in model.roles.values())
    return torch.einsum("ir,jr,kr->ijk", a, b, c.conj()).real


def omega_of_fact(objective: Objective, tables: dict[str, Tensor], fact: list[int]) -> Tensor:
    """lambda/3 (|a_i|^p + |b_j|^p + |c_k|^p), each summed over the rank; or DURA's four squares."""
    model, regularizer = objective.model, objective.regularizer
    if isinstance(regularizer, Dura):
        rows = zip(model.roles.values(), fact, strict=True)
        a, b, c = (native(model, tables[name][row]).abs() for name, row in rows)
        return regularizer.coefficient * (a**2 + (a * b) ** 2 + c**2 + (c * b) ** 2).sum()
    total = torch.zeros((), dtype=torch.float64)
    for role, row in zip(model.roles, fact, strict=True):
        u = native(model, tables[model.roles[role]][row])
        total = total + regularizer.coefficient(role) / 3 * u.abs().pow(regularizer.p).sum()
    return total


def plain_objective(
    objective: Objective, batch: Batch, tables: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Loss and penalty of a batch with one row of logits per answer, for autograd."""
    x, height = score_tensor(objective.model, tables), objective.model.predicates
    share = 1.0 if objective.reciprocal else 0.5
    loss = penalty = torch.zeros((), dtype=torch.float64)
    for a, (row, answer) in enumerate(zip(batch.rows, batch.answers, strict=True)):
        entity, predicate = int(batch.entities[row]), int(batch.predicates[row])
        weight = 1.0 if batch.weights is None else float(batch.weights[a])
        if predicate < height:
            fiber, fact = x[entity, predicate], [entity, predicate, int(answer)]
        else:
            fiber = x[:, predicate - height, entity]
            fact = [int(answer), predicate - height, entity]
        loss = loss + weight * (torch.logsumexp(fiber, 0) - fiber[answer])
        second = torch.logsumexp(x[fact[0], :, fact[2]], 0) - x[tuple(fact)]
        loss = loss + weight * share * objective.relations * second
        penalty = penalty + weight * omega_of_fact(objective, tables, fact)
    examples = objective.answers if objective.reciprocal else objective.answers / 2
    return loss / examples, penalty * share / examples


@pytest.fixture
def plain() -> Callable[..., tuple[Tensor, Tensor]]:
    return plain_objective


@pytest.fixture
def score() -> Callable[..., Tensor]:
    return score_tensor


def some_batch(
    *, entities: int, predicates: int, queries: int = 11, extra: int = 20, weighted: bool = True
) -> Batch:
    """Random queries with at least one answer each; entities, predicates and answers repeat."""
    generator = torch.Generator().manual_seed(entities + queries)

    def draw(high: int, size: int) -> Tensor:
        return torch.randint(0, high, (size,), generator=generator)

    rows = torch.cat([torch.arange(queries), draw(queries, extra)]).sort().values
    answers = draw(entities, len(rows))
    weights = torch.randint(1, 4, rows.shape, generator=generator) if weighted else None
    return Batch(draw(entities, queries), draw(predicates, queries), rows, answers, weights)


@pytest.fixture
def batch_of() -> Callable[..., Batch]:
    return some_batch


def some_model(name: str, *, entities: int = 23, predicates: int = 5, rank: int = 4) -> Model:
    """A model in float64 with factors of order one."""
    model = MODELS[name](entities, predicates, rank=rank, scale=1.0, seed=7)
    model.tables = {key: table.double() for key, table in model.tables.items()}
    return model


@pytest.fixture
def double_model() -> Callable[..., Model]:
    return some_model
