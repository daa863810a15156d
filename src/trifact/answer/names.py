"""From what people type to ids: by name, then by label; an unknown one gets its near matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain

from trifact.errors import InputError
from trifact.graph.graph import Graph
from trifact.graph.vocabulary import Vocabulary

MOST_NEAR = 5
NEAR = 0.6  # of the longer text that must agree
LONGEST = 40  # characters of a label, in a hint


@dataclass(frozen=True)
class Names:
    """The names and labels of a graph, to be asked.

    >>> import trifact
    >>> names = Names(trifact.load([("France", "has capital", "Paris")]))
    >>> names.entity("Paris"), names.predicate("has capital")
    (1, 0)
    >>> names.entity("Prais")
    Traceback (most recent call last):
    trifact.errors.InputError: there is no entity 'Prais'; did you mean 'Paris'?
    """

    graph: Graph

    def entity(self, name: str) -> int:
        """The id of an entity."""
        return _found(name, "entity", self.graph.entities, self.graph.entity_labels)

    def predicate(self, name: str) -> int:
        """The id of a predicate."""
        return _found(name, "predicate", self.graph.predicates, self.graph.predicate_labels)


def _found(name: str, kind: str, names: Vocabulary, labels: Mapping[int, str]) -> int:
    place = names.find(name)
    if place is not None:
        return place
    labelled = [i for i, label in labels.items() if label == name]
    if len(labelled) == 1:
        return labelled[0]
    if labelled:
        several = ", ".join(repr(names[i]) for i in labelled[:MOST_NEAR])
        more = f" and {len(labelled) - MOST_NEAR:,} more" if len(labelled) > MOST_NEAR else ""
        raise InputError(f"{name!r} is the label of several; say which {kind}: {several}{more}")
    raise InputError(f"there is no {kind} {name!r}{_hint(near(name, names, labels))}")


def near(name: str, names: Sequence[str], labels: Mapping[int, str]) -> list[str]:
    """What may have been meant, best first: names, and labels with the name they stand for.

    A text is near by its edit distance (swapped neighbours are one edit), or because what was
    typed begins one of its words.
    """
    from rapidfuzz.distance import OSA  # only who mistypes waits for it

    typed = name.casefold().strip()
    within = re.compile(rf"(?:^|[\W_]){re.escape(typed)}")
    found = dict[int, float]()
    for i, text in _texts(names, labels):
        likeness = OSA.normalized_similarity(typed, text, score_cutoff=NEAR)
        if not likeness and typed in text and within.search(text):
            likeness = NEAR * len(typed) / len(text)  # after all that are near as a whole
        if likeness > found.get(i, 0):
            found[i] = likeness
    best = nlargest(MOST_NEAR, found, key=lambda i: (found[i], -i))
    return [_shown(names[i], labels.get(i)) for i in best]


def _texts(names: Sequence[str], labels: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    for i, text in chain(enumerate(names), labels.items()):
        yield i, text.casefold()


def _shown(name: str, label: str | None) -> str:
    if not label or label == name:
        return repr(name)
    return f"{name!r} ({label if len(label) <= LONGEST else label[: LONGEST - 1] + '…'})"


def _hint(near_ones: list[str]) -> str:
    if not near_ones:
        return ", and no name or label that is near"
    *others, last = near_ones
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
