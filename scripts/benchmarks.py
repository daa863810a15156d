"""Run benchmarks, keep what they print in results/benchmarks/, and make docs/performance.md.

python -m scripts.benchmarks [NAME ...] [--quick]    runs these, or all, and makes the page
python -m scripts.benchmarks --page                  only the page
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from scripts import quality
from scripts.pages import table
from scripts.records import ROOT
from trifact.durable import write_text
from trifact.paper.archive import commit, write
from trifact.run import machine

Result = dict[str, Any]
"""What a benchmark prints."""
Row = dict[str, Any]
"""A record: a result, and by what and where it was measured."""
Section = Callable[[list[Row]], list[str]]
RECORDS = ROOT / "results" / "benchmarks"
PAGE = ROOT / "docs" / "performance.md"
HALF = "-bfloat16"
HEADLINE = "training-FB15K-237-1000"
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
OF_A_MODEL = {"graph": "{graph}", "rank": "{rank}"}
TRAINED = {**OF_A_MODEL, "precision": "{precision}"}
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
(`benchmarks/`); times of different machines are not comparable, ratios nearly are. Seconds an epoch
are those of some steps, three at least, scaled to an epoch. Records say with which command they
were made: most with `--quick`, which has fewer repeats. DEBIAN12 is a graph of our own, the
packages of Debian 12: 149,829 entities and 1.3 million facts.
"""


def run(name: str, *, quick: bool) -> Row:
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


def keep(name: str, made: Row) -> None:
    """Write a record; one of bfloat16 products, which few machines have, beside that of float32."""
    half = made["result"].get("precision") == "bfloat16"
    write(RECORDS / f"{name}{HALF if half else ''}.json", made)


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


def headline() -> str:
    """What the README says of speed."""
    half, full = (
        json.loads((RECORDS / f"{HEADLINE}{kind}.json").read_text(encoding="utf-8"))
        for kind in (HALF, "")
    )
    r, same, cores = half["result"], full["result"], half["machine"]["cores"]
    return (
        f"With products in {r['precision']} an epoch of ComplEx at rank {r['rank']} on "
        f"{r['graph']} takes {r['seconds_per_epoch']:.0f} seconds on {cores} cores, "
        f"{r['speedup']:.0f} times less than by the algorithm of the paper's code and "
        f"{r['pykeen']['speedup']:.0f} times less than in PyKEEN, both in float32; on a processor "
        f"without them it is {same['speedup']:.0f} and {same['pykeen']['speedup']:.0f} times less"
    )


def _told(about: str, columns: dict[str, str], results: list[Result]) -> list[str]:
    """A table under what it is about, a row a result; a column is a head, and how it is filled."""
    rows = [[cell.format(**result) for cell in columns.values()] for result in results]
    return [f"{about}\n", *table(columns, rows)] if rows else []


def _training(rows: list[Row]) -> list[str]:
    results = [row["result"] for row in rows]
    against = [r for r in results if "speedup" in r]
    parts = ["## Training\n", *_against(against)]
    parts += _pykeen([r for r in results if "pykeen" in r])
    parts += _alone([r for r in results if "speedup" not in r])
    excess = [_excess(r) for r in results if r["training_mb"] > r["allowed_mb"]]
    return [*parts, *_memory(results), *excess, _where(rows)]


def _against(results: list[Result]) -> list[str]:
    columns = {
        **TRAINED,
        "seconds an epoch": "{seconds_per_epoch}",
        "baseline": "{baseline_seconds_per_epoch}",
        "**times faster**": "**{speedup}**",
        "at most": "{ceiling}",
        "products": "{matmul_share:.0%}",
    }
    about = (
        "An epoch against the algorithm of the paper's code, written by us (one row of logits a "
        "fact, dense, autograd, torch's Adagrad, float32). *Products* is the time of the bare "
        "matrix products as a share of ours, *at most* what the ratio would be if all else took no "
        "time (but for noise). Their precision is what `--precision auto` takes: bfloat16 on "
        "processors that have it, which the baseline does not use."
    )
    return _told(about, columns, results)


def _pykeen(results: list[Result]) -> list[str]:
    """Beside the toolkit that most people use."""
    if not results:
        return []
    columns = {
        **TRAINED,
        "seconds an epoch": "{seconds_per_epoch}",
        "PyKEEN": "{pykeen[seconds_per_epoch]}",
        "**times faster**": "**{pykeen[speedup]}**",
        "MB": "{peak_mb:,}",
        "PyKEEN's MB": "{pykeen[peak_mb]:,}",
    }
    about = (
        f"An epoch against PyKEEN {results[0]['pykeen']['version']}: its ComplEx in its loop over "
        "distinct queries (LCWA) with inverse triples and the full log-loss, in which a query "
        "weighs one however many answers it has; 1,000 queries a step as ours, Adagrad; without a "
        "regularizer, where ours has N3. MB are of the whole process; PyKEEN's holds 8,000 of the "
        "facts, which its steps do not get cheaper by."
    )
    return _told(about, columns, results)


