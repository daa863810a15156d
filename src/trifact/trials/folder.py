"""A search on disk: which file is where, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trifact.durable import read_json, write_text
from trifact.errors import RunError

RECORD, STORAGE, BEST, REPORT = "search.json", "trials.db", "best.toml", "report.html"
FORMAT = 1
KEPT = ("name", "place", "storage", "workers")


def is_search(path: Path) -> bool:
    """Whether a folder is that of a search."""
    return (path / RECORD).is_file()


def write_record(path: Path, **kept: Any) -> None:  # noqa: ANN401
    """What a folder needs to go on: the rest is in the storage, for all machines."""
    record = {"format": FORMAT, **{key: kept[key] for key in KEPT}}
    write_text(path / RECORD, json.dumps(record, indent=2) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    """What was kept; a folder without it is no search."""
    found = read_json(
        path / RECORD,
        what="record of a search",
        newest=FORMAT,
        parts=KEPT,
        advice="search anew in another folder",
    )
    if found is None:
        raise RunError(f"{path}: this is not the folder of a search; it has no {RECORD}")
    return {key: found[key] for key in KEPT}


def folder_of(number: int) -> str:
    """The folder of a trial's run, within that of the search."""
    return f"trial-{number:04}"
