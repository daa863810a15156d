"""Sorted indexes over facts: which answers does a question have?

A *question* is (entity, predicate) with reciprocal ids: a predicate j < P asks for the objects of
(entity, j, ?), and j + P asks for the subjects of (?, j, entity). So one index serves both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def reciprocal(facts: Ints, predicates: int) -> Ints:
    """Facts (i, j, k) followed by their reciprocals (k, j + P, i): (n, 3) -> (2n, 3)."""
    return np.concatenate([facts, facts[:, ::-1] + np.array([0, predicates, 0])])


def is_in_order(facts: Ints) -> bool:
    """Whether facts are sorted by subject, predicate, object."""
    (s, p, o), (t, q, r) = facts[:-1].T, facts[1:].T
    after = (s < t) | ((s == t) & ((p < q) | ((p == q) & (o <= r))))
    return bool(after.all())


def in_order(facts: Ints) -> Ints:
    """The facts sorted by subject, predicate, object.

    Three columns are packed into one integer and sorted as such, which is several times faster
    than a sort by three keys; only ids too large for 63 bits need the latter.
    """
    subjects, predicates, objects = (facts.max(axis=0, initial=0) + 1).tolist()
    if subjects * predicates * objects >= 2**63:
        return facts[np.lexsort(facts.T[::-1])]
    packed = (facts[:, 0] * predicates + facts[:, 1]) * objects + facts[:, 2]
    packed.sort()
    result = np.empty_like(facts)
    question = packed // objects  # by a scalar: far faster than numpy's divmod
    result[:, 2] = packed - question * objects
    result[:, 0] = question // predicates
    result[:, 1] = question - result[:, 0] * predicates
    return result


def starts_of_runs(*columns: Ints) -> Ints:
    """Where a row differs from the one before it: the first row of every run of equal rows."""
    if not len(columns[0]):
        return np.empty(0, dtype=np.int64)
    differs = np.zeros(len(columns[0]), dtype=bool)
    differs[0] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def distinct(facts: Ints) -> Ints:
    """The distinct facts, in order."""
    ordered = in_order(facts)
    return ordered[starts_of_runs(*ordered.T)]


def find(wanted: Ints, ascending: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each number stands among others or would stand, and whether it is there.

    >>> find(np.array([3, 4, 9]), np.array([1, 3, 5]))
    (array([1, 2, 3]), array([ True, False, False]))
    """
    place = np.searchsorted(ascending, wanted)
    there = place < len(ascending)
    there[there] = ascending[place[there]] == wanted[there]
    return place, there


def place_among_equals(values: Ints) -> Ints:
    """How often each value was there before.

    >>> place_among_equals(np.array([7, 3, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    places = np.empty_like(values)
    places[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return places


def ranges(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All integers of the ranges [start, end) one after another, and which range each is of."""
    lengths = ends - starts
    which = np.repeat(np.arange(len(starts)), lengths)
    first = np.cumsum(lengths) - lengths
    return np.arange(len(which)) - first[which] + starts[which], which


@dataclass(frozen=True)
class KnownAnswers:
    """Distinct known facts, grouped by question; memory is linear in the facts.

    `questions` are the packed ids entity * 2P + predicate in ascending order; the answers of the
    q-th lie in `answers[offsets[q]:offsets[q + 1]]`, ascending.
    """

    predicates: int
    questions: Ints
    offsets: Ints
    answers: Ints

    @classmethod
    def of(cls, *splits: Ints, predicates: int) -> KnownAnswers:
        """The index over the facts of all `splits`, on both sides."""
        facts = distinct(reciprocal(np.concatenate(splits), predicates))
        questions = facts[:, 0] * (2 * predicates) + facts[:, 1]
        starts = starts_of_runs(questions)
        offsets = np.append(starts, len(facts))
        return cls(predicates, questions[starts], offsets, facts[:, 2].copy())

    def __len__(self) -> int:
        """How many distinct questions have an answer."""
        return len(self.questions)

    def lookup(self, entities: Ints, predicates: Ints) -> tuple[Ints, Ints]:
        """For a batch of questions: (row of the question, answer), flat, one pair an answer."""
        place, asked = self._places(entities, predicates)
        found = np.flatnonzero(asked)
        place = place[found]
        flat, which = ranges(self.offsets[place], self.offsets[place + 1])
        return found[which], self.answers[flat]

    def counts(self, entities: Ints, predicates: Ints) -> Ints:
        """How many answers questions have: (n,), (n,) -> (n,)."""
        place, asked = self._places(entities, predicates)
        place, counts = place[asked], np.zeros(len(asked), dtype=np.int64)
        counts[asked] = self.offsets[place + 1] - self.offsets[place]
        return counts

    def contains(self, facts: Ints) -> NDArray[np.bool_]:
        """Which of the facts (n, 3) are known; predicates may be reciprocal."""
        place, asked = self._places(facts[:, 0], facts[:, 1])
        _, there = find(place * self._size + facts[:, 2], self._packed)
        known: NDArray[np.bool_] = asked & there & (facts[:, 2] < self._size)
        return known

    def _places(self, entities: Ints, predicates: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Where each question stands or would stand, and whether it is there."""
        return find(entities * (2 * self.predicates) + predicates, self.questions)

    @cached_property
    def _packed(self) -> Ints:
        """Every fact as one number, ascending: the place of its question, then its answer."""
        places = np.repeat(np.arange(len(self.questions)), np.diff(self.offsets))
        packed: Ints = places * self._size + self.answers
        return packed

    @cached_property
    def _size(self) -> int:
        """More than every answer."""
        return int(self.answers.max(initial=-1)) + 1
