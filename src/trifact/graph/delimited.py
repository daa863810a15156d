"""TSV and CSV: read exactly in Python, or by DuckDB where both must agree.

The definition is `rows`, line by line. A first pass over the bytes shows whether a file is
*plain*: no quote of CSV, no odd line end, every line of one width, nothing to refuse. Such a file
means the same to DuckDB, which reads it several times faster; any other goes through `rows`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import duckdb

from trifact.errors import ConfigError, InputError
from trifact.graph.facttable import FactTable, Row
from trifact.graph.options import LoadConfig
from trifact.graph.sources import (
    BOM,
    LONGEST_LINE,
    BadLines,
    Source,
    line_blocks,
    longest_line_within_bounds,
    text_lines,
)
from trifact.progress import Progress

HEADERS = (
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
    ("source", "relation", "target"),
)


@dataclass(frozen=True)
class Shape:
    """How many columns a line has, which three are the fact, and what separates them."""

    separator: str
    quoted: bool
    width: int
    columns: tuple[int, int, int]
    header: bool

    @property
    def said(self) -> str:
        """What was chosen, for people."""
        kind = "CSV" if self.quoted else "TSV"
        parts = [kind if self.separator in ",\t" else f"{kind} with {self.separator!r}"]
        parts += ["line 1 is a header"] if self.header else []
        if (self.columns, self.width) != ((0, 1, 2), 3):
            parts.append("columns " + ", ".join(str(c + 1) for c in self.columns))
        return ", ".join(parts)


def records(stream: BinaryIO, config: LoadConfig, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """The records of a TSV or CSV file with the numbers of their first lines.

    Empty lines are left out. In TSV a quote is an ordinary character. CSV is RFC 4180: quoted
    fields may hold separators, line ends and doubled quotes.
    """
    lines = text_lines(stream, bad)
    if config.comment:
        lines = ((n, line) for n, line in lines if not line.startswith(config.comment))
    if config.format == "tsv":
        ended = ((n, line.removesuffix("\n").removesuffix("\r")) for n, line in lines)
        yield from ((number, line.split("\t")) for number, line in ended if line)
    else:
        yield from _csv_records(lines, config.delimiter, bad)


def _csv_records(
    lines: Iterator[tuple[int, str]], delimiter: str, bad: BadLines
) -> Iterator[tuple[int, list[str]]]:
    last = first = 0

    def feed() -> Iterator[str]:
        nonlocal last, first
        for last, line in lines:
            first = first or last
            yield line

    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    while True:
        first = 0
        try:
            record = next(reader, None)
        except csv.Error as error:
            bad.report(first or last, f"this is not CSV ({error}); mend it or say --format tsv")
            continue
        if record is None:
            return
        if record:
            yield first, record


def shape_of(source: Source, config: LoadConfig) -> Shape:
    """What the first record and the options say about the columns."""
    if len(config.delimiter) != 1 or config.delimiter in '"\r\n':
        raise ConfigError(f"delimiter must be one character, not {config.delimiter!r}")
    if len(config.columns) not in (0, 3):
        raise ConfigError(f"columns must be three, not {len(config.columns)}")
    bad = BadLines(source.path, skip=True)
    with source.open() as stream:
        number, first = next(records(stream, config, bad), (1, []))
    if not first:
        bad.skip = config.skip_bad_lines
        with source.open() as stream:  # again, to raise what is wrong with the first line, if any
            next(records(stream, config, bad), None)
        raise InputError("there is no fact in it", path=source.path)
    quoted = config.format == "csv"
    separator = config.delimiter if quoted else "\t"
    columns, header = _columns(first, config, place=(source.path, number))
    width = len(first) if config.columns or header else 3
    return Shape(separator, quoted, width, columns, header)


def _columns(
    first: list[str], config: LoadConfig, *, place: tuple[Path, int]
) -> tuple[tuple[int, int, int], bool]:
    names = [cell.strip().lower() for cell in first]
    known = next((h for h in HEADERS if set(h) <= set(names)), None)
    header = known is not None if config.header == "auto" else config.header == "yes"
    wanted = config.columns
    if not wanted:
        if header and known:
            return _three([names.index(name) for name in known]), True
        if len(first) != 3 and not config.skip_bad_lines:
            raise _width_error(len(first), 3, place)
        return (0, 1, 2), header
    if all(name.isdecimal() for name in wanted):
        chosen = [int(name) - 1 for name in wanted]
        if max(chosen) >= len(first) or min(chosen) < 0:
            problem = f"there is no column {max(wanted, key=int)}: line 1 has {len(first)} columns"
            raise InputError(problem, path=place[0], line=place[1])
        return _three(chosen), header
    if config.header == "no" or not set(wanted) <= set(first):
        missing = ", ".join(name for name in wanted if name not in first) or ", ".join(wanted)
        problem = f"line 1 does not name the column {missing}; it has {', '.join(first)[:200]}"
        raise InputError(problem, path=place[0], line=place[1])
    return _three([first.index(name) for name in wanted]), True


def _three(columns: list[int]) -> tuple[int, int, int]:
    subject, predicate, obj = columns
    return subject, predicate, obj


def _width_error(found: int, expected: int, place: tuple[Path, int]) -> InputError:
    return InputError(_width_problem(found, expected), path=place[0], line=place[1])


def _width_problem(found: int, expected: int) -> str:
    hint = "" if found < expected else "; choose three with --columns"
    hint = "; another separator? see --format and --delimiter" if found == 1 else hint
    return f"expected {expected} columns, found {found}{hint}"


def rows(source: Source, shape: Shape, config: LoadConfig, bad: BadLines) -> Iterator[Row]:
    """The facts of a file, each line checked: the definition of what it says."""
    a, b, c = shape.columns
    with source.open() as stream:
        for place, (number, record) in enumerate(records(stream, config, bad)):
            if place == 0 and shape.header:
                continue
            if len(record) != shape.width:
                bad.report(number, _width_problem(len(record), shape.width))
                continue
            fact = record[a], record[b], record[c]
            if all(fact):
                yield fact
            else:
                which = ("subject", "predicate", "object")[fact.index("")]
                bad.report(number, f"the {which} is empty; every fact needs three names")


def read(
    source: Source, split: str, config: LoadConfig, *, table: FactTable, progress: Progress
) -> tuple[int, str, BadLines]:
    """Add a file's facts to the table: how many, what was chosen, and its bad lines."""
    shape, bad = shape_of(source, config), BadLines(source.path, config.skip_bad_lines)
    added = _read_plain(source, split, shape=shape, table=table, progress=progress, config=config)
    if added is None:
        facts = rows(source, shape, config, bad)
        added = table.add_rows(split, facts)
    return added, shape.said, bad


