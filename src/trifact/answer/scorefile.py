"""The facts of a file, scored: every one of them, also those that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trifact.answer.answers import Answers, Cell
from trifact.answer.options import PredictConfig
from trifact.answer.predictor import Predictor
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.run.matching import match


def score_file(predictor: Predictor, path: Path, config: PredictConfig) -> tuple[Answers, int]:
    """The facts of a file by name, in the order of their names, and how many have no score.

    A fact has none if the run does not know one of its names.
    """
    other = load(path, LoadConfig(valid=0.0, test=0.0))
    matched = match(predictor.graph, other, other.train)
    scored = predictor.score_ids(matched.facts, config)
    subjects, predicates, objects = other.train.T.tolist()
    columns: dict[str, list[Cell]] = {
        "subject": [other.entities[i] for i in subjects],
        "predicate": [other.predicates[j] for j in predicates],
        "object": [other.entities[i] for i in objects],
    }
    for name in ("score", "probability", "known"):
        column = np.full(len(other.train), None, dtype=object)
        column[matched.known] = scored.columns[name]
        columns[name] = column.tolist()
    return Answers(columns), len(other.train) - len(matched.facts)
