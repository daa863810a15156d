"""Check the rule for rank and lambda: a fixed 3 x 3 grid of 20 epochs around what it says.

Runs what is missing, goes on with what was cut off, and keeps a record of each run in
results/defaults/.

    python -m scripts.check_defaults [GRAPH ...] [--runs FOLDER]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.records import ROOT, commit, keep
from trifact.graph.loading import load
from trifact.run.folder import CONFIG
from trifact.run.options import TrainConfig, resolved
from trifact.run.training import resume, train

GRAPHS = ("UMLS", "Kinship", "CoDEx-S", "WN18RR", "FB15K-237")
RANKS = (0.5, 1.0, 2.0)
LAMBDAS = (1 / 3, 1.0, 3.0)
RECORDS = ROOT / "results" / "defaults"


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the rule for rank and lambda.")
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "defaults")
    options = parser.parse_args()
    for name in options.graphs:
        check(name, options.runs)


if __name__ == "__main__":
    main()
