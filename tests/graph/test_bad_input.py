"""Bad input gets one sentence: file, line, what to do. Never a traceback, never half a result."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import trifact
from trifact.errors import InputError, TrifactError
from trifact.graph.facttable import FactTable
from trifact.graph.options import FORMATS, LoadConfig
from trifact.graph.readers import _File
from trifact.graph.sources import LONGEST_LINE, Source
from trifact.progress import silent

Make = Callable[[str, bytes | str], Path]
GOOD = b"a\tp\tb\nc\tp\td\n"
RDF = b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


BAD = {
    "too few columns": ("f.tsv", GOOD + b"a\tp\n", "f.tsv:3: expected 3 columns, found 2"),
    "too many columns": ("f.tsv", GOOD + b"a\tp\tb\tc\n", "f.tsv:3: expected 3 columns, found 4"),
    "too many in CSV": ("f.csv", b"a,p,b\na,p,b,c\n", "f.csv:2: expected 3 columns, found 4"),
    "an empty file": ("f.tsv", b"", "f.tsv: the file is empty"),
    "an empty gzip file": ("f.tsv.gz", gzip.compress(b""), "f.tsv.gz: the file is empty"),
    "only blank lines": ("f.tsv", b"\n\r\n\n", "f.tsv: there is no fact in it"),
    "only a header": ("f.csv", b"s,p,o\n", "f.csv: there is no fact in it"),
    "a NUL": ("f.tsv", GOOD + b"a\tp\tb\0\n", "f.tsv:3: the line holds a NUL byte"),
    "a NUL at once": ("f.tsv", b"a\0\tp\tb\n" + GOOD, "f.tsv:1: the line holds a NUL byte"),
    "invalid UTF-8": ("f.tsv", GOOD + b"a\tp\t\xe9\n", "f.tsv:3: byte 5 of the line is not UTF-8"),
    "a long line": ("f.tsv", GOOD + b"x" * (LONGEST_LINE + 1), "f.tsv:3: the line is longer than"),
    "a long first line": ("f.csv", b"x" * 3_000_000, "f.csv:1: the line is longer than"),
    "an empty subject": ("f.tsv", GOOD + b"\tp\tb\n", "f.tsv:3: the subject is empty"),
    "an empty object": ("f.csv", b"a,p,b\na,p,\n", "f.csv:2: the object is empty"),
    "an open quote": ("f.csv", b'a,p,b\n"a,p,b\n', "f.csv:2: this is not CSV"),
    "broken N-Triples": ("f.nt", b"<x:a> <x:p> <x:b> .\n<x:a>\n", "f.nt:2: this is not N-Triples"),
    "broken Turtle": ("f.ttl", b"\n<x:a> <x:p> .", "f.ttl:2: this is not Turtle"),
    "broken RDF/XML": ("f.rdf", b"<rdf:RDF " + RDF + b">\n<", "f.rdf:2: this is not RDF/XML"),
    "only literals": ("f.nt", b'<x:a> <x:p> "A" .\n', "f.nt: there is no fact in it; 1 fact with"),
    "cut gzip": ("f.tsv.gz", gzip.compress(GOOD * 9)[:-9], "f.tsv.gz: is damaged or cut short"),
    "cut zstd": (
        "f.nt.zst",
        zstandard.ZstdCompressor().compress(b"<x:a> <x:p> <x:b> .\n" * 99)[:-5],
        "f.nt.zst: is damaged or cut short",
    ),
    "numbers in Parquet": (
        "f.parquet",
        parquet(s=["a"], p=["p"], o=[1.5]),
        "f.parquet: column 'o' is DOUBLE, not text or whole numbers",
    ),
    "a null in Parquet": (
        "f.parquet",
        parquet(s=["a", None], p=["p", "p"], o=["b", "b"]),
        "f.parquet:2: a name of this row is null",
    ),
    "no Parquet": ("f.parquet", b"a\tp\tb\n", "f.parquet: its name says Parquet but"),
    "broken Parquet": (
        "f.parquet",
        b"PAR1\0\0",
        "f.parquet: this is not Parquet, or it is damaged or cut short; write or fetch it again",
    ),
    "UTF-16": ("f.tsv", "a\tp\tb\n".encode("utf-16"), "f.tsv: this is UTF-16; save it as UTF-8"),
    "old Excel": ("f.xls", b"\xd0\xcf\x11\xe0" + bytes(9), "f.xls: this is an Excel workbook"),
    "no format": ("f.dat", b"hello\n", "f.dat:1: its format cannot be told"),
    "a zip file": ("f.zip", b"PK\x03\x04" + bytes(30), "f.zip: this is a zip archive or a spre"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_sentence_names_file_and_line(case: str, file: Make) -> None:
    name, content, sentence = BAD[case]
    path = file(name, content)
    with pytest.raises(InputError) as caught:
        trifact.load(path)
    assert f"{path.parent}{os.sep}{sentence}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.path == path
    line = sentence.split(":")[1]
    assert caught.value.line == (int(line) if line.isdecimal() else None)


def test_the_cap_of_expansion(file: Make) -> None:
    bomb = file("f.tsv.gz", gzip.compress(GOOD * 10_000))
    with pytest.raises(InputError, match=r"f\.tsv\.gz: expands to more than 1e-05 GB; .*unpack it"):
        trifact.load(bomb, max_expanded_gb=0.00001)
    assert len(trifact.load(bomb, max_expanded_gb=0.001, valid=0.0, test=0.0).train) == 20_000


SKIPPABLE = {
    "TSV": ("f.tsv", GOOD + b"a\tp\n\tp\tb\n\xff\tp\tb\n\0\n" + b"x" * (LONGEST_LINE + 1), 5),
    "a bad first line": ("f.tsv", b"oops\n" + GOOD, 1),
    "CSV": ("f.csv", b'a,p,b\n"x"y,p,b\na,p\nc,p,d\n"open\n', 3),
    "N-Triples": ("f.nt", b"<x:a> <x:p> <x:b> .\noops\n\xff\n<x:c> <x:p> <x:d> .\n", 2),
    "Parquet": ("f.parquet", parquet(s=["a", None, "c", ""], p=["p"] * 4, o=["b"] * 4), 2),
}


@pytest.mark.parametrize("case", SKIPPABLE)
def test_bad_lines_are_dropped_and_counted_if_asked(case: str, file: Make) -> None:
    name, content, count = SKIPPABLE[case]
    path = file(name, content)
    with pytest.raises(InputError):
        trifact.load(path)
    graph = trifact.load(path, skip_bad_lines=True)
    assert len(graph.train) == 2
    lines = "1 bad line" if count == 1 else f"{count} bad lines"
    assert graph.notes[1].startswith(f"{name}: {lines} dropped: {name}:")
    assert graph.notes[1].count(f"{name}:") == 1 + count


def test_the_first_five_are_shown(file: Make) -> None:
    graph = trifact.load(file("f.tsv", GOOD + b"oops\n" * 1_000), skip_bad_lines=True)
    assert "1,000 bad lines dropped, the first 5: f.tsv:3: " in graph.notes[1]
    assert "f.tsv:7: " in graph.notes[1]
    assert "f.tsv:8: " not in graph.notes[1]


def test_nothing_but_bad_lines_is_an_error_that_shows_them(file: Make) -> None:
    with pytest.raises(InputError, match=r"no fact in it; 2 bad lines dropped: f\.tsv:1: "):
        trifact.load(file("f.tsv", "oops\nagain\n"), skip_bad_lines=True)


def run(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trifact", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=120,
        env={**os.environ, "TMPDIR": str(cwd), **environment},
    )


@pytest.mark.parametrize(
    "case", ["too few columns", "a NUL", "an empty file", "broken Turtle", "numbers in Parquet"]
)
def test_the_command_says_it_with_code_2_and_writes_nothing(case: str, tmp_path: Path) -> None:
    name, content, sentence = BAD[case]
    (tmp_path / name).write_bytes(content)
    done = run("data", "convert", name, "out/facts.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"trifact: {sentence}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_command_skips_bad_lines_if_asked(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_bytes(GOOD + b"oops\n")
    done = run("data", "convert", "f.tsv", "g.csv", "--skip-bad-lines", cwd=tmp_path)
    assert done.returncode == 0
    assert "f.tsv: 1 bad line dropped: f.tsv:3: expected 3 columns, found 1" in done.stderr
    assert (tmp_path / "g.csv").read_text() == "a,p,b\nc,p,d\n"


# --- no input makes an exception outside the tree ------------------------------------------------

VALID = {
    "tsv": GOOD * 3,
    "csv": b'subject,predicate,object\r\n"a ""b""",p,"c\nd"\ne,p,f\n',
    "parquet": parquet(s=["a", "c"] * 9, p=["p", "q"] * 9, o=["b", "d"] * 9),
    "ntriples": b'<x:a> <x:p> <x:b> .\n_:c <x:p> "lit"@en .\n<urn:trifact:%C3%A9> <x:p> _:c .\n',
    "nquads": b"<x:a> <x:p> <x:b> <x:g> .\n<x:a> <x:p> <<( <x:a> <x:p> <x:b> )>> .\n",
    "turtle": b"@prefix e: <http://e/> .\ne:a e:p e:b, [ e:q ( 1 e:c ) ] .\n",
    "rdfxml": b'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e "http://e/">]>\n<rdf:RDF ' + RDF
    + b'>\n<rdf:Description rdf:about="&e;a"><e:p rdf:resource="http://e/b"/><e:q>x</e:q>'
    b"</rdf:Description>\n</rdf:RDF>\n",
}  # fmt: skip
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "columns": st.sampled_from(["321", "spo", "012", "19x"]).map(tuple),
        "header": st.sampled_from(["yes", "no"]),
        "delimiter": st.sampled_from([";", "\t", " ", "é", "a", "\\"]),
        "comment": st.sampled_from(["#", "a", '"', "\ud800"]),
        "literals": st.just("keep"),
        "skip_bad_lines": st.booleans(),
        "max_expanded_gb": st.just(0.00001),
    },
)  # fmt: skip
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.ZstdCompressor().compress,
}
TOKENS = [
    *(b"\0", b"\xff", b"\n", b"\r", b"\t", b'"', b"<", b">", b"<<(", b")>>", b"&e;", b"]]>"),
    *(b"%00", b"_:", b"\\u0000", b"\\uD800", b"urn:trifact:", b"\xef\xbb\xbf", b",", b"@", b"^^"),
]
STARTS = [b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"<?xml ", b"PK\x03\x04"]


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A valid file with a few bytes changed, cut out or put in, before or after it is packed."""
    kind = draw(st.sampled_from([*VALID]))
    data, pack = VALID[kind], PACKED[draw(st.sampled_from([*PACKED]))]
    late = draw(st.booleans())
    data = pack(data) if late else data
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        gone = draw(st.sampled_from([0, 0, 1, 1, 8, len(data)]))
        added = draw(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=4)))
        data = data[:place] + added + data[place + gone :]
    return kind, data if late else pack(data)


def attempt(path: Path, table: FactTable, **options: Any) -> None:
    """Read a file; whatever it holds, the only exceptions are ours, and of one sentence."""
    try:
        config = LoadConfig.from_values(options)
        _File(Source.at(path, cap=config.cap), "train", config, table, silent).by_name(None)
    except TrifactError as error:
        assert "\n" not in str(error)
    finally:
        table.drop("train")


FUZZ = settings(
    max_examples=300,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(case=mutated(), options=SETTINGS, forced=st.booleans())
@example(case=("csv", b'"' + b"a\n" * 9), options={"skip_bad_lines": True}, forced=True)
@example(case=("tsv", b"\xef\xbb\xbf"), options={}, forced=True)
def test_no_mutation_of_a_valid_file(
    case: tuple[str, bytes], options: dict[str, Any], forced: bool, table: FactTable, file: Make
) -> None:
    kind, data = case
    path = file(f"f.{kind}", data)
    attempt(path, table, **options, **({"format": kind} if forced else {}))


@FUZZ
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from([*TOKENS, b"a", b" ", b"x:", b"PAR1"]), max_size=30).map(b"".join),
        st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=60)),
    ),
    pack=st.sampled_from([*PACKED]),
    kind=st.sampled_from(["auto", *FORMATS]),
    options=SETTINGS,
)  # fmt: skip
def test_no_bytes_whatever_the_format(
    data: bytes, pack: str, kind: str, options: dict[str, Any], table: FactTable, file: Make
) -> None:
    attempt(file("f", PACKED[pack](data)), table, **options, format=kind)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_wrong_format(kind: str, file: Make, table: FactTable) -> None:
    for other, content in VALID.items():
        for skip in (False, True):
            attempt(file(f"f.{other}", content), table, format=kind, skip_bad_lines=skip)


@settings(max_examples=15, derandomize=True, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=3), st.integers(), st.floats(),
                  st.lists(st.one_of(st.text(max_size=2), st.integers(), st.none(), st.booleans()),
                           max_size=4)),
        max_size=5,
    ),
    st.booleans(),
)  # fmt: skip
def test_no_python_values(facts: list[Any], skip: bool) -> None:
    try:
        trifact.load(facts, skip_bad_lines=skip)
    except InputError as error:
        assert "\n" not in str(error)
