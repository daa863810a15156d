"""Keep the records of runs: what they were and how they went, without their weights.

python -m scripts.records RUN [RUN ...] --into results/NAME
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from trifact.paper.archive import commit, keep
from trifact.run.run import Run

ROOT = Path(__file__).parents[1]
__all__ = ["ROOT", "commit", "keep", "records_in"]


def records_in(folder: Path) -> list[dict[str, Any]]:
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
