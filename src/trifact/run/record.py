"""`metrics.json`: what an evaluation was and what it came to, in plain values.

Its fields are described in docs/evaluation.md; `FORMAT` counts its versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trifact.durable import read_json
from trifact.errors import RunError
from trifact.graph.description import CATEGORIES, PredicateRow, membership, predicate_rows
from trifact.graph.graph import Graph
from trifact.run import metrics
from trifact.run.protocol import EvaluateConfig
from trifact.run.ranktable import SIDES, Ranked, RankTable

FORMAT = 1
FOLDER, METRICS, RANKS = "evaluation", "metrics.json", "ranks.parquet"


def sections(table: RankTable, graph: Graph, config: EvaluateConfig) -> dict[str, Any]:
    """All metrics of the ranks, filtered and, where there are such, raw."""
    parts, rows = {"filtered": table.filtered, "raw": table.raw}, predicate_rows(graph)
    return {
        name: _section(ranked, table, config, graph=graph, rows=rows)
        for name, ranked in parts.items()
        if ranked is not None
    }


def _section(
    ranked: Ranked,
    table: RankTable,
    config: EvaluateConfig,
    *,
    graph: Graph,
    rows: Sequence[PredicateRow],
) -> dict[str, Any]:
    groups = metrics.groups_of(table.facts, table.seen, membership(rows))
    found = metrics.tables(ranked, groups, k=config.k, resamples=config.bootstrap, seed=config.seed)
    predicates = metrics.by_predicate(ranked, table.facts[:, 1], config.k)
    return {
        "overall": found["overall"],
        "by_side": {side: found[side] for side in SIDES},
        "by_category": {name: found[name] for name in CATEGORIES if name in found},
        **{name: found[name] for name in ("seen", "unseen") if name in found},
        "macro": metrics.macro(predicates, config.k),
        "by_predicate": [
            {
                "predicate": graph.predicates[predicate],
                "label": graph.predicate_label(predicate),
                "category": rows[predicate].category or None,
                "train_facts": rows[predicate].facts,
                **row,
            }
            for predicate, row in predicates.items()
        ],
    }


def read_record(path: Path) -> dict[str, Any]:
    """A saved `metrics.json`; one that is damaged or of a newer format is refused."""
    parts = ("run", "protocol", "filtered")
    found = read_json(path, what="evaluation", newest=FORMAT, parts=parts, advice="evaluate again")
    if found is None:
        raise RunError(f"{path}: there is no such evaluation; run `trifact evaluate`")
    return found


def read_records(run: Path) -> dict[str, dict[str, Any]]:
    """All evaluations of a run, by label."""
    paths = sorted((run / FOLDER).glob(f"*/{METRICS}"))
    return {path.parent.name: read_record(path) for path in paths}


def sha256(path: Path) -> str:
    """Of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); evaluate again") from None
