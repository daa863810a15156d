"""Facts by name in, facts by id out: DuckDB holds the names, spills to disk, and maps them."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import numpy as np

from trifact.errors import InputError
from trifact.graph.known import Ints, in_order
from trifact.graph.vocabulary import Vocabulary

Row = tuple[str, str, str]
SPLITS = ("train", "valid", "test")
ROWS_AT_ONCE = 50_000


class FactTable:
    """A table of facts by name, filled by queries or by rows, within bounded memory."""

    def __init__(self, *, memory_mb: int, disk_gb: float) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="trifact-"))
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(self.folder / "spill"),
            "max_temp_directory_size": f"{max(disk_gb, 1):.0f}GB",
            "preserve_insertion_order": False,
        }
        self._base = duckdb.connect(config=settings)
        self._base.execute("create table facts (split tinyint, s varchar, p varchar, o varchar)")
        self._base.execute("create table declared (kind varchar, name varchar)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def link(self, path: Path) -> str:
        """A path to the same file that holds nothing DuckDB would take for a pattern."""
        link = self.folder / f"link{len(list(self.folder.glob('link*')))}"
        link.symlink_to(path.resolve())
        return str(link)

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a query; DuckDB's own errors go through."""
        return self._base.execute(sql).fetchall()

    @contextmanager
    def registered(self, columns: object) -> Iterator[str]:
        """A table of Python's (columns, pandas, polars, Arrow) under a name, for a while."""
        self._base.register("incoming", columns)
        try:
            yield "incoming"
        finally:
            self._base.unregister("incoming")

    def add_query(self, split: str, select: str) -> int:
        """Append the rows of `select` (three text columns); returns how many."""
        number = SPLITS.index(split)
        done = self._base.execute(f"insert into facts select {number}, * from ({select})")
        return int(done.fetchall()[0][0])

    def drop(self, split: str) -> None:
        """Forget the facts of a split."""
        self._base.execute("delete from facts where split = ?", [SPLITS.index(split)])

    def add_rows(self, split: str, rows: Iterable[Row]) -> int:
        """Append facts one by one, inserted in blocks; returns how many."""
        number, added, rows = SPLITS.index(split), 0, iter(rows)
        while block := list(itertools.islice(rows, ROWS_AT_ONCE)):
            names = dict(zip("spo", np.array(block, dtype=object).T, strict=True))
            with self.registered(names) as incoming:
                self.query(f"insert into facts select {number}, s, p, o from {incoming}")
            added += len(block)
        return added

    def declare(self, kind: str, names: Iterable[str]) -> None:
        """Names ("entity" or "predicate") that get an id even if no fact has them."""
        with self.registered({"name": np.array([*names], dtype=object)}) as incoming:
            self.query(f"insert into declared select '{kind}', name from {incoming}")

    def to_ids(self) -> tuple[Vocabulary, Vocabulary, dict[str, Ints]]:
        """Entities and predicates in the order of their names, and the facts of each split."""
        try:
            entities = self._vocabulary("entity", "select s from facts union select o from facts")
            predicates = self._vocabulary("predicate", "select distinct p from facts")
            return entities, predicates, {split: self._ids(split) for split in SPLITS}
        except duckdb.OutOfMemoryException:
            raise InputError(
                "the facts do not fit; raise --memory-mb, or free some disk for temporary files"
            ) from None

    def _vocabulary(self, kind: str, names: str) -> Vocabulary:
        self._base.execute(
            f"create table {kind} as select name, cast(row_number() over (order by name) - 1 as "
            f"integer) as id from ({names} union select name from declared where kind = '{kind}') "
            "as names(name)"
        )
        column = self._base.execute(f"select name from {kind} order by id").fetchnumpy()["name"]
        return Vocabulary.of_sorted([name.encode() for name in column])

    def _ids(self, split: str) -> Ints:
        columns = self._base.execute(
            "select a.id as s, b.id as p, c.id as o from facts join entity a on s = a.name "
            "join predicate b on p = b.name join entity c on o = c.name where split = ?",
            [SPLITS.index(split)],
        ).fetchnumpy()
        return in_order(np.stack([columns[key] for key in "spo"], axis=1).astype(np.int64))
