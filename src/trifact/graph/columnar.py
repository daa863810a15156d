"""Parquet files, and tables of pandas, polars and Arrow: columns of names or ids, by DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb

from trifact.errors import InputError
from trifact.graph.delimited import HEADERS
from trifact.graph.facttable import FactTable
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines

INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in
            ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}  # fmt: skip


def read_parquet(
    path: Path, split: str, config: LoadConfig, table: FactTable, *, shown: Path
) -> tuple[int, BadLines]:
    """Add the facts of a Parquet file; `shown` is what errors call it."""
    bad = BadLines(shown, config.skip_bad_lines)
    return _read(f"read_parquet('{table.link(path)}')", split, config, table=table, bad=bad), bad


def read_table(
    frame: object, split: str, config: LoadConfig, table: FactTable
) -> tuple[int, BadLines]:
    """Add the facts of a pandas, polars or Arrow table."""
    bad = BadLines(Path(f"{type(frame).__module__.split('.')[0]} table"), config.skip_bad_lines)
    with table.registered(frame) as name:
        return _read(name, split, config, table=table, bad=bad), bad


def _read(relation: str, split: str, config: LoadConfig, *, table: FactTable, bad: BadLines) -> int:
    try:
        described = table.query(f"describe select * from {relation}")
        types = {str(row[0]): str(row[1]) for row in described}
        columns = [_text(name, types[name], bad.path) for name in _columns(types, config, bad.path)]
        names = ", ".join(f"{column} as {key}" for column, key in zip(columns, "spo", strict=True))
        rows = f"select {names} from {relation}"
        empty = " or ".join(
            f"({key} is null or {key} = '' or contains({key}, chr(0)))" for key in "spo"
        )
        if table.query(f"select 1 from ({rows}) where {empty} limit 1"):
            _report_empty(rows, empty, table=table, bad=bad)
        return table.add_query(split, f"select s, p, o from ({rows}) where not ({empty})")
    except duckdb.Error as error:
        first_line = str(error).splitlines()[0]
        raise InputError(
            f"cannot be read as Parquet or a table ({first_line})", path=bad.path
        ) from None


def _columns(types: dict[str, str], config: LoadConfig, path: Path) -> list[str]:
    """The three columns asked for, known by name, or all there are."""
    there, wanted = list(types), config.columns
    if wanted and all(name.isdecimal() for name in wanted):
        wanted = tuple(there[int(n) - 1] for n in wanted if 0 < int(n) <= len(there))
    lower = {name.lower(): name for name in there}
    known = next((header for header in HEADERS if set(header) <= set(lower)), None)
    found = list(wanted) if config.columns else [lower[k] for k in known] if known else there
    if len(found) == 3 and set(found) <= set(there):
        return found
    hint = "choose three with --columns"
    raise InputError(f"expected 3 columns, found {', '.join(there)[:200]}; {hint}", path=path)


def _text(name: str, kind: str, path: Path) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if kind in INTEGERS or kind == "VARCHAR" or kind.startswith("ENUM"):
        return f"cast({quoted} as varchar)"
    problem = f"column {name} is {kind}, not text or whole numbers"
    raise InputError(f"{problem}; choose other columns with --columns", path=path)


def _report_empty(rows: str, empty: str, *, table: FactTable, bad: BadLines) -> None:
    """Name the first rows that lack a name; the count of all, where they are skipped."""
    numbered = f"select row_number() over () as n, * from ({rows})"
    table.query("set preserve_insertion_order = true")
    found = table.query(f"select n from ({numbered}) where {empty} order by n")
    table.query("set preserve_insertion_order = false")
    for (number,) in found:
        bad.report(int(str(number)), "a name of this row is null, empty or holds a NUL")
