"""Do the factors know which predicates are inverse or symmetric? Compared with what the facts show.

    python -m scripts.check_inverses RUN [RUN ...]    measure, and keep the records
    python -m scripts.check_inverses                  only the table of the page

The record is results/inverses/GRAPH.json, and the table in docs/similar.md is made of all records.
What the facts show is `trifact data describe`: predicates that share at least 0.8 of their facts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from scripts.pages import Part, table
from scripts.records import ROOT, about, records_in
from trifact.answer.inversion import inverses
from trifact.graph.graph import Graph
from trifact.graph.leakage import Leakage, leakage_of
from trifact.paper.archive import Record, write
from trifact.run.run import Run

RECORDS = ROOT / "results" / "inverses"
PART = Part("similar.md", "check_inverses")


def measure(run: Run) -> Record:
    """The record of a run."""
    graph = run.graph()
    rows = {str(row["predicate"]): row for row in inverses(run.model(), graph)}
    leakage = leakage_of(graph)
    return {
        **about(run),
        "predicates": len(graph.predicates),
        "symmetric": _symmetric(graph, leakage, rows),
        "inverse": _inverse(graph, leakage, rows),
    }


def _symmetric(graph: Graph, leakage: Leakage, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """How far the symmetry of symmetric predicates lies above that of the others."""
    symmetry = np.array([rows[name]["symmetry"] for name in graph.predicates])
    theirs = np.zeros(len(symmetry), dtype=bool)
    theirs[leakage.symmetric] = True
    own, others = symmetry[theirs], symmetry[~theirs]
    above = (own[:, None] > others).mean() + (own[:, None] == others).mean() / 2
    return {
        "predicates": len(own),
        "least": round(float(own.min()), 4),
        "median_of_others": round(float(np.median(others)), 4),
        "auc": round(float(above), 4),
    }


def _inverse(graph: Graph, leakage: Leakage, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """In how many pairs each predicate is the other's nearest inverse by the factors."""
    pairs = [pair for pair in leakage.pairs if pair.kind == "inverse"]
    names = [(graph.predicates[pair.first], graph.predicates[pair.second]) for pair in pairs]
    found = [rows[a]["inverse"] == b and rows[b]["inverse"] == a for a, b in names]
    return {
        "pairs": len(pairs),
        "found": sum(found),
        "least": round(min(rows[a]["similarity"] for a, _ in names), 4),
    }


HEAD = (
    *("graph", "model", "symmetric by the facts", "symmetry of these", "AUC against the others"),
    *("inverse pairs by the facts", "found by the factors", "similarity of these"),
)


def made() -> str:
    """The records as a table."""
    return "\n".join(table(HEAD, map(_row, records_in(RECORDS))))


def _row(kept: Record) -> tuple[object, ...]:
    one, two, config = kept["symmetric"], kept["inverse"], kept["config"]
    return (
        kept["graph"]["name"],
        f"{config['model']}, rank {config['rank']}, {config['setting']}, "
        f"validation MRR {kept['metrics']['mrr']:.3f}",
        f"{one['predicates']} of {kept['predicates']}",
        f"at least {one['least']:.3f}",
        f"{one['auc']:.4f}",
        two["pairs"],
        two["found"],
        f"at least {two['least']:.3f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare factors with facts.")
    parser.add_argument("runs", nargs="*", type=Path)
    for path in parser.parse_args().runs:
        record = measure(Run(path))
        target = RECORDS / f"{record['graph']['name']}.json"
        write(target, record)
        print(f"{target.name}: {record['symmetric']}, {record['inverse']}")
    PART.write(made())


if __name__ == "__main__":
    main()
