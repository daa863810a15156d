"""What is in a graph and what is wrong with it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, distinct
from trifact.graph.leakage import Leakage, leakage_of

MANY = 1.5
CATEGORIES = ("1-1", "1-m", "m-1", "m-m")


@dataclass(frozen=True)
class PredicateRow:
    """A predicate in training: its facts, average degrees, and category by the paper's rule.

    Out-degree is facts per distinct subject, in-degree facts per distinct object; above 1.5 is
    "m". A predicate with in-degree 1.2 and out-degree 3.2 is 1-m.
    """

    predicate: int
    facts: int
    subjects: int
    objects: int

    @property
    def out_degree(self) -> float:
        """Objects that a subject has, on average."""
        return self.facts / max(self.subjects, 1)

    @property
    def in_degree(self) -> float:
        """Subjects that an object has, on average."""
        return self.facts / max(self.objects, 1)

    @property
    def category(self) -> str:
        """1-1, 1-m, m-1 or m-m, asked towards objects; towards subjects it is mirrored.

        Empty for a predicate that train lacks.
        """
        if not self.facts:
            return ""
        return "-".join(
            "m" if degree > MANY else "1" for degree in (self.in_degree, self.out_degree)
        )


@dataclass(frozen=True)
class Description:
    """All that `trifact data describe` shows."""

    sizes: dict[str, int]
    duplicates: dict[str, int]
    """Facts that repeat an earlier one of the same split."""
    overlaps: dict[str, int]
    """Distinct facts that two splits share."""
    self_loops: int
    unseen_entities: int
    """Entities that train lacks."""
    unseen_predicates: int
    unseen_facts: dict[str, int]
    """Facts of valid and test with an entity or predicate that train lacks."""
    questions: int
    """Facts of train asked on both sides, and the distinct queries among them."""
    distinct_queries: int
    most_answers: int
    predicates: list[PredicateRow]
    degrees: Ints
    """Facts of train by entity."""
    leakage: Leakage
    spelled_alike: list[list[str]]
    """Entities, then predicates, with names that are one but for their spelling."""

    @property
    def grouping_ratio(self) -> float:
        """How much work grouping by query saves."""
        return self.questions / max(self.distinct_queries, 1)

    @property
    def by_category(self) -> dict[str, tuple[int, int]]:
        """Predicates of each category, and their facts in train."""
        rows = {c: [row for row in self.predicates if row.category == c] for c in CATEGORIES}
        return {c: (len(some), sum(row.facts for row in some)) for c, some in rows.items()}

    @property
    def by_degree(self) -> list[tuple[range, int]]:
        """Entities by facts in train, in bins that double: 0 if there are such, 1, 2-3, 4-7, ..."""
        top = int(self.degrees.max(initial=0))
        edges = [0, *(2**k for k in range(top.bit_length() + 1))]
        counts, _ = np.histogram(self.degrees, bins=[*edges, np.inf])
        bins = [range(low, high) for low, high in pairwise(edges)]
        found = list(zip(bins, counts[: len(bins)].tolist(), strict=True))
        return found if self.unseen_entities else found[1:]


def describe(graph: Graph) -> Description:
    """Look at a graph from all sides."""
    queries = graph.queries("train")
    single = {split: distinct(facts) for split, facts in graph.splits.items()}
    subjects, objects = graph.train[:, 0], graph.train[:, 2]
    ends = np.concatenate([subjects, objects[objects != subjects]])
    degrees = np.bincount(ends, minlength=len(graph.entities))
    entities, predicates = graph.in_train
    return Description(
        sizes={split: len(facts) for split, facts in graph.splits.items()},
        duplicates={s: len(facts) - len(single[s]) for s, facts in graph.splits.items()},
        overlaps={
            f"{a} and {b}": _shared(single[a], single[b]) for a, b in combinations(single, 2)
        },
        self_loops=sum(int((f[:, 0] == f[:, 2]).sum()) for f in graph.splits.values()),
        unseen_entities=int((~entities).sum()),
        unseen_predicates=int((~predicates).sum()),
        unseen_facts={
            split: int((~graph.seen(graph.splits[split])).sum()) for split in ("valid", "test")
        },
        questions=queries.facts,
        distinct_queries=len(queries),
        most_answers=int(np.diff(queries.offsets).max(initial=0)),
        predicates=sorted(predicate_rows(graph), key=lambda row: -row.facts),
        degrees=degrees,
        leakage=leakage_of(graph),
        spelled_alike=[*spelled_alike(graph.entities), *spelled_alike(graph.predicates)],
    )


def spelled_alike(names: Iterable[str]) -> list[list[str]]:
    """Names that are one but for capitals, blanks and underscores, and how accents are composed.

    >>> spelled_alike(["New York", "Oslo", "new_york"])
    [['New York', 'new_york']]
    """
    first, found = dict[str, str](), dict[str, list[str]]()
    for name in names:
        plain = " ".join(unicodedata.normalize("NFC", name.casefold()).replace("_", " ").split())
        if (other := first.setdefault(plain, name)) != name:
            found.setdefault(other, [other]).append(name)
    return list(found.values())


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


def membership(rows: Sequence[PredicateRow]) -> dict[str, NDArray[np.bool_]]:
    """For each category, which predicates are of it towards objects and towards subjects: (P, 2).

    Asked the other way round 1-m is m-1. A predicate that train lacks is in none.
    """
    sides = np.array([(row.category, row.category[::-1]) for row in rows])
    return {category: sides == category for category in CATEGORIES}


def _shared(a: Ints, b: Ints) -> int:
    return len(a) + len(b) - len(distinct(np.concatenate([a, b])))
