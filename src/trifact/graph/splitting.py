"""How facts that come in one piece are split into train, valid and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trifact.graph.known import Ints, KnownAnswers, in_order, starts_of_runs

SPLITS = ("train", "valid", "test")
MOST_HELD_OUT = 20_000
DRAWN = "split with seed"
"""How the note of a draw begins."""


@dataclass(frozen=True)
class Draw:
    """A draw of held-out facts: their shares, and the seed."""

    valid: float
    test: float
    seed: int

    def split(self, facts: Ints, trained: KnownAnswers | None = None) -> dict[str, Ints]:
        """Train, valid and test, so that train keeps every entity and every predicate.

        In a random order of the distinct facts, the first fact of each entity and each predicate
        stays in train; valid and test are drawn from the others. Copies of a fact stay together.
        Each share is at least one fact, where there is one, and at most 20,000.

        Facts that a model was `trained` on already stay in train; of those that are new to it at
        most a half is held out.
        """
        facts = in_order(facts)
        starts = starts_of_runs(*facts.T)
        order = np.random.default_rng(self.seed).permutation(len(starts))
        stays = np.zeros(len(starts), dtype=bool)
        if trained is not None:
            stays = trained.contains(facts[starts[order]])
            order, stays = np.append(order[stays], order[~stays]), np.sort(stays)[::-1]
        free = order[~stays & ~_first_of_something(facts[starts[order]])]
        counts = self._counts(len(starts), len(free) if trained is None else len(free) // 2)
        split = np.zeros(len(starts), dtype=np.int8)
        split[free[: counts[0]]] = 1
        split[free[counts[0] : sum(counts)]] = 2
        where = np.repeat(split, np.diff(np.append(starts, len(facts))))
        return {name: facts[where == i] for i, name in enumerate(SPLITS)}

    def note(self, splits: dict[str, Ints]) -> str:
        """What to tell of the splits that it made."""
        if not len(splits["valid"]) + len(splits["test"]):
            return "not split: every fact is the only one of some entity or predicate"
        sizes = ", ".join(f"{split} {len(facts):,}" for split, facts in splits.items())
        return f"{DRAWN} {self.seed}: {sizes}; every entity and predicate stays in train"

    def _counts(self, facts: int, most: int) -> list[int]:
        """How many facts to validate and to test on."""
        wanted = [_held_out(share, facts) for share in (self.valid, self.test)]
        valid = min(wanted[0], max(most - most // 2, most - wanted[1]))
        return [valid, min(wanted[1], most - valid)]


def _held_out(share: float, facts: int) -> int:
    return min(max(round(share * facts), 1), MOST_HELD_OUT) if share else 0


def _first_of_something(facts: Ints) -> NDArray[np.bool_]:
    """Which facts are the first to name their subject, predicate or object."""
    first = np.zeros(len(facts), dtype=bool)
    _, where = np.unique(facts[:, [0, 2]].ravel(), return_index=True)
    first[where // 2] = True
    first[np.unique(facts[:, 1], return_index=True)[1]] = True
    return first
