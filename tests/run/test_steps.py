"""Steps are as many as facts or queries need, and their rate is that of the schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.test_training import QUICK, graph, same
from trifact.graph.graph import Graph
from trifact.run import training
from trifact.tensor.batches import Batch
from trifact.tensor.descent import Objective

__all__ = ["graph"]


@pytest.mark.parametrize("before", [0, 1])
def test_a_rate_that_fell_is_the_rate_that_is_gone_on_with(
    graph: Graph, tmp_path: Path, before: int
) -> None:
    """Also where it falls in the first epoch after the stop."""
    config = QUICK.replace(epochs=12, validate_every=1, patience=12, schedule="plateau", lr=3.0)
    whole = training.train(graph, config, out=tmp_path / "whole")
    rates = [epoch.rate for epoch in whole.history]
    done = next(done for done, rate in enumerate(rates) if rate < config.lr) - before
    training.train(
        graph, config, out=tmp_path / "parts", on_epoch=lambda e: "so far" * (e.epoch == done)
    )
    parts = training.resume(tmp_path / "parts")
    assert rates == [epoch.rate for epoch in parts.history]
    assert same(whole, parts)


def test_steps_of_facts_are_as_many_as_facts_need(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, original = list[int](), Objective.step

    def counted(self: Objective, batch: Batch, *more: object) -> object:
        steps.append(len(batch.answers))
        return original(self, batch, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Objective, "step", counted)
    training.train(graph, QUICK.replace(epochs=1, cap=1), out=tmp_path / "run")
    examples = 2 * len(graph.train)
    assert len(steps) == -(-examples // 50)
    assert max(steps) == 50
    assert sum(steps) == examples
