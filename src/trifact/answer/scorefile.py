"""The facts of a file, scored: every one of them, also those that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trifact.answer.answers import Answers, Cell
from trifact.answer.options import PredictConfig
from trifact.answer.predictor import Predictor
from trifact.graph.facttable import Row
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import read_in_order
from trifact.progress import Progress, silent
from trifact.run.matching import Called


def score_file(
    predictor: Predictor,
    path: Path,
    config: PredictConfig,
    *,
    reading: LoadConfig | None = None,
    progress: Progress = silent,
) -> tuple[Answers, list[str]]:
    """The facts of a file by name or label, each line in its order; and what to say about it.

    A fact has no score if the run does not know one of its names.
    """
    rows, notes = read_in_order(layout_of(path), reading or LoadConfig(), progress)
    ids = _ids(predictor.graph, rows)
    known = (ids >= 0).all(axis=1)
    scored = predictor.score_ids(ids[known], config)
    found = dict[str, list[Cell]]()
    for place, name in enumerate(("subject", "predicate", "object")):
        found[name] = [row[place] for row in rows]
    for name in ("score", "probability", "known"):
        column = np.full(len(rows), None, dtype=object)
        column[known] = scored.columns[name]
        found[name] = column.tolist()
    unknown = int((~known).sum())
    facts = "1 fact" if unknown == 1 else f"{unknown:,} facts"
    left_out = f"{path.name}: {facts} not scored: the run does not know their names"
    return Answers(found), [*notes, *([left_out] if unknown else [])]


def _ids(graph: Graph, rows: list[Row]) -> Ints:
    """Facts by name or label in the ids of a graph, (n, 3); -1 for a name it does not know."""
    entities = Called(graph.entities, graph.entity_labels)
    predicates = Called(graph.predicates, graph.predicate_labels)
    columns = [
        _found(predicates if place == 1 else entities, [row[place] for row in rows])
        for place in range(3)
    ]
    return np.stack(columns, axis=1)


def _found(known: Called, asked: list[str]) -> Ints:
    ids = {name: known.find(name) for name in set(asked)}
    found = (-1 if (place := ids[name]) is None else place for name in asked)
    return np.fromiter(found, dtype=np.int64, count=len(asked))
