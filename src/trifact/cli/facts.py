"""Facts that a command is given beside a run: read as the user says, all of them, and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.cli.screen import say
from trifact.errors import ConfigError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.progress import Progress


def as_said(reading: dict[str, Any], *, of: object, flag: str = "") -> LoadConfig:
    """How to read a file, which must be given if anything is said about it."""
    for name in reading if not of else ():
        option = name.replace("_", "-")
        raise ConfigError(f"--{option} is about a file of facts; give one with {flag}")
    return LoadConfig.from_values({**reading, "valid": 0.0, "test": 0.0})


def facts_of(source: str | Path, reading: LoadConfig, progress: Progress) -> Graph:
    """The facts of a file, or of a graph by name."""
    graph = load(source, reading, progress=progress)
    say(*graph.notes)
    return graph
