"""What is no news: known facts, self-loops where train has none, and second answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers, find
from trifact.run.ranktable import Bools


def with_loops(graph: Graph) -> Bools:
    """The predicates under which train has an entity with itself: (P,)."""
    own = graph.train[graph.train[:, 0] == graph.train[:, 2], 1]
    return np.bincount(own, minlength=len(graph.predicates)) > 0


@dataclass(frozen=True)
class LeftOut:
    """By what train knows, and by what the other splits know besides."""

    train: KnownAnswers
    others: KnownAnswers
    """Of the other splits that are known."""
    loops: Bools
    """(P,): see `with_loops`."""
    single: Bools
    """(2P,): where a question has one answer only (see single.py)."""

    @classmethod
    def of(cls, graph: Graph, splits: tuple[str, ...], *, single: Bools | None = None) -> LeftOut:
        """By the facts of train and of some other splits; None: every question may have more."""
        facts = [graph.splits[split] for split in splits if split != "train"]
        predicates = len(graph.predicates)
        others = KnownAnswers.of(graph.train[:0], *facts, predicates=predicates)
        never = np.zeros(2 * predicates, dtype=bool)
        single = never if single is None else single
        return cls(graph.known("train"), others, with_loops(graph), single)

    def mask(self, predicate: int, subjects: Ints, objects: Ints) -> Bools:
        """Which pairs of a predicate train knows, or are self-loops: (subjects, objects)."""
        found = np.zeros((len(subjects), len(objects)), dtype=bool)
        rows, answers = self.train.lookup(subjects, np.full_like(subjects, predicate))
        columns, there = find(answers, objects)
        found[rows[there], columns[there]] = True
        if not self.loops[predicate]:
            same = np.intersect1d(subjects, objects, assume_unique=True, return_indices=True)
            found[same[1], same[2]] = True
        return found

    def known_to_others(self, facts: Ints) -> Bools:
        """Which facts (n, 3) the other splits know, or answer otherwise where one can."""
        subjects, predicates, objects = facts.T
        back = predicates + self.others.predicates
        forward = self.single[predicates] & (self.others.counts(subjects, predicates) > 0)
        backward = self.single[back] & (self.others.counts(objects, back) > 0)
        known: Bools = self.others.contains(facts) | forward | backward
        return known
