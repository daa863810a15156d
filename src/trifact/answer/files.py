"""Answers to a file: TSV, CSV, JSON or Parquet, by its ending, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trifact.answer.answers import Answers, Cell
from trifact.durable import refuse_existing, refuse_no_file, write_text
from trifact.errors import OutputError
from trifact.graph.storage import write_parquet

TYPES = {str: "varchar", float: "double", int: "bigint", bool: "boolean"}
ENDINGS = (".tsv", ".csv", ".json", ".parquet")


def check_free(path: Path, *, overwrite: bool, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse a path of another ending, or one where something is; before the work, not after."""
    if path.suffix.lower() not in endings:
        raise OutputError(f"{path}: name it {', '.join(endings[:-1])} or {endings[-1]}")
    refuse_no_file(path)
    refuse_existing(path, overwrite=overwrite)


def write_answers(found: Answers, path: Path, *, overwrite: bool = False) -> None:
    """Write a table of answers."""
    check_free(path, overwrite=overwrite)
    texts = {".tsv": found.to_tsv, ".csv": found.to_csv, ".json": found.to_json}
    if path.suffix.lower() == ".parquet":
        _write_parquet(found, path)
    else:
        write_text(path, texts[path.suffix.lower()]())


def _write_parquet(found: Answers, path: Path) -> None:
    """Through text, empty where there is nothing, to the type that a column has."""
    arrays = {name: _text(column) for name, column in found.columns.items()}
    typed = [f"nullif({name}, '')::{TYPES[kind]} as {name}" for name, kind in found.kinds.items()]
    write_parquet(path, arrays, f"select {', '.join(typed)} from columns")


def _text(column: Sequence[Cell]) -> NDArray[np.object_]:
    return np.array(["" if cell is None else str(cell) for cell in column], dtype=object)
