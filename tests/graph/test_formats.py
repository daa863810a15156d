"""A format is told by name and content, never by guess alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trifact.errors import ConfigError, InputError
from trifact.graph.formats import by_content, choose, stem_and_format
from trifact.graph.options import LoadConfig
from trifact.graph.sources import Source

Make = Callable[[str, bytes | str], Path]
PARQUET = b"PAR1\x15\x00\x15"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("facts.tsv", ("facts", "tsv")),
        ("facts.TSV.GZ", ("facts", "tsv")),
        ("train.nt.zst", ("train", "ntriples")),
        ("a.b.csv.zstd", ("a.b", "csv")),
        ("x.owl", ("x", "rdfxml")),
        ("train.txt.gz", ("train", None)),
        ("train", ("train", None)),
    ],
)
def test_names_stand_for_formats(name: str, found: tuple[str, str | None]) -> None:
    assert stem_and_format(Path(name)) == found


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"a\tp\tb\n", "tsv"),
        (b"\n\na,p,b\n", "csv"),
        (b"<x:a> <x:p> <x:b> .\n", "ntriples"),
        (b"<x:a><x:p><x:b>.\r\n", "ntriples"),
        (b'_:a <x:p> "lit"@en . # why\n', "ntriples"),
        (b"# why\n<x:a> <x:p> <x:b> <x:g> .\n", "nquads"),
        (b"_:a<x:p>_:b _:g.\n", "nquads"),
        (b"_:a<x:p>_:b.\n", "ntriples"),
        (b"<x:a> <x:p> " + b"_:" * 300_000 + b" x .\n", "ntriples"),  # in linear time
        (b"@prefix x: <http://x/> .\n", "turtle"),
        (b"base <http://x/>\n", "turtle"),
        (b"PREFIX : <http://x/>\n", "turtle"),
        (b"Base jumping\tis a\tsport\n", "tsv"),
        (b"prefix\tis a\taffix\n", "tsv"),
        (b'<?xml version="1.0"?>\n<rdf:RDF', "rdfxml"),
        (b"\n<rdf:RDF xmlns", "rdfxml"),
        (PARQUET, "parquet"),
        (b"PAR1\tp\tb\n", "tsv"),
        (b"just words\n", None),
        (b"\n\n", None),
    ],
)
def test_content_shows_formats(head: bytes, kind: str | None) -> None:
    assert by_content(head) == kind


def test_lines_that_are_left_out_show_nothing(file: Make) -> None:
    source = Source.at(file("facts.txt", "% subject, predicate, object\na\tp\tb\n"), cap=1)
    assert choose(source, LoadConfig(comment="%")) == ("tsv", "by content")
    assert choose(source, LoadConfig()) == ("csv", "by content")


def test_what_was_chosen_is_said(file: Make) -> None:
    def chosen(name: str, content: bytes | str, wanted: str = "auto") -> tuple[str, str]:
        return choose(Source.at(file(name, content), cap=1), LoadConfig(format=wanted))

    assert chosen("facts.tsv", "a\tp\tb\n") == ("tsv", "by name")
    assert chosen("facts.txt", "a\tp\tb\n") == ("tsv", "by content")
    assert chosen("facts", "a,p,b\n") == ("csv", "by content")
    assert chosen("facts.tsv", "a,p,b\n", "csv") == ("csv", "as asked")
    assert chosen("facts.tsv", "PAR1\tp\tb\n") == ("tsv", "by name")
    assert chosen("facts.tsv", '{"a": 1}\tp\tb\n') == ("tsv", "by name")
    assert chosen("facts.ttl", "<x:a> <x:p> <x:b> .\n") == ("turtle", "by name")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("facts.tsv", PARQUET, "name says TSV but its content is Parquet"),
        ("facts.parquet", b"a\tp\tb\n", "name says Parquet but its content is TSV"),
        ("facts.csv", b"<?xml version='1.0'?>", "name says CSV but its content is RDF/XML"),
        ("facts.txt", b"no idea", "facts.txt:1: its format cannot be told"),
        ("facts.jsonl", b'{"subject": "a", "predicate": "p", "object": "b"}\n', "this is JSON"),
        ("facts.json", b'[\n  {"s": "a"}]', "this is JSON"),
        ("facts", b'[["a", "p", "b"]]', "this is JSON"),
        ("facts.tsv", b"", "the file is empty"),
        ("facts.tsv", b"\xef\xbb\xbf", "the file is empty"),
    ],
)
def test_contradictions_and_riddles_are_errors(
    name: str, content: bytes, problem: str, file: Make
) -> None:
    with pytest.raises(InputError, match=problem):
        choose(Source.at(file(name, content), cap=1), LoadConfig())


def test_a_delimiter_says_that_it_is_csv(file: Make) -> None:
    for name in ("f.txt", "f.tsv", "f"):
        found = choose(Source.at(file(name, "a;p;b\n"), cap=1), LoadConfig(delimiter=";"))
        assert found == ("csv", "by its delimiter")
        comma = choose(Source.at(file(name, "a,p,b\n"), cap=1), LoadConfig(delimiter=","))
        assert comma[0] == "csv"
    with pytest.raises(InputError, match="delimiter cannot be given for TSV"):
        choose(Source.at(file("f", "a;b"), cap=1), LoadConfig(format="tsv", delimiter=";"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("f.nt", {"columns": ("1", "2", "3")}),
        ("f.ttl", {"header": "yes"}),
        ("f.nt", {"comment": "#"}),
        ("f.parquet", {"delimiter": ";"}),
        ("f.parquet", {"header": "no"}),
    ],
)
def test_what_a_format_cannot_use_is_refused(
    name: str, options: dict[str, object], file: Make
) -> None:
    content = b"PAR1\0" if name == "f.parquet" else b"<a> <b> <c> .\n"
    problem = f"{name}: {next(iter(options))} cannot be given for .*; leave it out"
    with pytest.raises(InputError, match=problem):
        choose(Source.at(file(name, content), cap=1), LoadConfig.from_values(options))


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "\r", "\0", "\ud800"])
def test_odd_delimiters_are_refused(delimiter: str) -> None:
    with pytest.raises(ConfigError, match="delimiter must be one character"):
        LoadConfig(delimiter=delimiter)


def test_an_odd_comment_is_refused() -> None:
    with pytest.raises(ConfigError, match="comment must be text in UTF-8"):
        LoadConfig(comment="\udca7")
