"""A graph kept in a folder as it is, by id: what a run remembers of what it was trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from trifact.durable import read_json, replacing, write_text
from trifact.errors import OutputError, RunError
from trifact.graph.duck import connected, first_line, parquet, quoted, quoted_path
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, in_order
from trifact.graph.splitting import SPLITS
from trifact.graph.vocabulary import Vocabulary

FORMAT = 1
SEEN = "seen"  # facts of none of the graph's splits; whoever does not know them does not read them


def save_graph(graph: Graph, folder: Path, *, seen: Ints | None = None) -> None:
    """`vocabulary.parquet`, `facts.parquet` and, last, `graph.json` which says what they hold.

    `seen` are facts by its ids that are not in it, see `seen_facts`.
    """
    kinds = {"entity": graph.entities, "predicate": graph.predicates}
    labels = {"entity": graph.entity_labels, "predicate": graph.predicate_labels}
    names = {
        "kind": np.repeat(np.array([*kinds], dtype=object), [len(v) for v in kinds.values()]),
        "id": np.concatenate([np.arange(len(v)) for v in kinds.values()]),
        "name": np.array([name for v in kinds.values() for name in v], dtype=object),
        "label": np.array(
            [labels[k].get(i, "") for k, v in kinds.items() for i in range(len(v))], dtype=object
        ),
    }
    write_parquet(folder / "vocabulary.parquet", names)
    parts = {**graph.splits, SEEN: graph.train[:0] if seen is None else seen}
    facts = np.concatenate(list(parts.values()))
    columns = dict(zip(("subject", "predicate", "object"), facts.T.copy(), strict=True))
    split = np.repeat(np.array([*parts], dtype=object), [len(part) for part in parts.values()])
    write_parquet(folder / "facts.parquet", {"split": split, **columns})
    write_text(folder / "graph.json", json.dumps(summary(graph), indent=2) + "\n")


def summary(graph: Graph) -> dict[str, Any]:
    """Names, sizes and hashes of a graph, in plain values."""
    return {
        "format": FORMAT,
        "name": graph.name,
        "entities": len(graph.entities),
        "predicates": len(graph.predicates),
        **{split: len(facts) for split, facts in graph.splits.items()},
        "content_hash": graph.content_hash,
        "entities_hash": graph.entities.content_hash,
        "predicates_hash": graph.predicates.content_hash,
        "notes": list(graph.notes),
    }


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of the graph that was kept in a folder."""
    path, parts = folder / "graph.json", ("name", "notes", "content_hash")
    found = read_json(path, what="graph of a run", newest=FORMAT, parts=parts, advice="train again")
    if found is None:
        raise RunError(f"{path}: there is no graph of a run here")
    return found


def open_graph(folder: Path) -> Graph:
    """The graph that was kept in a folder; refused if it is not what was kept."""
    path, about = folder / "graph.json", read_summary(folder)
    try:
        with connected() as base:
            entities, entity_labels = _names(base, folder, "entity")
            predicates, predicate_labels = _names(base, folder, "predicate")
            facts = {split: _facts(base, folder, split) for split in SPLITS}
        graph = Graph(
            name=about["name"],
            entities=entities,
            predicates=predicates,
            entity_labels=entity_labels,
            predicate_labels=predicate_labels,
            notes=tuple(about["notes"]),
            draw=None,
            **facts,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, duckdb.Error) as error:
        raise RunError(f"{path}: there is no graph of a run here ({first_line(error)})") from None
    if graph.content_hash != about["content_hash"]:
        raise RunError(f"{folder / 'facts.parquet'}: its facts are not those that were kept")
    return graph


def seen_facts(folder: Path) -> Ints:
    """Facts that are not in the graph of a folder, and were saved with it as seen before."""
    try:
        with connected() as base:
            return _facts(base, folder, SEEN)
    except (OSError, ValueError, duckdb.Error) as error:
        path = folder / "facts.parquet"
        raise RunError(f"{path}: there are no facts of a run here ({first_line(error)})") from None


def write_parquet(path: Path, columns: dict[str, Any], select: str = "from columns") -> None:
    """Write columns by name, or what a query makes of them, as Parquet."""
    with replacing(path) as part, connected() as base:
        base.register("columns", columns)
        try:
            base.execute(
                f"copy ({select}) to {quoted(part.resolve())} "
                "(format parquet, compression zstd, use_tmp_file false)"
            )
        except duckdb.Error as error:
            raise OutputError(f"{path}: cannot be written ({first_line(error)})") from None


def _names(
    base: duckdb.DuckDBPyConnection, folder: Path, kind: str
) -> tuple[Vocabulary, dict[int, str]]:
    table = parquet(quoted_path(folder / "vocabulary.parquet"))
    rows = base.execute(
        f"select name, label from {table} where kind = ? order by id", [kind]
    ).fetchall()
    labels = {i: label for i, (_, label) in enumerate(rows) if label}
    return Vocabulary.of_sorted([name.encode() for name, _ in rows]), labels


def _facts(base: duckdb.DuckDBPyConnection, folder: Path, split: str) -> Ints:
    table = parquet(quoted_path(folder / "facts.parquet"))
    columns = base.execute(
        f"select subject, predicate, object from {table} where split = ?", [split]
    ).fetchnumpy()
    return in_order(np.stack([*columns.values()], axis=1).astype(np.int64))
