"""Records: what a run or a computation was and what it came to, without weights, for `results/`.

A record is a JSON file that tables and figures are made from; `FORMAT` counts its versions.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trifact.durable import read_json, write_text
from trifact.graph.storage import read_summary
from trifact.run.run import Run

FORMAT = 1
CODE = "code.txt"
PACKAGE = Path(__file__).parents[1]
Record = dict[str, Any]


def commit() -> str:
    """The commit of the code, marked if the package has been changed since; else its version."""
    root = PACKAGE.parents[1]
    if _git(root, "rev-parse", "--show-toplevel") != str(root.resolve()):
        return _version()  # installed, perhaps within somebody else's repository
    changed = _git(root, "status", "--porcelain", "--", str(PACKAGE))
    return f"{_git(root, 'rev-parse', '--short', 'HEAD')}{'-dirty' if changed else ''}"


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError:  # there is no git here
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version() -> str:
    try:
        return f"trifact {importlib.metadata.version('trifact')}"
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def note_code(folder: Path, code: str) -> None:
    """Keep in the folder of a run by which commit it is trained; there may be several."""
    if code not in (known := codes(folder)):
        write_text(folder / CODE, "".join(f"{one}\n" for one in [*known, code]))


def codes(folder: Path) -> list[str]:
    """The commits that have trained a run, as far as they were kept."""
    path = folder / CODE
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def begun(name: str, *, code: str) -> Record:
    """What every record begins with; `code` is the commit."""
    return {"format": FORMAT, "name": name, "commit": code}


def settings_of(run: Run) -> Record:
    """The settings that a run was trained with, but for those that are None."""
    return {name: value for name, value in asdict(run.config).items() if value is not None}


def record_of(run: Run, *, code: str) -> Record:
    """Configuration, graph, machine, history and metrics of a run.

    Its commits are those that it has kept, else `code`.
    """
    graph = read_summary(run.path)
    return {
        **begun(run.path.name, code=", ".join(codes(run.path)) or code),
        "config": settings_of(run),
        "graph": {key: graph[key] for key in ("name", "content_hash")},
        "machine": run.machine,
        "metrics": run.metrics,
        "history": [asdict(epoch) for epoch in run.history],
    }


def keep(run: Run, into: Path, *, code: str) -> None:
    """Write the record of a run to a folder of `results/`."""
    write(into / f"{run.path.name}.json", record_of(run, code=code))


def write(path: Path, record: Record) -> None:
    """Write a record, whole or not at all."""
    write_text(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def read(path: Path, *parts: str) -> Record | None:
    """A record, or None where there is none; refused if it is damaged, newer, or lacks a part."""
    return read_json(path, what="record", newest=FORMAT, parts=parts, advice="move it away")


def read_all(folder: Path) -> dict[str, Record]:
    """All records of a folder, by the names of their files."""
    found = {path.stem: read(path) for path in sorted(folder.glob("*.json"))}
    return {name: record for name, record in found.items() if record is not None}
