"""A file as a stream of bytes: compression found by content, expansion capped, lines bounded."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from trifact.errors import InputError

LONGEST_LINE = 1 << 20
BLOCK = 1 << 20
HEAD = 1 << 16
ZSTD_BLOCK = 1 << 10  # so few bytes expand to 43 MB at worst
ZSTD_WINDOW = 1 << 27
SKIPPABLE = [bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16)]  # frames of zstd
MAGIC = {b"\x1f\x8b": "gzip", **dict.fromkeys([b"\x28\xb5\x2f\xfd", *SKIPPABLE], "zstd")}
UNPACK, UTF_8 = "unpack it, or use gzip or zstd", "save it as UTF-8"
FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV",
    b"\xfd7zXZ\x00": f"xz; {UNPACK}",
    b"BZh91AY&SY": f"bzip2; {UNPACK}",
    b"\xff\xfe": f"UTF-16; {UTF_8}",
    b"\xfe\xff": f"UTF-16; {UTF_8}",
}
# control characters, ends of lines and paragraphs, changes of direction, bytes that are no text
CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
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
        _refuse_all_but_files(path)
        with readable(path), path.open("rb") as file:
            head = file.read(max(map(len, FOREIGN)))
        foreign = next((kind for magic, kind in FOREIGN.items() if head.startswith(magic)), "")
        if foreign:
            raise InputError(f"this is {foreign}", path=path)
        kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
        return cls(path, kind, cap)

    def open(self) -> BinaryIO:
        """The bytes of the file, expanded and without a byte order mark.

        What goes wrong on the way is an InputError.
        """
        with readable(self.path):
            return io.BufferedReader(_Guarded(self.path.open("rb"), self), buffer_size=BLOCK)

    def head(self) -> bytes:
        """The first bytes, expanded."""
        with self.open() as stream:
            return stream.read(HEAD)

    def digest(self) -> str:
        """SHA-256 of the file as it lies on disk."""
        with readable(self.path), self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What the system says about a path that it cannot open, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None
    except ValueError:  # the one thing that Python refuses by itself
        raise InputError("a path cannot hold a NUL", path=repr(str(path))) from None


def _refuse_all_but_files(path: Path) -> None:
    """Pipes and devices too: opening one may wait forever, and reading one never end."""
    with readable(path):
        mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise InputError(f"this is {what}, not a file", path=path)


def one_line(text: str) -> str:
    """Text from a file or a library, fit for a sentence: what would steer a terminal is escaped.

    >>> one_line("a\\tb\\x1b[31m")
    'a\\\\tb\\\\x1b[31m'
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def shown(path: Path) -> str:
    """A file's name as text that can be printed, whatever bytes it is made of."""
    return os.fsencode(path.name).decode(errors="replace")


class _Guarded(io.RawIOBase):
    """A stream that turns damage into InputErrors and stops where it has expanded too far."""

    def __init__(self, raw: BinaryIO, source: Source) -> None:
        self._raw, self._source = raw, source
        self._size, self._begun = 0, False
        self._blocks = _EXPANDED[source.compression](raw)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._left:
            self._left = memoryview(self._next())
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def _next(self) -> bytes:
        try:
            block = next(self._blocks, b"")
            if not self._begun:
                self._begun = True
                block = block.removeprefix(BOM) or next(self._blocks, b"")
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            kind = self._source.compression or "plain"
            why = f"is damaged or cut short ({kind} file: {error})"
            raise InputError(why, path=self._source.path) from None
        self._size += len(block)
        if self._source.compression and self._size > self._source.cap:
            problem = f"expands to more than {self._source.cap / 1e9:g} GB; if it is meant to, "
            raise InputError(f"{problem}unpack it first", path=self._source.path)
        return block

    def close(self) -> None:
        self._raw.close()
        super().close()


def _plain(raw: BinaryIO) -> Iterator[bytes]:
    while block := raw.read(BLOCK):
        yield block


def _gzip(raw: BinaryIO) -> Iterator[bytes]:
    return _plain(cast(BinaryIO, gzip.GzipFile(fileobj=raw)))


def _zstd(raw: BinaryIO) -> Iterator[bytes]:
    """Frame by frame. The library's own stream takes a file that is cut short for a whole one."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    frame = None
    while data := raw.read(ZSTD_BLOCK):
        while data:
            frame = frame or decompressor.decompressobj()
            if block := frame.decompress(data):
                yield block
            data = frame.unused_data
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


_EXPANDED = {"": _plain, "gzip": _gzip, "zstd": _zstd}


@dataclass
class BadLines:
    """What becomes of lines that cannot be read: the first is an error, or all are counted."""

    path: Path
    skip: bool
    count: int = 0
    first: list[str] = field(default_factory=list)

    def report(self, line: int | None, problem: str) -> None:
        """Raise, or count the line and keep the first five."""
        error = InputError(problem, path=self.path, line=line)
        if not self.skip:
            raise error
        self.count += 1
        if len(self.first) < 5:
            self.first.append(str(InputError(problem, path=shown(self.path), line=line)))

    @property
    def said(self) -> str:
        """For people; empty if there was none."""
        if not self.count:
            return ""
        lines = "1 bad line" if self.count == 1 else f"{self.count:,} bad lines"
        such = "" if self.count <= len(self.first) else f", the first {len(self.first)}"
        return f"{lines} dropped{such}: {'; '.join(self.first)}"


def text_lines(stream: BinaryIO, bad: BadLines) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their ends and numbers; only LF ends a line.

    Lines that are too long, hold a NUL or are not UTF-8 are bad.
    """
    number, most = 0, LONGEST_LINE + 2  # room for CR and LF
    while raw := stream.readline(most):
        number += 1
        line, problem = raw, _problem(raw.removesuffix(b"\n").removesuffix(b"\r"))
        while len(raw) == most and not raw.endswith(b"\n"):
            raw = stream.readline(most)
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


def without_end(line: str) -> str:
    """A line without its LF or CRLF; any other CR is part of it."""
    return line.removesuffix("\n").removesuffix("\r")


def line_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in blocks that end where a line ends; the last gets the LF it may lack.

    A line beyond the limit is cut: whoever reads the block sees that it is too long.
    """
    carry = b""
    while data := stream.read(BLOCK):
        block = carry + data
        cut = block.rfind(b"\n") + 1
        carry = block[cut:]
        if cut:
            yield block[:cut]
        elif len(carry) > LONGEST_LINE:
            yield carry + b"\n"
            carry = b""
    if carry:
        yield carry + b"\n"
