"""TSV and CSV say what they say, fast or slow."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import trifact
from trifact.errors import ConfigError, InputError
from trifact.graph import plain as plain_files
from trifact.graph.delimited import Shape, rows, shape_of
from trifact.graph.facttable import FactTable
from trifact.graph.headers import known_header, plain
from trifact.graph.options import LoadConfig
from trifact.graph.sources import LONGEST_LINE, BadLines, Source
from trifact.progress import silent

Make = Callable[[str, bytes | str], Path]
Facts = list[tuple[str, str, str]]
OFTEN = settings(
    max_examples=250,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read(path: Path, **options: object) -> Facts:
    """The facts of a file by the definition."""
    config = LoadConfig.from_values({"format": "tsv", **options})
    source, bad = Source.at(path, cap=10**9), BadLines(path, config.skip_bad_lines)
    return list(rows(source, shape_of(source, config), config, bad))


def shape(path: Path, **options: object) -> Shape:
    config = LoadConfig.from_values({"format": "csv", **options})
    return shape_of(Source.at(path, cap=10**9), config)


def test_quotes_are_ordinary_in_tsv(file: Make) -> None:
    text = 'a"\tp\tb\n"c\tp\td\n"\tp\t""\n\'e\tp\tf\\\n'
    assert read(file("f", text)) == [
        ('a"', "p", "b"),
        ('"c', "p", "d"),
        ('"', "p", '""'),
        ("'e", "p", "f\\"),
    ]


def test_ordinary_names_stay_what_they_are(file: Make) -> None:
    names = ["NA", "null", "NULL", "nan", "001", "1e5", "true", "#x", " a ", "\u2028", "\u0085"]
    names += ["e\u0301", "\u00e9", "\u00a0", "\x1f", "\ufeffx", "-", "\\N"]
    text = "".join(f"{name}\tp\t{name}\n" for name in names)
    assert read(file("f", text)) == [(name, "p", name) for name in names]


@pytest.mark.parametrize(
    "content",
    [
        b"a\tp\tb\nc\tp\td\n",
        b"a\tp\tb\r\nc\tp\td\r\n",
        b"a\tp\tb\r\nc\tp\td",
        b"\xef\xbb\xbfa\tp\tb\nc\tp\td",
        b"\n\r\na\tp\tb\n\n\nc\tp\td\n\n",
    ],
)
def test_line_ends_marks_and_empty_lines_do_not_matter(content: bytes, file: Make) -> None:
    assert read(file("f", content)) == [("a", "p", "b"), ("c", "p", "d")]


def test_csv_is_rfc_4180(file: Make) -> None:
    text = 'a,p,b\r\n"c,""d""",p,"e\r\nf"\n\n g ,p,"h\ni"\nx"y,p,z\n'
    assert read(file("f", text), format="csv") == [
        ("a", "p", "b"),
        ('c,"d"', "p", "e\r\nf"),
        (" g ", "p", "h\ni"),
        ('x"y', "p", "z"),
    ]


@pytest.mark.parametrize("delimiter", [";", "|", "\t", " ", "¦", "a", "'", "\\", "#", "\ufeff"])
def test_csv_may_have_any_delimiter(delimiter: str, file: Make) -> None:
    text = f"1{delimiter}p{delimiter}2\n3{delimiter}p{delimiter}4\n"
    assert read(file("f", text), format="csv", delimiter=delimiter) == [
        ("1", "p", "2"),
        ("3", "p", "4"),
    ]


def test_the_kind_is_said(file: Make) -> None:
    assert shape(file("f", "a;p;b\n"), delimiter=";").kind == "CSV with ';'"
    assert shape(file("f", "a,p,b\n")).kind == "CSV"
    assert shape(file("f", "a\tp\tb\n"), format="tsv").kind == "TSV"


@pytest.mark.parametrize(
    "header",
    [
        "subject,predicate,object",
        "Head,RELATION, tail",
        "h,r,t",
        "s,p,o",
        "from,relationship,to",
        "src,edge,dst",
        "node1,label,node2",
        ":START_ID,:TYPE,:END_ID",
        "source,type,target",
    ],
)
def test_known_headers_are_found_and_said(header: str, file: Make) -> None:
    path = file("f", f"{header}\na,p,b\n")
    assert read(path, format="csv") == [("a", "p", "b")]
    assert shape(path).said == ", line 1 is a header"
    assert len(read(path, format="csv", header="no")) == 2


