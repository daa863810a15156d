"""Check the rule: 20 epochs of a fixed 3 x 3 grid of rank and lambda around it, and other rates.

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
RATES = (0.5, 1.0, 2.0)
RECORDS = ROOT / "results" / "defaults"
PART = Part("training.md", "check_defaults")


def check(name: str, runs: Path) -> None:
    """The runs of one graph, and how far the rule is from the best of them."""
    graph = load(name)
    rule = resolved(TrainConfig(epochs=20, validate_every=4, patience=5), graph)
    found = dict[str, float]()
    for label, config in around(name, rule).items():
        record = RECORDS / f"{label}.json"
        if not record.exists():
            path = runs / label
            run = resume(path) if (path / CONFIG).exists() else train(graph, config, out=path)
            keep(run, RECORDS, code=commit())
        found[label] = json.loads(record.read_text(encoding="utf-8"))["metrics"]["mrr"]
        print(f"{label}: {found[label]:.4f}", flush=True)
    middle = found[_label(name, rule, rule)]
    print(f"{name}: rule {middle:.4f}, best {max(found.values()):.4f}", flush=True)


def around(name: str, rule: TrainConfig) -> dict[str, TrainConfig]:
    """What is trained on a graph, by the names of the records; the rule is among it."""
    assert rule.rank is not None
    assert rule.reg is not None
    grid = [
        rule.replace(rank=round(rule.rank * rank), reg=rule.reg * reg)
        for rank in RANKS
        for reg in LAMBDAS
    ]
    rates = [rule.replace(lr=rule.lr * rate) for rate in RATES]
    return {_label(name, config, rule): config for config in (*grid, *rates)}


def _label(name: str, config: TrainConfig, rule: TrainConfig) -> str:
    if config.lr != rule.lr:
        return f"{name}-lr{config.lr:g}"
    return f"{name}-rank{config.rank}-reg{config.reg:.4g}"


def made() -> str:
    """The grids and rates of the graphs whose runs are all done, and which others there are."""
    usual, runs = TrainConfig().lr, len(RANKS) * len(LAMBDAS) + len(RATES) - 1
    kept = {name: _kept(name) for name in GRAPHS}
    whole = {name: found for name, found in kept.items() if len(found) == runs}
    grids = {
        name: {(rank, reg): mrr for (rank, reg, lr), mrr in found.items() if lr == usual}
        for name, found in whole.items()
    }
    head = ("graph", "rank", "λ/3", "λ", "3λ")
    lines = table(head, [row for name in grids for row in _rows(name, grids[name])], text=1)
    lines += ["The rule with another rate:", ""]
    rates = [f"{usual * rate:g}" for rate in RATES]
    lines += table(("graph", *rates), [_rates(*one) for one in whole.items()], text=1)
    missing = [name for name in GRAPHS if name not in whole]
    said = f"\nNot all {runs} runs are done of {' and '.join(missing)}.\n" if missing else ""
    return "\n".join(lines) + said


def _kept(name: str) -> dict[tuple[int, float, float], float]:
    """Validation MRR by rank, lambda and rate."""
    kept = [record for record in records_in(RECORDS) if record["graph"]["name"] == name]
    settings = ((r["config"][key] for key in ("rank", "reg", "lr")) for r in kept)
    return {(*at,): r["metrics"]["mrr"] for at, r in zip(settings, kept, strict=True)}


def _rows(name: str, grid: dict[tuple[int, float], float]) -> list[tuple[object, ...]]:
    """A row a rank; the rule is in the middle, and the best is bold."""
    ranks, regs = (sorted(set(axis)) for axis in zip(*grid, strict=True))
    best = max(grid.values())
    heads = (f"{name}, λ = {regs[1]:g}", "", "")
    return [
        (head, rank, *(_shown(grid[rank, reg], best) for reg in regs))
        for head, rank in zip(heads, ranks, strict=True)
    ]


def _rates(name: str, found: dict[tuple[int, float, float], float]) -> list[str]:
    """The rule by rate; the best is bold."""
    rule = next(at[:2] for at in found if at[2] != TrainConfig().lr)
    by_rate = [found[at] for at in sorted(found) if at[:2] == rule]
    return [name, *(_shown(mrr, max(by_rate)) for mrr in by_rate)]


def _shown(mrr: float, best: float) -> str:
    return f"**{mrr:.4f}**" if mrr == best else f"{mrr:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the rule for rank, lambda and rate.")
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "defaults")
    parser.add_argument("--page", action="store_true", help="only make the table of the page")
    options = parser.parse_args()
    for name in [] if options.page else options.graphs:
        check(name, options.runs)
    PART.write(made())


if __name__ == "__main__":
    main()
