"""The ranks of a record's test queries, kept beside it, so that paired tests need no run.

`ranks/NAME.parquet` has the columns `optimistic` and `pessimistic` and nothing of the graph: its
rows are the test facts in the order that every loaded graph has, once for each side.
"""

from __future__ import annotations

from pathlib import Path

from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.paper.archive import Record
from trifact.run.evaluation import Evaluation, hash_of
from trifact.run.ranktable import Ranked, RankTable, read_ranked
from trifact.run.record import sha256

FOLDER = "ranks"


def keep(ranked: Ranked, name: str, results: Path) -> dict[str, str]:
    """Write the ranks of a record; what the record says of them."""
    path = _place(name, results)
    ranked.save(path)
    return {"file": f"{FOLDER}/{path.name}", "sha256": sha256(path)}


def are_kept(record: Record, results: Path) -> bool:
    """Whether the ranks of a record are there, and are its own."""
    path = _place(record["name"], results)
    return path.exists() and sha256(path) == record["evaluation"]["ranks"]["sha256"]


def evaluation_of(record: Record, graph: Graph, results: Path) -> Evaluation:
    """The evaluation of a record on its graph, with the ranks that were kept."""
    kept, path = record["evaluation"], _place(record["name"], results)
    again = f"move {record['name']}.json away from {results} to make both anew"
    if not are_kept(record, results):
        raise RunError(f"{path}: the ranks of this record are needed and not here; {again}")
    if record["graph"]["content_hash"] != graph.content_hash or (
        kept["facts"]["sha256"] != hash_of(graph.test)
    ):
        raise RunError(f"{path}: they are of other facts than those of {graph.name} now; {again}")
    table = RankTable("test", graph.test, graph.seen(graph.test), read_ranked(path))
    about = {"graph": record["graph"], "label": "test"}
    return Evaluation(path, table, {**kept, **about})


def _place(name: str, results: Path) -> Path:
    return results / FOLDER / f"{name}.parquet"
