"""RDF in and out: terms as names, names as terms.

A name is an IRI without its brackets, `_:label` for a blank node, or, where literals are kept,
the literal as N-Triples write it. A name that is none of these is written as an IRI of our own,
`urn:trifact:` and its percent-encoding, and read back as what it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import quote, unquote

import pyoxigraph as ox

from trifact.errors import InputError
from trifact.graph.facttable import Row
from trifact.graph.formats import SHOWN
from trifact.graph.options import LoadConfig
from trifact.graph.rdfguard import guarded, too_deep
from trifact.graph.rdflabels import label_of
from trifact.graph.sources import LONGEST_LINE, BadLines, Source, one_line, text_lines

FORMATS = {
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "turtle": ox.RdfFormat.TURTLE,
    "rdfxml": ox.RdfFormat.RDF_XML,
}
LINE_BY_LINE = ("ntriples", "nquads")
OUR_IRI = "urn:trifact:"
IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
BLANK = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
NAMELESS = re.compile(r"[0-9a-f]{24,32}|(?:train|valid|test)-blank[0-9]+")
CHARACTERS_AT_ONCE = 1 << 18


@dataclass
class Terms:
    """Terms as names, labels on their way, and a count of what is neither fact nor label."""

    split: str
    config: LoadConfig
    add_label: Callable[[str, str, str], None]  # name, label, rank
    literals: int = 0
    triple_terms: int = 0
    nameless: dict[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """What was left out, for people; empty if nothing was."""
        counts = ((self.literals, "literals"), (self.triple_terms, "triple terms"))
        parts = [
            f"{count:,} fact{'s' if count > 1 else ''} with {what} skipped"
            for count, what in counts
            if count
        ]
        return " and ".join(parts)

    def fact(self, quad: ox.Quad) -> Row | None:
        """The fact of a statement, or None."""
        if isinstance(quad.object, ox.Triple):
            self.triple_terms += 1
            return None
        if (label := label_of(quad)) is not None:
            self.add_label(self._name(quad.subject), *label)
        if isinstance(quad.object, ox.Literal) and self.config.literals == "skip":
            self.literals += label is None
            return None
        return self._name(quad.subject), self._name(quad.predicate), self._name(quad.object)

    def _name(self, term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
        if isinstance(term, ox.NamedNode):
            value: str = term.value
            return _decoded(value) if value.startswith(OUR_IRI) else value
        if isinstance(term, ox.BlankNode):
            return f"_:{self._label(term.value)}"
        return str(term)

    def _label(self, label: str) -> str:
        """The label of a blank node. Where Turtle gives none, the parser gives a random one.

        Those are numbered instead, so that the same file gives the same names; labels of its own
        that look like either are numbered too, lest two nodes become one.
        """
        if self.config.format in LINE_BY_LINE or not NAMELESS.fullmatch(label):
            return label
        return self.nameless.setdefault(label, f"{self.split}-blank{len(self.nameless) + 1}")


def rows(source: Source, config: LoadConfig, bad: BadLines, terms: Terms) -> Iterator[Row]:
    """The facts of an RDF file; named graphs are merged, blank nodes keep their labels."""
    with source.open() as stream:
        by_line = config.format in LINE_BY_LINE
        quads = _by_line(stream, config, bad) if by_line else _whole(stream, config, bad)
        for number, quad in quads:
            fact = terms.fact(quad)
            if fact is None:
                continue
            if max(map(len, fact)) > LONGEST_LINE:
                bad.report(number, f"a name is longer than {LONGEST_LINE:,} characters")
            else:
                yield fact


def _whole(
    stream: BinaryIO, config: LoadConfig, bad: BadLines
) -> Iterator[tuple[int | None, ox.Quad]]:
    """Turtle and RDF/XML: a statement may go over many lines, so no line can be skipped."""
    try:
        for quad in ox.parse(guarded(stream, config.format, bad.path), FORMATS[config.format]):
            yield None, quad
    except SyntaxError as error:
        problem = _problem(config, error)
        problem += "; such a file cannot be read past an error" if bad.skip else ""
        raise InputError(problem, path=bad.path, line=error.lineno) from None


def _by_line(
    stream: BinaryIO, config: LoadConfig, bad: BadLines
) -> Iterator[tuple[int | None, ox.Quad]]:
    """N-Triples and N-Quads: blocks of lines at once; a block with an error again, by line."""
    for block in _blocks(text_lines(stream, bad)):
        try:
            yield from ((None, quad) for quad in _parsed("".join(block.values()), config))
        except SyntaxError:
            for number, line in block.items():
                try:
                    yield from ((number, quad) for quad in _parsed(line, config))
                except SyntaxError as error:
                    bad.report(number, _problem(config, error))


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[dict[int, str]]:
    """Lines by number, so many at a time that there is little to call for each."""
    block, size = dict[int, str](), 0
    for number, line in lines:
        block[number] = line
        size += len(line)
        if size > CHARACTERS_AT_ONCE:
            yield block
            block, size = {}, 0
    yield block


def _parsed(text: str, config: LoadConfig) -> list[ox.Quad]:
    if too_deep(text):
        raise SyntaxError("triple terms are nested too deeply")
    return list(ox.parse(text.encode(), FORMATS[config.format]))


def _problem(config: LoadConfig, error: SyntaxError) -> str:
    why = one_line(error.msg.split(": ", 1)[-1][:300])
    return f"this is not {SHOWN[config.format]} ({why})"


def _decoded(iri: str) -> str:
    """The name behind an IRI of ours; an IRI that we would not have written is itself a name."""
    encoded = iri.removeprefix(OUR_IRI)
    name = unquote(encoded)
    return name if name and "\0" not in name and quote(name, safe="") == encoded else iri


def term(name: str, *, blank: bool = True, literal: bool = False) -> str:
    """A name as N-Triples write it; `blank` and `literal` say whether it may be such a term."""
    if literal and _is_literal(name):
        return name
    if blank and BLANK.fullmatch(name):
        return name
    if IRI.fullmatch(name) and not name.startswith(OUR_IRI) and _is_iri(name):
        return f"<{name}>"
    return f"<{OUR_IRI}{quote(name, safe='')}>"


def _is_iri(name: str) -> bool:
    """Whether the parser takes it as it is: the pattern lets through some that it does not."""
    try:
        return ox.NamedNode(name).value == name
    except ValueError:
        return False


def _is_literal(name: str) -> bool:
    """Whether it is a literal that is read back as the same name."""
    if not name.startswith('"') or "\n" in name:
        return False
    try:
        quads = list(ox.parse(f"<x:s> <x:p> {name} .".encode(), ox.RdfFormat.N_TRIPLES))
    except SyntaxError:
        return False
    return (
        len(quads) == 1 and isinstance(quads[0].object, ox.Literal) and str(quads[0].object) == name
    )
