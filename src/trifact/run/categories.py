"""The paper's categories of predicates, by side."""

from __future__ import annotations

import numpy as np

from trifact.graph.description import CATEGORIES, PredicateRow
from trifact.graph.graph import Graph
from trifact.run.ranktable import Bools


def predicate_rows(graph: Graph) -> list[PredicateRow]:
    """Facts, subjects and objects of every predicate in train."""
    known, predicates = graph.known("train"), len(graph.predicates)
    asked, answers = known.questions % (2 * predicates), np.diff(known.offsets)
    questions = np.bincount(asked, minlength=2 * predicates).tolist()
    facts = np.bincount(asked, weights=answers, minlength=2 * predicates).astype(int).tolist()
    return [
        PredicateRow(p, facts[p], questions[p], questions[p + predicates])
        for p in range(predicates)
    ]


def mirrored(category: str) -> str:
    """The category of a predicate that is asked the other way round: 1-m becomes m-1."""
    return category[::-1]


def membership(graph: Graph) -> dict[str, Bools]:
    """For each category, which predicates are of it towards objects and towards subjects: (P, 2).

    A predicate that train lacks is in none.
    """
    sides = np.array(
        [(row.category, mirrored(row.category)) if row.facts else ("", "")
         for row in predicate_rows(graph)]
    )  # fmt: skip
    return {category: sides == category for category in CATEGORIES}
