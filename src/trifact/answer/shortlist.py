"""The best facts of very many that come by: never more in memory than twice those wanted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trifact.answer.ordering import Order
from trifact.graph.known import Ints
from trifact.run.ranktable import Floats


@dataclass(frozen=True)
class Found:
    """Facts with their scores and keys."""

    facts: Ints  # (n, 3)
    scores: Floats  # (n,)
    keys: Floats  # (n,)

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, which: slice | Ints) -> Found:
        return Found(self.facts[which], self.scores[which], self.keys[which])

    @classmethod
    def nothing(cls) -> Found:
        """No fact at all."""
        return cls(np.empty((0, 3), dtype=np.int64), np.empty(0), np.empty(0))

    @classmethod
    def joined(cls, *parts: Found) -> Found:
        """One after the other."""
        columns = zip(*((part.facts, part.scores, part.keys) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def best_of(found: Found, size: int, *, each: int | None = None) -> Found:
    """The `size` best, at most `each` of a predicate, best first.

    By key, then by score, then in the order of subject, predicate and object: no order is left
    to chance.
    """
    subjects, predicates, objects = found.facts.T
    order = np.lexsort((objects, predicates, subjects, -found.scores, -found.keys))
    if each is not None:
        order = order[_place_among_equals(predicates[order]) < each]
    return found[order[:size]]


def _place_among_equals(values: Ints) -> Ints:
    """How often a value was there before, for each: [7, 3, 7, 7] -> [0, 0, 1, 2]."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    places = np.empty_like(values)
    places[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return places


class Shortlist:
    """The `size` best facts so far, at most `each` of a predicate, no key under `least`."""

    def __init__(
        self, size: int, order: Order, *, each: int | None = None, least: float = -np.inf
    ) -> None:
        self.size, self.order, self.each, self.floor = size, order, each, least
        self._kept, self._new, self._bars = Found.nothing(), list[Found](), dict[int, float]()

    def bar(self, predicate: int) -> float:
        """A score under which a fact of the predicate is of no use."""
        if predicate not in self._bars:
            self._bars[predicate] = self.order.bar(self.floor, predicate)
        return self._bars[predicate]

    def add(self, facts: Ints, scores: Floats) -> None:
        """Take in facts (n, 3), all of one predicate."""
        most = min(self.size, self.each or self.size)
        if len(scores) > most:  # within a predicate it is the score that counts
            useful = scores >= np.partition(scores, -most)[-most]
            facts, scores = facts[useful], scores[useful]
        if not len(scores):
            return
        keys = self.order.keys(scores, int(facts[0, 1]))
        useful = keys >= self.floor
        self._new.append(Found(facts, scores, keys)[np.flatnonzero(useful)])
        if sum(map(len, self._new)) >= self.size:
            self._settle()

    def best(self) -> Found:
        """What it holds, best first."""
        self._settle()
        return self._kept

    def restore(self, found: Found) -> None:
        """Hold again what `best` gave, and go on."""
        self._kept, self._new = Found.nothing(), [found]
        self._settle()

    def _settle(self) -> None:
        self._kept = best_of(Found.joined(self._kept, *self._new), self.size, each=self.each)
        self._new = []
        if len(self._kept) == self.size and self._kept.keys[-1] > self.floor:
            self.floor, self._bars = float(self._kept.keys[-1]), {}
