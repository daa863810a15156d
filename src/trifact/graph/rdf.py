"""RDF in and out: terms as names, names as terms.

A name is an IRI without its brackets, `_:label` for a blank node, or, where literals are kept,
the literal as N-Triples write it. A name that is none of these is written as an IRI of our own,
`urn:trifact:` and its percent-encoding, and read back as what it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO
from urllib.parse import quote, unquote

import pyoxigraph as ox

from trifact.errors import InputError
from trifact.graph.facttable import Row
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source, text_lines

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
LINES_AT_ONCE = 2_000


@dataclass
class LeftOut:
    """What RDF has that is no fact between two entities."""

    literals: int = 0
    triple_terms: int = 0

    @property
    def said(self) -> str:
        """For people; empty if nothing was left out."""
        counts = ((self.literals, "literals"), (self.triple_terms, "triple terms"))
        return " and ".join(
            f"{count:,} facts with {what} skipped" for count, what in counts if count
        )


def rows(source: Source, config: LoadConfig, bad: BadLines, left_out: LeftOut) -> Iterator[Row]:
    """The facts of an RDF file; named graphs are merged, blank nodes keep their labels."""
    with source.open() as stream:
        by_line = config.format in LINE_BY_LINE and bad.skip
        quads = _line_by_line(stream, config, bad) if by_line else _whole(stream, config, source)
        for quad in quads:
            fact = _fact(quad, left_out, keep=config.literals == "keep")
            if fact is not None:
                yield fact


def _whole(stream: BinaryIO, config: LoadConfig, source: Source) -> Iterator[ox.Quad]:
    try:
        yield from ox.parse(stream, FORMATS[config.format])
    except SyntaxError as error:
        problem = _problem(config, error)
        if config.skip_bad_lines:
            problem += "; such a file cannot be read past an error"
        raise InputError(problem, path=source.path, line=error.lineno) from None


def _line_by_line(stream: BinaryIO, config: LoadConfig, bad: BadLines) -> Iterator[ox.Quad]:
    """Blocks of lines parsed at once; a block with an error again, line by line."""
    lines = text_lines(stream, bad)
    while block := list(islice(lines, LINES_AT_ONCE)):
        try:
            yield from list(_parse("".join(line for _, line in block), config))
        except SyntaxError:
            for number, line in block:
                try:
                    yield from list(_parse(line, config))
                except SyntaxError as error:
                    bad.report(number, _problem(config, error))


def _problem(config: LoadConfig, error: SyntaxError) -> str:
    return f"this is not {config.format} ({error.msg.split(': ', 1)[-1]})"


def _parse(text: str, config: LoadConfig) -> Iterable[ox.Quad]:
    return ox.parse(text.encode(), FORMATS[config.format])


def _fact(quad: ox.Quad, left_out: LeftOut, *, keep: bool) -> Row | None:
    subject, obj = quad.subject, quad.object
    if isinstance(subject, ox.Triple) or isinstance(obj, ox.Triple):
        left_out.triple_terms += 1
        return None
    if isinstance(obj, ox.Literal) and not keep:
        left_out.literals += 1
        return None
    return _name(subject), _name(quad.predicate), _name(obj)


def _name(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> str:
    if isinstance(term, ox.NamedNode):
        value: str = term.value
        return unquote(value[len(OUR_IRI) :]) if value.startswith(OUR_IRI) else value
    return str(term)


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
    return len(quads) == 1 and str(quads[0].object) == name
