"""What the best of all facts are: those with the highest score, or with the highest chance.

A score means something else under another predicate and for another question; a chance does not,
so it is the order to take where a run has been calibrated. Facts go by their *key*, a number that
a tile of pairs has from its scores, its rows and its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from trifact.answer.chances import Chances, of_objects, of_subjects
from trifact.graph.known import Ints, KnownAnswers


class Order(Protocol):
    """Facts by key, highest first."""

    def keys(self, scores: Tensor, predicate: int, subjects: Ints, objects: Ints) -> Tensor:
        """The keys of the pairs of a predicate: (subjects, objects), as their scores are."""


class ByScore:
    """The key is the score."""

    def keys(self, scores: Tensor, predicate: int, subjects: Ints, objects: Ints) -> Tensor:
        return scores


@dataclass(frozen=True)
class ByChance:
    """The key is the log-odds of the chance."""

    chances: Chances
    train: KnownAnswers

    def keys(self, scores: Tensor, predicate: int, subjects: Ints, objects: Ints) -> Tensor:
        per_score, per_subject, per_object, intercept = self.chances.line(predicate)
        rows = of_subjects(self.train, subjects, np.full_like(subjects, predicate))
        columns = of_objects(self.train, objects, np.full_like(objects, predicate))
        down = torch.from_numpy(per_subject * rows + intercept).to(scores)
        across = torch.from_numpy(per_object * columns).to(scores)
        return (scores * per_score).add_(down[:, None]).add_(across)
