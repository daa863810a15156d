"""A small table of results: prints well, and becomes pandas, polars, Arrow, JSON or TSV."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import Any

from trifact.errors import ConfigError
from trifact.graph.sources import one_line
from trifact.graph.writers import in_csv

Cell = str | float | bool | None
KINDS: dict[str, type] = {
    "known": bool,
    "facts": int,
    **dict.fromkeys(
        ("score", "probability", "drop", "similarity", "symmetry", "cosine", "inner"), float
    ),
}
"""What stands in columns that are not text; to be known where nothing stands in them."""
ARROW = {str: "string", float: "float64", int: "int64", bool: "bool_"}
WIDEST = 32  # characters of a cell, printed
BREAKS = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, repr=False)
class Answers:
    """Columns by name, all of one length, in the order in which they are shown.

    >>> found = Answers({"object": ["Paris", "Lyon"], "score": [-0.1, -2.5]})
    >>> print(found)
    object   score
    Paris   -0.100
    Lyon    -2.500
    >>> len(found), found[0]
    (2, {'object': 'Paris', 'score': -0.1})
    """

    columns: Mapping[str, Sequence[Cell]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, row: int) -> dict[str, Cell]:
        return {name: column[row] for name, column in self.columns.items()}

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows, {len(self.columns)} columns)"

    def __str__(self) -> str:
        """A plain table; columns in which nothing stands are left out."""
        shown = {n: c for n, c in self.columns.items() if any(cell is not None for cell in c)}
        if not len(self):
            return "(nothing)"
        blocks = [_aligned(name, column) for name, column in shown.items()]
        return "\n".join("  ".join(row).rstrip() for row in zip(*blocks, strict=True))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(written(cell))}</td>" for cell in row.values()) + "</tr>"
            for row in self
        )
        return f"<table><tr>{head}</tr>{rows}</table>"

    @property
    def kinds(self) -> dict[str, type]:
        """By column `str`, `float`, `int` or `bool`, also where there is no row."""
        return {name: _kind(name, column) for name, column in self.columns.items()}

    def to_pandas(self) -> Any:  # noqa: ANN401
        """As a pandas DataFrame."""
        pandas, kinds = _library("pandas"), self.kinds
        return pandas.DataFrame(
            {n: pandas.Series(c, dtype=_dtype(kinds[n], c)) for n, c in self.columns.items()}
        )

    def to_polars(self) -> Any:  # noqa: ANN401
        """As a polars DataFrame."""
        return _library("polars").DataFrame(dict(self.columns), schema=self.kinds)

    def to_arrow(self) -> Any:  # noqa: ANN401
        """As an Arrow table."""
        arrow = _library("pyarrow")
        types = {name: getattr(arrow, ARROW[kind])() for name, kind in self.kinds.items()}
        return arrow.table({n: arrow.array(c, types[n]) for n, c in self.columns.items()})

    def to_json(self) -> str:
        """As JSON: a list with one object a row."""
        rows = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in self)
        return f"[\n {rows}\n]" if rows else "[]"

    def to_csv(self) -> str:
        """As comma-separated text with a header."""
        return self._separated(",", in_csv)

    def to_tsv(self) -> str:
        """As tab-separated text with a header; tabs and line ends in a cell become \\t and \\n."""
        return self._separated("\t", lambda cell: cell.translate(BREAKS))

    def _separated(self, separator: str, escaped: Callable[[str], str]) -> str:
        """A line a row, under a header."""
        rows = (map(_plain, row.values()) for row in self)
        lines = chain([iter(self.columns)], rows)
        return "".join(separator.join(map(escaped, line)) + "\n" for line in lines)


def _kind(name: str, column: Sequence[Cell]) -> type:
    """By what stands in a column, the widest of it; by its name where nothing does."""
    found = {type(cell) for cell in column if cell is not None}
    return next((kind for kind in ARROW if kind in found), KINDS.get(name, str))


def _dtype(kind: type, column: Sequence[Cell]) -> type:
    """That of pandas, where only text and numbers with a point may be missing."""
    return object if kind in (int, bool) and None in column else kind


def written(cell: Cell) -> str:
    """A cell for people."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "known" if cell else "new"
    if isinstance(cell, float):
        return f"{cell:.3f}" if math.isfinite(cell) else str(cell)
    text = one_line(str(cell))
    if len(text) <= WIDEST:
        return text
    return f"{text[: WIDEST // 3]}…{text[-(WIDEST * 2 // 3) :]}"


def _aligned(name: str, column: Sequence[Cell]) -> list[str]:
    """Header and cells, as wide as the widest; numbers to the right."""
    cells = [name, *map(written, column)]
    width = max(map(len, cells))
    numbers = any(isinstance(cell, float | int) and not isinstance(cell, bool) for cell in column)
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in cells]


def _plain(cell: Cell) -> str:
    """A cell for programs."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def _library(name: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigError(f"{name} is not installed; install it with: pip install {name}") from None
