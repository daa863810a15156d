"""The settings of loading a graph."""

from __future__ import annotations

from dataclasses import dataclass

from trifact.config import Config, setting

FORMATS = ("tsv", "csv", "parquet", "ntriples", "nquads", "turtle", "rdfxml")


@dataclass(frozen=True)
class LoadConfig(Config):
    """How facts are read, and how they are split where they come in one piece."""

    format: str = setting("auto", "format of the files", choices=("auto", *FORMATS))
    columns: tuple[str, ...] = setting(
        (), "subject, predicate and object column: three names, or three numbers from 1"
    )
    header: str = setting("auto", "whether line 1 names the columns", choices=("auto", "yes", "no"))
    delimiter: str = setting(",", "what separates the columns of CSV")
    comment: str = setting("", "lines of TSV and CSV that begin so are left out, such as '#'")
    literals: str = setting("skip", "what becomes of RDF literals", choices=("skip", "keep"))
    skip_bad_lines: bool = setting(False, "drop and count lines that cannot be read")
    labels: str = setting("", "file of names to show: entity TAB label (labels.tsv is found)")
    valid: float = setting(0.05, "share of facts to validate on, if not split yet", low=0, high=0.5)
    test: float = setting(0.05, "share of facts to test on, if not split yet", low=0, high=0.5)
    seed: int = setting(0, "seed of the split", low=0)
    memory_mb: int = setting(1500, "memory for reading, in MB; more goes to disk", low=200)
    max_expanded_gb: float = setting(16.0, "a compressed file may expand to so many GB", low=0)
    cache: bool = setting(True, "keep what was read, to load the same content faster again")
