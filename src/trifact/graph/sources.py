"""A file as a stream of bytes: compression found by content, expansion capped, lines bounded."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from trifact.errors import InputError

LONGEST_LINE = 1 << 20
BLOCK = 8 << 20
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """A file to read, plain or compressed; `cap` is how many bytes it may expand to."""

    path: Path
    compression: str
    cap: int

    @classmethod
    def at(cls, path: Path, *, cap: int) -> Source:
        """The source at a path, its compression told by its first bytes."""
        try:
            with path.open("rb") as file:
                head = file.read(4)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", path=path) from None
        kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
        return cls(path, kind, cap)

    def open(self) -> BinaryIO:
        """The bytes of the file, expanded; what goes wrong on the way is an InputError."""
        raw: BinaryIO = self.path.open("rb")
        if self.compression == "gzip":
            raw = cast(BinaryIO, gzip.GzipFile(fileobj=raw))
        elif self.compression == "zstd":
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            raw = cast(BinaryIO, reader)
        return io.BufferedReader(_Guarded(raw, self), buffer_size=BLOCK)

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, expanded and without a byte order mark."""
        with self.open() as stream:
            return stream.read(size).removeprefix(BOM)

    def digest(self) -> str:
        """SHA-256 of the file as it lies on disk."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class _Guarded(io.RawIOBase):
    """A stream that turns damage into InputErrors and stops where it has expanded too far."""

    def __init__(self, raw: BinaryIO, source: Source) -> None:
        self._raw, self._source, self._size = raw, source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            data = self._raw.read(len(buffer))
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            kind = self._source.compression or "plain"
            raise self._error(f"is damaged or cut short ({kind} file: {error})") from None
        self._size += len(data)
        if self._source.compression and self._size > self._source.cap:
            raise self._error(
                f"expands to more than {self._source.cap / 1e9:g} GB; if it is meant to, "
                "raise the cap with --max-expanded-gb"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._raw.close()
        super().close()

    def _error(self, problem: str) -> InputError:
        return InputError(problem, path=self._source.path)


@dataclass
class BadLines:
    """What becomes of lines that cannot be read: the first is an error, or all are counted."""

    path: Path
    skip: bool
    count: int = 0
    first: list[str] = field(default_factory=list)

    def report(self, line: int, problem: str) -> None:
        """Raise, or count the line and keep the first five."""
        if not self.skip:
            raise InputError(problem, path=self.path, line=line)
        self.count += 1
        if len(self.first) < 5:
            self.first.append(str(InputError(problem, path=self.path, line=line)))


def text_lines(stream: BinaryIO, bad: BadLines) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their ends and numbers; only LF ends a line.

    A byte order mark is dropped. Lines that are too long, hold a NUL or are not UTF-8 are bad.
    """
    number = 0
    while raw := stream.readline(LONGEST_LINE + 2):
        number += 1
        if number == 1:
            raw = raw.removeprefix(BOM)
        line, problem = raw, _problem(raw.removesuffix(b"\n").removesuffix(b"\r"))
        while not raw.endswith(b"\n") and len(raw) == LONGEST_LINE + 2:
            raw = stream.readline(LONGEST_LINE + 2)
        if problem:
            bad.report(number, problem)
        else:
            yield number, line.decode()


def _problem(line: bytes) -> str:
    if len(line) > LONGEST_LINE:
        return f"the line is longer than {LONGEST_LINE:,} bytes; is this a text file?"
    if b"\0" in line:
        return "the line holds a NUL byte; is this a text file?"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of the line is not UTF-8; convert the file to UTF-8"
    return ""


def line_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in large blocks that end where a line ends; the last gets the LF it may lack."""
    carry = b""
    while data := stream.read(BLOCK):
        block = carry + data
        cut = block.rfind(b"\n") + 1
        if cut:
            yield block[:cut]
        carry = block[cut:]
        if len(carry) > LONGEST_LINE:  # no block ends here: hand it on, its reader refuses it
            yield carry + b"\n"
            carry = b""
    if carry:
        yield carry + b"\n"


def longest_line_within_bounds(block: bytes) -> bool:
    """Whether no line of the block exceeds the limit, found in hops of a line's length."""
    place = 0
    while len(block) - place > LONGEST_LINE:
        place = block.rfind(b"\n", place, place + LONGEST_LINE + 1) + 1
        if not place:
            return False
    return True
