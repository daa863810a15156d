"""From what people type to ids: by name, label or the end of an IRI; else what is near is named."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import SupportsIndex

from trifact.errors import InputError
from trifact.graph.columnar import whole_number
from trifact.graph.graph import Graph
from trifact.graph.vocabulary import Vocabulary

MOST_NEAR = 5
NEAR = 0.6  # of the longer text that must agree
LONGEST = 40  # characters of a label, in a hint
IRI = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:\S")  # how one begins; Freebase has paths alone


Name = str | SupportsIndex
"""Text, or a whole number, as facts from Python may have them."""
Several = Name | Sequence[Name]


def as_text(name: Name) -> str:
    """A name as the graph has it."""
    if isinstance(name, str):
        return name
    if (number := whole_number(name)) is not None:
        return str(number)
    raise InputError(f"a name must be text or a whole number, not {name!r:.80}")


def listed(names: Several) -> list[str]:
    """One name, or several, as a list."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        return [as_text(names)]
    return [as_text(name) for name in names]


@dataclass(frozen=True)
class Names:
    """The names and labels of a graph, to be asked.

    >>> import trifact
    >>> names = Names(trifact.load([("http://e/France", "has capital", "http://e/Paris")]))
    >>> names.entity("http://e/Paris"), names.entity("Paris"), names.predicate("has capital")
    (1, 1, 0)
    >>> names.entity("Prais")
    Traceback (most recent call last):
    trifact.errors.InputError: there is no entity 'Prais'; did you mean 'http://e/Paris'?
    """

    graph: Graph

    def entity(self, name: Name) -> int:
        """The id of an entity."""
        return self._entities.find(name, other=self._predicates)

    def predicate(self, name: Name) -> int:
        """The id of a predicate."""
        return self._predicates.find(name, other=self._entities)

    def entities_called(self, name: str) -> list[int]:
        """The entities whose label, or else the end of whose IRI, this is."""
        return self._entities.called(name)

    @cached_property
    def _entities(self) -> _Index:
        return _Index("entity", self.graph.entities, self.graph.entity_labels)

    @cached_property
    def _predicates(self) -> _Index:
        return _Index("predicate", self.graph.predicates, self.graph.predicate_labels)


@dataclass(frozen=True)
class _Index:
    """All names of a kind. Only for what is not one of them more than a few are looked at."""

    kind: str
    names: Vocabulary
    labels: Mapping[int, str]

    def find(self, asked: Name, *, other: _Index) -> int:
        """The id of a name, `<name>`, a label, or the end of an IRI, in this order.

        Else of a name that is the same but for blanks at its ends.

        One that is none of these may be a name of the `other` kind, and then this is said.
        """
        typed = as_text(asked)
        name = typed[1:-1] if typed.startswith("<") and typed.endswith(">") else typed
        for exact in (typed, name):
            if (place := self.names.find(exact)) is not None:
                return place
        if found := self._by_label.get(typed) or self._by_label.get(name):
            return self._only(found, name, "label")
        if found := self._ending(name):
            return self._only(found, name, "end")
        if found := self._but_for_blanks(name):
            return self._only(found, name, "name but for blanks")
        if other.names.find(name) is not None:
            others = {"entity": "entities", "predicate": "predicates"}[other.kind]
            raise InputError(f"there is no {self.kind} {typed!r}; it is one of the {others}")
        near_ones = near(name, self.names, self.labels)
        raise InputError(f"there is no {self.kind} {typed!r}{_hint(near_ones)}")

    def _only(self, found: list[int], name: str, what: str) -> int:
        if len(found) == 1:
            return found[0]
        several = ", ".join(repr(self.names[i]) for i in found[:MOST_NEAR])
        more = f" and {len(found) - MOST_NEAR:,} more" if len(found) > MOST_NEAR else ""
        problem = f"{name!r} is the {what} of several; say which {self.kind}: {several}{more}"
        raise InputError(problem)

    def called(self, name: str) -> list[int]:
        """The ids by label, or by the end of an IRI if it is no label."""
        return self._by_label.get(name) or self._ending(name)

    @cached_property
    def _by_label(self) -> Mapping[str, list[int]]:
        found = dict[str, list[int]]()
        for i, label in self.labels.items():
            found.setdefault(label, []).append(i)
        return found

    def _ending(self, name: str) -> list[int]:
        ending = (i for tail in ("", "/", "#") for i in self.names.ending(name + tail))
        return [i for i in ending if local_name(self.names[i]) == name]

    def _but_for_blanks(self, name: str) -> list[int]:
        wanted = name.strip()
        return [i for i, known in enumerate(self.names) if known.strip() == wanted != ""]


def local_name(name: str) -> str:
    """The end of an IRI, after its last # or /; any other name as it is.

    >>> local_name("http://e/vocabulary#Person"), local_name("http://e/3017382/")
    ('Person', '3017382')
    >>> local_name("Africa/Juba")
    'Africa/Juba'
    """
    return _end(name) if IRI.match(name) else name


def _end(path: str) -> str:
    text = path.rstrip("/#")
    return text[max(text.rfind("/"), text.rfind("#")) + 1 :] or path


def near(name: str, names: Sequence[str], labels: Mapping[int, str]) -> list[str]:
    """What may have been meant, best first: names, and labels with the name they stand for.

    A text is near by its edit distance (swapped neighbours are one edit), or because what was
    typed begins one of its words. Of IRIs the ends count, as all begin alike; the whole ones
    decide between equals.
    """
    from rapidfuzz.distance import OSA  # only who mistypes waits for it

    found = dict[int, float]()
    for i, typed, text in _compared(name.strip(), names, labels):
        likeness = OSA.normalized_similarity(typed, text, score_cutoff=NEAR)
        if not likeness and typed in text and re.search(rf"(?:^|[\W_]){re.escape(typed)}", text):
            likeness = NEAR * len(typed) / len(text)  # after all that are near as a whole
        if likeness > found.get(i, 0):
            found[i] = likeness

    def order(i: int) -> tuple[float, float, int]:
        return found[i], OSA.normalized_similarity(name, names[i]), -i

    return [_shown(names[i], labels.get(i)) for i in nlargest(MOST_NEAR, found, key=order)]


def _compared(
    typed: str, names: Sequence[str], labels: Mapping[int, str]
) -> Iterator[tuple[int, str, str]]:
    """Ids with the two texts to compare, of an IRI the ends."""
    typed = _plain(typed)
    end = _end(typed)
    for i, name in enumerate(names):
        is_iri = IRI.match(name)
        yield i, end if is_iri else typed, _plain(_end(name) if is_iri else name)
    for i, label in labels.items():
        yield i, typed, _plain(label)


def _plain(text: str) -> str:
    """Capitals, and how accents are composed, make no difference."""
    return unicodedata.normalize("NFC", text.casefold())


def _shown(name: str, label: str | None) -> str:
    if not label or label == name:
        return repr(name)
    return f"{name!r} ({label if len(label) <= LONGEST else label[: LONGEST - 1] + '…'})"


def _hint(near_ones: list[str]) -> str:
    if not near_ones:
        return ", and no name or label that is near"
    *others, last = near_ones
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
