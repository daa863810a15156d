"""RDF: terms become names and names become terms, and nothing brings the parser down."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import trifact
from trifact.errors import InputError
from trifact.graph.options import LoadConfig
from trifact.graph.rdf import Terms, rows, term
from trifact.graph.sources import LONGEST_LINE, BadLines, Source

Make = Callable[[str, bytes | str], Path]
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
ENDINGS = {"ntriples": "nt", "nquads": "nq", "turtle": "ttl", "rdfxml": "rdf"}


def read(path: Path, kind: str = "ntriples", **options: Any) -> list[tuple[str, str, str]]:
    config = LoadConfig.from_values({"format": kind, **options})
    bad = BadLines(path, config.skip_bad_lines)
    terms = Terms("train", config, lambda *_: None)
    return list(rows(Source.at(path, cap=10**9), config, bad, terms))


SAME = {
    "ntriples": "# why\n<http://e/a> <http://e/p> <http://e/b> . # so\r\n\n"
    '_:x <http://e/p> <http://e/a> .\n<http://e/a> <http://e/name> "A"@en .\n',
    "nquads": "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n"
    '_:x <http://e/p> <http://e/a> .\n<http://e/a> <http://e/name> "A"@en <http://e/h> .\n',
    "turtle": '@prefix e: <http://e/> .\ne:a e:p e:b ;\n  e:name "A"@en .\n_:x e:p e:a .\n',
    "rdfxml": f'<?xml version="1.0"?>\n<rdf:RDF {RDF}>\n<rdf:Description rdf:about="http://e/a">'
    '<e:p rdf:resource="http://e/b"/><e:name xml:lang="en">A</e:name></rdf:Description>'
    '<rdf:Description rdf:nodeID="x"><e:p rdf:resource="http://e/a"/></rdf:Description></rdf:RDF>',
}
FACTS = {("http://e/a", "http://e/p", "http://e/b"), ("_:x", "http://e/p", "http://e/a")}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("kind", SAME)
def test_the_same_facts_in_every_format(kind: str, mark: str, file: Make) -> None:
    path = file(f"f.{ENDINGS[kind]}", mark + SAME[kind])
    assert set(read(path, kind)) == FACTS
    kept = set(read(path, kind, literals="keep"))
    assert kept - FACTS == {("http://e/a", "http://e/name", '"A"@en')}
    graph = trifact.load(path, valid=0.0, test=0.0)
    assert len(graph.train) == 2
    assert any("1 fact with literals skipped" in note for note in graph.notes)


def test_triple_terms_are_no_facts(file: Make) -> None:
    text = "<x:a> <x:p> <x:b> .\n<x:r> <x:says> <<( <x:a> <x:p> <x:b> )>> .\n"
    graph = trifact.load(file("f.nt", text), valid=0.0, test=0.0)
    assert len(graph.train) == 1
    assert any("1 fact with triple terms skipped" in note for note in graph.notes)


def test_nodes_without_a_label_get_the_same_names_each_time(file: Make) -> None:
    path = file("f.ttl", "[] <x:p> [ <x:q> <x:b> ] . _:train-blank1 <x:p> _:y .")
    found = read(path, "turtle")
    assert found == read(path, "turtle")
    names = {name for s, _, o in found for name in (s, o)}
    assert names == {"x:b", "_:y", "_:train-blank1", "_:train-blank2", "_:train-blank3"}
    again = [trifact.load(path, cache=False).content_hash for _ in range(2)]
    assert again[0] == again[1]


def test_splits_do_not_share_nodes_without_a_label(file: Make) -> None:
    for split in ("train", "test"):
        file(f"g/{split}.ttl", "<x:a> <x:p> [] .")
    assert len(trifact.load(file("g/note.md", "").parent).entities) == 3


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("ntriples", "<x:a> <x:p> <x:b> .\n<x:a> <x:p>\n", "f:2: this is not N-Triples"),
        ("ntriples", "<x:a> <x:p> <x:b> .\n<x:a>\0 <x:p> <x:b> .\n", "f:2: .*NUL"),
        ("ntriples", "\n\n<a b> <x:p> <x:b> .\n", "f:3: this is not N-Triples"),
        ("nquads", "<x:a> <x:p> <x:b> <x:c> <x:d> .\n", "f:1: this is not N-Quads"),
        ("turtle", "@prefix e: <http://e/> .\n\ne:a e:p ;;; .\n", "f:3: this is not Turtle"),
        ("turtle", "e:a e:p e:b .", "f:1: this is not Turtle"),
        ("rdfxml", f"<rdf:RDF {RDF}>\n<e:T>\n</e:X>\n</rdf:RDF>", "f:3: .*mismatched tag"),
        ("rdfxml", f"<rdf:RDF {RDF}>", "f:1: .*no element found"),
        ("rdfxml", "<?xml version='1.0' encoding='nope'?><a>", "f:1: this is not RDF/XML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    kind: str, text: str, problem: str, file: Make
) -> None:
    with pytest.raises(InputError, match=problem):
        read(file("f", text), kind)


def test_what_the_parser_quotes_cannot_break_the_sentence(file: Make) -> None:
    for odd in ("\n", "\x1b", "\x85", "\u2028"):
        text = f'<!DOCTYPE r [<!ENTITY e "{odd}http://e/">]><rdf:RDF {RDF}><e:T rdf:about="&e;a"/>'
        path = file("f", (text + "</rdf:RDF>").replace("\x1b", "&#27;"))
        with pytest.raises(InputError) as caught:
            read(path, "rdfxml")
        assert str(caught.value).isprintable()


def test_invalid_utf8_and_long_lines_are_bad_lines(file: Make) -> None:
    good, long = b"<x:a> <x:p> <x:b> .\n", b"<x:" + b"y" * LONGEST_LINE + b"> <x:p> <x:b> .\n"
    path = file("f", good + b"<x:\xff> <x:p> <x:b> .\n" + long + b"nonsense\n" + good)
    with pytest.raises(InputError, match="f:2: byte 4 of the line is not UTF-8"):
        read(path)
    assert read(path, skip_bad_lines=True) == [("x:a", "x:p", "x:b")] * 2
    with pytest.raises(InputError, match="g:1: the line is longer"):
        read(file("g", long))


def test_turtle_cannot_skip(file: Make) -> None:
    path = file("f", "<x:a> <x:p> <x:b> .\noops\n")
    with pytest.raises(InputError, match=r"f:2: .*cannot be read past an error"):
        read(path, "turtle", skip_bad_lines=True)


def test_a_long_literal_of_turtle_is_refused(file: Make) -> None:
    path = file("f", f'<x:a> <x:p> "{"y" * LONGEST_LINE}" .')
    assert read(path, "turtle") == []
    with pytest.raises(InputError, match="f: a name is longer"):
        read(path, "turtle", literals="keep")


def nested_terms(depth: int) -> str:
    return "<x:a> <x:p> " + "<<( <x:a> <x:p> " * depth + "<x:b> " + ")>> " * depth + " .\n"


@pytest.mark.parametrize("kind", ["ntriples", "nquads", "turtle"])
def test_nesting_that_would_overflow_the_parser_is_refused(kind: str, file: Make) -> None:
    assert read(file("f", nested_terms(900)), kind) == []
    with pytest.raises(InputError, match="triple terms"):
        read(file("f", nested_terms(40_000)), kind)


def test_nested_elements_are_refused(file: Make) -> None:
    triple = '<rdf:Description rdf:about="http://e/a"><e:p rdf:parseType="Tri&#112;le">'
    for inner in ("<e:T><e:p>", triple):
        with pytest.raises(InputError, match="f:1: elements are nested more than 1,000 deep"):
            read(file("f", f'<rdf:RDF {RDF} rdf:version="1.2">' + inner * 40_000), "rdfxml")


def test_entities_may_shorten_names_but_not_build_on_each_other(file: Make) -> None:
    def with_entities(declared: str) -> Path:
        text = f'<!DOCTYPE x [{declared}]><rdf:RDF {RDF}><rdf:Description rdf:about="&e;a">'
        return file("f", text + '<e:p rdf:resource="&e;b"/></rdf:Description></rdf:RDF>')

    ordinary = '<!ENTITY e "http://e/">'
    assert read(with_entities(ordinary), "rdfxml") == [("http://e/a", "http://e/p", "http://e/b")]
    for harmful in ('<!ENTITY f "&e;&e;">', '<!ENTITY f SYSTEM "file:///etc/passwd">',
                    '<!ENTITY f "&#38;e;&#38;e;">', f'<!ENTITY f "{"x" * 300}">'):  # fmt: skip
        with pytest.raises(InputError, match="f:1: the entity 'f' is external, long or made of"):
            read(with_entities(ordinary + harmful), "rdfxml")


@pytest.mark.parametrize("kind", SAME)
def test_damage_below_the_parser_is_still_an_input_error(kind: str, file: Make) -> None:
    path = file("f", gzip.compress(SAME[kind].encode())[:-12])
    with pytest.raises(InputError, match="damaged or cut short"):
        read(path, kind)


TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
STARTS = ["http://e/", "urn:trifact:", "x:", "_:", '"', "%", "a:b", "_:train-blank1"]
HOSTILE = st.one_of(
    st.text(TEXT, min_size=1),
    st.builds(str.__add__, st.sampled_from(STARTS), st.text(TEXT, max_size=5)),
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(names=st.lists(HOSTILE, min_size=3, max_size=30), literal=st.booleans())
@example(names=["urn:trifact:", "urn:trifact:%FF", "urn:trifact:a%20b"], literal=False)
@example(names=['"lit"@en', '"a"^^<http://x>', '"a\\"b"'], literal=True)
@example(names=["_:x", "<x>", "_:x."], literal=False)
@example(names=["http://e/%zz", "http://[", "a:é"], literal=False)
def test_every_name_comes_back_from_its_term(names: list[str], literal: bool) -> None:
    with tempfile.NamedTemporaryFile(suffix=".nt") as out:
        for name in names:
            terms = term(name), term(name, blank=False), term(name, literal=literal)
            out.write((" ".join(terms) + " .\n").encode())
        out.flush()
        found = read(Path(out.name), literals="keep")
    assert found == [(name, name, name) for name in names]


def test_iris_that_look_like_ours_but_are_not_stay_apart(file: Make) -> None:
    iris = ["urn:trifact:", "urn:trifact:%FF", "urn:trifact:%FE", "urn:trifact:%00",
            "urn:trifact:%2f", "urn:trifact:a"]  # fmt: skip
    text = "".join(f"<{iri}> <x:p> <x:o> .\n" for iri in iris)
    found = [fact[0] for fact in read(file("f", text))]
    assert found == [*iris[:-1], "a"]
