"""The graph: names, and facts by id in three splits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trifact.graph.known import Ints, KnownAnswers, in_order, is_in_order, reciprocal
from trifact.graph.queries import Queries
from trifact.graph.splitting import DRAWN, Draw
from trifact.graph.vocabulary import Vocabulary


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
    draw: Draw | None = None
    """How valid and test were drawn; None where they came as they are. See `drawn`."""

    def __post_init__(self) -> None:
        for split, facts in self.splits.items():
            facts = np.asarray(facts, dtype=np.int64)  # noqa: PLW2901
            ordered = facts if is_in_order(facts) else in_order(facts)
            ordered.flags.writeable = False
            object.__setattr__(self, split, ordered)

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
        if splits == ("train",):
            return self._trained
        chosen = [self.splits[split] for split in splits or self.splits]
        return KnownAnswers.of(*chosen, predicates=len(self.predicates))

    @cached_property
    def _trained(self) -> KnownAnswers:
        """The index that most ask for, several times a command."""
        return KnownAnswers.of(self.train, predicates=len(self.predicates))

    def queries(self, split: str = "train") -> Queries:
        """The distinct queries of a split, with their answers."""
        return Queries.of(self.splits[split], predicates=len(self.predicates))

    def all_in_train(self) -> Graph:
        """The same graph with every fact in train, and nothing held out."""
        everything = in_order(np.concatenate(list(self.splits.values())))
        nothing = everything[:0]
        notes = tuple(note for note in self.notes if not note.startswith(DRAWN))
        return replace(
            self,
            train=everything,
            valid=nothing,
            test=nothing,
            notes=(*notes, "all facts are in train"),
            draw=None,
        )

    @property
    def drawn(self) -> bool:
        """Whether its splits are what `draw` gives; whoever made it of another may have others."""
        if self.draw is None:
            return False
        again = self.draw.split(np.concatenate(list(self.splits.values())))
        return all(np.array_equal(again[split], facts) for split, facts in self.splits.items())

    def held_out_from(self, trained: KnownAnswers) -> Graph:
        """The same graph, its held-out facts drawn once more from those that are not `trained`."""
        assert self.draw is not None
        splits = self.draw.split(np.concatenate(list(self.splits.values())), trained)
        train, valid, test = splits.values()
        before, after = self.draw.note(self.splits), self.draw.note(splits)
        if not len(valid) + len(test):
            after = "not split: too few facts are new to the run that it begins with"
        notes = tuple(note if note != before else after for note in self.notes)
        return replace(self, train=train, valid=valid, test=test, notes=notes)

    def entity_label(self, entity: int) -> str:
        """What to show for an entity: its label, or its name."""
        return self.entity_labels.get(entity) or self.entities[entity]

    def predicate_label(self, predicate: int) -> str:
        """What to show for a predicate: its label, or its name."""
        return self.predicate_labels.get(predicate) or self.predicates[predicate]

    @cached_property
    def in_train(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which entities and which predicates train has."""
        entities = np.bincount(self.train[:, [0, 2]].ravel(), minlength=len(self.entities)) > 0
        return entities, np.bincount(self.train[:, 1], minlength=len(self.predicates)) > 0

    def seen(self, facts: Ints) -> NDArray[np.bool_]:
        """Which facts have only names that train has."""
        entities, predicates = self.in_train
        return entities[facts[:, 0]] & predicates[facts[:, 1]] & entities[facts[:, 2]]

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of names and facts by split: equal for equal graphs, and only for them."""
        digest = hashlib.sha256(self.entities.content_hash.encode())
        digest.update(self.predicates.content_hash.encode())
        for split, facts in self.splits.items():
            digest.update(f"{split} {len(facts)}".encode())
            digest.update(np.ascontiguousarray(facts, dtype="<i8").tobytes())
        return digest.hexdigest()
