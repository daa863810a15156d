"""The best facts of very many that come by: never more in memory than twice those wanted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trifact.graph.known import Ints, place_among_equals
from trifact.run.ranktable import Floats


@dataclass(frozen=True)
class Found:
    """Facts with their scores, and the keys that they are ordered by."""

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
        order = order[place_among_equals(predicates[order]) < each]
    return found[order[:size]]


class Shortlist:
    """The `size` best facts so far, at most `each` of a predicate, no key under `floor`."""

    def __init__(self, size: int, *, each: int | None = None, floor: float = -np.inf) -> None:
        self.size, self.each, self.floor = size, each, floor
        self._kept, self._new = Found.nothing(), list[Found]()

    def add(self, found: Found) -> None:
        """Take in facts, all of one predicate."""
        found = found[np.flatnonzero(found.keys >= self.floor)]
        most = min(self.size, self.each or self.size)
        if len(found) > most:
            found = found[np.flatnonzero(found.keys >= np.partition(found.keys, -most)[-most])]
        if len(found):
            self._new.append(found)
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
        if len(self._kept) == self.size:
            self.floor = max(self.floor, float(self._kept.keys[-1]))
