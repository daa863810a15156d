"""The graph that is searched for."""

from __future__ import annotations

import pytest

import trifact
from trifact.graph.graph import Graph


@pytest.fixture(scope="session")
def graph() -> Graph:
    """A small graph that can be learned: four groups, and who likes or is kin to whom."""
    pairs = [(f"a{i:02}", (j - i) % 4, f"a{j:02}") for i in range(20) for j in range(20) if i != j]
    facts = [(i, ("kin", "likes")[gap], j) for i, gap, j in pairs if gap < 2]
    return trifact.load(facts, valid=0.2, test=0.1)
