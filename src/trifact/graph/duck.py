"""DuckDB: quiet connections that hear Ctrl-C, text for its SQL, and what it says in one line."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from trifact.errors import InputError
from trifact.graph.sources import one_line

NO_SPACE = os.strerror(errno.ENOSPC)


@contextmanager
def connected(*, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A base in memory, for a while."""
    with hearing_ctrl_c(), duckdb.connect() as base:
        base.execute("set enable_progress_bar = false")
        if threads is not None:
            base.execute(f"set threads = {threads}")
        yield base


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """Ctrl-C within a query as Python knows it; DuckDB makes another error of it."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


def quoted(text: object) -> str:
    """A text constant of SQL; a path that is not UTF-8, which DuckDB cannot have, is refused."""
    try:
        str(text).encode()
    except UnicodeEncodeError:
        problem = "this path is not UTF-8; rename what is not, or choose another folder"
        path = os.fsencode(str(text)).decode(errors="backslashreplace")
        raise InputError(problem, path=path) from None
    return "'" + str(text).replace("'", "''") + "'"


def quoted_path(path: Path) -> str:
    """A path to read from, as a text constant; what would be a pattern means itself."""
    return quoted(re.sub(r"[\[*?]", r"[\g<0>]", str(path.resolve())))


def parquet(path: str) -> str:
    """The table in a Parquet file, by its path as a constant; no folder `key=value` is a column."""
    return f"read_parquet({path}, hive_partitioning = false)"


def first_line(error: Exception) -> str:
    """What DuckDB says, without the advice for its own users."""
    if NO_SPACE in str(error):
        return NO_SPACE
    return one_line(next(iter(str(error).splitlines()), type(error).__name__))
