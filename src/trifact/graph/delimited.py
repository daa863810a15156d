"""TSV and CSV, line by line: the definition of what such a file says.

Most files are also read faster, see `plain.py`; both must agree.
"""

from __future__ import annotations

import csv
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import BinaryIO

from trifact.errors import InputError
from trifact.graph.facttable import Row
from trifact.graph.headers import known_header, plain
from trifact.graph.options import LoadConfig
from trifact.graph.sources import LONGEST_LINE, BadLines, Source, one_line, text_lines, without_end
from trifact.wording import setting

ROLES = ("subject", "predicate", "object")
Check = Callable[[Row], str]
LOOKED_AT = 1000  # records that say how wide they are


class NoFactError(InputError):
    """A file of facts without any."""


@dataclass(frozen=True)
class Shape:
    """How many columns a line has, which three are the fact, and what separates them."""

    separator: str
    quoted: bool
    width: int
    columns: tuple[int, int, int]
    header: bool
    begins: int = 1
    """The line that showed all this: the header, if there is one."""
    unsure: Row | None = None
    """The fact of the first line, if nothing is said about a header, and it is none we know."""

    @property
    def kind(self) -> str:
        """TSV or CSV, for people."""
        if not self.quoted:
            return "TSV"
        return "CSV" if self.separator == "," else f"CSV with {self.separator!r}"

    @property
    def said(self) -> str:
        """What else was chosen, for people; empty for three columns without a header."""
        columns = ", ".join(str(column + 1) for column in self.columns)
        usual = (self.columns, self.width) == ((0, 1, 2), 3)
        header = f", line {self.begins} is a header" if self.header else ""
        return header + ("" if usual else f", columns {columns}")


