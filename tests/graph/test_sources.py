"""Bytes come out of a file as they are meant, or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from trifact.errors import InputError
from trifact.graph.sources import (
    BOM,
    LONGEST_LINE,
    BadLines,
    Source,
    line_blocks,
    shown,
    text_lines,
    without_end,
)

Make = Callable[[str, bytes | str], Path]
TEXT = b"a\tp\tb\n" * 50_000
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def lines(content: bytes, *, skip: bool = False) -> tuple[list[tuple[int, str]], BadLines]:
    bad = BadLines(Path("x"), skip)
    return list(text_lines(io.BufferedReader(io.BytesIO(content)), bad)), bad


@pytest.mark.parametrize("kind", PACK)
def test_compression_is_told_by_content_whatever_the_name(kind: str, file: Make) -> None:
    source = Source.at(file("facts.gz", PACK[kind](TEXT)), cap=10**9)
    assert source.compression == kind
    with source.open() as stream:
        assert stream.read() == TEXT


def test_zstd_may_begin_with_a_frame_to_skip(file: Make) -> None:
    skipped = struct.pack("<II", 0x184D2A5C, 4) + b"abcd"
    source = Source.at(file("facts", skipped + PACK["zstd"](TEXT)), cap=10**9)
    assert source.compression == "zstd"
    with source.open() as stream:
        assert stream.read() == TEXT


@pytest.mark.parametrize("kind", PACK)
def test_a_byte_order_mark_is_dropped_once_and_only_at_the_start(kind: str, file: Make) -> None:
    source = Source.at(file("facts", PACK[kind](BOM + BOM + TEXT + BOM)), cap=10**9)
    with source.open() as stream:
        assert stream.read() == BOM + TEXT + BOM
    assert Source.at(file("nothing", PACK[kind](BOM)), cap=10).head() == b""


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_files_of_several_members_are_read_to_the_end(kind: str, file: Make) -> None:
    packed = PACK[kind](b"one\n") + PACK[kind](b"") + PACK[kind](b"two\n")
    with Source.at(file("facts", packed), cap=100).open() as stream:
        assert stream.read() == b"one\ntwo\n"


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_no_shorter_file(kind: str, keep: float, file: Make) -> None:
    packed = PACK[kind](os.urandom(5_000) + TEXT)
    source = Source.at(file("facts", packed[: int(len(packed) * keep)]), cap=10**9)
    with source.open() as stream, pytest.raises(InputError, match="damaged or cut short"):
        stream.read()


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_damage_and_what_follows_the_end_are_errors(kind: str, file: Make) -> None:
    packed = bytearray(PACK[kind](TEXT))
    packed[len(packed) // 2] ^= 0xFF
    for content in (bytes(packed), PACK[kind](TEXT) + b"garbage"):
        with (
            Source.at(file("facts", content), cap=10**9).open() as stream,
            pytest.raises(InputError, match="facts: is damaged"),
        ):
            stream.read()


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_expansion_stops_at_the_cap(kind: str, file: Make) -> None:
    bomb = PACK[kind](bytes(200_000_000))
    assert len(bomb) < 250_000
    tracemalloc.start()
    source = Source.at(file("bomb", bomb), cap=1_000_000)
    with source.open() as stream, pytest.raises(InputError, match=r"0\.001 GB.*unpack it"):
        stream.read()
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()
    with Source.at(file("fits", PACK[kind](bytes(1000))), cap=1000).open() as stream:
        assert len(stream.read()) == 1000


def test_a_frame_that_wants_a_huge_window_is_refused(file: Make) -> None:
    header = b"\x28\xb5\x2f\xfd" + bytes([0x00, (31 - 10) << 3])  # a window of 2 GiB
    block = struct.pack("<I", (5 << 3) | 1)[:3] + b"hello"
    source = Source.at(file("window", header + block), cap=10**9)
    with source.open() as stream, pytest.raises(InputError, match="memory"):
        stream.read()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("xz", lzma.compress(TEXT)),
        ("bzip2", bz2.compress(TEXT)),
        ("a zip archive or a spreadsheet", b"PK\x03\x04" + bytes(50)),
    ],
)
def test_other_archives_are_called_by_name(kind: str, content: bytes, file: Make) -> None:
    with pytest.raises(InputError, match=f"this is {kind}; unpack it"):
        Source.at(file("facts.tsv", content), cap=10**9)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, problem in (
        (tmp_path, "this is a folder, not a file"),
        (tmp_path / "pipe", "a pipe or a device"),  # and does not wait for a writer
        (Path("/dev/zero"), "a pipe or a device"),
        (tmp_path / "loop", "cannot be read"),
        (tmp_path / "missing", "No such file"),
        (tmp_path / ("x" * 300), "too long"),
        (tmp_path / "a\0b", "NUL"),
    ):
        with pytest.raises(InputError, match=problem):
            Source.at(path, cap=1)


def test_what_the_system_refuses_is_an_input_error(
    file: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("facts", b"a")
    source = Source.at(path, cap=1)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    for attempt in (lambda: Source.at(path, cap=1), source.open, source.digest):
        with pytest.raises(InputError, match=r"facts: cannot be read \(Permission denied\)"):
            attempt()


def test_only_lf_ends_a_line() -> None:
    text = "a\u2028b\u0085c\x0bd\x1ce\rf\r\ng"
    assert lines(text.encode())[0] == [(1, "a\u2028b\u0085c\x0bd\x1ce\rf\r\n"), (2, "g")]
    assert [without_end(line) for line in ("a\r\n", "a\n", "a", "a\r\r\n", "\n\n")] == [
        *("a", "a", "a", "a\r", "\n")
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a\0b", "NUL byte"),
        (b"ab\xff", "byte 3 of the line is not UTF-8"),
        (b"\xed\xa0\x80", "not UTF-8"),
        (b"x" * (LONGEST_LINE + 1), "longer than 1,048,576 bytes"),
        (b"x" * (3 * LONGEST_LINE + 17), "longer than 1,048,576 bytes"),
    ],
)
def test_bad_lines_are_errors_or_counted(line: bytes, problem: str) -> None:
    content = b"good\n" + line + b"\r\nalso good"
    with pytest.raises(InputError, match=f"x:2: .*{problem}"):
        lines(content)
    found, bad = lines(content, skip=True)
    assert found == [(1, "good\n"), (3, "also good")]
    assert bad.count == 1
    assert problem in bad.said


def test_a_line_of_the_longest_length_is_good() -> None:
    for end in (b"", b"\n", b"\r\n"):
        assert len(lines(b"x" * LONGEST_LINE + end)[0]) == 1


def test_the_first_five_bad_lines_are_shown() -> None:
    _, bad = lines(b"\0\n" * 1234, skip=True)
    assert bad.count == 1234
    assert len(bad.first) == 5
    assert bad.said.startswith("1,234 bad lines dropped, the first 5: x:1: the line holds a NUL")
    assert BadLines(Path("x"), skip=True).said == ""


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_blocks_of_lines_are_the_file(end: bytes) -> None:
    content = b"\n".join(os.urandom(n % 997).replace(b"\n", b"") for n in range(9_000)) + end
    blocks = list(line_blocks(io.BufferedReader(io.BytesIO(content))))
    assert len(blocks) > 3
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks).removesuffix(b"\n") == content.removesuffix(b"\n")


def test_names_that_are_not_text_can_be_shown() -> None:
    assert shown(Path(os.fsdecode(b"/a/caf\xe9.tsv"))) == "caf\ufffd.tsv"