@pytest.mark.parametrize(
    ("header", "places"),
    [
        (":START_ID(Person),since,:END_ID(City),:TYPE", (0, 3, 2)),
        ("id\tnode1\tlabel\tnode2", (1, 2, 3)),
        ("to,from,weight,relation", (1, 3, 0)),
        ("Source,Target,Type,Id,Label,Weight", None),  # its Type is directed or undirected
        ("from,edge,relation,to", None),  # which of the two?
        ("subject,type,label,object", None),
        ("from,type,target", None),
        ("city,relation,country", None),
        ("object,is,subject", None),
    ],
)
def test_a_header_is_three_words_that_go_together(
    header: str, places: tuple[int, ...] | None
) -> None:
    cells = header.split("\t" if "\t" in header else ",")
    names, known = [plain(cell) for cell in cells], known_header(cells)
    assert (None if known is None else tuple(map(names.index, known))) == places


HEADED = "town,part of,land\nRome,in,Italy\nPisa,in,Italy\nOslo,in,Norway\n"


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (HEADED, {}, True),
        (HEADED.replace("\n", ",7\n"), {"columns": ("1", "2", "3")}, True),
        (HEADED, {"header": "no"}, False),
        (HEADED, {"header": "yes"}, False),
        (HEADED + "land,in,Asia\n", {}, False),  # one of its names is elsewhere, too
        (HEADED + "Pisa,part of,Italy\n", {}, False),
        (HEADED + "Ada,wrote,Notes\n", {}, False),  # another fact is as lonely
        ("Rome,in,Italy\n", {}, False),
        ("town,part of,land\nRome,in,Italy\n", {}, False),
        ("town,town,town\nRome,in,Italy\nPisa,in,Italy\n", {}, False),
        ("Rome,in,Italy\nPisa,in,Italy\nAda,wrote,Notes\n", {}, False),
        ("it's,a'b,land\nRome,in,Italy\nPisa,in,Italy\n", {}, True),
    ],
)
def test_a_first_line_that_may_be_a_header_is_a_fact_and_said(
    content: str, options: dict[str, Any], said: bool, file: Make
) -> None:
    graph = trifact.load(file("f.csv", content), valid=0.0, test=0.0, **options)
    first = ", ".join(content.partition("\n")[0].split(",")[:3])
    note = f"f.csv: its first line is read as a fact ({first}); if it is a header, say header='yes'"
    assert (note in graph.notes) == said
    assert any("first line" in each for each in graph.notes) == said
    assert len(graph.train) == content.count("\n") - (options.get("header") == "yes")


def test_columns_by_header_name_or_number(file: Make) -> None:
    path = file("f", "id,object,subject,predicate\n7,b,a,p\n")
    assert read(path, format="csv") == [("a", "p", "b")]
    assert shape(path).said == ", line 1 is a header, columns 3, 4, 2"
    assert read(path, format="csv", columns=("object", "predicate", "id")) == [("b", "p", "7")]
    assert read(path, format="csv", columns=("1", "2", "3")) == [("7", "b", "a")]
    other = file("g", "w,x,y,z\n1,2,3,4\n")
    assert read(other, format="csv", columns=("4", "3", "2")) == [("z", "y", "x"), ("4", "3", "2")]
    assert read(other, format="csv", columns=("4", "3", "2"), header="yes") == [("4", "3", "2")]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (("1", "2", "9"), "f:1: there is no column 9: this line has 4"),
        (("0", "1", "2"), "f:1: there is no column 0"),
        (("w", "x", "nope"), "f:1: the header names the column nope nowhere"),
        (("w", "x", "٣"), "f:1: the header names the column ٣ nowhere"),
        (("w", "x", "9" * 5000), "f:1: the header names the column 9"),
    ],
)
def test_columns_that_are_not_there(columns: tuple[str, ...], problem: str, file: Make) -> None:
    with pytest.raises(InputError, match=problem):
        read(file("f", "w,x,y,z\n1,2,3,4\n"), format="csv", columns=columns)


def test_a_header_that_is_no_fact_does_not_decide_the_width(file: Make) -> None:
    path = file("f", "about nothing\na,p,b\nc,p,d,e\n")
    assert read(path, format="csv", header="yes", skip_bad_lines=True) == [("a", "p", "b")]
    with pytest.raises(InputError, match="f:1: expected 3 columns, found 1"):
        read(path, format="csv", header="yes")


def test_names_of_columns_need_a_header(file: Make) -> None:
    with pytest.raises(InputError, match="f:1: the header names the column w nowhere, for there"):
        read(file("f", "w,x,y\n"), format="csv", columns=("w", "x", "y"), header="no")


def test_a_column_named_twice_is_no_choice(file: Make) -> None:
    with pytest.raises(InputError, match="names the column subject twice"):
        read(file("f", "subject,subject,predicate,object\na,b,c,d\n"), format="csv")


@pytest.mark.parametrize("columns", [("1",), ("1", "2", "1"), ("a", "a", "b"), ("",) * 4])
def test_columns_are_three_different_ones(columns: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="columns must be three"):
        LoadConfig(columns=columns)


