"""The paper's categories of predicates, by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trifact.graph.description import CATEGORIES, PredicateRow
from trifact.run.ranktable import Bools


def mirrored(category: str) -> str:
    """The category of a predicate that is asked the other way round: 1-m becomes m-1."""
    return category[::-1]


def membership(rows: Sequence[PredicateRow]) -> dict[str, Bools]:
    """For each category, which predicates are of it towards objects and towards subjects: (P, 2).

    A predicate that train lacks is in none.
    """
    sides = np.array([(row.category, mirrored(row.category)) for row in rows])
    return {category: sides == category for category in CATEGORIES}
