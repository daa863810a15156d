"""Run benchmarks, keep what they print in results/benchmarks/, and make docs/performance.md.

python -m scripts.benchmarks [NAME ...] [--quick]    runs these, or all, and makes the page
python -m scripts.benchmarks --page                  only the page
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from scripts import quality
from scripts.records import ROOT, commit
from trifact.durable import write_text
from trifact.run import machine

RECORDS = ROOT / "results" / "benchmarks"
PAGE = ROOT / "docs" / "performance.md"
HALF = "-bfloat16"
COMMANDS = {
    "reading": "reading.py",
    "training-FB15K-237-100": "training.py --graph FB15K-237 --rank 100 --pykeen",
    "training-FB15K-237-1000": "training.py --graph FB15K-237 --rank 1000 --pykeen",
    "training-WN18RR-500": "training.py --graph WN18RR --rank 500",
    "training-FB15K-2000": "training.py --graph FB15K --rank 2000 --no-baseline",
    "training-DEBIAN12-100": "training.py --graph DEBIAN12 --rank 100 --no-baseline",
    "step-FB15K-237-100": "step.py --graph FB15K-237 --rank 100",
    "step-FB15K-237-500": "step.py --graph FB15K-237 --rank 500",
    "step-FB15K-237-1000": "step.py --graph FB15K-237 --rank 1000",
    "step-WN18RR-500": "step.py --graph WN18RR --rank 500",
    "evaluation-FB15K-237-500": "evaluation.py --graph FB15K-237 --rank 500",
    "evaluation-DEBIAN12-500": "evaluation.py --graph DEBIAN12 --rank 500 --budget-mb 512",
    "discovery-FB15K-237-500": "discovery.py --graph FB15K-237 --rank 500",
    "answering-FB15K-237-500": "answering.py --graph FB15K-237 --rank 500",
}
PHASES = {
    "logits": "Q Cᵀ: logits",
    "d_queries": "S C: gradient of the queries",
    "d_candidates": "Sᵀ Q: gradient of the candidates",
    "softmax": "softmax",
    "targets": "answers, sparse",
    "queries": "queries and their gradients",
    "gradients": "adding up gradients",
    "regularizer": "regularizer",
    "optimizer": "optimizer",
    "rest": "Python and the rest",
}
TOP = """# Performance

