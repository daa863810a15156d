"""A table of answers prints, converts, and is written and read back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

import trifact
from trifact.answer.answers import Answers
from trifact.answer.files import check_free, write_answers
from trifact.errors import OutputError

FOUND = Answers(
    {
        "object": ["Paris", "a\tb\\", 'say "x", y'],
        "label": [None, "Tab", "Ωmega"],
        "score": [-0.25, -1.5, None],
        "known": [True, False, None],
    }
)


def test_it_prints_as_a_table() -> None:
    lines = str(FOUND).splitlines()
    assert lines[0].split() == ["object", "label", "score", "known"]
    assert lines[1].split() == ["Paris", "-0.250", "known"]
    assert str(Answers({"object": [], "score": []})) == "(nothing)"
    assert "probability" not in str(Answers({"object": ["a"], "probability": [None]}))
    assert "<td>Ωmega</td>" in FOUND._repr_html_()


def test_it_becomes_frames_with_the_same_rows() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    assert isinstance(FOUND.to_pandas(), pandas.DataFrame)
    assert isinstance(FOUND.to_polars(), polars.DataFrame)
    assert isinstance(FOUND.to_arrow(), arrow.Table)
    assert FOUND.to_polars().rows(named=True) == list(FOUND)
    assert FOUND.to_arrow().to_pylist() == list(FOUND)
    assert FOUND.to_pandas()["object"].tolist() == list(FOUND.columns["object"])


@pytest.mark.parametrize("rows", [0, 2])
def test_frames_have_the_same_types_where_nothing_stands(rows: int) -> None:
    pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    full = Answers({"object": ["a"], "score": [0.5], "known": [True], "facts": [3]})
    bare = Answers({name: [None] * rows for name in full.columns})
    assert bare.to_arrow().schema == full.to_arrow().schema
    assert bare.to_polars().schema == full.to_polars().schema
    types = bare.to_pandas().dtypes.to_dict()
    assert all(types[name] == full.to_pandas().dtypes[name] for name in ("object", "score"))
    if not rows:  # pandas has no missing whole numbers
        assert types == full.to_pandas().dtypes.to_dict()
    assert bare.to_arrow().to_pylist() == bare.to_polars().rows(named=True) == list(bare)


def test_json_and_csv_read_back() -> None:
    assert json.loads(FOUND.to_json()) == list(FOUND)
    rows = list(csv.DictReader(io.StringIO(FOUND.to_csv())))
    assert [row["object"] for row in rows] == list(FOUND.columns["object"])
    assert rows[2]["score"] == ""


def test_any_name_can_be_read_back_from_csv(tmp_path: Path) -> None:
    odd = ["a\rb", "c\nd", 'e"f', "g,h", " i "]
    table = Answers({"subject": odd, "predicate": ["p"] * 5, "object": odd[::-1]})
    write_answers(table, tmp_path / "odd.csv")
    read = trifact.load(tmp_path / "odd.csv", valid=0, test=0)
    assert [*read.entities] == sorted(odd)


def test_an_empty_table_is_an_empty_list() -> None:
    assert json.loads(Answers({"object": []}).to_json()) == []


def test_a_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "found.tsv").mkdir()
    with pytest.raises(OutputError, match="it exists and is not a file"):
        check_free(tmp_path / "found.tsv", overwrite=True)


def test_tsv_keeps_a_row_on_a_line() -> None:
    lines = FOUND.to_tsv().splitlines()
    assert len(lines) == 4
    assert lines[2].split("\t") == ["a\\tb\\", "Tab", "-1.5", "false"]


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".json", ".parquet"])
def test_a_file_is_written_whole_and_not_over_another(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"found{ending}"
    write_answers(FOUND, path)
    with pytest.raises(OutputError, match="it exists already; say overwrite=True"):
        write_answers(FOUND, path)
    before = path.read_bytes()
    write_answers(FOUND, path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_parquet_has_types_and_nulls(tmp_path: Path) -> None:
    write_answers(FOUND, tmp_path / "found.parquet")
    read = duckdb.read_parquet(str(tmp_path / "found.parquet"))
    assert [str(kind) for kind in read.types] == ["VARCHAR", "VARCHAR", "DOUBLE", "BOOLEAN"]
    assert [dict(zip(read.columns, row, strict=True)) for row in read.fetchall()] == list(FOUND)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"name it .tsv, .csv, .json or .parquet"):
        write_answers(FOUND, tmp_path / "found.xlsx")


@pytest.mark.parametrize("rows", [0, 2, 3000])
def test_parquet_has_the_same_types_where_nothing_stands(tmp_path: Path, rows: int) -> None:
    names = ("object", "label", "score", "probability", "known")
    path = tmp_path / "found.parquet"
    write_answers(Answers({name: [None] * rows for name in names}), path)
    table = duckdb.sql(f"from read_parquet('{path}')")
    assert table is not None
    assert [str(kind) for kind in table.types] == [
        "VARCHAR",
        "VARCHAR",
        "DOUBLE",
        "DOUBLE",
        "BOOLEAN",
    ]
