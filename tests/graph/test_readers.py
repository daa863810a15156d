"""From files, tables and tuples to ids: in the order of names, within bounds, and cleanly."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import trifact
from trifact.errors import InputError, OutputError
from trifact.graph.facttable import FactTable
from trifact.graph.known import in_order
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import read_in_order
from trifact.progress import silent
from trifact.run.options import TrainConfig, resolved

Make = Callable[[str, bytes | str], Path]
WHOLE: dict[str, Any] = {"valid": 0.0, "test": 0.0}
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.lists(st.tuples(NAME, NAME, NAME), min_size=1, max_size=20), st.randoms())
def test_ids_are_the_order_of_names_whatever_the_order_of_facts(
    facts: list[tuple[str, str, str]], random: Any
) -> None:
    graph = trifact.load(facts, **WHOLE)
    assert list(graph.entities) == sorted({n for s, _, o in facts for n in (s, o)})
    assert list(graph.predicates) == sorted({p for _, p, _ in facts})
    e, p = graph.entities, graph.predicates
    assert [(e[s], p[r], e[o]) for s, r, o in graph.train.tolist()] == sorted(facts)
    random.shuffle(facts)
    assert trifact.load(facts, **WHOLE).content_hash == graph.content_hash


def test_tuples_may_be_of_text_or_of_ids() -> None:
    facts = [(np.int64(1), "p", 2), ["x", np.str_("p"), True + 1], np.array(["a", "p", "b"])]
    assert list(trifact.load(iter(facts)).entities) == ["1", "2", "a", "b", "x"]


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (("a", "p"), "facts:2: expected 3 names, found 2"),
        (("a", "p", "b", "c"), "expected 3 names, found 4"),
        ("abc", "expected 3 names, found 1"),
        (7, "expected 3 names, found 1"),
        (("a", "", "b"), "must not be empty"),
        (("a", "p", "b\0"), "must not be empty nor hold a NUL"),
        (("a", "p", None), "must be text or a whole number, not None"),
        (("a", "p", 1.5), "must be text or a whole number, not 1.5"),
        (("a", "p", True), "must be text or a whole number, not True"),
        (("a", "p", b"b"), "must be text or a whole number"),
        (torch.tensor([1.0, 2.0, 3.0]), r"must be text or a whole number, not tensor\(1"),
        (("a", "p", np.zeros((2, 3))), "must be text or a whole number, not array"),
        (np.array("abc"), "expected 3 names, found 1"),
        ({"s": "a", "p": "p", "o": "b"}, "expected 3 names in their order, found a dict"),
        ({"a", "p", "b"}, "expected 3 names in their order, found a set"),
        (("a", "p", "\ud800"), "cannot be written as UTF-8"),
        (("a", "p", 10**5000), "an id is too large"),
        (("a", "p", "x" * (1 << 20) + "y"), "longer than 1,048,576 bytes"),
    ],
)
def test_tuples_that_are_no_facts(fact: Any, problem: str) -> None:
    facts = [("a", "p", "b"), fact]
    with pytest.raises(InputError, match=problem):
        trifact.load(facts)
    graph = trifact.load(facts, skip_bad_lines=True)
    assert len(graph.train) == 1
    assert "1 bad line dropped: facts:2: " in graph.notes[1]


@pytest.mark.parametrize("source", [[], iter(()), {}])
def test_nothing_has_no_facts(source: object) -> None:
    with pytest.raises(InputError, match="there is no fact in it"):
        trifact.load(source)


@pytest.mark.parametrize("source", [[("a", "p", "b")], pa.table({c: ["x"] for c in "spo"})])
@pytest.mark.parametrize(
    "idle", [{"format": "csv"}, {"header": "yes"}, {"delimiter": ";"}, {"comment": "#"}]
)
def test_settings_that_say_nothing_about_what_is_no_file_are_refused(
    source: object, idle: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"{next(iter(idle))} cannot be given for a? ?(table|tup)"):
        trifact.load(source, **idle)


def test_tuples_have_no_columns_to_choose() -> None:
    with pytest.raises(InputError, match="facts: columns cannot be given for tuples"):
        trifact.load([("a", "p", "b")], columns=("3", "2", "1"))


@pytest.mark.parametrize("source", [None, 7, 1.5, object()])
def test_what_is_no_source_is_refused(source: object) -> None:
    with pytest.raises(InputError, match="a name, a path, a table or tuples, not"):
        trifact.load(source)


def test_an_error_of_the_users_own_goes_through() -> None:
    def broken() -> Iterator[tuple[str, str, str]]:
        yield "a", "p", "b"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trifact.load(broken())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("f.tsv", "a\tp\tb\n", "f.tsv: 1 fact (TSV by name)"),
        ("f.txt", "a\tp\tb\nc\tp\td\n", "f.txt: 2 facts (TSV by content)"),
        ("f.csv", "s,p,o\na,p,b\n", "f.csv: 1 fact (CSV by name, line 1 is a header)"),
        ("f", "<x:a> <x:p> <x:b> .\n", "f: 1 fact (N-Triples by content)"),
    ],
)
def test_what_was_chosen_is_said(name: str, content: str, said: str, file: Make) -> None:
    assert trifact.load(file(name, content)).notes[0] == said


def temporary_folders(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if entry.name.startswith("trifact-")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go during the test: an odd place."""
    folder = tmp_path / "it's [temporary] *"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_nothing_temporary_stays(temporary: Path, file: Make) -> None:
    packed = gzip.compress(b"a\tp\tb\n")
    trifact.load(file("f.tsv.gz", packed))
    with pytest.raises(InputError):
        trifact.load(file("g.tsv", "a\tp\tb\nc\n"))
    with pytest.raises(RuntimeError, match="mine"), FactTable(memory_mb=200, disk_gb=1):
        raise RuntimeError("mine")
    FactTable(memory_mb=200, disk_gb=1).__exit__(None, None, None)
    assert temporary_folders(temporary) == []


