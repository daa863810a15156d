"""The settings of loading a graph."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trifact.config import Config, option
from trifact.errors import ConfigError

FORMATS = ("tsv", "csv", "parquet", "ntriples", "nquads", "turtle", "rdfxml")
NUMBER = re.compile(r"[0-9]{1,6}")
READING = (
    "columns",
    "header",
    "delimiter",
    "comment",
    "literals",
    "skip_bad_lines",
    "memory_mb",
    "max_expanded_gb",
)
"""The settings of whoever reads facts only: nothing is split, and nothing else is called format."""
DRAWING = ("valid", "test", "split_seed")
"""Those of whoever splits them."""


@dataclass(frozen=True)
class LoadConfig(Config):
    """How facts are read, and how they are split where they come in one piece."""

    title = "Reading facts"

    format: str = option("auto", "format of the files", choices=("auto", *FORMATS))
    columns: tuple[str, ...] = option(
        (), "subject, predicate and object column: three names, or three numbers from 1"
    )
    header: str = option("auto", "whether line 1 names the columns", choices=("auto", "yes", "no"))
    delimiter: str | None = option(None, "what separates the columns of CSV, if not a comma")
    comment: str = option("", "lines of TSV and CSV that begin so are left out, such as '#'")
    literals: str = option("skip", "what becomes of RDF literals", choices=("skip", "keep"))
    skip_bad_lines: bool = option(False, "drop and count lines that cannot be read")
    labels: str = option("", "file of names to show: entity TAB label (labels.tsv is found)")
    valid: float = option(0.05, "share of facts to validate on, if not split yet", low=0, high=0.5)
    test: float = option(0.05, "share of facts to test on, if not split yet", low=0, high=0.5)
    split_seed: int = option(0, "seed of the split", low=0)
    memory_mb: int = option(
        1500, "memory for reading, in MB; more goes to disk", low=200, high=100_000_000
    )
    max_expanded_gb: float = option(
        16.0, "a compressed file may expand to so many GB", low=0, high=1_000_000
    )
    cache: bool = option(True, "keep what was read, to load the same content faster again")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.separator) != 1 or self.separator in '"\r\n\0' or _is_no_text(self.separator):
            raise ConfigError(f"delimiter must be one character, not {self.delimiter!r}")
        if any(map(_is_no_text, self.comment)):
            raise ConfigError("comment must be text in UTF-8")
        if len(self.columns) not in (0, 3):
            raise ConfigError(f"columns must be three, not {len(self.columns)}")
        if len(set(self.columns)) < len(self.columns):
            raise ConfigError(
                f"columns must be three different ones, not {', '.join(self.columns)}"
            )

    @property
    def cap(self) -> int:
        """How many bytes a compressed file may expand to."""
        return int(self.max_expanded_gb * 1e9)

    @property
    def separator(self) -> str:
        """What separates the columns of CSV."""
        return "," if self.delimiter is None else self.delimiter

    @property
    def column_numbers(self) -> list[int]:
        """The columns asked for, from 0, if they were asked for by number; else none."""
        by_number = all(NUMBER.fullmatch(name) for name in self.columns)
        return [int(name) - 1 for name in self.columns] if by_number else []


def _is_no_text(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
