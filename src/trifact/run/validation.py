"""Filtered MRR on a split while training: asked once, ranked as often as needed."""

from __future__ import annotations

import numpy as np
import torch

from trifact.graph.graph import Graph
from trifact.tensor.ranking import Asked


def asked_of(graph: Graph, split: str, *, device: torch.device) -> Asked:
    """The distinct queries of a split on both sides, and all known answers to leave out.

    Known are the facts of train, valid and test, as everywhere in the field.
    """
    queries, known = graph.queries(split), graph.known()
    owners = np.repeat(np.arange(len(queries)), np.diff(queries.offsets))
    rows = np.repeat(owners, queries.multiplicities)  # a fact that repeats is ranked as often
    answers = np.repeat(queries.answers, queries.multiplicities)
    known_rows, known_answers = known.lookup(queries.entities, queries.predicates)
    parts = (queries.entities, queries.predicates, rows, answers, known_rows, known_answers)
    return Asked(*(torch.as_tensor(part, device=device) for part in parts))
