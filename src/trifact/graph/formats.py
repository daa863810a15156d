"""Which format a file has: told by its name, checked against its content, always said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from trifact.errors import InputError
from trifact.graph.options import LoadConfig
from trifact.graph.sources import Source
from trifact.wording import setting

SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".del": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".ttl": "turtle",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".xml": "rdfxml",
}
SHOWN = {
    "tsv": "TSV",
    "csv": "CSV",
    "parquet": "Parquet",
    "ntriples": "N-Triples",
    "nquads": "N-Quads",
    "turtle": "Turtle",
    "rdfxml": "RDF/XML",
}
MEANT_FOR = {
    "columns": ("tsv", "csv", "parquet"),
    "header": ("tsv", "csv"),
    "comment": ("tsv", "csv"),
    "delimiter": ("csv",),
}
COMPRESSED = (".gz", ".zst", ".zstd")
XML = re.compile(rb"\s*<(?:\?xml|rdf:RDF|!DOCTYPE)[\s>]")
JSON = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{])")
NODE = rb"(?:<[^>]*>|(?>_:[^\s<]*[^\s<.]))\s*"  # a label is as long as it can be
STATEMENT = re.compile(rb"\s*" + NODE + rb"<[^>]*>\s*\S.*\.\s*(?:#.*)?")
QUAD = re.compile(rb"\s*" + NODE + rb"<[^>]*>\s*" + NODE + NODE + rb"\.\s*")
DIRECTIVE = re.compile(rb"\s*@?(?:prefix\s+[^\s:]*:|base)\s*<", re.IGNORECASE)


def without_compression(path: Path) -> Path:
    """The path without an ending that stands for a compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def stem_and_format(path: Path) -> tuple[str, str | None]:
    """A file's name without endings, and the format that its ending stands for, if any."""
    path = without_compression(path)
    return path.stem, SUFFIXES.get(path.suffix.lower())


def choose(source: Source, config: LoadConfig) -> tuple[str, str]:
    """The format of a file and how it was found ("by name", "by content", "as asked")."""
    head = source.head()
    if not head:
        raise InputError("the file is empty; it needs at least one fact", path=source.path)
    kind, how = (
        (config.format, "as asked")
        if config.format != "auto"
        else _found(source, head, config.comment)
    )
    if kind in ("", "tsv") and how != "as asked" and config.delimiter is not None:
        kind, how = "csv", "by its delimiter"
    if not kind:
        problem = "its format cannot be told by name or content; expected 3 columns or RDF"
        delimiter = f"with {setting('delimiter')} if its columns are not between commas"
        advice = f"name it .tsv or .csv, {delimiter}"
        raise InputError(f"{problem}: {advice}", path=source.path, line=1)
    idle = (name for name, formats in MEANT_FOR.items() if kind not in formats)
    refuse_idle(source.path, config, idle, what=SHOWN[kind])
    return kind, how


def refuse_idle(path: Path, config: LoadConfig, idle: Iterable[str], *, what: str) -> None:
    """Refuse options that were given and say nothing about such facts; no share is no request."""
    for name in idle:
        if getattr(config, name) not in (getattr(LoadConfig, name), 0.0):
            problem = f"{setting(name)} cannot be given for {what}; leave it out"
            raise InputError(problem, path=path)


def _found(source: Source, head: bytes, comment: str) -> tuple[str, str]:
    """The format by name or content, which must not contradict each other; empty if by none."""
    named, content = stem_and_format(source.path)[1], by_content(head, comment)
    if not named and JSON.match(head):
        problem = "this is JSON, which is not read; write it as TSV, CSV or Parquet"
        raise InputError(problem, path=source.path)
    if named and content and _contradict(named, content):
        problem = f"its name says {SHOWN[named]} but its content is {SHOWN[content]}"
        ending = next(ending for ending, kind in SUFFIXES.items() if kind == content)
        raise InputError(f"{problem}; rename it to end in {ending}", path=source.path)
    return named or content or "", "by name" if named else "by content"


def _contradict(named: str, content: str) -> bool:
    """Whether the two cannot both be; one kind of text is left to its reader to refuse."""
    return named != content and ("parquet" in (named, content) or content == "rdfxml")


def by_content(head: bytes, comment: str = "") -> str | None:
    """The format that the first bytes show but for lines left out; None if they show none."""
    if head.startswith(b"PAR1") and b"\0" in head:
        return "parquet"
    if XML.match(head):
        return "rdfxml"
    left_out = (b"#", comment.encode()) if comment else b"#"
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(left_out)]
    first = lines[0].removesuffix(b"\r") if lines else b""
    if STATEMENT.fullmatch(first):
        return "nquads" if QUAD.fullmatch(first) else "ntriples"
    if DIRECTIVE.match(first):
        return "turtle"
    return "tsv" if b"\t" in first else "csv" if b"," in first else None
