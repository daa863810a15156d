"""Keep the records of runs: what they were and how they went, without their weights.

python -m scripts.records RUN [RUN ...] --into results/NAME
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trifact.paper.archive import commit, keep
from trifact.run.run import Run

ROOT = Path(__file__).parents[1]
__all__ = ["ROOT", "commit", "keep"]


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
