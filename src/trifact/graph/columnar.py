"""Parquet files and tables of pandas, polars or Arrow: text columns or ids, by DuckDB."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from trifact.errors import InputError
from trifact.graph.duck import first_line, parquet, quoted
from trifact.graph.facttable import FactTable
from trifact.graph.formats import MEANT_FOR, refuse_idle
from trifact.graph.headers import known_header, plain
from trifact.graph.options import LoadConfig
from trifact.graph.sources import LONGEST_LINE, BadLines, one_line
from trifact.wording import setting

INTEGERS = {f"{sign}{size}" for sign in ("", "U") for size in
            ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}  # fmt: skip
BAD = " or ".join(
    f"{key} is null or {key} = '' or contains({key}, chr(0)) or strlen({key}) > {LONGEST_LINE}"
    for key in "spo"
)


class Added(NamedTuple):
    """How many facts came from which columns, and the rows that gave none."""

    facts: int
    columns: str
    doubt: str
    """What to say of them; empty where they were asked for or known by name."""
    bad: BadLines


def read_parquet(
    path: Path, split: str, config: LoadConfig, table: FactTable, *, shown: Path
) -> Added:
    """Add the facts of a Parquet file; `shown` is what errors call it."""
    bad = BadLines(shown, config.skip_bad_lines)
    try:
        return _read(parquet(quoted(table.link(path))), split, config, table=table, bad=bad)
    except duckdb.Error:
        problem = "this is not Parquet, or it is damaged or cut short; write or fetch it again"
        raise InputError(problem, path=shown) from None


def read_table(frame: object, split: str, config: LoadConfig, table: FactTable) -> Added:
    """Add the facts of a pandas, polars or Arrow table."""
    library = type(frame).__module__.split(".")[0]
    bad = BadLines(Path(f"{library} table"), config.skip_bad_lines)
    idle = ("format", *(name for name in MEANT_FOR if name != "columns"))
    refuse_idle(bad.path, config, idle, what="a table")
    try:
        # copied first: some tables, such as Arrow's readers, can be read only once
        with table.registered(frame) as name, table.keeping_order():
            table.query(f"create temp table copied as from {name}")
        if library == "pandas":
            types = _types("copied", table)
            for name in _columns(types, config, bad.path):
                _check_cells(frame, [*types].index(name), name, bad.path)
        return _read("copied", split, config, table=table, bad=bad)
    except duckdb.Error as error:
        why = first_line(error)
        raise InputError(f"this table cannot be read ({why})", path=bad.path) from None


def _check_cells(frame: Any, place: int, name: str, path: Path) -> None:  # noqa: ANN401 - pandas
    """Refuse a column of Python objects that are no names: DuckDB would take their looks."""
    import pandas as pd

    column = frame.iloc[:, place]
    if column.dtype != object or pd.api.types.infer_dtype(column) in ("string", "integer"):
        return
    for number, cell in enumerate(column, 1):
        missing = pd.api.types.is_scalar(cell) and pd.isna(cell)
        if not (isinstance(cell, str) or missing or whole_number(cell) is not None):
            problem = f"column {name!r:.80} has {cell!r:.80}, which is no text or whole number"
            raise InputError(one_line(problem), path=path, line=number)


def whole_number(cell: Any) -> int | None:  # noqa: ANN401 - whatever Python has
    """A value of any integer type as a number; None if it is no such value, or a truth value."""
    try:
        return None if isinstance(cell, bool) else operator.index(cell)
    except TypeError:  # of arrays and tensors only those that hold one whole number are one
        return None


def _types(source: str, table: FactTable) -> dict[str, str]:
    """The types of the columns, by name."""
    return {str(row[0]): str(row[1]) for row in table.query(f"describe select * from {source}")}


def _read(source: str, split: str, config: LoadConfig, *, table: FactTable, bad: BadLines) -> Added:
    types = _types(source, table)
    chosen = _columns(types, config, bad.path)
    columns = [_text(name, types[name], bad.path) for name in chosen]
    names = ", ".join(f"{column} as {key}" for column, key in zip(columns, "spo", strict=True))
    rows = f"select {names} from {source}"
    if table.query(f"select 1 from ({rows}) where {BAD} limit 1"):
        _report_bad(rows, table=table, bad=bad)
    facts = table.add_query(split, f"select s, p, o from ({rows}) where not ({BAD})")
    sure = config.columns or known_header([*types])
    others = f"choose others with {setting('columns')}"
    doubt = "" if sure else f"its columns are taken in this order; {others}"
    said = one_line(", ".join(name[:40] for name in chosen))
    return Added(facts, f"columns {said}", doubt, bad)


def _columns(types: dict[str, str], config: LoadConfig, path: Path) -> list[str]:
    """The three columns asked for, known by name, or all there are."""
    there, numbers = list(types), config.column_numbers
    known = known_header(there)
    if numbers:
        found = [there[n] for n in numbers if 0 <= n < len(there)]
    elif config.columns:
        found = [name for name in config.columns if name in types]
    elif known:
        found = [name for key in known for name in there if plain(name) == key]
    else:
        found = there
    if len(found) == 3:
        return found
    wanted = f"columns {one_line(', '.join(config.columns))}" if config.columns else "3 columns"
    hint = f"choose three with {setting('columns')}"
    raise InputError(f"expected {wanted}, found {', '.join(there)[:200]!r}; {hint}", path=path)


def _text(name: str, kind: str, path: Path) -> str:
    column = '"' + name.replace('"', '""') + '"'
    if kind in INTEGERS or kind in ("VARCHAR", '"NULL"') or kind.startswith("ENUM"):
        return f"cast({column} as varchar)"
    problem = f"column {name!r:.80} is {one_line(kind[:80])}, not text or whole numbers"
    raise InputError(f"{problem}; choose other ones with {setting('columns')}", path=path)


def _report_bad(rows: str, *, table: FactTable, bad: BadLines) -> None:
    """Name the first rows that lack a name, and count all of them."""
    numbered = f"select row_number() over () as n, * from ({rows})"
    with table.keeping_order():
        first = table.query(f"select n from ({numbered}) where {BAD} order by n limit 5")
    for (number,) in first:
        bad.report(int(str(number)), "a name of this row is null, empty, too long or holds a NUL")
    bad.count = int(str(table.query(f"select count(*) from ({rows}) where {BAD}")[0][0]))