def test_comments_are_left_out_only_if_asked(file: Make) -> None:
    path = file("f", "#a\tp\tb\nc\tp\t#d\n")
    assert read(path) == [("#a", "p", "b"), ("c", "p", "#d")]
    assert read(path, comment="#") == [("c", "p", "#d")]


def test_a_line_within_quotes_is_no_comment(file: Make) -> None:
    path = file("f.csv", '#,x\n"a\n#b\nc",p,d\n#"\ne,p,f\n')
    assert read(path, format="csv", comment="#") == [("a\n#b\nc", "p", "d"), ("e", "p", "f")]


@pytest.mark.parametrize(
    ("kind", "content", "problem"),
    [
        ("tsv", "a\tp\tb\na\tp\n", r"f:2: expected 3 columns, found 2$"),
        ("tsv", "a\tp\tb\na\tp\tb\tc\n", r"f:2: expected 3 columns, found 4; choose .*columns$"),
        ("tsv", "a p b\n", r"f:1: expected 3 columns, found 1; another separator"),
        ("tsv", "# a, b\na\tp\tb\n", r"f:1: expected 3 columns, found 1; a comment\? see comment;"),
        ("tsv", "a\tp\tb\r\n\r\na\tp\t\r\n", r"f:3: the object is empty"),
        ("tsv", "\tp\tb\n", r"f:1: the subject is empty"),
        ("csv", 'a,p,b\na,"",b\n', r"f:2: the predicate is empty"),
        ("csv", 'a,p,b\na,"p"x,b\n', r"f:2: this is not CSV"),
        ("csv", 'a,p,b\nc,d,e\n"a,p,b\nc,d,e\n', r"f:3: this is not CSV .*quote"),
        ("csv", "a,p,b\na\rb,p,c\n", r"f:2: this is not CSV"),
        ("csv", 'a,p,"x\ny"\na,p\n', r"f:3: expected 3 columns, found 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    kind: str, content: str, problem: str, file: Make
) -> None:
    with pytest.raises(InputError, match=problem):
        read(file("f", content), format=kind)


def test_a_record_without_end_is_bounded(file: Make) -> None:
    path = file("f", 'a,p,b\n"' + "x\n" * LONGEST_LINE + '"\nc,p,d\n')
    with pytest.raises(InputError, match=r"f:2: this is not CSV \(a record is longer"):
        read(path, format="csv")
    long = "x" * 200_000
    assert read(file("g", f"{long},p,b\n"), format="csv") == [(long, "p", "b")]


def test_bad_lines_are_skipped_if_asked(file: Make) -> None:
    content = b"one\nab\tp\tb\n\ta\tb\nc\tp\td\nx\ty\0\tz\n\xff\tp\te\nf\tp\tg\t\n"
    assert read(file("f", content), skip_bad_lines=True) == [("ab", "p", "b"), ("c", "p", "d")]
    csv = 'a,p,b\n"x"y,p,q\nc,p,d\n"left open,p,b\n'
    assert read(file("g", csv), format="csv", skip_bad_lines=True) == [
        ("a", "p", "b"),
        ("c", "p", "d"),
    ]


LINE = st.one_of(
    st.text(st.sampled_from('ab\t\t\t,;"\r\0é #\ufeff\u2028\\'), max_size=8),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
        min_size=3,
        max_size=3,
    ).map("\t".join),
    st.sampled_from(["a\tp\tb", "NA\tnull\t001", "s\tp\to", "a,p,b", '"a",p,b', "\\N\tx\t#", ""]),
)
FILE = st.builds(
    lambda mark, lines, ends: mark + b"".join(
        line.encode() + end for line, end in zip(lines, ends, strict=False)
    ),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.lists(LINE, min_size=1, max_size=6),
    st.lists(st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b""]), min_size=6, max_size=6),
)  # fmt: skip
PLAIN_FILE = st.builds(
    lambda mark, header, facts, end: mark + header + "\n".join(
        "\t".join(fact) for fact in facts
    ).encode() + end,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.sampled_from([b"", b"s\tp\to\n"]),
    st.sampled_from([3, 4]).flatmap(
        lambda width: st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"],
            exclude_characters="\t\n\r\0\ufeff"), min_size=1, max_size=6)] * width),
            min_size=1, max_size=6)),
    st.sampled_from([b"", b"\n"]),
)  # fmt: skip


