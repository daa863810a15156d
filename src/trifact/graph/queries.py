"""What an epoch of training goes over: distinct queries, each with all its answers.

Predicates carry reciprocal ids (see `known.py`) in both settings; the standard setting asks
j + P of predicate j, towards subjects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trifact.graph.known import Ints, in_order, ranges, reciprocal, starts_of_runs


@dataclass(frozen=True)
class Batch:
    """Some queries and their answers: answer a belongs to query rows[a], `rows` ascending."""

    entities: Ints  # (B,)
    predicates: Ints  # (B,), reciprocal ids
    rows: Ints  # (A,)
    answers: Ints  # (A,)
    multiplicities: Ints  # (A,): how often training has the fact


@dataclass(frozen=True)
class Queries:
    """The distinct queries of some facts, on both sides, as flat arrays.

    Query q is (entities[q], predicates[q]); its distinct answers are
    answers[offsets[q]:offsets[q + 1]], each with the number of times the facts have it.
    """

    entities: Ints
    predicates: Ints
    offsets: Ints
    answers: Ints
    multiplicities: Ints

    @classmethod
    def of(cls, facts: Ints, *, predicates: int) -> Queries:
        """The queries of the facts (n, 3) and of their reciprocals."""
        both = in_order(reciprocal(facts, predicates))
        starts = starts_of_runs(*both.T)
        distinct = both[starts]
        multiplicities = np.diff(np.append(starts, len(both)))
        first = starts_of_runs(distinct[:, 0], distinct[:, 1])
        offsets = np.append(first, len(distinct))
        entity, predicate = distinct[first, 0], distinct[first, 1]
        return cls(entity, predicate, offsets, distinct[:, 2].copy(), multiplicities)

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def facts(self) -> int:
        """The facts behind the queries: those of both sides, repeated ones repeated."""
        return int(self.multiplicities.sum())

    def chunks(self, cap: int) -> Ints:
        """How many chunks of at most `cap` answers each query makes (cap 0: always one)."""
        sizes = np.diff(self.offsets)
        return np.minimum(sizes, 1) if cap == 0 else -(-sizes // cap)

    def expected_answers(self, batch_size: int, cap: int) -> float:
        """The mean number of facts behind a batch: the constant that a step is divided by."""
        return self.facts / -(-int(self.chunks(cap).sum()) // batch_size)

    def batches(self, *, seed: int, epoch: int, batch_size: int, cap: int) -> Iterator[Batch]:
        """The batches of one epoch: a pure function of its arguments, each answer met once.

        A query with more than `cap` answers is dealt out in chunks, drawn anew every epoch;
        cap 1 is the paper's own batch of facts.
        """
        random = np.random.default_rng([seed, epoch])
        order = self._shuffled_answers(random)
        starts, ends, owners = self._chunk_ranges(cap)
        deal = random.permutation(len(starts))
        for begin in range(0, len(deal), batch_size):
            chosen = deal[begin : begin + batch_size]
            flat, rows = ranges(starts[chosen], ends[chosen])
            query, place = owners[chosen], order[flat]
            yield Batch(
                self.entities[query],
                self.predicates[query],
                rows,
                self.answers[place],
                self.multiplicities[place],
            )

    def _shuffled_answers(self, random: np.random.Generator) -> Ints:
        """A permutation of the answers that stays within each query."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        shuffled = random.permutation(len(owner))
        return shuffled[np.argsort(owner[shuffled], kind="stable")]

    def _chunk_ranges(self, cap: int) -> tuple[Ints, Ints, Ints]:
        """The range of answers of every chunk and the query it is of; chunks are near equal."""
        chunks = self.chunks(cap)
        owners = np.repeat(np.arange(len(self)), chunks)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
        first, sizes = self.offsets[owners], np.diff(self.offsets)[owners]
        starts = first + number * sizes // chunks[owners]
        return starts, first + (number + 1) * sizes // chunks[owners], owners
