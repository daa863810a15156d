"""Pairs of recipes that differ in one thing, on the same test queries: what the paper judges, and
what came after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.paper import archive
from trifact.paper.archive import Record
from trifact.paper.keptranks import evaluation_of
from trifact.paper.reproduction import Workshop
from trifact.run.comparison import Contestant, compare, pooled


class Contest(NamedTuple):
    """The second row less the first; how the paper's claim goes on."""

    dataset: str
    first: str
    second: str


CONTESTS = {
    "n3-over-fro": Contest("WN18RR", "cp-fro-reciprocal", "cp-n3-reciprocal"),
    "fro-standard-cp": Contest("FB15K-237", "cp-n3-standard", "cp-fro-standard"),
    "fro-standard-complex": Contest("FB15K-237", "complex-n3-standard", "complex-fro-standard"),
    "nuc2": Contest("FB15K-237", "cp-n3-reciprocal", "cp-nuc2-reciprocal"),
    "adam": Contest("FB15K-237", "complex-n3-reciprocal", "complex-n3-reciprocal-adam"),
    "unweighted": Contest("FB15K-237", "complex-n3-reciprocal", "complex-n3-reciprocal-unweighted"),
    "relations": Contest("FB15K-237", "complex-n3-reciprocal", "complex-n3-reciprocal-relations"),
    "dura": Contest("FB15K-237", "complex-n3-reciprocal", "complex-dura-reciprocal"),
}
Pair = tuple[Record, Record]


def name_of(contest: str, size: str, dataset: str = "") -> str:
    """What the record of a contest is called."""
    return f"contest-{contest}-{dataset or CONTESTS[contest].dataset}-{size}"


def keep_contest(name: str, pairs: Sequence[Pair], *, shop: Workshop) -> Record:
    """The comparison of records by their ranks, a pair for each seed; made once for the factors.

    The first pair is compared in full, all of them `pooled`.
    """
    path = shop.results / f"{name}.json"
    kept = archive.read(path, "factors", "runs")
    runs = [record for pair in pairs for record in pair]
    factors = [record["evaluation"]["run"]["factors_sha256"] for record in runs]
    if kept is not None and kept["factors"][: len(factors)] == factors and is_current(kept, shop):
        return kept  # of these seeds, and perhaps of more
    graph = load(pairs[0][0]["recipe"]["dataset"], progress=shop.progress)
    contestants = [
        (_contestant(one, graph, shop), _contestant(other, graph, shop)) for one, other in pairs
    ]
    found = compare(*contestants[0])
    del found["by_predicate"]
    record = {**archive.begun(name, code=shop.code), "factors": factors, **found}
    record |= {"runs": [run["name"] for run in runs], "pooled": pooled(contestants)}
    record["precisions"] = sorted({run["config"]["precision"] for run in runs})
    archive.write(path, record)
    return record


def is_current(contest: Record, shop: Workshop) -> bool:
    """Whether the records that were compared are still there, all of them."""
    now = (archive.read(shop.results / f"{name}.json") for name in contest["runs"])
    factors = [record["evaluation"]["run"]["factors_sha256"] if record else "" for record in now]
    return bool(factors == contest["factors"])


def _contestant(record: Record, graph: Graph, shop: Workshop) -> Contestant:
    return Contestant(record["name"], graph, evaluation_of(record, graph, shop.results))
