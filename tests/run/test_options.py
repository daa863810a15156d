"""What is filled in where settings were left open, and what settings make."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trifact.graph.graph import Graph
from trifact.graph.vocabulary import Vocabulary
from trifact.run import machine
from trifact.run.options import TrainConfig, resolved
from trifact.run.preparation import norm_of
from trifact.tensor.regularizers import Regularizer


def chain(entities: int, *, each: int) -> Graph:
    """Entities of which each one but the last few is followed by the next so many."""
    starts = np.repeat(np.arange(entities - each), each)
    steps = np.tile(np.arange(1, each + 1), entities - each)
    train = np.stack([starts, 0 * starts, starts + steps], axis=1)
    names = Vocabulary.of(f"e{i:06}" for i in range(entities))
    return Graph("chain", names, Vocabulary.of(["p"]), train, train[:0], train[:0].copy())


@pytest.mark.parametrize(
    ("entities", "each", "rank", "reg", "batch"),
    [
        (60, 1, 200, 0.15, 50),
        (100, 7, 200, 0.05, 50),
        (20_000, 1, 200, 0.15, 399),  # 39,998 distinct queries
        (20_001, 1, 100, 0.15, 400),
        (60_000, 1, 100, 0.15, 1000),
    ],
)
def test_the_rule_fills_in_what_was_left_open(
    entities: int, each: int, rank: int, reg: float, batch: int
) -> None:
    filled = resolved(TrainConfig(), chain(entities, each=each))
    assert (filled.rank, filled.reg, filled.batch) == (rank, reg, batch)


def test_the_rule_leaves_what_was_said() -> None:
    said = TrainConfig(rank=3, reg=0.0, batch=7)
    assert resolved(said, chain(60, each=1)) == said


def test_predicates_may_have_a_coefficient_of_their_own() -> None:
    for config, expected in (
        (TrainConfig(reg=0.1), 0.1),
        (TrainConfig(reg=0.1, reg_predicates=0.2), 0.2),
    ):
        norm = norm_of(config)
        assert isinstance(norm, Regularizer)
        assert (norm.coefficient("subject"), norm.coefficient("predicate")) == (0.1, expected)


@pytest.mark.parametrize(("ratio", "precision"), [(1.3, "bfloat16"), (1.1, "float32")])
def test_bfloat16_is_taken_where_it_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, ratio: float, precision: str
) -> None:
    speed = {torch.bfloat16: ratio, torch.float32: 1.0}
    monkeypatch.setattr(machine, "probed_flops", lambda dtype, *_: speed[dtype])
    assert machine.faster_precision(torch.device("cpu"), 100, 8) == precision
