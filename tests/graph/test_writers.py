"""What was written is read back; what cannot be written leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import trifact
from trifact.errors import OutputError
from trifact.graph import writers
from trifact.graph.facttable import FactTable
from trifact.graph.graph import Graph
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import _File
from trifact.graph.sources import Source
from trifact.graph.vocabulary import Vocabulary
from trifact.graph.writers import format_to_write, write_facts
from trifact.progress import silent

Make = Callable[[str, bytes | str], Path]
Facts = list[tuple[str, str, str]]
ENDINGS = [
    *(f"{kind}{packed}" for kind in (".tsv", ".csv", ".nt") for packed in ("", ".gz", ".zst")),
    ".parquet",
]
HOSTILE = [
    *('"', "'", '""', 'a"b', '"a"', ",", "a,b", ";", "\\", "\\N", "NA", "null", "NULL", "None"),
    *("nan", "001", "1.0", "1e5", "-0", "true", " ", " a", "a ", "\u2028", "\u0085", "\u00a0"),
    *("\x1f", "\x7f", "\ufeff", "\ufeffa", "#", "# a", "_:x", "_:x.", "<x>", "<x:y>", "@prefix"),
    *('"lit"@en', '"1"^^<http://x>', "urn:trifact:", "urn:trifact:%20", "http://e/a b", "http://["),
    *("http://e/é", "a:b", "%41", "+", "é", "e\u0301", "\U0001f600", "\U0010ffff", "\ufffe", "."),
    *("PAR1", "<?xml ", "PK\x03\x04", "s", "p", "o", "subject", "predicate", "object", "BASE"),
]
ANY_NAME = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=3).map("".join),
    st.sampled_from(["\t", "\n", "\r", "a\tb", "a\nb", "a\r\nb", "\n\n", '"\n"', "x\r"]),
)


def graph_of(facts: Facts) -> Graph:
    entities = Vocabulary.of(name for s, _, o in facts for name in (s, o))
    predicates = Vocabulary.of(p for _, p, _ in facts)
    e, p = [{n: i for i, n in enumerate(names)} for names in (entities, predicates)]
    train = np.array([(e[s], p[r], e[o]) for s, r, o in facts], dtype=np.int64).reshape(-1, 3)
    nothing = np.empty((0, 3), dtype=np.int64)
    return Graph("g", entities, predicates, train, nothing, nothing.copy())


def read_back(path: Path, table: FactTable, **options: Any) -> Facts:
    """The facts of a file as a loader reads them, without giving ids."""
    source = Source.at(layout_of(path).facts["train"], cap=10**9)
    _File(source, "train", LoadConfig.from_values(options), table, silent).by_name(None)
    found = table.query("select s, p, o from facts order by all")
    table.drop("train")
    return found  # type: ignore[return-value]


@settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    facts=st.lists(st.tuples(ANY_NAME, ANY_NAME, ANY_NAME), min_size=1, max_size=6),
    ending=st.sampled_from([ending for ending in ENDINGS if ending != ".parquet"]),
    literals=st.booleans(),
)
@example(facts=[("s", "p", "o"), ("a", "p", "b")], ending=".tsv", literals=False)
@example(facts=[("\ufeffs", "p", "o")], ending=".csv", literals=False)
@example(facts=[("PAR1", "p", "o"), ("PK\x03\x04", "p", "<?xml ")], ending=".tsv", literals=False)
@example(facts=[("<?xml ", "p", "o")], ending=".csv", literals=False)
@example(facts=[('"a"', "p", '"a"'), ("b", "p", '"a"@en')], ending=".nt", literals=True)
def test_what_was_written_is_read_back(
    facts: Facts, ending: str, literals: bool, table: FactTable
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"facts{ending}")
        graph = graph_of(facts)
        try:
            write_facts(graph, {path: graph.train}, literals=literals)
        except OutputError as error:
            assert "TSV cannot hold the name" in str(error)
            assert any(sign in name for fact in facts for name in fact for sign in "\t\n\r")
            assert not list(Path(folder).iterdir())
            assume(False)
        assert read_back(path, table, literals="keep") == sorted(facts)


@settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(facts=st.lists(st.tuples(ANY_NAME, ANY_NAME, ANY_NAME), min_size=1, max_size=20))
def test_what_was_written_to_parquet_is_read_back(facts: Facts, table: FactTable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "facts.parquet")
        write_facts(graph_of(facts), {path: graph_of(facts).train})
        assert read_back(path, table) == sorted(facts)


@pytest.mark.parametrize("ending", ENDINGS)
def test_facts_are_written_some_at_a_time(
    ending: str, tmp_path: Path, table: FactTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "FACTS_AT_ONCE", 2)
    facts = sorted((f"a{i}", "p", f"b{i % 3}") for i in range(7))
    graph = graph_of(facts)
    write_facts(graph, {tmp_path / f"f{ending}": graph.train})
    assert read_back(tmp_path / f"f{ending}", table) == facts


@pytest.mark.parametrize("ending", ENDINGS)
def test_hostile_names_go_through_a_whole_load(ending: str, tmp_path: Path) -> None:
    names = [*HOSTILE, "\t", "a\nb", "\r"] if "tsv" not in ending else HOSTILE
    facts = [(a, "p" + b, b) for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    graph = graph_of(sorted(facts))
    write_facts(graph, {tmp_path / f"f{ending}": graph.train})
    loaded = trifact.load(tmp_path / f"f{ending}", valid=0.0, test=0.0)
    assert loaded.content_hash == graph.content_hash


@pytest.mark.parametrize("ending", [".tsv.gz", ".csv.zst", ".nt"])
def test_the_same_facts_give_the_same_bytes(ending: str, tmp_path: Path) -> None:
    graph = graph_of([("a", "p", "b"), ("c", "p", "d")])
    for name in ("one", "two"):
        write_facts(graph, {tmp_path / f"{name}{ending}": graph.train})
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_only_the_names_that_are_used_matter(tmp_path: Path) -> None:
    graph = graph_of([("a", "p", "b"), ("c\td", "p", "b")])
    write_facts(graph, {tmp_path / "f.tsv": graph.train[:1]})
    assert (tmp_path / "f.tsv").read_text() == "a\tp\tb\n"
    write_facts(graph, {tmp_path / "nothing.tsv": graph.train[:0]})
    assert (tmp_path / "nothing.tsv").read_text() == ""


def test_literals_are_literals_only_as_objects(tmp_path: Path) -> None:
    graph = graph_of([("x:a", "x:p", '"A"@en'), ('"B"', "x:p", '"B"')])
    write_facts(graph, {tmp_path / "f.nt": graph.train}, literals=True)
    assert (tmp_path / "f.nt").read_text() == (
        '<urn:trifact:%22B%22> <x:p> <urn:trifact:%22B%22> .\n<x:a> <x:p> "A"@en .\n'
    )


def test_a_fact_too_long_for_a_line_is_refused(tmp_path: Path) -> None:
    name = "é" * 400_000
    graph = graph_of([(name, "p", name)])
    for ending in (".tsv", ".csv", ".nt"):
        with pytest.raises(OutputError, match="longer than 1,048,576 bytes; write Parquet"):
            write_facts(graph, {tmp_path / f"f{ending}": graph.train})
    write_facts(graph, {tmp_path / "f.parquet": graph.train})
    assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]
    assert trifact.load(tmp_path / "f.parquet").entities[0] == name


@pytest.mark.parametrize("name", ["f", "f.docx", "f.gz", "f.ttl", "f.tsv.xz", "f.nq"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(OutputError, match="end the name in one of these"):
        format_to_write(Path(name))


def test_parquet_is_not_compressed_twice() -> None:
    with pytest.raises(OutputError, match=r"leave out \.gz"):
        format_to_write(Path("f.parquet.gz"))


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    graph = graph_of([("a", "p", "b"), ("a\tb", "p", "c")])
    files = {tmp_path / "out" / f"{i}.tsv": graph.train[i : i + 1] for i in range(2)}
    with pytest.raises(OutputError, match="TSV cannot hold the name"):
        write_facts(graph, files)
    assert not list(tmp_path.iterdir())


def test_what_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    graph, path = graph_of([("a", "p", "b")]), tmp_path / "f.tsv"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists already; say overwrite=True"):
        write_facts(graph, {path: graph.train})
    assert path.read_text() == "precious"
    write_facts(graph, {path: graph.train}, overwrite=True)
    assert path.read_text() == "a\tp\tb\n"


def test_folders_pipes_and_devices_are_never_replaced(tmp_path: Path) -> None:
    graph = graph_of([("a", "p", "b")])
    (tmp_path / "folder.tsv").mkdir()
    os.mkfifo(tmp_path / "pipe.tsv")
    for name in ("folder.tsv", "pipe.tsv"):
        with pytest.raises(OutputError, match="is not a file"):
            write_facts(graph, {tmp_path / name: graph.train}, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.tsv", "pipe.tsv"]


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    graph = graph_of([("a", "p", "b")])
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "f.tsv", tmp_path / ("x" * 300 + ".tsv")):
        with pytest.raises(OutputError, match="cannot be written"):
            write_facts(graph, {path: graph.train})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


FULL = """
import resource, signal, sys
from pathlib import Path
import trifact
from trifact.errors import OutputError
from trifact.graph.writers import write_facts
facts = [(f"subject {i:06} {hash(str(i))}", "p", "o") for i in range(60_000)]
graph = trifact.load(facts, valid=0.0, test=0.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_facts(graph, {Path(sys.argv[1]): graph.train})
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("ending", [".tsv", ".csv.gz", ".nt.zst", ".parquet"])
def test_a_full_disk_leaves_nothing(ending: str, tmp_path: Path) -> None:
    target = tmp_path / "out" / f"f{ending}"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(target)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert "cannot be written" in done.stdout, done.stderr[-2000:]
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("trifact-")]


@pytest.mark.parametrize("ending", [".tsv.zst", ".csv.gz", ".nt", ".parquet"])
def test_an_interrupt_leaves_nothing(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    graph = graph_of([("a", "p", "b")])
    monkeypatch.setattr("trifact.graph.writers._joined", interrupted)
    monkeypatch.setattr("trifact.graph.writers.shutil.copyfile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_facts(graph, {tmp_path / f"f{ending}": graph.train})
    assert not list(tmp_path.iterdir())
