"""Questions that have one answer: who has it, need not be asked again.

A person has one place of birth, a city lies in one country. A direction of a predicate (reciprocal
ids: j asks for objects, j + P for subjects) is *single* if train has at least ASKERS questions of
it and a share of at least SINGLE of these has one answer.
"""

from __future__ import annotations

import numpy as np

from trifact.graph.known import KnownAnswers
from trifact.run.candidates import Candidates
from trifact.run.ranktable import Bools

SINGLE, ASKERS = 0.95, 10


def single_sides(known: KnownAnswers, share: float = SINGLE, askers: int = ASKERS) -> Bools:
    """Which directions are single: (2P,)."""
    sides = 2 * known.predicates
    asked = known.questions % sides
    counts = np.bincount(asked, minlength=sides)
    alone = np.bincount(asked[np.diff(known.offsets) == 1], minlength=sides)
    return (counts >= askers) & (alone >= share * counts)


def unanswered(candidates: Candidates, known: KnownAnswers, single: Bools) -> Candidates:
    """The candidates but for those who have, on their side, the one answer already."""
    sides = 2 * known.predicates
    answered = np.repeat(np.arange(sides), np.diff(candidates.offsets))
    asked = (answered + known.predicates) % sides  # who answers q, asks q the other way round
    kept = ~(single[asked] & (known.counts(candidates.entities, asked) > 0))
    sizes = np.bincount(answered[kept], minlength=sides)
    return Candidates(np.concatenate([[0], np.cumsum(sizes)]), candidates.entities[kept])
