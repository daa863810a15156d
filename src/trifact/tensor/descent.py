"""One step of training: queries, loss, gradients, regularizer, optimizer.

The objective is a mean. Reciprocal setting: over the 2|S| examples (a fact or its reciprocal),
each with a loss and a regularizer term. Standard setting: over the |S| facts, two fiber losses
and *one* regularizer term each; a fact is met once on either side, so each meeting counts half
of the term, and of the second loss (relations.py) where there is one. A step sums over the answers
of a batch and is divided by the number of examples that a batch has on average, a constant: the
actual number would weigh facts by their company.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from trifact.tensor.batches import Batch, Side, Targets
from trifact.tensor.dura import Dura
from trifact.tensor.gradients import Found, Gradient
from trifact.tensor.losses import log_loss
from trifact.tensor.models import Model
from trifact.tensor.optimizers import Optimizer
from trifact.tensor.regularizers import Regularizer
from trifact.tensor.relations import relation_loss
from trifact.tensor.trilinear import Role, Towards
from trifact.tensor.workspace import Workspace, rows_at_a_time


class Value(NamedTuple):
    """The objective of a step; its mean over an epoch is that over the examples."""

    loss: Tensor
    penalty: Tensor


@dataclass
class Objective:
    """What training makes smaller: the mean loss of the facts plus the regularizer.

    `answers` is the expected number of answers of a batch, multiplicities counted; `relations`
    is the weight of the second loss; `frequencies` are needed only by a regularizer over whole
    tables.
    """

    model: Model
    regularizer: Regularizer | Dura
    answers: float
    reciprocal: bool = True
    relations: float = 0.0
    frequencies: dict[Role, Tensor] = field(default_factory=dict)
    work: Workspace = field(default_factory=Workspace)

    @property
    def blank(self) -> float:
        """The loss of a model that knows nothing, whose scores are all equal."""
        fibers = (1 if self.reciprocal else 2) * math.log(self.model.entities)
        return fibers + self.relations * math.log(len(self.model.table("predicate")))

    def step(self, batch: Batch, optimizer: Optimizer) -> Value:
        """Moves the tables against the gradient of a batch, in place."""
        value, gradients = self.gradients(batch)
        for name, gradient in gradients.items():
            optimizer.update(name, self.model.tables[name], gradient)
        return value

    def gradients(self, batch: Batch) -> tuple[Value, dict[str, Gradient]]:
        """The objective of a batch and its gradient for every table that it touches.

        Gradients of whole tables live in the workspace, until the next call.
        """
        found = Found(self.model.tables, self.work)
        sides = [self._side(part, towards) for towards, part in batch.parts(self.model.predicates)]
        grouped = groupby(sides, key=lambda side: self.model.roles[side.towards])
        losses = [self._log_loss(target, [*group], found) for target, group in grouped]
        losses += [self._relation_loss(side, found) for side in sides]
        penalties = [self._facts_penalty(side, found) for side in sides]
        penalties.append(self._penalty(found))
        return Value(torch.stack(losses).sum(), torch.stack(penalties).sum()), found.joined()

    def _side(self, batch: Batch, towards: Towards) -> Side:
        """The queries of a batch, all of which ask for one role."""
        model = self.model
        entity = model.tables[model.source(towards)].index_select(0, batch.entities)
        predicate = model.table("predicate").index_select(0, batch.predicates)
        queries = model.query(entity, predicate, towards=towards)
        targets = Targets.of(batch, like=queries, scale=self._per_answer)
        return Side(towards, batch, targets, entity, predicate, queries)

    def _log_loss(self, target: str, sides: list[Side], found: Found) -> Tensor:
        """The loss against one table of all that ask for its rows, in one pass over it."""
        queries = torch.cat([side.queries for side in sides])
        targets = Targets.joined([side.targets for side in sides])
        table, into = self.model.tables[target], found.unwritten(target)
        result = log_loss(queries, table, targets, work=self.work, into=into)
        sizes = [len(side.queries) for side in sides]
        for side, d_queries in zip(sides, torch.split(result.d_queries, sizes), strict=True):
            self._pass_on(side, d_queries, found)
        found.touch(target, targets.answers, targets.weights)
        return result.value(targets)

    def _pass_on(self, side: Side, d_queries: Tensor, found: Found) -> None:
        """The gradient of queries, to the rows that they were made of."""
        back = self.model.adjoint(d_queries, side.entity, side.predicate, towards=side.towards)
        origin, batch = self.model.source(side.towards), side.batch
        rows = (origin, batch.entities), ("predicate", batch.predicates)
        for (name, ids), gradient in zip(rows, back, strict=True):
            found.add(name, ids, gradient)
            found.touch(name, ids, side.targets.mass)

    def _relation_loss(self, side: Side, found: Found) -> Tensor:
        """The second loss of the facts of one side."""
        if not self.relations:
            return side.queries.new_zeros(())
        weight = self.relations * self._per_meeting
        return relation_loss(self.model, side, weight=weight, work=self.work, found=found)

    def _facts_penalty(self, side: Side, found: Found) -> Tensor:
        """The regularizer of the facts of one side, if it goes by facts."""
        if not isinstance(self.regularizer, Dura):
            return side.queries.new_zeros(())
        return self.regularizer.facts(self.model, side, share=self._per_meeting, found=found)

    def _penalty(self, found: Found) -> Tensor:
        """The regularizer of the rows that the batch touched, or of whole tables."""
        norm, terms = self.regularizer, [self.model.table("predicate").new_zeros(())]
        if isinstance(norm, Dura):
            return terms[0]
        if norm.by_rows:
            terms += [self._rows_penalty(norm, *touched, found) for touched in found.touched()]
        elif norm.by_tables:
            terms += [self._table_penalty(norm, role, found) for role in self.model.roles]
        return torch.stack(terms).sum()

    def _rows_penalty(
        self, norm: Regularizer, name: str, ids: Tensor, counts: Tensor, found: Found
    ) -> Tensor:
        """Of the touched rows of one table, some of them at a time: they may be most of it."""
        table, share = self.model.tables[name], counts * self._per_meeting
        value, size = table.new_zeros(()), rows_at_a_time(table)
        for some, weights in zip(torch.split(ids, size), torch.split(share, size), strict=True):
            rows = table.index_select(0, some)
            part, gradient = norm.rows(name, rows, weights, field=self.model.field)
            found.add(name, some, gradient)
            value += part
        return value

    def _table_penalty(self, norm: Regularizer, role: Role, found: Found) -> Tensor:
        table, into = self.model.table(role), found.whole(self.model.roles[role])
        weights = table.new_ones(len(table))
        if norm.weighting == "frequency":
            weights = self.frequencies[role].to(table)
        return norm.add_table(role, table, weights, field=self.model.field, into=into)

    @property
    def _per_answer(self) -> float:
        """What an answer weighs; in the standard setting a fact is met as two answers."""
        return (1 if self.reciprocal else 2) / self.answers

    @property
    def _per_meeting(self) -> float:
        """The share of what a fact counts once, in each of its meetings as an answer."""
        return 1.0 if self.reciprocal else 0.5