def records(stream: BinaryIO, config: LoadConfig, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """The records of a TSV or CSV file with the numbers of their first lines.

    Empty lines are left out. In TSV a quote is an ordinary character. CSV is RFC 4180: quoted
    fields may hold separators, line ends and doubled quotes.
    """
    lines = text_lines(stream, bad)
    if config.format != "tsv":
        return _csv_records(_Feed(lines, config.comment), config.separator, bad)
    if config.comment:
        lines = ((n, line) for n, line in lines if not line.startswith(config.comment))
    ended = ((n, without_end(line)) for n, line in lines)
    return ((number, line.split("\t")) for number, line in ended if line)


@dataclass
class _Feed(Iterator[str]):
    """Lines for the reader of CSV: holds those of a record, and bounds its length."""

    lines: Iterator[tuple[int, str]]
    comment: str
    """How a line begins that is left out; within quotes, where no record begins, none is."""
    held: list[tuple[int, str]] = field(default_factory=list)
    size: int = 0
    waiting: deque[tuple[int, str]] = field(default_factory=deque)

    def __next__(self) -> str:
        number, line = self._next()
        while self.comment and not self.held and line.startswith(self.comment):
            number, line = self._next()
        self.held.append((number, line))
        self.size += len(line)
        if self.size > LONGEST_LINE + 2:
            raise csv.Error(f"a record is longer than {LONGEST_LINE:,} characters")
        return line

    def _next(self) -> tuple[int, str]:
        return self.waiting.popleft() if self.waiting else next(self.lines)

    @property
    def first(self) -> int:
        """The number of the first line of the record."""
        return self.held[0][0]

    def begin(self) -> None:
        """From the next line on it is another record."""
        self.held.clear()
        self.size = 0

    def take_back(self) -> None:
        """Only the first line was bad: those after it come again."""
        self.waiting.extendleft(reversed(self.held[1:]))


def _csv_records(feed: _Feed, delimiter: str, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    if csv.field_size_limit() < LONGEST_LINE:
        csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin()
        try:
            record = next(reader, None)
        except csv.Error as error:
            bad.report(feed.first, f"this is not CSV ({error}); is a quote left open?")
            feed.take_back()
            continue
        if record is None:
            return
        if record:
            yield feed.first, record


def shape_of(source: Source, config: LoadConfig) -> Shape:
    """What the first record and the options say about the columns."""
    bad = BadLines(source.path, config.skip_bad_lines)
    with source.open() as stream:
        number, first = _first(records(stream, config, bad), config)
    if not first:
        problem = "; ".join(filter(None, ["there is no fact in it", bad.said]))
        raise NoFactError(problem, path=source.path)
    known = known_header(first)
    header = known is not None if config.header == "auto" else config.header == "yes"
    try:
        columns = _columns(first, known if header else None, config)
    except ValueError as error:
        raise InputError(str(error), path=source.path, line=number) from None
    is_csv, chosen = config.format == "csv", bool(config.columns or (header and known))
    shape = Shape(
        separator=config.separator if is_csv else "\t",
        quoted=is_csv,
        width=len(first) if chosen else 3,
        columns=columns or (0, 1, 2),
        header=header or (bool(config.columns) and not config.column_numbers),
        begins=number,
    )
    if config.header != "auto" or shape.header or len(first) != shape.width:
        return shape
    a, b, c = shape.columns
    return replace(shape, unsure=(first[a], first[b], first[c]))


def _first(found: Iterator[tuple[int, list[str]]], config: LoadConfig) -> tuple[int, list[str]]:
    """The record that shows how wide records are; nothing if there is none.

    It is the first one; where bad ones are dropped, and only numbers say which columns are wanted,
    the first of those that are as wide as most.
    """
    if not (config.skip_bad_lines and config.column_numbers) or config.header == "yes":
        return next(found, (1, []))
    some = list(islice(found, LOOKED_AT))
    widths = Counter(len(record) for _, record in some)
    usual = max(widths, key=widths.__getitem__, default=0)
    return next(((n, record) for n, record in some if len(record) == usual), (1, []))


def _columns(
    first: list[str], known: tuple[str, ...] | None, config: LoadConfig
) -> tuple[int, int, int] | None:
    """Which columns are the fact, if any are chosen; a ValueError says what is wrong with them."""
    if config.column_numbers:
        for number in config.column_numbers:
            if not 0 <= number < len(first):
                raise ValueError(f"there is no column {number + 1}: this line has {len(first)}")
        return _three(config.column_numbers)
    if config.columns:
        return _named(config.columns, [] if config.header == "no" else first)
    if known:
        return _named(known, [plain(cell) for cell in first])
    if len(first) != 3 and not config.skip_bad_lines:
        separator = f"; another separator? see {setting('delimiter')}" if len(first) == 1 else ""
        raise ValueError(_width_problem(first, 3) + separator)
    return None


def _named(wanted: tuple[str, ...], names: list[str]) -> tuple[int, int, int]:
    for name in wanted:
        if names.count(name) != 1:
            times = "twice" if name in names else "nowhere"
            there = f": {', '.join(names)[:200]!r}" if names else ", for there is none"
            raise ValueError(f"the header names the column {one_line(name[:80])} {times}{there}")
    return _three([names.index(name) for name in wanted])


def _three(columns: list[int]) -> tuple[int, int, int]:
    subject, predicate, obj = columns
    return subject, predicate, obj


def _width_problem(record: list[str], expected: int) -> str:
    found = len(record)
    hint = f"; choose three with {setting('columns')}" if found > expected else ""
    hint = f"; a comment? see {setting('comment')}" if record[0].startswith("#") else hint
    return f"expected {expected} columns, found {found}{hint}"


def rows(
    source: Source, shape: Shape, config: LoadConfig, bad: BadLines, check: Check | None = None
) -> Iterator[Row]:
    """The facts of a file, each line checked: the definition of what it says."""
    a, b, c = shape.columns
    with source.open() as stream:
        found = records(stream, config, bad)
        if shape.header:
            found = (pair for pair in found if pair[0] != shape.begins)
        for number, record in found:
            if len(record) != shape.width:
                bad.report(number, _width_problem(record, shape.width))
                continue
            fact = record[a], record[b], record[c]
            if not all(fact):
                which = ROLES[fact.index("")]
                bad.report(number, f"the {which} is empty; every fact needs three names")
            elif check and (problem := check(fact)):
                bad.report(number, problem)
            else:
                yield fact
