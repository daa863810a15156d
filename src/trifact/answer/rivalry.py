"""The queries of training as an entity meets them that is one of their candidates, right or wrong.

Training shows an entity as a wrong answer to every query that it does not answer. There are as
many as training has queries, and most say the same about an entity; so a sample stands for all,
drawn by how often training asks a query, the same for every entity. Where there are no more than
the sample may have, it is all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, find
from trifact.tensor.models import Model
from trifact.tensor.trilinear import Towards
from trifact.tensor.workspace import Workspace

SEED = 0


class Asked(NamedTuple):
    """Queries in one direction, their logZ over all but the entity, how many examples ask them."""

    packed: Ints  # (c,): entity * 2P + predicate, a reciprocal id
    queries: Tensor  # (c, D)
    log_z: Tensor  # (c,), float64
    times: Tensor  # (c,), float64

    def without(self, packed: Ints) -> Asked:
        """Those that are not among some queries."""
        kept = ~np.isin(self.packed, packed)
        place = torch.from_numpy(np.flatnonzero(kept))
        return Asked(self.packed[kept], *(part[place] for part in self[1:]))


@dataclass(frozen=True)
class Rivalry:
    """What training asks; `sample` bounds how many queries are drawn, zero is none at all.

    Logits are made in blocks of about `budget` bytes.
    """

    graph: Graph
    model: Model
    sample: int
    budget: int
    _of_new_ones: dict[Towards, Asked] = field(default_factory=dict, repr=False)

    def asked(self, packed: Ints, *, towards: Towards, entity: int | None) -> Asked:
        """Given queries; `entity` is the candidate that is not counted, None if it is new."""
        entities, predicates = torch.from_numpy(np.stack(np.divmod(packed, self.sides)))
        rows = predicates % self.model.predicates
        queries = self.model.queries(entities, rows, towards=towards)
        log_z = self._log_z(queries, towards=towards, entity=entity)
        return Asked(packed, queries, log_z, self._times(packed))

    def drawn(self, *, towards: Towards, entity: int | None) -> Asked:
        """The sample, without the entity's own queries; for new entities it is made once."""
        if entity is None and towards in self._of_new_ones:
            return self._of_new_ones[towards]
        packed, times = self._sample
        kept = (packed % self.sides >= self.model.predicates) == (towards == "subject")
        kept &= packed // self.sides != (-1 if entity is None else entity)
        found = self.asked(packed[kept], towards=towards, entity=entity)
        found = found._replace(times=torch.from_numpy(times[kept]))
        if entity is None:
            self._of_new_ones[towards] = found
        return found

    @property
    def sides(self) -> int:
        """2P: how many predicates can be asked for."""
        return 2 * len(self.graph.predicates)

    def _times(self, packed: Ints) -> Tensor:
        """How many examples of training ask each query."""
        known, times = self._trained
        place, there = find(packed, known)
        found = np.zeros(len(packed))
        found[there] = times[place[there]]
        return torch.from_numpy(found)

    def _log_z(self, queries: Tensor, *, towards: Towards, entity: int | None) -> Tensor:
        table, work = self.model.table(towards), Workspace(self.budget)
        found = torch.empty(len(queries), dtype=torch.float64)
        for block in work.blocks(len(queries), table):
            logits = work.logits(len(queries[block]), table)[:, : len(table)]
            torch.mm(queries[block], table.T, out=logits)
            if entity is not None:
                logits[:, entity] = -torch.inf
            found[block] = logits.logsumexp(1).double()
        return found

    @cached_property
    def _trained(self) -> tuple[Ints, NDArray[np.float64]]:
        """The distinct queries of training, packed and ascending, and how often each is asked."""
        queries = self.graph.queries("train")
        packed = queries.entities * self.sides + queries.predicates
        times = np.add.reduceat(queries.multiplicities, queries.offsets[:-1])
        return packed, times.astype(np.float64)

    @cached_property
    def _sample(self) -> tuple[Ints, NDArray[np.float64]]:
        """Queries, packed and ascending, and for how many examples each stands."""
        packed, times = self._trained
        if not 0 < self.sample < len(packed):
            return (packed, times) if self.sample else (packed[:0], times[:0])
        random, total = np.random.default_rng(SEED), times.sum()
        drawn = random.choice(len(packed), self.sample, p=times / total)
        places, counts = np.unique(drawn, return_counts=True)
        return packed[places], counts * (total / self.sample)
