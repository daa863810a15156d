"""How much of a list of new facts is true: what held-out facts say, and what calibration says.

The list is made once more without looking at validation and test, leaving out only what was
trained on. Held-out facts among its first n are certainly true, so

    found(n) / n  <=  precision of that list's first n;

the others are true or false, and nobody has recorded which. See docs/discovery.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trifact.answer.sweep import Sweep
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, distinct
from trifact.run.ranktable import Bools, Floats


def expectation(
    graph: Graph, sweep: Sweep, probabilities: Floats | None = None
) -> dict[str, Any] | None:
    """Counts and shares at some lengths; None where nothing was held out.

    `probabilities` are those of the list itself, None without a calibration.
    """
    pairs = sweep.pairs
    held = held_out(graph, pairs.chosen)
    if not len(held):
        return None
    facts = sweep.unfiltered().facts
    found = graph.known("valid", "test").contains(facts)
    in_test, joined = graph.known("test").contains(facts), joined_in_train(graph, facts)
    return {
        "train": len(distinct(graph.train)),
        "held_out": len(held),
        "reachable": int(pairs.contains(held).sum()),
        "held_out_joined": int(joined_in_train(graph, held).sum()),
        "at": [
            {
                "n": n,
                "found": int(found[:n].sum()),
                "found_in_test": int(in_test[:n].sum()),
                "at_least": float(found[:n].mean()),
                "joined": int(joined[:n].sum()),
                "calibrated": _mean(probabilities, n),
            }
            for n in lengths(len(facts))
        ],
    }


def lengths(size: int) -> list[int]:
    """10, 30, 100, 300, ... and the whole: [10, 30, 42] of 42."""
    rounds = (step * 10**power for power in range(1, 7) for step in (1, 3))
    return [*(n for n in rounds if n < size), *([size] if size else [])]


def held_out(graph: Graph, predicates: Ints) -> Ints:
    """The distinct facts of validation and test under some predicates that train lacks."""
    facts = distinct(np.concatenate([graph.valid, graph.test]))
    return facts[np.isin(facts[:, 1], predicates) & ~graph.known("train").contains(facts)]


def joined_in_train(graph: Graph, facts: Ints) -> Bools:
    """Which facts join two entities that train joins already, whatever the predicate and way.

    Some benchmarks hold out no such fact; then held-out facts say nothing about them.
    """
    size, ends = len(graph.entities), graph.train[:, [0, 2]]
    train = np.concatenate([ends, ends[:, ::-1]]) @ np.array([size, 1])
    return np.isin(facts[:, [0, 2]] @ np.array([size, 1]), train)


def _mean(probabilities: Floats | None, n: int) -> float | None:
    """Of the first n; None where there are not so many."""
    if probabilities is None or len(probabilities) < n:
        return None
    return float(probabilities[:n].mean())
