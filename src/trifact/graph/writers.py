"""Graphs out: TSV, CSV, Parquet and N-Triples, whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import zstandard

from trifact.errors import OutputError
from trifact.graph.delimited import HEADERS
from trifact.graph.facttable import FactTable, Row
from trifact.graph.formats import stem_and_format
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.rdf import term

WRITABLE = {"tsv": ".tsv", "csv": ".csv", "parquet": ".parquet", "ntriples": ".nt"}
FACTS_AT_ONCE = 100_000
NOT_IN_TSV = re.compile(r"[\t\n\r]")
QUOTED_IN_CSV = re.compile(r'[,"\n\r]')


def write_facts(
    graph: Graph, facts: Ints, path: Path, *, overwrite: bool = False, literals: bool = False
) -> None:
    """Write facts (n, 3) of a graph by name; the ending of the path says the format.

    `literals` writes names that are RDF literals as such to N-Triples.
    """
    kind = format_to_write(path)
    with _new_file(path, overwrite=overwrite) as part:
        if kind == "parquet":
            _write_parquet(graph, facts, part)
        else:
            lines = {"tsv": _tsv, "csv": _csv, "ntriples": _ntriples(graph, facts, literals)}
            with _compressing(part, path.suffix.lower()) as out:
                _write_lines(graph, facts, lines[kind], out)


def format_to_write(path: Path) -> str:
    """The format that a path asks for by its ending."""
    kind = stem_and_format(path)[1]
    if kind not in WRITABLE:
        known = ", ".join(WRITABLE.values())
        raise OutputError(f"{path}: facts are written as {known}; end the name in one of these")
    return kind


@contextmanager
def _new_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary name that becomes `path` once all is written, and else is removed."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: it exists already; say --overwrite to replace it")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        if part.parent.is_dir():
            part.unlink(missing_ok=True)


@contextmanager
def _compressing(part: Path, suffix: str) -> Iterator[BinaryIO]:
    with part.open("wb") as file:
        if suffix == ".gz":
            # neither name nor time inside: the same facts give the same bytes
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as out:
                yield cast(BinaryIO, out)
        elif suffix in (".zst", ".zstd"):
            with zstandard.ZstdCompressor().stream_writer(file) as writer:
                yield cast(BinaryIO, writer)
        else:
            yield file


def _by_name(graph: Graph, facts: Ints) -> Iterator[list[Row]]:
    entities, predicates = [*graph.entities], [*graph.predicates]
    for start in range(0, len(facts), FACTS_AT_ONCE):
        block = facts[start : start + FACTS_AT_ONCE].tolist()
        yield [(entities[s], predicates[p], entities[o]) for s, p, o in block]


def _write_lines(
    graph: Graph, facts: Ints, line: Callable[[Row], str], out: BinaryIO | io.BufferedIOBase
) -> None:
    for number, block in enumerate(_by_name(graph, facts)):
        if number == 0 and _reads_otherwise(block[0]):
            out.write(line(HEADERS[0]).encode())
        out.write("".join(map(line, block)).encode())


def _reads_otherwise(first: Row) -> bool:
    """Whether a file that begins with this fact would lose it as a header, or a mark of it."""
    header = {cell.strip().lower() for cell in first}
    return first[0].startswith("\ufeff") or any(set(names) <= header for names in HEADERS)


def _tsv(fact: Row) -> str:
    if any(NOT_IN_TSV.search(name) for name in fact):
        name = next(name for name in fact if NOT_IN_TSV.search(name))
        raise OutputError(f"TSV cannot hold the name {name!r:.80}; write CSV or Parquet instead")
    return "\t".join(fact) + "\n"


def _csv(fact: Row) -> str:
    quoted = (
        '"' + name.replace('"', '""') + '"' if QUOTED_IN_CSV.search(name) else name for name in fact
    )
    return ",".join(quoted) + "\n"


def _ntriples(graph: Graph, facts: Ints, literals: bool) -> Callable[[Row], str]:
    subjects = {graph.entities[i] for i in np.unique(facts[:, 0])} if literals else set()

    def line(fact: Row) -> str:
        literal = literals and fact[2] not in subjects
        terms = term(fact[0]), term(fact[1], blank=False), term(fact[2], literal=literal)
        return " ".join(terms) + " .\n"

    return line


def _write_parquet(graph: Graph, facts: Ints, part: Path) -> None:
    with FactTable(memory_mb=1000, disk_gb=100) as table:
        for block in _by_name(graph, facts):
            table.add_rows("train", block)
        whole = table.folder / "facts.parquet"
        table.query(
            "copy (select s as subject, p as predicate, o as object from facts) "
            f"to '{whole}' (format parquet, compression zstd)"
        )
        shutil.copyfile(whole, part)
