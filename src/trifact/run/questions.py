"""Facts as questions: what is asked of a model about them, and its ranks back in their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers, reciprocal, starts_of_runs
from trifact.tensor.ranking import Allowed, Asked


@dataclass(frozen=True)
class Questions:
    """Both sides of n facts as distinct queries; a fact that repeats is ranked as often."""

    asked: Asked
    order: Ints  # (2n,): the place of each answer among facts towards objects, then subjects

    @classmethod
    def of(
        cls,
        facts: Ints,
        known: KnownAnswers,
        *,
        device: torch.device,
        allowed: Allowed | None = None,
    ) -> Questions:
        """The questions of facts (n, 3); `known` are the answers to leave out.

        Queries go by predicate, so that towards objects comes first and then towards subjects.
        """
        both = reciprocal(facts, known.predicates)
        order = np.lexsort((both[:, 0], both[:, 1]))
        entities, predicates, answers = both[order].T
        starts = starts_of_runs(entities, predicates)
        rows = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
        queries = entities[starts], predicates[starts]
        parts = (*queries, rows, answers, *known.lookup(*queries))
        e, p, r, a, known_rows, others = (torch.as_tensor(x.copy(), device=device) for x in parts)
        return cls(Asked(e, p, r, a, known_rows, others, allowed), order)

    def by_fact(self, values: Tensor) -> Ints:
        """One value an answer, back by fact: (n, 2), towards its object and its subject."""
        placed = np.empty(len(self.order), dtype=np.int64)
        placed[self.order] = values.cpu().numpy()
        return placed.reshape(2, -1).T


def asked_of(graph: Graph, split: str, *, device: torch.device) -> Asked:
    """The distinct queries of a split on both sides, and all known answers to leave out.

    Known are the facts of train, valid and test, as everywhere in the field.
    """
    return Questions.of(graph.splits[split], graph.known(), device=device).asked
