"""Check the rule for rank and lambda: a fixed 3 x 3 grid of 20 epochs around what it says.

Runs what is missing, goes on with what was cut off, and keeps a record of each run in
results/defaults/; the table in docs/training.md is made of all records.

    python -m scripts.check_defaults [GRAPH ...] [--runs FOLDER]
    python -m scripts.check_defaults --page     only the table
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.pages import Part, table
from scripts.records import ROOT, records_in
from trifact.graph.loading import load
from trifact.paper.archive import commit, keep
from trifact.run.folder import CONFIG
from trifact.run.options import TrainConfig, resolved
from trifact.run.training import resume, train

GRAPHS = ("UMLS", "Kinship", "CoDEx-S", "WN18RR", "FB15K-237")
RANKS = (0.5, 1.0, 2.0)
LAMBDAS = (1 / 3, 1.0, 3.0)
RECORDS = ROOT / "results" / "defaults"
PART = Part("training.md", "check_defaults")


def check(name: str, runs: Path) -> None:
    """The nine runs of one graph, and how far the rule is from the best of them."""
    graph = load(name)
    rule = resolved(TrainConfig(epochs=20, validate_every=4, patience=5), graph)
    assert rule.rank is not None
    assert rule.reg is not None
    found = dict[tuple[float, float], float]()
    for more_rank in RANKS:
        for more_reg in LAMBDAS:
            config = rule.replace(rank=round(rule.rank * more_rank), reg=rule.reg * more_reg)
            label = f"{name}-rank{config.rank}-reg{config.reg:.4g}"
            record = RECORDS / f"{label}.json"
            if not record.exists():
                path = runs / label
                run = resume(path) if (path / CONFIG).exists() else train(graph, config, out=path)
                keep(run, RECORDS, code=commit())
            mrr = json.loads(record.read_text(encoding="utf-8"))["metrics"]["mrr"]
            found[more_rank, more_reg] = mrr
            print(f"{label}: {mrr:.4f}", flush=True)
    best = max(found.values())
    print(f"{name}: rule {found[1.0, 1.0]:.4f}, best {best:.4f}", flush=True)


def made() -> str:
    """The grids that are whole, a row a rank, and the names of those that are not."""
    whole = [name for name in GRAPHS if len(_grid(name)) == 9]
    rows = [row for name in whole for row in _rows(name, _grid(name))]
    missing = [name for name in GRAPHS if name not in whole]
    said = f"\nNot all nine runs are done of {' and '.join(missing)}.\n" if missing else ""
    return "\n".join(table(("graph", "rank", "λ/3", "λ", "3λ"), rows, text=1)) + said


def _grid(name: str) -> dict[tuple[int, float], float]:
    """Validation MRR by rank and lambda."""
    kept = [record for record in records_in(RECORDS) if record["graph"]["name"] == name]
    return {(r["config"]["rank"], r["config"]["reg"]): r["metrics"]["mrr"] for r in kept}


def _rows(name: str, grid: dict[tuple[int, float], float]) -> list[tuple[object, ...]]:
    """A row a rank; the rule is in the middle, and the best is bold."""
    ranks, regs = (sorted(set(axis)) for axis in zip(*grid, strict=True))
    best = max(grid.values())
    shown = {at: f"**{mrr:.4f}**" if mrr == best else f"{mrr:.4f}" for at, mrr in grid.items()}
    heads = (f"{name}, λ = {regs[1]:g}", "", "")
    return [
        (head, rank, *(shown[rank, reg] for reg in regs))
        for head, rank in zip(heads, ranks, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the rule for rank and lambda.")
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "defaults")
    parser.add_argument("--page", action="store_true", help="only make the table of the page")
    options = parser.parse_args()
    for name in [] if options.page else options.graphs:
        check(name, options.runs)
    PART.write(made())


if __name__ == "__main__":
    main()
