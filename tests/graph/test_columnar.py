"""Parquet and tables: text or ids, and nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trifact
from trifact.errors import InputError

Make = Callable[[str, bytes | str], Path]
FACTS = {"s": ["a", "c", "NA"], "p": ["p", "q", "null"], "o": ["b", "001", "é"]}
AS_SET = {("a", "p", "b"), ("c", "q", "001"), ("NA", "null", "é")}
WHOLE: dict[str, Any] = {"valid": 0.0, "test": 0.0}


def facts(source: object, **settings: Any) -> list[tuple[str, str, str]]:
    graph = trifact.load(source, **WHOLE, **settings)
    names = graph.entities, graph.predicates, graph.entities
    return [tuple(n[i] for n, i in zip(names, fact, strict=True)) for fact in graph.train.tolist()]


def arrow() -> pa.Table:
    return pa.table(FACTS)


def as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(FACTS),
    "pandas of objects": lambda: pd.DataFrame(FACTS, dtype=object),
    "pandas of strings": lambda: pd.DataFrame(FACTS, dtype="string"),
    "pandas of categories": lambda: pd.DataFrame(FACTS, dtype="category"),
    "pandas with an index": lambda: pd.DataFrame(FACTS, index=[7, 7, 9]),
    "pandas without names": lambda: pd.DataFrame(list(zip(*FACTS.values(), strict=True))),
    "polars": lambda: pl.DataFrame(FACTS),
    "polars, lazy": lambda: pl.DataFrame(FACTS).lazy(),
    "polars of categories": lambda: pl.DataFrame(FACTS).cast(pl.Categorical),
    "Arrow": arrow,
    "Arrow, read once": lambda: arrow().to_reader(),
    "Arrow batch": lambda: arrow().to_batches()[0],
    "Arrow, dictionaries": lambda: pa.table({k: arrow()[k].dictionary_encode() for k in "spo"}),
    "Arrow, large": lambda: pa.table({k: arrow()[k].cast(pa.large_string()) for k in "spo"}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_library_are_read(kind: str) -> None:
    assert set(facts(TABLES[kind]())) == AS_SET


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"s": [10, 2], "p": [0, 0], "o": [2, 10]}),
        pd.DataFrame({"s": [10, 2], "p": [0, 0], "o": [2, 10]}, dtype="Int64"),
        pl.DataFrame({"s": [10, 2], "p": [0, 0], "o": [2, 10]}, schema_overrides={"p": pl.UInt8}),
        pa.table({"s": [10, 2], "p": ["0", "0"], "o": [2, 10]}),
    ],
)
def test_whole_numbers_are_ids(table: object) -> None:
    assert set(facts(table)) == {("10", "0", "2"), ("2", "0", "10")}


def test_an_object_column_may_mix_text_and_numbers() -> None:
    rows = [(i, "p", "o") for i in range(3000)] + [("name", "p", 7)]
    found = facts(pd.DataFrame(rows, columns=["s", "p", "o"], dtype=object))
    assert len(found) == 3001
    assert ("name", "p", "7") in found


def test_columns_are_found_by_name_or_chosen(file: Make) -> None:
    table = pa.table({"n": [1.5], "Tail": ["b"], "HEAD": ["a"], "relation": ["p"], "x y": ["z"]})
    path = file("f.parquet", as_parquet(table))
    assert facts(path) == facts(table) == [("a", "p", "b")]
    assert facts(path, columns=("Tail", "relation", "x y")) == [("b", "p", "z")]
    assert facts(path, columns=("5", "4", "3")) == [("z", "p", "a")]
    for columns, problem in (
        (("Tail", "relation", "nope"), "expected columns Tail, relation, nope, found 'n, Tail"),
        (("1", "2", "6"), "expected columns 1, 2, 6"),
        (("0", "1", "2"), "expected columns 0, 1, 2"),
        (("1", "2", "3"), "column 'n' is DOUBLE, not text or whole numbers"),
    ):
        with pytest.raises(InputError, match=rf"f\.parquet: {problem}"):
            facts(path, columns=columns)


def test_two_columns_of_a_known_name_are_no_choice() -> None:
    table = pa.table({"s": ["a"], "S ": ["x"], "p": ["p"], "o": ["b"]})
    with pytest.raises(InputError, match="expected 3 columns, found 's, S , p, o'; choose three"):
        facts(table)
    assert facts(table, columns=("s", "p", "o")) == [("a", "p", "b")]


def test_odd_column_names_are_only_names(file: Make) -> None:
    names = ['s"; drop table facts', "p'", "*"]
    table = pa.table(dict(zip(names, (["a"], ["p"], ["b"]), strict=True)))
    assert facts(table) == facts(file("f.parquet", as_parquet(table))) == [("a", "p", "b")]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([1.5], "DOUBLE"),
        ([True], "BOOLEAN"),
        ([b"x"], "BLOB"),
        ([["x"]], "VARCHAR"),
        ([{"a": 1}], "STRUCT"),
        (pa.array([1]).cast(pa.timestamp("s")), "TIMESTAMP"),
    ],
)
def test_other_columns_are_refused(column: Any, kind: str, file: Make) -> None:
    table = pa.table({"s": ["a"], "p": ["p"], "o": column})
    for source in (table, file("f.parquet", as_parquet(table))):
        with pytest.raises(
            InputError, match=f"column 'o' is .*{kind}.*, not text or whole numbers"
        ):
            facts(source)


@pytest.mark.parametrize("odd", [1.0, True, ["u"], b"x", pd.Timestamp(0), np.zeros(40)])
def test_objects_of_pandas_that_are_no_names_are_refused(odd: object) -> None:
    frame = pd.DataFrame({"s": ["a", "b"], "p": [7, "p"], "o": ["x", odd], "n": [1.5, "y"]})
    with pytest.raises(InputError, match=r"pandas table:2: column 'o' has .* no text"):
        facts(frame.astype(object))


def test_objects_of_pandas_may_be_text_ids_and_missing() -> None:
    cells = ["a", np.int64(3), None, float("nan"), pd.NA, 2**70]
    frame = pd.DataFrame({"s": cells, "p": ["p"] * 6, "o": ["o"] * 6}, dtype=object)
    found = trifact.load(frame, skip_bad_lines=True, **WHOLE)
    assert [*found.entities] == [str(2**70), "3", "a", "o"]


@pytest.mark.parametrize("names", ["spo", "ops", "abc"])
def test_the_columns_are_said_and_doubted_if_they_are_not_known(names: str, file: Make) -> None:
    table = pa.table(dict(zip(names, (["x"], ["p"], ["y"]), strict=True)))
    for source in (table, file("f.parquet", as_parquet(table))):
        said = " ".join(trifact.load(source, **WHOLE).notes)
        order = "a, b, c" if names == "abc" else "s, p, o"
        assert f"columns {order})" in said
        assert ("choose others with columns" in said) == (names == "abc")
        assert "choose" not in " ".join(trifact.load(source, columns=(*names,), **WHOLE).notes)


def test_odd_names_cannot_break_the_sentence() -> None:
    table = pa.table({"s": ["a"], "p": ["p"], "o\n": [{"x\ny": 1}]})
    for settings in ({}, {"columns": ("s", "p", "q\n")}):
        with pytest.raises(InputError) as caught:
            facts(table, **settings)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("bad", [None, "", "a\0b", "x" * (1 << 20) + "y"])
def test_a_name_that_is_none_is_named_by_its_row(bad: str | None, file: Make) -> None:
    column: list[str | None] = [f"e{i}" for i in range(5000)]
    column[2345] = bad
    table = pa.table({"s": column, "p": ["p"] * 5000, "o": ["o"] * 5000})
    for source in (table, table.to_reader(), file("f.parquet", as_parquet(table))):
        with pytest.raises(InputError, match="2346: a name of this row is null"):
            facts(source)


def test_bad_rows_are_dropped_counted_and_shown(file: Make) -> None:
    table = pa.table({"s": ["a", None] * 10, "p": ["p"] * 20, "o": ["o"] * 20})
    for source, name in (
        (file("f.parquet", as_parquet(table)), "f.parquet"),
        (table.to_pandas(), "pandas table"),
    ):
        graph = trifact.load(source, skip_bad_lines=True, **WHOLE)
        assert len(graph.train) == 10
        note = next(note for note in graph.notes if "bad" in note)
        assert "10 bad lines dropped, the first 5: " in note
        assert [f"{name}:{row}: " in note for row in (2, 10, 12)] == [True, True, False]


def test_text_that_is_not_utf8_is_an_input_error() -> None:
    offsets, data = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")
    column = pa.Array.from_buffers(pa.string(), 1, [None, offsets, data])
    with pytest.raises(InputError):
        facts(pa.table({"s": column, "p": ["p"], "o": ["o"]}))


@pytest.mark.parametrize(
    "table", [pa.table({"s": ["a"]}), pd.DataFrame({"s": [], "p": [], "o": []}), pd.DataFrame()]
)
def test_tables_without_facts_are_refused(table: object) -> None:
    with pytest.raises(InputError, match="table: "):
        facts(table)


def test_an_empty_parquet_file_has_no_fact(file: Make) -> None:
    empty = arrow().slice(0, 0)
    with pytest.raises(InputError, match=r"f\.parquet: there is no fact in it"):
        facts(file("f.parquet", as_parquet(empty)))


def test_what_only_calls_itself_parquet_is_refused(file: Make) -> None:
    whole = as_parquet(arrow())
    for content in (whole[:-30], b"PAR1\0", b"PAR1" + bytes(40) + b"PAR1", whole[:40] + whole[48:]):
        with pytest.raises(InputError, match=r"f\.parquet: "):
            facts(file("f.parquet", content))


def test_paths_are_never_patterns(file: Make) -> None:
    for name in ("*.parquet", "[a].parquet", "it's.parquet", "{x,y}.parquet", "a\nb.parquet"):
        path = file(f"odd/{name}", as_parquet(arrow()))
        assert set(facts(path)) == AS_SET
        path.unlink()