def test_a_temporary_folder_that_cannot_be_made_is_an_output_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(OutputError, match="temporary files cannot be written"):
        trifact.load([("a", "p", "b")])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk_is_said_in_our_words(table: FactTable) -> None:
    full = "copy (select 1) to '/dev/full' (format parquet, use_tmp_file false)"
    sentence = r"temporary files cannot be written \(No space left on device\); free some space"
    with pytest.raises(OutputError, match=sentence):
        table.query(full)


def test_a_full_disk_while_expanding_is_an_output_error(
    file: Make, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("f.tsv.gz", gzip.compress(b"a\tp\tb\n"))
    original = Path.open

    def full(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if "w" in mode:
            raise OSError(28, "No space left on device")
        return original(self, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OutputError, match="No space left on device"):
        trifact.load(path)
    assert temporary_folders(temporary) == []


def test_memory_is_bounded_by_spilling_or_by_an_error() -> None:
    with FactTable(memory_mb=200, disk_gb=1) as table:
        wide = "select 'a' || range, 'p', repeat('x', 100) || range from range(100_000)"
        assert table.add_query("train", wide) == 100_000
        table.query("set memory_limit = '40MB'")
        table.query("set max_temp_directory_size = '0KB'")
        with pytest.raises(InputError, match="do not fit into memory; raise memory_mb"):
            table.to_ids()


def test_duckdb_draws_nothing_and_fetches_nothing(table: FactTable) -> None:
    for setting in ("enable_progress_bar", "autoinstall_known_extensions"):
        assert table.query(f"select current_setting('{setting}')") == [(False,)]


def test_facts_by_id_are_in_order() -> None:
    random = np.random.default_rng(0)
    rows = [tuple(f"n{i}" for i in fact) for fact in random.integers(0, 50, (5000, 3)).tolist()]
    with FactTable(memory_mb=200, disk_gb=1) as table:
        table.add_rows("train", rows[:4000])  # type: ignore[arg-type]
        table.add_rows("test", rows[4000:])  # type: ignore[arg-type]
        table.declare("entity", ["zzz", "n1"])
        entities, predicates, splits = table.to_ids()
    assert entities[-1] == "zzz"
    assert [len(facts) for facts in splits.values()] == [4000, 0, 1000]
    for facts in splits.values():
        assert (in_order(facts) == facts).all()
    back = {(entities[s], predicates[p], entities[o]) for s, p, o in splits["train"].tolist()}
    assert back == set(rows[:4000])


def test_names_that_share_a_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [(f"e{i % 7}", f"p{i % 3}", f"e{i % 11}") for i in range(100)]
    expected = trifact.load(facts).content_hash
    original = FactTable.query

    def clashing(self: FactTable, sql: str) -> Any:
        """As if the hash of a name were its length."""
        return original(self, sql.replace("hash(", "strlen("))

    monkeypatch.setattr(FactTable, "query", clashing)
    assert trifact.load(facts).content_hash == expected


INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
import sys, trifact
from trifact.graph.facttable import FactTable
with FactTable(memory_mb=300, disk_gb=1) as table:
    print("begun", flush=True)
    while True:
        table.query("select count(*) from range(3000000) where hash(range) % 7 = 8")
"""


def test_ctrl_c_while_reading_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    assert len(temporary_folders(tmp_path)) == 1
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert temporary_folders(tmp_path) == []


@pytest.mark.parametrize("name", ["f.tsv", "f.csv.gz", "f.parquet", "f.nt", "quoted.csv"])
def test_lines_are_read_in_their_order_repeated_ones_too(name: str, file: Make) -> None:
    numbers = np.random.default_rng(0).integers(0, 50_000, 150_000).tolist()
    rows = [(f"x:{n}", "x:p", f"x:{n % 7}") for n in numbers]
    if name == "f.parquet":
        path = file(name, "")
        pq.write_table(pa.table(dict(zip("spo", zip(*rows, strict=True), strict=True))), path)
    elif name == "f.nt":
        path = file(name, "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in rows))
    else:
        text = "".join(("," if "csv" in name else "\t").join(row) + "\n" for row in rows)
        text = text.replace("x:p", '"x:p"') if name == "quoted.csv" else text
        path = file(name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    found, notes = read_in_order(layout_of(path), LoadConfig(), silent)
    assert found == rows
    assert notes[0].startswith(f"{name}: 150,000 facts")


def test_names_that_differ_by_blanks_are_said(file: Make) -> None:
    path = file("f.csv", "Paris, capital of, France\nFrance, contains, Paris\nx,y,z \n")
    graph = trifact.load(path, **WHOLE)
    assert "2 names are like another but for blanks at the ends" in graph.notes[-1]
    assert " France" in graph.entities
    path = file("g.csv", "Paris,capital of,France \n")
    assert len(trifact.load(path, **WHOLE).notes) == 1


def test_repeated_facts_are_said_and_do_not_make_a_graph_dense() -> None:
    facts = [(f"e{i}", "p", f"e{(i + k) % 9}") for i in range(9) for k in range(1, 5)]
    once, thrice = (trifact.load(facts * times, **WHOLE) for times in (1, 3))
    assert not any("repeat" in note for note in once.notes)
    assert "72 facts repeat another one" in thrice.notes[-1]
    assert resolved(TrainConfig(), once).reg == resolved(TrainConfig(), thrice).reg == 0.15
