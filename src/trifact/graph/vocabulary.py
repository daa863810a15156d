"""Names and their ids: an id is the place of a name in the order of all names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Vocabulary(Sequence[str]):
    """Distinct names in the order of their UTF-8 bytes (which is that of their code points).

    Kept as one run of bytes and the places where names end, so a million names cost little
    more than their text, can be memory-mapped, and are looked up by bisection.

    >>> names = Vocabulary.of(["Paris", "France", "Ωmega", "France"])
    >>> list(names), names.find("Paris"), names.find("Berlin")
    (['France', 'Paris', 'Ωmega'], 1, None)
    """

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.text, self.ends = text, ends
        self.text.flags.writeable = self.ends.flags.writeable = False

    @classmethod
    def of(cls, names: Iterable[str]) -> Vocabulary:
        """From names in any order, repeated or not."""
        return cls.of_sorted(sorted({name.encode() for name in names}))

    @classmethod
    def of_sorted(cls, names: Sequence[bytes]) -> Vocabulary:
        """From UTF-8 names that are distinct and in order already."""
        ends = np.cumsum([len(name) for name in names], dtype=np.int64)
        return cls(np.frombuffer(b"".join(names), dtype=np.uint8).copy(), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._bytes(range(len(self))[index]).decode()

    def __iter__(self) -> Iterator[str]:
        text, start = self.text.tobytes(), 0
        for end in self.ends.tolist():
            yield text[start:end].decode()
            start = end

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.content_hash == other.content_hash

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __repr__(self) -> str:
        few = ", ".join(repr(name) for name in self[:3])
        return f"Vocabulary({len(self):,} names: {few}{', ...' if len(self) > 3 else ''})"

    def find(self, name: str) -> int | None:
        """The id of a name, or None: by bisection, in O(log n)."""
        wanted = name.encode(errors="surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._bytes(low) == wanted else None

    def ending(self, end: str) -> list[int]:
        """The ids of the names that end so, compared from the last byte on: in O(n)."""
        wanted = end.encode(errors="surrogatepass")
        found = np.flatnonzero(np.diff(self.ends, prepend=0) >= len(wanted))
        for back, byte in enumerate(reversed(wanted), 1):
            found = found[self.text[self.ends[found] - back] == byte]
        return found.tolist()

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the names: two vocabularies with the same hash give the same ids."""
        return hashlib.sha256(self.ends.astype("<i8").tobytes() + self.text.tobytes()).hexdigest()

    def _bytes(self, index: int) -> bytes:
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])].tobytes()
