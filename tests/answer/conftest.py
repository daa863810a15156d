"""Small graphs and runs that nobody trained, to be asked."""

from __future__ import annotations

import numpy as np
import pytest

import trifact
from tests.run.conftest import keep_run as keep_run
from trifact.graph.graph import Graph


@pytest.fixture
def towns() -> Graph:
    """Facts with labels, of 12 entities and 3 predicates; some held out."""
    random = np.random.default_rng(3)
    drawn = {tuple(random.integers((12, 3, 12)).tolist()) for _ in range(60)}
    facts = [(f"e{s:02}", f"p{p}", f"e{o:02}") for s, p, o in sorted(drawn)]
    graph = trifact.load(facts, valid=0.1, test=0.1)
    labels = {i: f"Town {i}" for i in range(0, len(graph.entities), 2)}
    return Graph(
        **{
            **{name: getattr(graph, name) for name in graph.__dataclass_fields__},
            "entity_labels": labels,
            "predicate_labels": {0: "likes"},
        }
    )