def _read_plain(
    source: Source,
    split: str,
    *,
    shape: Shape,
    config: LoadConfig,
    table: FactTable,
    progress: Progress,
) -> int | None:
    """By DuckDB, if the file is plain and DuckDB finds in it what we counted; else None."""
    copy = table.folder / f"{split}.text" if source.compression else None
    lines = None if config.comment else _lines_if_plain(source, shape, copy, progress)
    if lines is None:
        return None
    path = str(copy) if copy else table.link(source.path)
    try:
        added = table.add_query(split, _select(path, shape))
    except duckdb.InvalidInputException:
        added = None  # a line is not as wide as the others: `rows` finds and names it
    if copy:
        copy.unlink()
    if added != lines - shape.header:
        table.drop(split)
        return None
    return added


def _select(path: str, shape: Shape) -> str:
    names = [f"c{i}" for i in range(shape.width)]
    columns = ", ".join(f"'{name}': 'varchar'" for name in names)
    separator = shape.separator.replace("'", "''")
    chosen = ", ".join(names[i] for i in shape.columns)
    return (
        f"select {chosen} from read_csv('{path}', delim = '{separator}', quote = '', escape = '', "
        f"auto_detect = false, header = false, skip = {int(shape.header)}, "
        f"columns = {{{columns}}}, force_not_null = [{', '.join(map(repr, names))}], "
        f"compression = 'none', max_line_size = {2 * LONGEST_LINE}, strict_mode = true)"
    )


def _lines_if_plain(
    source: Source, shape: Shape, copy: Path | None, progress: Progress
) -> int | None:
    """How many lines the file has if all are plain, else None; expands it into `copy`."""
    size, done, lines = source.path.stat().st_size, 0, 0
    with source.open() as stream, copy.open("wb") if copy else io.BytesIO() as out:
        for block in line_blocks(stream):
            if not _is_plain(block, shape):
                return None
            if copy:
                out.write(block)
            lines, done = lines + block.count(b"\n"), done + len(block)
            progress(f"checking {source.path.name}", done, 0 if source.compression else size)
    return lines


def _is_plain(block: bytes, shape: Shape) -> bool:
    """Whether every line of the block has the right width, full columns and an ordinary end."""
    lines, sep = block.count(b"\n"), shape.separator.encode()
    odd = [BOM, b"\0", b"\r", sep + sep, b"\n" + sep, sep + b"\n", b"\n\n"]
    odd += [b'"'] if shape.quoted else []
    return (
        block.count(sep) == (shape.width - 1) * lines
        and not any(sign in block for sign in odd)
        and not block.startswith((sep, b"\n"))
        and longest_line_within_bounds(block)
        and _is_utf8(block)
    )


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
