"""The rows of one entity, solved from its facts while all others of a run are fixed.

Each table that serves entities has a row of it: one in DistMult and ComplEx, two in CP. Which
examples reach a row is the sharing rule's business: it asks where its table is the source of a
query, and stands where its table has the candidates. Self-loops must be left out: they alone
would make the problem not convex.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trifact.answer.rivalry import Rivalry
from trifact.answer.rowdura import DuraNorm
from trifact.answer.rownorm import Norms
from trifact.answer.rowobjective import Asking, Examples, RowObjective, Standing, Term
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, reciprocal
from trifact.run.options import TrainConfig
from trifact.tensor.models import Model
from trifact.tensor.trilinear import Role, Towards, asker, way

NEGATIVES = 10_000


@dataclass(frozen=True)
class Solved:
    """The rows of an entity by table, (D,) in float64 each, and how they were found."""

    rows: dict[str, Tensor]
    steps: int
    converged: bool
    whole: bool
    """Whether facts reach all of them; one that no fact reaches is zero."""


class Meetings(NamedTuple):
    """Examples in one direction: who asks with which predicate, and who answers."""

    towards: Towards
    entities: Ints  # (n,)
    predicates: Ints  # (n,), reciprocal ids
    answers: Ints  # (n,)
    facts: Ints  # (n,): the number of the fact that each is of

    def where(self, mask: NDArray[np.bool_]) -> Meetings:
        """Some of them."""
        return Meetings(self.towards, *(column[mask] for column in self[1:]))


class Asked(NamedTuple):
    """Examples whose query is made of the row in a role and of a partner in another."""

    role: Role
    partner: Role
    towards: Role
    partners: Ints  # (n,), ids, of predicates reciprocal ones
    answers: Ints  # (n,)
    facts: Ints  # (n,): the number of the fact that each is of


@dataclass(frozen=True)
class Rows:
    """Everything of a run that is fixed when the rows of one entity are solved.

    `negatives` bounds the sample of queries that an entity does not answer; with zero it is
    nobody's wrong answer. An entity that the model does not have is None, and N in its facts.

    Memory besides tables and facts: the queries of the sample and of the entity's facts, D
    numbers each, and about six blocks of `budget` bytes.
    """

    graph: Graph
    model: Model
    config: TrainConfig
    negatives: int = NEGATIVES
    budget: int = 16 * 2**20

    def solve(self, facts: Ints, entity: int | None = None) -> Solved:
        """The rows of an entity from its facts (n, 3); one that no fact reaches is zero."""
        objectives = self.objectives(facts, entity)
        found = {table: objective.minimum() for table, objective in objectives.items()}
        zero = torch.zeros(self.model.table("object").shape[1], dtype=torch.float64)
        rows = {table: found[table].point if table in found else zero for table in self.tables}
        steps = sum(minimum.steps for minimum in found.values())
        converged = all(minimum.converged for minimum in found.values())
        return Solved(rows, steps, converged, whole=len(found) == len(rows))

    def objectives(
        self, facts: Ints, entity: int | None = None, *, tables: Iterable[str] | None = None
    ) -> dict[str, RowObjective]:
        """What the rows minimize, by table (of some or all), in those that some fact reaches."""
        own, found = self.model.entities if entity is None else entity, dict[str, RowObjective]()
        weights, width = torch.ones(len(facts)).double(), self.model.table("object").shape[1]
        for table in self.tables if tables is None else tables:
            terms, reached = self._terms(table, facts, entity)
            if bool(reached.any()):
                terms += self._relating(table, facts, own)
                terms.append(self._norm(table, facts, own))
                objective = RowObjective(tuple(terms), weights, reached, width)
                found[table] = objective.weighted(weights)
        return found

    @property
    def tables(self) -> list[str]:
        """The tables that serve entities."""
        return sorted({self.model.roles["subject"], self.model.roles["object"]})

    def asking(self, met: Meetings, entity: int | None) -> Asking:
        """The examples of an entity as the ones where it asks."""
        role, towards = asker(met.towards), met.towards
        asked = Asked(role, "predicate", towards, met.predicates, met.answers, met.facts)
        return self._asking(asked, own=entity)

    def _asking(self, asked: Asked, *, own: int | None, times: float = 1.0) -> Asking:
        model, (distinct, rows) = self.model, np.unique(asked.partners, return_inverse=True)
        there, answers = model.table(asked.partner), model.table(asked.towards)
        partners = there[torch.from_numpy(distinct % len(there))]
        made = way(model.field, asked.role, asked.towards)
        pulls = made.back(answers[torch.from_numpy(asked.answers)], partners[rows])
        examples = Examples(*map(torch.from_numpy, (rows, asked.facts)))
        return Asking(
            made, answers, own, partners, examples, pulls, times=times, budget=self.budget
        )

    def _relating(self, table: str, facts: Ints, own: int) -> Iterator[Asking]:
        """Where the row of a table asks for predicates."""
        if not self.config.relations:
            return
        for role, met in self._sides(table, facts, own):
            partner: Role = "object" if role == "subject" else "subject"
            partners = met.answers if role == "subject" else met.entities
            asked = Asked(role, partner, "predicate", partners, met.predicates, met.facts)
            yield self._asking(asked, own=None, times=self.config.relations)

    def _norm(self, table: str, facts: Ints, own: int) -> Term:
        """The regularizer of the row of a table."""
        if self.config.regularizer != "dura":
            return self._norms.of(table, facts, own)
        assert self.config.reg is not None
        model = self.model
        reach = torch.zeros(len(facts), model.rank, dtype=torch.float64)
        for _, met in self._sides(table, facts, own):
            predicates = model.table("predicate")[torch.from_numpy(met.predicates)].double()
            squares = model.field.modulus(predicates).square_()
            reach.index_add_(0, torch.from_numpy(met.facts), squares.add_(1))
        return DuraNorm(model.field, self.config.reg, reach)

    def _sides(self, table: str, facts: Ints, own: int) -> Iterator[tuple[Role, Meetings]]:
        """Every example of the objective once, by the role that the row of a table has in it."""
        met = next(self._meetings(facts))
        sides: tuple[tuple[Role, Ints], ...] = (("subject", met.entities), ("object", met.answers))
        for role, ends in sides:
            if self.model.roles[role] == table and (ends == own).any():
                yield role, met.where(ends == own)

    def _terms(self, table: str, facts: Ints, entity: int | None) -> tuple[list[Term], Tensor]:
        """Where the row of a table asks and where it stands; and which facts (n,) reach it."""
        own, terms = self.model.entities if entity is None else entity, list[Term]()
        reached = torch.zeros(len(facts), dtype=torch.bool)
        for met in self._meetings(facts):
            asks, stands = met.where(met.entities == own), met.where(met.answers == own)
            if self.model.source(met.towards) == table and len(asks.facts):
                terms.append(self.asking(asks, entity))
                reached[torch.from_numpy(asks.facts)] = True
            if self.model.roles[met.towards] == table:
                terms.append(self._standing(stands, entity))
                reached[torch.from_numpy(stands.facts)] = True
        return terms, reached

    def _meetings(self, facts: Ints) -> Iterator[Meetings]:
        """All examples of the facts, by direction; in the reciprocal setting there is only one."""
        e, q, a = reciprocal(facts, len(self.graph.predicates)).T
        number, backwards = np.tile(np.arange(len(facts)), 2), q >= self.model.predicates
        yield Meetings("object", e, q, a, number).where(~backwards)
        if self.config.setting == "standard":
            yield Meetings("subject", e, q, a, number).where(backwards)

    def _standing(self, met: Meetings, entity: int | None) -> Standing:
        """Queries that the entity answers, with all their examples; then the sample of others."""
        packed = met.entities * self._rivalry.sides + met.predicates
        distinct, rows = np.unique(packed, return_inverse=True)
        answered = self._rivalry.asked(distinct, towards=met.towards, entity=entity)
        drawn = self._rivalry.drawn(towards=met.towards, entity=entity).without(distinct)
        others = answered.times * (self.negatives > 0)
        if entity is not None and self.negatives:  # training has its own answers too
            others -= torch.from_numpy(np.bincount(rows, minlength=len(distinct)))
        return Standing(
            torch.cat([answered.queries, drawn.queries]),
            torch.cat([answered.log_z, drawn.log_z]),
            torch.cat([others, drawn.times]),
            Examples(*map(torch.from_numpy, (rows, met.facts))),
        )

    @cached_property
    def _rivalry(self) -> Rivalry:
        return Rivalry(self.graph, self.model, self.negatives, self.budget)

    @cached_property
    def _norms(self) -> Norms:
        return Norms(self.graph, self.model, self.config)