def _alone(results: list[Result]) -> list[str]:
    columns = {
        **TRAINED,
        "queries a step": "{batch}",
        "seconds an epoch": "{seconds_per_epoch}",
        "products": "{matmul_share:.0%}",
    }
    about = (
        "Without the baseline, which would take too long. For FB15K at rank 2000 the paper has "
        "about 110 s an epoch on a GPU, with 100 facts a step."
    )
    return _told(about, columns, results)


def _memory(results: list[Result]) -> list[str]:
    columns = {
        **TRAINED,
        "parameters": "{parameters_mb:,}",
        "budget": "{budget_mb}",
        "allowed": "{allowed_mb:,}",
        "**took**": "**{training_mb:,}**",
        "whole": "{peak_mb:,}",
    }
    about = (
        "**Memory**, in MB. *Allowed* are the parameters (and a copy of the entities' in bfloat16 "
        "if products are that), the optimizer's state, one gradient of the entities, and the "
        "budget (`--budget-mb`: half for logits, the rest for the rows of a batch). *Took* is the "
        "most that the process held, less what it held with torch and the graph and no model; "
        "*whole* is all of it."
    )
    return _told(about, columns, results)


def _excess(r: Result) -> str:
    over = r["training_mb"] / r["allowed_mb"] - 1
    what = f"{r['graph']} at rank {r['rank']} in {r['precision']}"
    return f"{what} took {over:.0%} more than it should.\n"


def _step(rows: list[Row]) -> list[str]:
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


def _steps(results: list[Result]) -> list[str]:
    """Those of one precision."""
    columns = [f"{r['graph']}, {r['rank']}" for r in results]
    products = list(results[0]["gflops"])
    shares = [(name, *(f"{r['share'][key]:.1%}" for r in results)) for key, name in PHASES.items()]
    together = [f"**{sum(r['share'][key] for key in products):.1%}**" for r in results]
    whole = [f"{sum(r['milliseconds'].values()):,.0f}" for r in results]
    speeds = [(PHASES[key], *(f"{r['gflops'][key]:.0f}" for r in results)) for key in products]
    return [
        *table(
            (results[0]["precision"], *columns),
            [*shares, ("**the three products**", *together), ("milliseconds a step", *whole)],
        ),
        *table(
            ("GFLOP/s", *columns),
            [*speeds, ("large square product", *(f"{r['square_gflops']:.0f}" for r in results))],
        ),
    ]


def _where(rows: list[Row]) -> str:
    return f"Measured on: {'; '.join(sorted(set(map(_machine, rows))))}.\n"


def _machine(row: Row) -> str:
    found, precision = row["machine"], row["result"].get("precision")
    units = f" with {found['instructions']}" if "instructions" in found else ""
    what = f" ({precision})" if precision else ""
    return f"{found['processor']}{units}, {found['cores']} cores, torch {found['torch']}{what}"


def _of_one_table(title: str, about: str, columns: dict[str, str]) -> Section:
    def section(rows: list[Row]) -> list[str]:
        results = [row["result"] for row in rows]
        results += [r["debian12"] for r in results if r.get("debian12")]
        return [f"## {title}\n", *_told(about, columns, results), _where(rows)]

    return section


SECTIONS: dict[str, Section] = {
    "training": _training,
    "step": _step,
    "evaluation": _of_one_table(
        "Evaluation",
        "Filtered ranks of all test facts on both sides, against the bare float32 product over the "
        "distinct queries, against an evaluator that goes query by query, and against one that "
        "scores in batches and loops only to filter.",
        {
            **OF_A_MODEL,
            "times the product": "**{ratio_to_matmul}**",
            "faster than by query": "{speedup}",
            "faster than by batch": "{speedup_over_batches}",
            "MB": "{ranking_mb:,}",
        },
    ),
    "discovery": _of_one_table(
        "Discovery",
        "The best 10,000 facts among all pairs that make sense, against the bare float32 product "
        "of their distinct queries with all entities.",
        {
            **OF_A_MODEL,
            "queries": "{distinct_queries:,}",
            "pairs": "{pairs:,}",
            "times the product": "**{ratio_to_matmul}**",
            "MB": "{discovery_mb:,}",
        },
    ),
    "answering": _of_one_table(
        "Answers",
        "From the start of a process to its first answer, as times a bare `import torch`; a "
        "further answer, as times the matrix products that it needs.",
        {
            **OF_A_MODEL,
            "first answer": "**{ratio_to_torch}**",
            "by command": "{command_ratio_to_torch}",
            "further answer": "{ratio_to_products}",
        },
    ),
    "reading": _of_one_table(
        "Reading",
        "Names to ids, against DuckDB's plain two-pass query; ours also checks every byte.",
        {
            "facts": "{facts:,.0f}",
            "seconds": "{seconds}",
            "DuckDB": "{duckdb_seconds}",
            "**times DuckDB**": "**{ratio_to_duckdb}**",
            "from the cache": "{cached_seconds}",
            "peak MB": "{peak_mb:,}",
        },
    ),
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
