"""Facts by name in, facts by id out: DuckDB holds the names, spills to disk, and maps them."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import numpy as np

from trifact.errors import InputError, OutputError
from trifact.graph.duck import NO_SPACE, first_line, hearing_ctrl_c, quoted
from trifact.graph.known import Ints, in_order
from trifact.graph.splitting import SPLITS
from trifact.graph.vocabulary import Vocabulary
from trifact.wording import setting

Row = tuple[str, str, str]
ROWS_AT_ONCE = 50_000


@contextmanager
def disk() -> Iterator[None]:
    """Temporary files that cannot be written, as an OutputError."""
    try:
        yield
    except OSError as error:
        raise _no_temporary_files(error.strerror or str(error)) from None


def _no_temporary_files(why: str) -> OutputError:
    advice = "free some space, or set TMPDIR to a folder with more"
    return OutputError(f"temporary files cannot be written ({why}); {advice}")


class FactTable:
    """A table of facts by name, filled by queries or by rows, within bounded memory.

    Only if it is `ordered` do facts stay in the order they came in.
    """

    def __init__(self, *, memory_mb: int, disk_gb: float, ordered: bool = False) -> None:
        with disk():  # an object, not a path: it removes itself, unless the process is killed
            self._folder = tempfile.TemporaryDirectory(
                prefix="trifact-", ignore_cleanup_errors=True
            )
        self.folder = Path(self._folder.name)
        self._links, self._filled, self._labels = itertools.count(), set[str](), list[Row]()
        self._ordered = ordered
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(self.folder / "spill"),
            "max_temp_directory_size": f"{max(disk_gb, 1):.0f}GB",
            "preserve_insertion_order": ordered,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._base = duckdb.connect(config=settings)
        self.query("set enable_progress_bar = false")
        self.query("create table facts (split tinyint, s varchar, p varchar, o varchar)")
        self.query("create table declared (kind varchar, name varchar)")
        self.query("create table labels (name varchar, label varchar, rank varchar)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.close()
        self._folder.cleanup()

    def link(self, path: Path) -> Path:
        """A path to the same file that holds nothing DuckDB would take for a pattern."""
        link = self.folder / f"link{next(self._links)}"
        with disk():
            link.symlink_to(path.absolute())
        return link

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a query; DuckDB's errors go through, but for a lack of memory or space."""
        with _querying():
            return self._base.execute(sql).fetchall()

    @contextmanager
    def registered(self, columns: object) -> Iterator[str]:
        """A table of Python's (columns, pandas, polars, Arrow) under a name, for a while."""
        self._base.register("incoming", columns)
        try:
            yield "incoming"
        finally:
            self._base.unregister("incoming")

    @contextmanager
    def keeping_order(self) -> Iterator[None]:
        """For a while, rows stay in the order they came in; else that costs too much memory."""
        self.query("set preserve_insertion_order = true")
        try:
            yield
        finally:
            self.query(f"set preserve_insertion_order = {self._ordered}")

    def add_query(self, split: str, select: str) -> int:
        """Append the rows of `select` (three text columns); returns how many."""
        self._filled.add(split)
        number = SPLITS.index(split)
        return int(str(self.query(f"insert into facts select {number}, * from ({select})")[0][0]))

    def drop(self, split: str) -> None:
        """Forget the facts of a split."""
        self.query(f"delete from facts where split = {SPLITS.index(split)}")

    def add_rows(self, split: str, rows: Iterable[Row]) -> int:
        """Append facts one by one, inserted in blocks; returns how many."""
        added, rows = 0, iter(rows)
        while block := list(itertools.islice(rows, ROWS_AT_ONCE)):
            with self._block(block) as incoming:
                added += self.add_query(split, f"select a, b, c from {incoming}")
        return added

    def add_label(self, name: str, label: str, rank: str) -> None:
        """A label of a name that may come to have an id; of several, the first by rank counts."""
        self._labels.append((name, label, rank))
        if len(self._labels) == ROWS_AT_ONCE:
            self._flush_labels()

    def _flush_labels(self) -> None:
        if self._labels:
            with self._block(self._labels) as incoming:
                self.query(f"insert into labels select a, b, c from {incoming}")
        self._labels = []

    @contextmanager
    def _block(self, rows: list[Row]) -> Iterator[str]:
        """Rows under a name, for a while, with the columns a, b and c."""
        columns = dict(zip("abc", np.array(rows, dtype=object).T, strict=True))
        with _own_work(), self.registered(columns) as incoming:
            yield incoming

    def declare(self, kind: str, names: list[str]) -> None:
        """Names ("entity" or "predicate") that get an id even if no fact has them."""
        column = {"name": np.array(names, dtype=object)}
        with _own_work(), self.registered(column) as incoming:
            self.query(f"insert into declared select '{kind}', name from {incoming}")

    def stands_alone(self, split: str, fact: Row) -> bool:
        """Whether a fact is the only one of its split whose names all stand nowhere else there."""
        s, p, o = map(quoted, fact)
        its = f"from facts where split = {SPLITS.index(split)}"
        once = f"select name from (select s as name {its} union all select o {its}) group by name"
        alone = f"p in (select p {its} group by p having count(*) = 1)"
        alone += "".join(f" and {end} in ({once} having count(*) = 1)" for end in "so")
        near = f"s in ({s}, {o}) or o in ({s}, {o}) or p = {p}"
        with _own_work():
            [(facts, touching)] = self.query(f"select count(*), count(*) filter ({near}) {its}")
            if touching != 1 or facts == 1:  # most end here, before the names are counted
                return False
            return self.query(f"select s, p, o {its} and {alone}") == [fact]

    def rows(self) -> list[Row]:
        """All facts by name."""
        with _own_work():
            return [(str(s), str(p), str(o)) for s, p, o in self.query("select s, p, o from facts")]

    def to_ids(self) -> tuple[Vocabulary, Vocabulary, dict[str, Ints]]:
        """Entities and predicates in the order of their names, and the facts of each split.

        The facts by name are gone after it, to make room for sorting those by id.
        """
        with _own_work():
            entities = self._vocabulary("entity", "select s from facts union select o from facts")
            predicates = self._vocabulary("predicate", "select distinct p from facts")
            splits = {split: self._ids(split) for split in SPLITS}
            self.query("drop table facts")
        for split in SPLITS:
            splits[split] = in_order(splits[split])
        return entities, predicates, splits

    def apart_by_blanks(self) -> int:
        """Names with an id that are another one's but for blanks at their ends."""
        found = 0
        for kind in ("entity", "predicate"):
            blank = f"select name from {kind} where name <> trim(name)"
            if self.query(f"{blank} limit 1"):  # else there is no need to look at all names
                also = (
                    f"select count(*) from ({blank}) where trim(name) in (from {kind} select name)"
                )
                found += int(str(self.query(also)[0][0]))
        return found

    def labels(self, kind: str) -> dict[int, str]:
        """The labels of entities or predicates by their ids, once they have some."""
        self._flush_labels()
        with _own_work():
            found = self._columns(
                f"select distinct on (id) id, label from labels join {kind} using (name) "
                "order by id, rank, label"
            )
        return dict(zip(found["id"].tolist(), found["label"].tolist(), strict=True))

    def _vocabulary(self, kind: str, names: str) -> Vocabulary:
        self.query(
            f"create table {kind} as select name, hash(name) as code, "
            "cast(row_number() over (order by name) - 1 as integer) as id "
            f"from ({names} union select name from declared where kind = '{kind}') as names(name)"
        )
        names_by_id = self._columns(f"select name from {kind} order by id")["name"]
        return Vocabulary.of_sorted([name.encode() for name in names_by_id])

    def _ids(self, split: str) -> Ints:
        """The facts of a split by id, in no order."""
        if split not in self._filled:
            return np.empty((0, 3), dtype=np.int64)
        on = {k: self._same_name(k) for k in ("entity", "predicate")}
        columns = self._columns(
            "select subject.id as s, predicate.id as p, object.id as o from facts "
            f"join entity subject on {on['entity'].format('s', 'subject')} "
            f"join predicate on {on['predicate'].format('p', 'predicate')} "
            f"join entity object on {on['entity'].format('o', 'object')} "
            f"where split = {SPLITS.index(split)}"
        )
        facts = np.empty((len(columns["s"]), 3), dtype=np.int64)
        for place, key in enumerate("spo"):
            facts[:, place] = columns.pop(key)
        return facts

    def _same_name(self, kind: str) -> str:
        """How to join by name: by hash, which takes half the time, unless two names share one."""
        clashes = self.query(f"select count(*) - count(distinct code) from {kind}")[0][0]
        return "{} = {}.name" if clashes else "hash({}) = {}.code"

    def _columns(self, select: str) -> dict[str, np.ndarray]:
        with _querying():
            return dict(self._base.execute(select).fetchnumpy())


@contextmanager
def _querying() -> Iterator[None]:
    """Ctrl-C as Python knows it; a lack of memory or of space as an error that says what to do."""
    try:
        with hearing_ctrl_c():
            yield
    except duckdb.OutOfMemoryException:
        what_to_do = f"raise {setting('memory_mb')}, or free some disk for temporary files"
        raise InputError(f"the facts do not fit into memory; {what_to_do}") from None
    except duckdb.IOException as error:
        if NO_SPACE not in str(error):
            raise
        raise _no_temporary_files(NO_SPACE) from None


@contextmanager
def _own_work() -> Iterator[None]:
    """What can fail where no file of the user's is involved: the disk, or names from Arrow."""
    try:
        yield
    except duckdb.InvalidInputException as error:
        raise InputError(f"a name is not text ({first_line(error)})") from None
    except duckdb.Error as error:
        raise _no_temporary_files(first_line(error)) from None
