"""The graph: names, facts by id in three splits, and how facts in one piece are split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trifact.graph.known import Ints, KnownAnswers, in_order, reciprocal, starts_of_runs
from trifact.graph.queries import Queries
from trifact.graph.vocabulary import Vocabulary

MOST_HELD_OUT = 20_000


@dataclass(frozen=True, eq=False)
class Graph:
    """Entities, predicates and facts; nothing in it can be changed.

    A split is an (n, 3) array, one row a fact: subject, predicate, object, in the order of the
    ids. The same facts in any order make the same graph. Reciprocal predicates have no names:
    predicate j + P is j asked the other way round.
    """

    name: str
    entities: Vocabulary
    predicates: Vocabulary
    train: Ints
    valid: Ints
    test: Ints
    entity_labels: Mapping[int, str] = field(default_factory=dict)
    predicate_labels: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for facts in self.splits.values():
            facts.flags.writeable = False

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(facts):,}" for split, facts in self.splits.items())
        things = f"{len(self.entities):,} entities, {len(self.predicates):,} predicates"
        return f"Graph({self.name}: {things}, {sizes})"

    @property
    def splits(self) -> dict[str, Ints]:
        """Train, valid and test by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    def reciprocal(self, split: str) -> Ints:
        """The facts of a split and their reciprocals, (2n, 3)."""
        return reciprocal(self.splits[split], len(self.predicates))

    def known(self, *splits: str) -> KnownAnswers:
        """The index of known answers over some splits (all, if none is named)."""
        chosen = [self.splits[split] for split in splits or self.splits]
        return KnownAnswers.of(*chosen, predicates=len(self.predicates))

    def queries(self, split: str = "train") -> Queries:
        """The distinct queries of a split, with their answers."""
        return Queries.of(self.splits[split], predicates=len(self.predicates))

    def all_in_train(self) -> Graph:
        """The same graph with every fact in train, and nothing held out."""
        everything = in_order(np.concatenate(list(self.splits.values())))
        nothing = everything[:0]
        return replace(self, train=everything, valid=nothing, test=nothing)

    def entity_label(self, entity: int) -> str:
        """What to show for an entity: its label, or its name."""
        return self.entity_labels.get(entity) or self.entities[entity]

    def predicate_label(self, predicate: int) -> str:
        """What to show for a predicate: its label, or its name."""
        return self.predicate_labels.get(predicate) or self.predicates[predicate]

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of names and facts by split: equal for equal graphs, and only for them."""
        digest = hashlib.sha256(self.entities.content_hash.encode())
        digest.update(self.predicates.content_hash.encode())
        for split, facts in self.splits.items():
            digest.update(f"{split} {len(facts)}".encode())
            digest.update(np.ascontiguousarray(facts, dtype="<i8").tobytes())
        return digest.hexdigest()


def split_facts(facts: Ints, shares: tuple[float, float], seed: int) -> tuple[Ints, Ints, Ints]:
    """Train, valid and test, so that train keeps every entity and every predicate.

    In a random order of the distinct facts, the first fact of each entity and each predicate
    stays in train; valid and test are drawn from the others. Copies of a fact stay together.
    Each share is at least one fact, where there is one, and at most 20,000.
    """
    facts = in_order(facts)
    starts = starts_of_runs(*facts.T)
    order = np.random.default_rng(seed).permutation(len(starts))
    free = order[~_first_of_something(facts[starts[order]])]
    wanted = [_held_out(share, len(starts)) for share in shares]
    if sum(wanted) > len(free):
        wanted = [len(free) - len(free) // 2, len(free) // 2] if all(wanted) else \
                 [min(count, len(free)) for count in wanted]  # fmt: skip
    split = np.zeros(len(starts), dtype=np.int8)
    split[free[: wanted[0]]] = 1
    split[free[wanted[0] : sum(wanted)]] = 2
    copies = np.diff(np.append(starts, len(facts)))
    where = np.repeat(split, copies)
    return facts[where == 0], facts[where == 1], facts[where == 2]


def _held_out(share: float, facts: int) -> int:
    return min(max(round(share * facts), 1), MOST_HELD_OUT) if share else 0


def _first_of_something(facts: Ints) -> NDArray[np.bool_]:
    """Which facts are the first to name their subject, predicate or object."""
    first = np.zeros(len(facts), dtype=bool)
    _, where = np.unique(facts[:, [0, 2]].ravel(), return_index=True)
    first[where // 2] = True
    first[np.unique(facts[:, 1], return_index=True)[1]] = True
    return first
