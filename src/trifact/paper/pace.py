"""Two ways to train the same graph, their steps timed alternately in one process."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from trifact.graph.graph import Graph
from trifact.progress import silent
from trifact.run.machine import denormals_flushed
from trifact.run.options import TrainConfig
from trifact.run.preparation import with_precision
from trifact.run.training import Training

STEPS = 9
UNTIMED = 2  # first steps make buffers and optimizer state


def seconds_a_step(graph: Graph, *configs: TrainConfig, steps: int = STEPS) -> list[float]:
    """The median seconds of a step of each configuration.

    They take turns, so that whatever else the machine does meets them all alike.
    """
    runners = [_steps(graph, with_precision(config, graph)) for config in configs]
    with denormals_flushed():
        rounds = [[next(runner) for runner in runners] for _ in range(UNTIMED + steps)]
    return [statistics.median(times) for times in zip(*rounds[UNTIMED:], strict=True)]


def _steps(graph: Graph, config: TrainConfig) -> Iterator[float]:
    """Seconds of one step after another, epoch after epoch; nothing is saved."""
    training = Training(graph, config, Path(), silent)
    assert config.batch is not None
    for epoch in itertools.count(1):
        for batch in training.queries.batches(
            seed=config.seed, epoch=epoch, batch_size=config.batch, cap=config.cap
        ):
            start = time.perf_counter()
            training.objective.step(training.tensors(batch), training.optimizer)
            yield time.perf_counter() - start
