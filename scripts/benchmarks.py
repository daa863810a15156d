"""Run benchmarks, keep what they print in results/benchmarks/, and make docs/performance.md.

python -m scripts.benchmarks [NAME ...]      runs these (all, if none is named), then the page
python -m scripts.benchmarks --page          only the page
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from scripts.records import ROOT, commit
from trifact.durable import write_text
from trifact.run import machine

RECORDS = ROOT / "results" / "benchmarks"
PAGE = ROOT / "docs" / "performance.md"
COMMANDS = {
    "reading": "reading.py",
    "training-FB15K-237-100": "training.py --graph FB15K-237 --rank 100",
    "training-FB15K-237-1000": "training.py --graph FB15K-237 --rank 1000",
    "training-WN18RR-500": "training.py --graph WN18RR --rank 500",
    "evaluation-FB15K-237-500": "evaluation.py --graph FB15K-237 --rank 500",
    "evaluation-DEBIAN12-500": "evaluation.py --graph DEBIAN12 --rank 500",
}
TOP = """# Performance

Made by `python -m scripts.benchmarks` from the records in `results/benchmarks/`. Every figure
compares two things that were timed alternately in one run (`benchmarks/`); times of different
machines are not comparable, ratios nearly are.
"""


def run(name: str) -> dict[str, Any]:
    """The record of one benchmark."""
    command = [sys.executable, *f"benchmarks/{COMMANDS[name]}".split()]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return record(name, json.loads(done.stdout.splitlines()[-1]), code=commit())


def record(name: str, result: dict[str, Any], *, code: str) -> dict[str, Any]:
    """What is kept of a benchmark."""
    about = {"command": f"benchmarks/{COMMANDS[name]}", "commit": code}
    return {**about, "machine": machine.describe(), "result": result}


def keep(name: str, made: dict[str, Any]) -> None:
    """Write a record."""
    write_text(RECORDS / f"{name}.json", json.dumps(made, indent=1) + "\n")


def page() -> str:
    """The page of all records that there are."""
    kept = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in COMMANDS
        if (path := RECORDS / f"{name}.json").exists()
    }
    parts = [TOP]
    for kind, section in SECTIONS.items():
        rows = [row for name, row in kept.items() if name.startswith(kind)]
        parts += section(rows) if rows else []
    return "\n".join(parts)


def _training(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Training\n",
        "An epoch against the algorithm of the paper's code, written by us (one row of logits a "
        "fact, dense, autograd, torch's Adagrad, float32). *Products* is the time of the bare "
        "matrix products as a share of ours: what is left to gain at this precision is the rest.\n",
        "| graph | rank | seconds an epoch | baseline | **times faster** | products | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        r = row["result"]
        lines.append(
            f"| {r['graph']} | {r['rank']} | {r['seconds_per_epoch']} | "
            f"{r['baseline_seconds_per_epoch']} | **{r['speedup']}** | {r['matmul_share']:.0%} | "
            f"{r['peak_mb']:,} |"
        )
    return [*lines, "", _where(rows)]


def _evaluation(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Evaluation\n",
        "Filtered ranks of all test facts on both sides, against the bare float32 product over the "
        "distinct queries, against an evaluator that goes query by query, and against one that "
        "scores in batches and loops only to filter.\n",
        "| graph | rank | times the product | faster than by query | faster than by batch | MB |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        r = row["result"]
        lines.append(
            f"| {r['graph']} | {r['rank']} | **{r['ratio_to_matmul']}** | {r['speedup']} | "
            f"{r['speedup_over_batches']} | {r['ranking_mb']:,} |"
        )
    return [*lines, "", _where(rows)]


def _reading(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Reading\n",
        "Names to ids, against DuckDB's plain two-pass query; ours also checks every byte.\n",
        "| facts | seconds | DuckDB | **times DuckDB** | from the cache | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    results = [row["result"] for row in rows]
    results += [r["debian12"] for r in results if r.get("debian12")]
    lines += [
        f"| {r['facts']:,.0f} | {r['seconds']} | {r['duckdb_seconds']} | "
        f"**{r['ratio_to_duckdb']}** | {r['cached_seconds']} | {r['peak_mb']:,} |"
        for r in results
    ]
    return [*lines, "", _where(rows)]


def _where(rows: list[dict[str, Any]]) -> str:
    found = {
        f"{r['machine']['processor']}, {r['machine']['cores']} cores, torch {r['machine']['torch']}"
        for r in rows
    }
    return f"Measured on: {'; '.join(sorted(found))}.\n"


SECTIONS = {"training": _training, "evaluation": _evaluation, "reading": _reading}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run benchmarks and keep what they print.")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(COMMANDS)}")
    parser.add_argument("--page", action="store_true", help="only make the page")
    options = parser.parse_args()
    for name in [] if options.page else options.names or COMMANDS:
        keep(name, run(name))
    write_text(PAGE, page())


if __name__ == "__main__":
    main()
