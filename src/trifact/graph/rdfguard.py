"""RDF that would bring its parser down is refused before the parser sees it.

Triple terms in triple terms, many thousand deep, overflow its stack and end the process; entities
made of entities expand a small file of RDF/XML beyond all memory.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from trifact.errors import InputError

DEEPEST = 1_000
LONGEST_ENTITY = 256
OPENS = "<<("
BLOCK = 1 << 16


def too_deep(text: str) -> bool:
    """Whether triple terms could be nested too deeply in some lines of N-Triples."""
    return text.count(OPENS) > DEEPEST and any(
        line.count(OPENS) > DEEPEST for line in text.split("\n")
    )


def guarded(stream: BinaryIO, kind: str, path: Path) -> BinaryIO:
    """The same bytes, which raise an InputError before they do harm."""
    watch = _XMLWatch(path) if kind == "rdfxml" else _TurtleWatch(path)
    return io.BufferedReader(_Watched(stream, watch), buffer_size=BLOCK)


class _Watched(io.RawIOBase):
    """A stream that is shown to a watch first."""

    def __init__(self, stream: BinaryIO, watch: _TurtleWatch | _XMLWatch) -> None:
        self._stream, self._watch = stream, watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._watch.see(data)
        buffer[: len(data)] = data
        return len(data)


class _TurtleWatch:
    """Counts triple terms, nested or not: only a full parser could tell."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen, self._last = path, 0, b""

    def see(self, data: bytes) -> None:
        """Raise an InputError if there are too many by now."""
        joined = self._last + data
        self._seen += joined.count(OPENS.encode())
        self._last = joined[-2:]
        if self._seen > DEEPEST:
            problem = f"it has more than {DEEPEST:,} triple terms, {OPENS} ... )>>"
            raise InputError(f"{problem}; convert it to N-Triples", path=self._path)


class _XMLWatch:
    """Follows the elements with a parser of its own, which also names lines better."""

    def __init__(self, path: Path) -> None:
        self._path, self._depth, self._ended = path, 0, False
        self._parser = expat.ParserCreate("utf-8")  # whatever it declares: the other reads no other
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._declare

    def see(self, data: bytes) -> None:
        """Raise an InputError if this is not XML or too deep, or declares harmful entities."""
        if self._ended:
            return
        self._ended = not data
        try:
            self._parser.Parse(data, self._ended)
        except expat.ExpatError as error:
            problem = f"this is not RDF/XML ({expat.ErrorString(error.code)})"
            raise InputError(problem, path=self._path, line=error.lineno) from None

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"elements are nested more than {DEEPEST:,} deep")

    def _end(self, name: str) -> None:
        self._depth -= 1

    def _declare(self, name: str, _parameter: bool, value: str | None, *_: object) -> None:
        if value is None or len(value) > LONGEST_ENTITY or "&" in value:
            raise self._error(f"the entity {name!r:.80} is external, long or made of others")

    def _error(self, problem: str) -> InputError:
        return InputError(problem, path=self._path, line=self._parser.CurrentLineNumber)