@OFTEN
@given(content=st.one_of(FILE, PLAIN_FILE), kind=st.sampled_from(["tsv", "csv"]), data=st.data())
@example(content=b'a\tp\tb"\n"c\tp\td\n', kind="tsv", data=None)
@example(content=b"a\tp\tb\n'x'\t\\\t#\n", kind="tsv", data=None)
def test_the_fast_way_equals_the_definition(
    content: bytes, kind: str, data: st.DataObject | None, table: FactTable, file: Make
) -> None:
    path, options = file("f", content), dict[str, object]()
    if data is not None:
        options["header"] = data.draw(st.sampled_from(["auto", "yes", "no"]))
        options["delimiter"] = data.draw(st.sampled_from([",", "\t", ";"]))
        options["columns"] = data.draw(st.sampled_from([(), ("3", "1", "2"), ("4", "2", "1")]))
    try:
        slow = read(path, format=kind, **options)
    except InputError:
        slow = None
    try:
        found = shape(path, format=kind, **options)
    except InputError:
        return
    source = Source.at(path, cap=10**9)
    added = plain_files.read_plain(source, "train", found, table=table, progress=silent)
    fast = table.query("select s, p, o from facts")
    table.drop("train")
    assert added is None or sorted(fast) == sorted(slow if slow is not None else [])
    assert added is None or slow is not None
    assert len(fast) == (added or 0)


def is_fast(path: Path, table: FactTable, **options: object) -> bool:
    source = Source.at(path, cap=10**9)
    found = shape(path, **{"format": "tsv", **options})
    added = plain_files.read_plain(source, "train", found, table=table, progress=silent)
    table.drop("train")
    return added is not None


def test_most_files_are_plain(file: Make, table: FactTable) -> None:
    assert is_fast(file("f", "a\tp\tb\n" * 200_000), table)
    assert is_fast(file("f", b'\xef\xbb\xbfsubject\tpredicate\tobject\n"a\tp\tb'), table)
    assert is_fast(file("f", "a,p,b\nc,p,d\n"), table, format="csv")
    long = "x" * (LONGEST_LINE - 4)
    assert is_fast(file("f", f"a\tp\tb\n{long}\tp\tb\n" * 5), table)


def test_what_was_expanded_to_look_at_it_does_not_stay(file: Make, table: FactTable) -> None:
    for text, fast in ((b"a\tp\tb\n", True), (b"a\tp\tb\nc\tp\td\r\n", False)):
        assert is_fast(file("f.gz", gzip.compress(text)), table) == fast
        assert not [*table.folder.glob("*.text")]


def test_what_duckdb_would_see_otherwise_is_not(file: Make, table: FactTable) -> None:
    for text in ("a\tp\tb\r\n", "a\tp\tb\n\nc\tp\td\n", "a\tp\tb\n\tp\td\n", "a\tp\tb\nc\tp\t\n"):
        assert not is_fast(file("f", text), table)
    assert not is_fast(file("f", 'a,p,"b"\n'), table, format="csv")
    assert not is_fast(file("f", "a\tp\tb\nc\td\ne\tf\tg\th\n"), table)
    assert not is_fast(file("f", "a\tp\tb\n" + "x" * LONGEST_LINE + "\tp\tb\n"), table)
    assert not is_fast(file("f", b"a\tp\tb\n\xff\tp\tb\n"), table)


def test_a_stray_quote_costs_its_own_line_only(file: Make) -> None:
    lines = [f"s{i},p,o" for i in range(1, 201)]
    lines[4], lines[99] = '"s5,p,o', 's100,"p,o'
    path = file("f", "\n".join(lines) + "\n")
    graph = trifact.load(path, format="csv", skip_bad_lines=True, valid=0.0, test=0.0)
    assert len(graph.train) == 198
    assert set(graph.entities) == {"o", *(f"s{i}" for i in range(1, 201) if i not in (5, 100))}
    assert any("2 bad lines dropped" in note and "f:5:" in note for note in graph.notes)


@pytest.mark.parametrize("first", ["x\ty\tz\tw", "x\ty"])
def test_a_bad_first_line_is_dropped_like_any_other(first: str, file: Make) -> None:
    path = file("f", f"{first}\n" + "".join(f"e{i}\tp\te{i + 1}\n" for i in range(9)))
    options = {"skip_bad_lines": True, "columns": ("1", "2", "3")}
    assert len(read(path, **options)) == 9
    with pytest.raises(InputError, match="column"):
        read(path, columns=("1", "2", "3"))


def test_a_header_behind_a_bad_line_is_no_fact(file: Make) -> None:
    facts = "".join(f"e{i}\tp\te{i + 1}\tx\n" for i in range(9))
    path = file("f", f"# exported\nsubject\tpredicate\tobject\tsource\n{facts}")
    options = {"skip_bad_lines": True, "columns": ("1", "2", "3")}
    assert read(path, **options)[0] == ("e0", "p", "e1")
    graph = trifact.load(path, format="tsv", valid=0.0, test=0.0, **options)
    assert len(graph.train) == 9
    assert "line 2 is a header" in graph.notes[0]
    assert any("1 bad line dropped" in note and "f:1:" in note for note in graph.notes)
