"""From a path, a table or tuples to facts by id: every format and layout comes together here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trifact.errors import InputError
from trifact.graph import columnar, delimited, rdf
from trifact.graph.columnar import whole_number
from trifact.graph.delimited import Check
from trifact.graph.facttable import FactTable, Row, disk
from trifact.graph.formats import MEANT_FOR, SHOWN, choose, refuse_idle
from trifact.graph.known import Ints
from trifact.graph.layouts import Layout, listed_names, rows_by_id
from trifact.graph.options import LoadConfig
from trifact.graph.plain import read_plain
from trifact.graph.sources import BLOCK, LONGEST_LINE, BadLines, Source, one_line, shown
from trifact.graph.vocabulary import Vocabulary
from trifact.progress import Progress
from trifact.wording import setting

BY_ID_SAID = {"del": "facts by id", "openke": "facts by id, OpenKE: subject, object, predicate"}


@dataclass(frozen=True)
class Read:
    """How many facts a file gave, how it was read, its bad lines, and what else was left out."""

    added: int
    said: str
    bad: BadLines
    left_out: str = ""
    detail: str = ""
    doubt: str = ""

    def notes(self, name: str, *, may_be_empty: bool = False) -> list[str]:
        """What was done to a file; an InputError if nothing came of it."""
        left_out = "; ".join(filter(None, [self.left_out, self.bad.said]))
        if not self.added and not may_be_empty:
            why = f"there is no fact in it{'; ' if left_out else ''}{left_out}"
            raise InputError(why, path=self.bad.path)
        facts = "1 fact" if self.added == 1 else f"{self.added:,} facts"
        said = filter(None, [f"{facts} ({self.said})", left_out, self.doubt])
        return [f"{name}: {what}" for what in said]


@dataclass(frozen=True)
class Reading:
    """Facts by id, the names behind the ids, what was done to get them, and labels with them."""

    entities: Vocabulary
    predicates: Vocabulary
    splits: dict[str, Ints]
    notes: tuple[str, ...]
    entity_labels: Mapping[int, str] = field(default_factory=dict)
    predicate_labels: Mapping[int, str] = field(default_factory=dict)


def read_layout(layout: Layout, config: LoadConfig, progress: Progress) -> Reading:
    """Read all files of a layout."""
    with _table(config) as table:
        notes = _fill(table, layout, config, progress)
        progress("giving ids", 0, 0)
        return _by_id(table, notes)


def read_in_order(
    layout: Layout, config: LoadConfig, progress: Progress
) -> tuple[list[Row], list[str]]:
    """The facts of a layout as they stand there, repeated ones too, and what was done."""
    with _table(config, ordered=True) as table:
        notes = _fill(table, layout, config, progress)
        return table.rows(), notes


def _fill(table: FactTable, layout: Layout, config: LoadConfig, progress: Progress) -> list[str]:
    """Put all files of a layout into the table; returns what was done."""
    names, notes = _declared_names(layout, config, table), list[str]()
    for split, path in layout.facts.items():
        source = Source.at(path, cap=config.cap)
        if split != "train" and not source.head():
            notes.append(f"{shown(path)}: an empty file, 0 facts")
            continue
        reader = _File(source, split, config, table, progress)
        if layout.kind in BY_ID_SAID:
            read = reader.by_id(layout, names)
        else:
            read = reader.by_name(_check_listed(layout, names))
        notes += read.notes(shown(path), may_be_empty=split != "train")
    return notes


def read_table(frame: object, config: LoadConfig) -> Reading:
    """Read a table of pandas, polars or Arrow."""
    with _table(config) as table:
        found = columnar.read_table(frame, "train", config, table)
        read = Read(found.facts, found.columns, found.bad, doubt=found.doubt)
        return _by_id(table, read.notes("the table"))


def read_tuples(facts: Iterable[Any], config: LoadConfig) -> Reading:
    """Read tuples (subject, predicate, object) of text or whole numbers."""
    bad = BadLines(Path("facts"), config.skip_bad_lines)
    refuse_idle(bad.path, config, ("format", *MEANT_FOR), what="tuples")
    with _table(config) as table:
        added = table.add_rows("train", _checked(facts, bad))
        return _by_id(table, Read(added, "tuples", bad).notes("the facts"))


def _by_id(table: FactTable, notes: list[str]) -> Reading:
    """All that was put into the table, by id."""
    by_id, labels = table.to_ids(), (table.labels("entity"), table.labels("predicate"))
    if any(labels):
        counts = f"{len(labels[0]):,} of entities, {len(labels[1]):,} of predicates"
        notes.append(f"labels in the RDF: {counts}")
    if blanks := table.apart_by_blanks():
        names = "1 name is" if blanks == 1 else f"{blanks:,} names are"
        notes.append(f"{names} like another but for blanks at the ends, and counted as different")
    return Reading(*by_id, tuple(notes), *labels)


def _checked(facts: Iterable[Any], bad: BadLines) -> Iterator[Row]:
    for number, fact in enumerate(facts, 1):
        try:
            row = _row(fact)
        except ValueError as error:
            bad.report(number, str(error))
        else:
            yield row


def _row(fact: object) -> Row:
    """A fact that came from Python; a ValueError says why it is none."""
    if isinstance(fact, Mapping | Set):
        raise ValueError(f"expected 3 names in their order, found a {type(fact).__name__}")
    try:
        cells = [fact] if isinstance(fact, str | bytes) else [*fact]  # type: ignore[misc]
    except TypeError:  # such as an array without a dimension
        cells = [fact]
    if len(cells) != 3:
        raise ValueError(f"expected 3 names, found {len(cells)}")
    subject, predicate, obj = map(_name, cells)
    return subject, predicate, obj


def _name(cell: object) -> str:
    """Text or an id, of any integer type, as a name; a ValueError says why it is none."""
    if not isinstance(cell, str):
        number = whole_number(cell)
        if number is None:
            problem = f"a name must be text or a whole number, not {cell!r:.80}"
            raise ValueError(one_line(problem))
        if abs(number) >= 2**64:
            raise ValueError("an id is too large")
        return str(number)
    if not cell or "\0" in cell:
        raise ValueError("a name must not be empty nor hold a NUL")
    try:
        size = len(cell.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{cell!r:.80} cannot be written as UTF-8") from None
    if size > LONGEST_LINE:
        raise ValueError(f"a name is longer than {LONGEST_LINE:,} bytes")
    return str(cell)


def _table(config: LoadConfig, *, ordered: bool = False) -> FactTable:
    return FactTable(memory_mb=config.memory_mb, disk_gb=config.max_expanded_gb, ordered=ordered)


def _declared_names(
    layout: Layout, config: LoadConfig, table: FactTable
) -> tuple[list[str], list[str]]:
    """The names that a layout lists by id: they get ids even if no fact has them."""
    lists = {"entity": list[str](), "predicate": list[str]()}
    for kind, path in zip(lists, (layout.entities, layout.predicates), strict=True):
        if path:
            lists[kind] = listed_names(Source.at(path, cap=config.cap), layout.kind)
            table.declare(kind, lists[kind])
    return lists["entity"], lists["predicate"]


def _check_listed(layout: Layout, names: tuple[list[str], list[str]]) -> Check | None:
    """For a layout that lists its names: what is wrong with a fact that has others."""
    if layout.kind != "dict":
        return None
    entities, predicates = map(set, names)

    def problem(fact: Row) -> str:
        for name, listed, file in (
            (fact[0], entities, layout.entities),
            (fact[1], predicates, layout.predicates),
            (fact[2], entities, layout.entities),
        ):
            if file and name not in listed:
                return f"{name!r:.80} is not in {shown(file)}"
        return ""

    return problem


@dataclass(frozen=True)
class _File:
    """One file of facts on its way into the table."""

    source: Source
    split: str
    config: LoadConfig
    table: FactTable
    progress: Progress

    def by_id(self, layout: Layout, names: tuple[list[str], list[str]]) -> Read:
        """Ids of the layout's own."""
        refuse_idle(self.source.path, self.config, ("format", *MEANT_FOR), what="facts by id")
        bad = self._bad()
        facts = rows_by_id(self.source, layout.kind, names, bad)
        said = BY_ID_SAID[layout.kind] + self._packed()
        return Read(self.table.add_rows(self.split, facts), said, bad)

    def by_name(self, check: Check | None) -> Read:
        """Names, in any format; `check` says what is wrong with a fact."""
        kind, how = choose(self.source, self.config)
        config = self.config.replace(format=kind)
        if kind in ("tsv", "csv"):
            read = self._delimited(config, check)
        elif check:
            problem = "facts beside entities.dict or relations.dict must be TSV or CSV"
            raise InputError(problem, path=self.source.path)
        else:
            read = self._parquet() if kind == "parquet" else self._rdf(config)
        return replace(read, said=f"{read.said} {how}{read.detail}{self._packed()}")

    def _delimited(self, config: LoadConfig, check: Check | None) -> Read:
        bad, added = self._bad(), None
        try:
            shape = delimited.shape_of(self.source, config)
        except delimited.NoFactError:
            if self.split == "train":
                raise
            return Read(0, "nothing in it", bad)
        if not (check or config.comment):
            added = read_plain(
                self.source, self.split, shape, table=self.table, progress=self.progress
            )
        if added is None:
            facts = delimited.rows(self.source, shape, config, bad, check)
            added = self.table.add_rows(self.split, facts)
        doubt = ""
        if shape.unsure and self.table.stands_alone(self.split, shape.unsure):
            cells = ", ".join(name[:40] for name in shape.unsure)
            header = f"if it is a header, say {setting('header', 'yes')}"
            doubt = f"its first line is read as a fact ({cells}); {header}"
        return Read(added, shape.kind, bad, detail=shape.said, doubt=doubt)

    def _parquet(self) -> Read:
        path = self.source.path
        if self.source.compression:
            path = self.table.folder / f"{self.split}.parquet"
            with disk(), self.source.open() as stream, path.open("wb") as file:
                while block := stream.read(BLOCK):
                    file.write(block)
        found = columnar.read_parquet(
            path, self.split, self.config, self.table, shown=self.source.path
        )
        said = SHOWN["parquet"]
        return Read(found.facts, said, found.bad, detail=f", {found.columns}", doubt=found.doubt)

    def _rdf(self, config: LoadConfig) -> Read:
        bad, terms = self._bad(), rdf.Terms(self.split, config, self.table.add_label)
        added = self.table.add_rows(self.split, rdf.rows(self.source, config, bad, terms))
        return Read(added, SHOWN[config.format], bad, left_out=terms.said)

    def _bad(self) -> BadLines:
        return BadLines(self.source.path, self.config.skip_bad_lines)

    def _packed(self) -> str:
        return f", {self.source.compression}" if self.source.compression else ""
