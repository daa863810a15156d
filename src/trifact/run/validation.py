"""Filtered MRR on a split while training: asked once, ranked as often as needed."""

from __future__ import annotations

import torch

from trifact.graph.graph import Graph
from trifact.run.questions import Questions
from trifact.tensor.ranking import Asked


def asked_of(graph: Graph, split: str, *, device: torch.device) -> Asked:
    """The distinct queries of a split on both sides, and all known answers to leave out.

    Known are the facts of train, valid and test, as everywhere in the field.
    """
    return Questions.of(graph.splits[split], graph.known(), device=device).asked
