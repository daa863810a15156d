"""Run records: what a run was and how it went, without its weights, for `results/`.

python -m scripts.records RUN [RUN ...] --into results/NAME
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trifact.durable import write_text
from trifact.run.run import Run

ROOT = Path(__file__).parents[1]


def commit() -> str:
    """The commit of the code, marked if something in the package has been changed since."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def record_of(run: Run, *, code: str) -> dict[str, Any]:
    """Configuration, graph, machine, history and metrics of a run; `code` is the commit."""
    graph = json.loads((run.path / "graph.json").read_text(encoding="utf-8"))
    return {
        "name": run.path.name,
        "commit": code,
        "config": {k: v for k, v in asdict(run.config).items() if v is not None},
        "graph": {key: graph[key] for key in ("name", "content_hash")},
        "machine": run.machine,
        "metrics": run.metrics,
        "history": [asdict(epoch) for epoch in run.history],
    }


def keep(run: Run, into: Path, *, code: str) -> None:
    """Write the record of a run to a folder of `results/`."""
    text = json.dumps(record_of(run, code=code), indent=1) + "\n"
    write_text(into / f"{run.path.name}.json", text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep the records of runs.")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--commit", default=commit(), help="of the code that made the runs")
    options = parser.parse_args()
    for path in options.runs:
        keep(Run(path), options.into, code=options.commit)


if __name__ == "__main__":
    main()
