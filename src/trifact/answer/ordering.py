"""What the best of all facts are: those with the highest score, or with the highest probability.

A score means something else under another predicate; a probability does not, so it is the order
to take where a run has a calibration. Either way a fact has a *key*, which rises with its score
as long as the predicate stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trifact.graph.known import Ints
from trifact.run.ranktable import Floats

HIGHEST = 1e-3  # scores are log-probabilities: none is above zero by more than rounding
LOWEST = -1e9
HALVINGS = 60
MARGIN = 1e-6  # a bar a little too low costs nothing; one that float32 rounds up loses facts


class Calibrated(Protocol):
    """What knows the probability of a fact from its score."""

    def probabilities(self, scores: Floats, predicates: Ints) -> Floats:
        """Increasing in the score for each predicate: (n,), (n,) -> (n,)."""


class Order(Protocol):
    """Facts by key, highest first."""

    def keys(self, scores: Floats, predicate: int) -> Floats:
        """The keys of facts of one predicate."""

    def bar(self, key: float, predicate: int) -> float:
        """A score that a fact of the predicate must reach for its key to reach `key`."""


class ByScore:
    """The key is the score."""

    def keys(self, scores: Floats, predicate: int) -> Floats:
        return scores

    def bar(self, key: float, predicate: int) -> float:
        return key


@dataclass(frozen=True)
class ByProbability:
    """The key is the probability."""

    calibration: Calibrated

    def keys(self, scores: Floats, predicate: int) -> Floats:
        return self.calibration.probabilities(scores, np.full(len(scores), predicate))

    def bar(self, key: float, predicate: int) -> float:
        """By bisection; infinity where no score of the predicate is enough."""
        if not self._reaches(HIGHEST, key, predicate):
            return np.inf
        low, high = -1.0, HIGHEST
        while self._reaches(low, key, predicate):
            low, high = 2 * low, low
            if low < LOWEST:
                return -np.inf
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._reaches(middle, key, predicate):
                high = middle
            else:
                low = middle
        return low - MARGIN * max(1.0, -low)

    def _reaches(self, score: float, key: float, predicate: int) -> bool:
        return bool(self.keys(np.array([score]), predicate)[0] >= key)
