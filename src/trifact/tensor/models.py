"""CP, DistMult and ComplEx: three factor tables with a sharing rule, one trilinear product.

| model    | field   | sharing       |
|----------|---------|---------------|
| CP       | real    | none          |
| DistMult | real    | C = A         |
| ComplEx  | complex | C = conj(A)   |

Reciprocal setting: 2P predicate rows, and only objects are ever asked for. Standard setting: P
rows, and a query with predicate q >= P is asked towards subjects with row q - P. So the height of
the predicate table says which setting a model is of, and scores need to know nothing else.
"""

from __future__ import annotations

from typing import ClassVar, Self

import torch
from torch import Tensor

from trifact.tensor import trilinear
from trifact.tensor.trilinear import Complex, Field, Real, Role, Towards

APART: dict[Role, str] = {"subject": "subject", "predicate": "predicate", "object": "object"}
SHARED: dict[Role, str] = {"subject": "entity", "predicate": "predicate", "object": "entity"}


class Model:
    """Factor tables by name, (rows, D) each, and the scores they give.

    `roles` is the sharing rule: the name of the table that serves subjects, predicates, objects.
    ComplEx shares one as it is: the dot product of [re | im] rows does the conjugation.
    """

    field: ClassVar[Field]
    roles: ClassVar[dict[Role, str]]

    def __init__(
        self, entities: int, predicates: int, *, rank: int, scale: float = 1e-3, seed: int = 0
    ) -> None:
        """Tables drawn from scale * N(0, 1), float32; the same seed gives the same tables."""
        generator = torch.Generator().manual_seed(seed)
        self.tables: dict[str, Tensor] = {}
        for role, name in self.roles.items():
            if name not in self.tables:
                rows = predicates if role == "predicate" else entities
                drawn = torch.randn(rows, rank * self.field.parts, generator=generator)
                self.tables[name] = drawn.mul_(scale)

    @classmethod
    def of(cls, tables: dict[str, Tensor]) -> Self:
        """The model of given tables."""
        model = cls.__new__(cls)
        model.tables = tables
        return model

    @property
    def entities(self) -> int:
        """N, the number of candidates."""
        return len(self.table("object"))

    @property
    def predicates(self) -> int:
        """Rows of the predicate table: 2P in the reciprocal setting, P in the standard one."""
        return len(self.table("predicate"))

    @property
    def rank(self) -> int:
        """R, the number of terms."""
        return self.table("predicate").shape[1] // self.field.parts

    def table(self, role: Role) -> Tensor:
        """The factors of a role, (rows, D)."""
        return self.tables[self.roles[role]]

    def source(self, towards: Towards) -> str:
        """The name of the table of a query's entity; the candidates' is `roles[towards]`."""
        return self.roles[trilinear.asker(towards)]

    def query(self, entity: Tensor, predicate: Tensor, *, towards: Towards) -> Tensor:
        """From rows of entities and predicates, (B, D) each, to queries (B, D)."""
        return trilinear.query(self.field, entity, predicate, towards=towards)

    def adjoint(
        self, d_query: Tensor, entity: Tensor, predicate: Tensor, *, towards: Towards
    ) -> tuple[Tensor, Tensor]:
        """From the gradient of queries to those of the rows that they were made of."""
        return trilinear.adjoint(self.field, d_query, entity, predicate, towards=towards)

    def queries(self, entities: Tensor, predicates: Tensor, *, towards: Towards) -> Tensor:
        """Queries of ids (B,), predicates as rows of their table: (B, D)."""
        entity = self.tables[self.source(towards)].index_select(0, entities)
        predicate = self.table("predicate").index_select(0, predicates)
        return self.query(entity, predicate, towards=towards)

    def scores(self, entities: Tensor, predicates: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The score of every candidate, for queries with reciprocal ids: (B,), (B,) -> (B, N).

        `out` is where to put them; rows that begin at multiples of 64 bytes are filled fastest.
        """
        backwards, rows = predicates >= self.predicates, predicates % self.predicates
        if not bool(backwards.any()):
            return self._scores(entities, rows, towards="object", out=out)
        if bool(backwards.all()):
            return self._scores(entities, rows, towards="subject", out=out)
        scores = (
            self.table("object").new_empty(len(entities), self.entities) if out is None else out
        )
        forwards = ~backwards
        scores[forwards] = self._scores(entities[forwards], rows[forwards], towards="object")
        scores[backwards] = self._scores(entities[backwards], rows[backwards], towards="subject")
        return scores

    def _scores(
        self, entities: Tensor, predicates: Tensor, *, towards: Towards, out: Tensor | None = None
    ) -> Tensor:
        queries = self.queries(entities, predicates, towards=towards)
        return torch.mm(queries, self.table(towards).T, out=out)


class CP(Model):
    """<A_i, B_j, C_k> over the reals (Hitchcock 1927): represents any tensor."""

    field, roles = Real(), APART


class DistMult(Model):
    """<E_i, B_j, E_k> over the reals (Yang et al. 2014): symmetric tensors only."""

    field, roles = Real(), SHARED


class ComplEx(Model):
    """Re <E_i, B_j, conj(E_k)> (Trouillon et al. 2016): represents any real tensor."""

    field, roles = Complex(), SHARED


MODELS: dict[str, type[Model]] = {"cp": CP, "distmult": DistMult, "complex": ComplEx}
