"""Graphs out: TSV, CSV, Parquet and N-Triples, whole or not at all."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import duckdb
import numpy as np
import zstandard

from trifact.durable import refuse_existing, refuse_no_file, replacing_all, writing
from trifact.errors import OutputError
from trifact.graph.duck import first_line, quoted
from trifact.graph.facttable import FactTable, Row
from trifact.graph.formats import by_content, stem_and_format, without_compression
from trifact.graph.graph import Graph
from trifact.graph.headers import HEADERS, known_header
from trifact.graph.known import Ints
from trifact.graph.rdf import term
from trifact.graph.sources import BOM, FOREIGN, LONGEST_LINE

WRITABLE = {"tsv": ".tsv", "csv": ".csv", "parquet": ".parquet", "ntriples": ".nt"}
FACTS_AT_ONCE = 50_000
NOT_IN_TSV = re.compile(r"[\t\n\r]")
QUOTED_IN_CSV = re.compile(r'[,"\n\r]')


def write_facts(
    graph: Graph, files: Mapping[Path, Ints], *, overwrite: bool = False, literals: bool = False
) -> None:
    """Write facts (n, 3) of a graph by name to each file: all files or none.

    The ending of a path says the format. `literals` writes names that are RDF literals as such to
    N-Triples.
    """
    for path in files:
        format_to_write(path)
        refuse_no_file(path)
    refuse_existing(*files, overwrite=overwrite)
    with replacing_all(files) as parts:
        for path, part in parts.items():
            with writing(path):
                _write(graph, files[path], path, part, literals=literals)


def _write(graph: Graph, facts: Ints, path: Path, part: Path, *, literals: bool) -> None:
    """To a file that has another name as yet."""
    kind = format_to_write(path)
    if kind == "parquet":
        _write_parquet(graph, facts, part)
        return
    blocks = {
        "tsv": _separated(graph, facts, _in_tsv, "\t"),
        "csv": _separated(graph, facts, in_csv, ","),
        "ntriples": _ntriples(graph, facts, literals=literals),
    }
    with _compressing(part, path.suffix.lower()) as out:
        for block in blocks[kind]:
            out.write(block.encode())


def format_to_write(path: Path) -> str:
    """The format that a path asks for by its ending."""
    kind = stem_and_format(path)[1]
    if kind not in WRITABLE:
        known = ", ".join(WRITABLE.values())
        raise OutputError(f"{path}: facts are written as {known}; end the name in one of these")
    if kind == "parquet" and without_compression(path) != path:
        raise OutputError(f"{path}: Parquet is compressed by itself; leave out {path.suffix}")
    return kind


@contextmanager
def _compressing(part: Path, suffix: str) -> Iterator[BinaryIO]:
    with part.open("wb") as file:
        if suffix == ".gz":
            # neither name nor time inside: the same facts give the same bytes
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as out:
                yield cast(BinaryIO, out)
        elif suffix in (".zst", ".zstd"):
            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as writer:
                yield cast(BinaryIO, writer)
        else:
            yield file


def _separated(graph: Graph, facts: Ints, cell: Callable[[str], str], sep: str) -> Iterator[str]:
    """Blocks of lines; a header first, where the first fact would not be read as one."""
    entities, predicates = _used(graph, facts, cell)
    for start, block in _blocks(facts):
        rows = [(entities[s], predicates[p], entities[o]) for s, p, o in block]
        header = [HEADERS[0]] if start == 0 and _reads_otherwise(rows[0], sep) else []
        yield _joined([sep.join(row) + "\n" for row in [*header, *rows]])


def _ntriples(graph: Graph, facts: Ints, *, literals: bool) -> Iterator[str]:
    """Blocks of lines; a literal is one only where it is never a subject."""
    subjects, predicates = _used(graph, facts, term)
    predicates = {p: term(graph.predicates[p], blank=False) for p in predicates}
    asked = set(np.unique(facts[:, 0]).tolist())
    objects = {e: term(graph.entities[e], literal=literals and e not in asked) for e in subjects}
    for _, block in _blocks(facts):
        yield _joined([f"{subjects[s]} {predicates[p]} {objects[o]} .\n" for s, p, o in block])


def _used(
    graph: Graph, facts: Ints, cell: Callable[[str], str]
) -> tuple[dict[int, str], dict[int, str]]:
    """How the names that the facts use are written, by id."""
    entities = {e: cell(graph.entities[e]) for e in np.unique(facts[:, [0, 2]]).tolist()}
    return entities, {p: cell(graph.predicates[p]) for p in np.unique(facts[:, 1]).tolist()}


def _blocks(facts: Ints) -> Iterator[tuple[int, list[list[int]]]]:
    for start in range(0, len(facts), FACTS_AT_ONCE):
        yield start, facts[start : start + FACTS_AT_ONCE].tolist()


def _joined(lines: list[str]) -> str:
    if max(map(len, lines)) > LONGEST_LINE // 4 and any(
        len(line.encode()) > LONGEST_LINE for line in lines
    ):
        raise OutputError(f"a fact is longer than {LONGEST_LINE:,} bytes; write Parquet instead")
    return "".join(lines)


def _reads_otherwise(first: Row, sep: str) -> bool:
    """Whether a file that begins with this fact would be taken for a header or another format."""
    line = sep.join(first).encode()
    odd = line.startswith((BOM, *FOREIGN)) or by_content(line) in ("parquet", "rdfxml")
    return odd or known_header([*first]) is not None


def _in_tsv(name: str) -> str:
    if NOT_IN_TSV.search(name):
        raise OutputError(f"TSV cannot hold the name {name!r:.80}; write CSV or Parquet instead")
    return name


def in_csv(name: str) -> str:
    """A cell of CSV, quoted if it must be."""
    return '"' + name.replace('"', '""') + '"' if QUOTED_IN_CSV.search(name) else name


def _write_parquet(graph: Graph, facts: Ints, part: Path) -> None:
    entities, predicates = _used(graph, facts, str)
    with FactTable(memory_mb=1000, disk_gb=100) as table:
        for _, block in _blocks(facts):
            rows = [(entities[s], predicates[p], entities[o]) for s, p, o in block]
            table.add_rows("train", rows)
        whole = table.folder / "facts.parquet"
        try:
            table.query(
                "copy (select s as subject, p as predicate, o as object from facts) "
                f"to {quoted(whole)} (format parquet, compression zstd)"
            )
        except duckdb.Error as error:
            raise OutputError(f"Parquet cannot be written ({first_line(error)})") from None
        shutil.copyfile(whole, part)
