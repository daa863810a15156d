"""Records: what runs and checks were and what they came to, without weights.

python -m scripts.records RUN [RUN ...] --into results/NAME     keeps those of runs
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trifact.paper.archive import Record, commit, keep, settings_of
from trifact.run import machine
from trifact.run.run import Run

ROOT = Path(__file__).parents[1]


def about(run: Run) -> Record:
    """What the record of a check begins with: the code and the machine, and what was checked."""
    graph = run.graph()
    return {
        "commit": commit(),
        "machine": machine.describe(),
        "graph": {"name": graph.name, "content_hash": graph.content_hash},
        "config": settings_of(run),
        "metrics": {key: run.metrics[key] for key in ("epoch", "mrr")},
        "factors_sha256": run.factors_hash(),
    }


def records_in(folder: Path) -> list[Record]:
    """All records of a folder, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


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
