"""From a path, a table or tuples to facts by id: every format and layout comes together here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trifact.errors import InputError
from trifact.graph import columnar, delimited, rdf
from trifact.graph.facttable import SPLITS, FactTable, Row
from trifact.graph.formats import SHOWN, choose
from trifact.graph.known import Ints
from trifact.graph.layouts import Layout, listed_names, rows_by_id
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source
from trifact.graph.vocabulary import Vocabulary
from trifact.progress import Progress


@dataclass(frozen=True)
class Reading:
    """Facts by id, the names behind the ids, and what was done to get them, for people."""

    entities: Vocabulary
    predicates: Vocabulary
    splits: dict[str, Ints]
    notes: tuple[str, ...]


def read_layout(layout: Layout, config: LoadConfig, progress: Progress) -> Reading:
    """Read all files of a layout."""
    with _table(config) as table:
        names = _declare_names(layout, config, table)
        notes = []
        for split, path in layout.facts.items():
            source = _source(path, config)
            if layout.kind in ("del", "openke"):
                bad = BadLines(path, config.skip_bad_lines)
                added = table.add_rows(split, rows_by_id(source, layout.kind, names, bad))
                said = "facts by id, " + ("s p o" if layout.kind == "del" else "s o p (OpenKE)")
            else:
                added, said, bad = _read_file(source, split, config, table=table, progress=progress)
            notes += [_note(path.name, said, added), *_bad_note(bad)]
            if not added and split == "train":
                raise InputError("there is no fact in it", path=path)
        progress("giving ids", 0, 0)
        return _reading(table, notes)


def read_table(frame: object, config: LoadConfig) -> Reading:
    """Read a table of pandas, polars or Arrow."""
    with _table(config) as table:
        added, bad = columnar.read_table(frame, "train", config, table)
        if not added:
            raise InputError("there is no fact in it", path=bad.path)
        return _reading(table, [_note("the table", "by columns", added), *_bad_note(bad)])


def read_tuples(facts: Iterable[Iterable[object]], config: LoadConfig) -> Reading:
    """Read tuples (subject, predicate, object) of text or whole numbers."""
    bad = BadLines(Path("facts"), config.skip_bad_lines)
    with _table(config) as table:
        added = table.add_rows("train", _checked(facts, bad))
        if not added:
            raise InputError("there is no fact in it", path=bad.path)
        return _reading(table, [_note("the facts", "tuples", added), *_bad_note(bad)])


def _checked(facts: Iterable[Iterable[object]], bad: BadLines) -> Iterator[Row]:
    for number, fact in enumerate(facts, 1):
        cells = [fact] if isinstance(fact, str) or not isinstance(fact, Iterable) else [*fact]
        problem = "" if len(cells) == 3 else f"expected 3 names, found {len(cells)}"
        problem = problem or next((p for cell in cells if (p := _name_problem(cell))), "")
        if problem:
            bad.report(number, problem)
        else:
            yield str(cells[0]), str(cells[1]), str(cells[2])


def _name_problem(cell: object) -> str:
    """What is wrong with a name that came from Python; ids may be any integer type."""
    if hasattr(cell, "__index__") and not isinstance(cell, bool):
        return ""
    if not isinstance(cell, str):
        return f"a name must be text or a whole number, not {cell!r:.80}"
    if not cell or "\0" in cell:
        return "a name must not be empty nor hold a NUL"
    try:
        cell.encode()
    except UnicodeEncodeError:
        return f"{cell!r:.80} cannot be written as UTF-8"
    return ""


def _table(config: LoadConfig) -> FactTable:
    return FactTable(memory_mb=config.memory_mb, disk_gb=config.max_expanded_gb)


def _source(path: Path, config: LoadConfig) -> Source:
    return Source.at(path, cap=int(config.max_expanded_gb * 1e9))


def _declare_names(
    layout: Layout, config: LoadConfig, table: FactTable
) -> tuple[list[str], list[str]]:
    """The names that a layout lists by id: they get ids even if no fact has them."""
    lists = []
    for kind, path in (("entity", layout.entities), ("predicate", layout.predicates)):
        lists.append(listed_names(_source(path, config), layout.kind) if path else [])
        table.declare(kind, lists[-1])
    return lists[0], lists[1]


def _read_file(
    source: Source, split: str, config: LoadConfig, *, table: FactTable, progress: Progress
) -> tuple[int, str, BadLines]:
    """One file of facts by name: how many, what was chosen, and its bad lines."""
    kind, how = choose(source, config.format)
    config = config.replace(format=kind)
    packed = f", {source.compression}" if source.compression else ""
    if kind in ("tsv", "csv"):
        added, said, bad = delimited.read(source, split, config, table=table, progress=progress)
        return added, f"{said} {how}{packed}", bad
    if kind == "parquet":
        path = _expanded(source, table.folder / f"{split}.parquet") if packed else source.path
        added, bad = columnar.read_parquet(path, split, config, table, shown=source.path)
        return added, f"Parquet {how}{packed}", bad
    bad, left_out = BadLines(source.path, config.skip_bad_lines), rdf.LeftOut()
    added = table.add_rows(split, rdf.rows(source, config, bad, left_out))
    skipped = f"; {left_out.said}" if left_out.said else ""
    return added, f"{SHOWN[kind]} {how}{packed}{skipped}", bad


def _expanded(source: Source, copy: Path) -> Path:
    with source.open() as stream, copy.open("wb") as file:
        while block := stream.read(1 << 20):
            file.write(block)
    return copy


def _note(name: str, said: str, facts: int) -> str:
    return f"{name}: {facts:,} facts ({said})"


def _bad_note(bad: BadLines) -> list[str]:
    if not bad.count:
        return []
    return [f"{bad.path.name}: {bad.count:,} bad lines dropped, the first: {'; '.join(bad.first)}"]


def _reading(table: FactTable, notes: list[str]) -> Reading:
    entities, predicates, splits = table.to_ids()
    assert list(splits) == list(SPLITS)
    return Reading(entities, predicates, splits, tuple(notes))