Made by `python -m scripts.benchmarks` from the records in `results/benchmarks/` and
`results/quality/`. A ratio is of two things that were timed alternately in one run
(`benchmarks/`); times of different machines are not comparable, ratios nearly are. Records say
with which command they were made: most with `--quick`, which has fewer repeats. DEBIAN12 is a graph
of our own, the packages of Debian 12: 149,829 entities and 1.3 million facts.
"""


def run(name: str, *, quick: bool) -> dict[str, Any]:
    """The record of one benchmark."""
    command = f"benchmarks/{COMMANDS[name]}" + (" --quick" if quick else "")
    line = [sys.executable, *command.split()]
    done = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return {
        "command": command,
        "commit": commit(),
        "machine": machine.describe(),
        "result": json.loads(done.stdout.splitlines()[-1]),
    }


def keep(name: str, made: dict[str, Any]) -> None:
    """Write a record; one of bfloat16 products, which few machines have, beside that of float32."""
    half = made["result"].get("precision") == "bfloat16"
    path = RECORDS / f"{name}{HALF if half else ''}.json"
    write_text(path, json.dumps(made, indent=1) + "\n")


def page() -> str:
    """The page of all records that there are."""
    names = [f"{name}{half}" for name in COMMANDS for half in ("", HALF)]
    kept = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in names
        if (path := RECORDS / f"{name}.json").exists()
    }
    parts = [TOP]
    for kind, section in SECTIONS.items():
        rows = [row for name, row in kept.items() if name.startswith(kind)]
        parts += section(rows) if rows else []
    return "\n".join([*parts, *quality.section(quality.curves())])


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """A table of Markdown, with the empty line after it."""
    lines = [list(head), *(list(map(str, row)) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


def _training(rows: list[dict[str, Any]]) -> list[str]:
    results = [row["result"] for row in rows]
    against = [r for r in results if "speedup" in r]
    alone = [r for r in results if "speedup" not in r]
    parts = ["## Training\n", *_against(against), *_pykeen([r for r in results if "pykeen" in r])]
    return [*parts, *(_alone(alone) if alone else []), *_memory(results), _where(rows)]


def _against(results: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "precision", "seconds an epoch", "baseline", "**times faster**",
            "at most", "products")  # fmt: skip
    cells = [
        (r["graph"], r["rank"], r["precision"], r["seconds_per_epoch"],
         r["baseline_seconds_per_epoch"], f"**{r['speedup']}**", r["ceiling"],
         f"{r['matmul_share']:.0%}")
        for r in results
    ]  # fmt: skip
    return [
        "An epoch against the algorithm of the paper's code, written by us (one row of logits a "
        "fact, dense, autograd, torch's Adagrad, float32). *Products* is the time of the bare "
        "matrix products as a share of ours. Their precision is what `--precision auto` takes: "
        "bfloat16 on processors that have it, which the baseline does not use.\n",
        *_table(head, cells),
        *map(_ceiling, results),
        "",
    ]


def _ceiling(r: dict[str, Any]) -> str:
    products = (
        f"- {r['graph']}, rank {r['rank']}: the bare {r['precision']} products are "
        f"{r['matmul_share']:.0%} of our epoch. "
    )
    if r["matmul_share"] >= 1:
        return f"{products}Within the noise of timing nothing else is left of it."
    return products + (
        f"If all else took no time, it would be {r['ceiling']} times faster than the baseline: the "
        f"most that this machine allows at this precision. It is {r['speedup']} times faster."
    )


def _pykeen(results: list[dict[str, Any]]) -> list[str]:
    """Beside the toolkit that most people use."""
    if not results:
        return []
    head = ("graph", "rank", "precision", "seconds an epoch", "PyKEEN", "**times faster**", "MB",
            "PyKEEN's MB")  # fmt: skip
    cells = [
        (r["graph"], r["rank"], r["precision"], r["seconds_per_epoch"],
         r["pykeen"]["seconds_per_epoch"], f"**{r['pykeen']['speedup']}**",
         f"{r['peak_mb']:,}", f"{r['pykeen']['peak_mb']:,}")
        for r in results
    ]  # fmt: skip
    return [
        f"An epoch against PyKEEN {results[0]['pykeen']['version']}: its ComplEx in its loop over "
        "distinct queries (LCWA) with inverse triples and the same loss, 1,000 queries a step as "
        "ours, Adagrad; without a regularizer, where ours has N3. MB are of the whole process.\n",
        *_table(head, cells),
    ]


def _alone(results: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "precision", "queries a step", "seconds an epoch", "products")
    cells = [
        (r["graph"], r["rank"], r["precision"], r["batch"], r["seconds_per_epoch"],
         f"{r['matmul_share']:.0%}")
        for r in results
    ]  # fmt: skip
    return [
        "Without the baseline, which would take too long; steps were timed and scaled to an "
        "epoch. For FB15K at rank 2000 the paper has about 110 s an epoch on a GPU, with 100 "
        "facts a step.\n",
        *_table(head, cells),
    ]


def _memory(results: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "precision", "parameters", "budget", "allowed", "**took**", "whole")
    cells = [
        (r["graph"], r["rank"], r["precision"], f"{r['parameters_mb']:,}", r["budget_mb"],
         f"{r['allowed_mb']:,}", f"**{r['training_mb']:,}**", f"{r['peak_mb']:,}")
        for r in results
    ]  # fmt: skip
    return [
        "**Memory**, in MB. *Allowed* are the parameters (and a copy of the entities' in bfloat16 "
        "if products are that), the optimizer's state, one gradient of the entities, and the "
        "budget (`--budget-mb`: half for logits, the rest for the rows of a batch). *Took* is the "
        "most that the process held, less what it held with torch and the graph and no model; "
        "*whole* is all of it.\n",
        *_table(head, cells),
        *(_excess(r) for r in results if r["training_mb"] > r["allowed_mb"]),
    ]


def _excess(r: dict[str, Any]) -> str:
    over = r["training_mb"] / r["allowed_mb"] - 1
    what = f"{r['graph']} at rank {r['rank']} in {r['precision']}"
    return f"{what} took {over:.0%} more than it should.\n"


def _step(rows: list[dict[str, Any]]) -> list[str]:
    results = [row["result"] for row in rows]
    precisions = dict.fromkeys(r["precision"] for r in results)
    return [
        "## Where a step goes\n",
        "Shares of the time of a step: a timer around every call of torch, the calls by who made "
        "them (`benchmarks/step.py`). Below them the speed of the products in GFLOP/s, beside a "
        "large square product of float32 in the same run.\n",
        *(line for p in precisions for line in _steps([r for r in results if r["precision"] == p])),
        _where(rows),
    ]


def _steps(results: list[dict[str, Any]]) -> list[str]:
    """Those of one precision."""
    columns = [f"{r['graph']}, {r['rank']}" for r in results]
    products = list(results[0]["gflops"])
    shares = [(name, *(f"{r['share'][key]:.1%}" for r in results)) for key, name in PHASES.items()]
    together = [f"**{sum(r['share'][key] for key in products):.1%}**" for r in results]
    whole = [f"{sum(r['milliseconds'].values()):,.0f}" for r in results]
    speeds = [(PHASES[key], *(f"{r['gflops'][key]:.0f}" for r in results)) for key in products]
    return [
        *_table(
            (results[0]["precision"], *columns),
            [*shares, ("**the three products**", *together), ("milliseconds a step", *whole)],
        ),
        *_table(
            ("GFLOP/s", *columns),
            [*speeds, ("large square product", *(f"{r['square_gflops']:.0f}" for r in results))],
        ),
    ]


def _evaluation(rows: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "times the product", "faster than by query", "faster than by batch",
            "MB")  # fmt: skip
    cells = [
        (r["graph"], r["rank"], f"**{r['ratio_to_matmul']}**", r["speedup"],
         r["speedup_over_batches"], f"{r['ranking_mb']:,}")
        for r in (row["result"] for row in rows)
    ]  # fmt: skip
    return [
        "## Evaluation\n",
        "Filtered ranks of all test facts on both sides, against the bare float32 product over the "
        "distinct queries, against an evaluator that goes query by query, and against one that "
        "scores in batches and loops only to filter.\n",
        *_table(head, cells),
        _where(rows),
    ]


def _discovery(rows: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "queries", "pairs", "times the product", "MB")
    cells = [
        (r["graph"], r["rank"], f"{r['distinct_queries']:,}", f"{r['pairs']:,}",
         f"**{r['ratio_to_matmul']}**", f"{r['discovery_mb']:,}")
        for r in (row["result"] for row in rows)
    ]  # fmt: skip
    return [
        "## Discovery\n",
        "The best 10,000 facts among all pairs that make sense, against the bare float32 product "
        "of their distinct queries with all entities.\n",
        *_table(head, cells),
        _where(rows),
    ]


def _answering(rows: list[dict[str, Any]]) -> list[str]:
    head = ("graph", "rank", "first answer", "by command", "further answer")
    results = [row["result"] for row in rows]
    cells = [
        (r["graph"], r["rank"], f"**{r['ratio_to_torch']}**", r["command_ratio_to_torch"],
         r["ratio_to_products"])
        for r in results
    ]  # fmt: skip
    return [
        "## Answers\n",
        "From the start of a process to its first answer, as times a bare `import torch`; a "
        "further answer, as times the matrix products that it needs.\n",
        *_table(head, cells),
        _where(rows),
    ]


def _reading(rows: list[dict[str, Any]]) -> list[str]:
    head = ("facts", "seconds", "DuckDB", "**times DuckDB**", "from the cache", "peak MB")
    results = [row["result"] for row in rows]
    results += [r["debian12"] for r in results if r.get("debian12")]
    cells = [
        (f"{r['facts']:,.0f}", r["seconds"], r["duckdb_seconds"], f"**{r['ratio_to_duckdb']}**",
         r["cached_seconds"], f"{r['peak_mb']:,}")
        for r in results
    ]  # fmt: skip
    return [
        "## Reading\n",
        "Names to ids, against DuckDB's plain two-pass query; ours also checks every byte.\n",
        *_table(head, cells),
        _where(rows),
    ]


def _where(rows: list[dict[str, Any]]) -> str:
    return f"Measured on: {'; '.join(sorted(set(map(_machine, rows))))}.\n"


def _machine(row: dict[str, Any]) -> str:
    found, precision = row["machine"], row["result"].get("precision")
    units = f" with {found['instructions']}" if "instructions" in found else ""
    what = f" ({precision})" if precision else ""
    return f"{found['processor']}{units}, {found['cores']} cores, torch {found['torch']}{what}"


SECTIONS = {
    "training": _training,
    "step": _step,
    "evaluation": _evaluation,
    "discovery": _discovery,
    "answering": _answering,
    "reading": _reading,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run benchmarks and keep what they print.")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(COMMANDS)}")
    parser.add_argument("--page", action="store_true", help="only make the page")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    for name in [] if options.page else options.names or COMMANDS:
        keep(name, run(name, quick=options.quick))
    write_text(PAGE, page())


if __name__ == "__main__":
    main()
