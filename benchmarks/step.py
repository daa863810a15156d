"""Where the time of a training step goes: a timer around every call of torch, by who made it.

The steps are those of `trifact train` (ComplEx with N3, or --model), as they are; a mode of torch
sees every call, and the function of trifact that made it says which phase it belongs to. What is
outside of such calls (Python, mostly) is `rest`, so the phases sum to the step. Of the steps the
faster half counts, since whatever disturbs them only adds. `gflops` is the speed of the three
products, `square_gflops` that of a large square product in the same run: what the machine gives.

    python benchmarks/step.py --graph FB15K-237 --rank 100 [--model complex] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

import trifact
from training import Ours
from trifact.run.machine import denormals_flushed
from turns import options_of

SOURCE = Path(trifact.__file__).parent / "tensor"
SQUARE = 2048
PRODUCTS = {"softmax": "logits", "_product": "d_queries", "_accumulate": "d_candidates"}
FUNCTIONS = {
    "_subtract_answers": "targets",
    "_penalty": "regularizer",
    "_rows_penalty": "regularizer",
}
MODULES = {
    "losses": "softmax",
    "batches": "targets",
    "models": "queries",
    "descent": "queries",
    "gradients": "gradients",
    "regularizers": "regularizer",
    "optimizers": "optimizer",
}
NAMES = (*PRODUCTS.values(), *dict.fromkeys(MODULES.values()), "rest")


class Stopwatch(TorchFunctionMode):
    """Adds up the seconds of torch's calls by phase."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = dict.fromkeys(NAMES, 0.0)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        start = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        seconds = time.perf_counter() - start
        self.seconds[phase(sys._getframe(1), func.__name__)] += seconds
        return result


def phase(frame: FrameType | None, call: str) -> str:
    """Of a call of torch: that of the innermost function of trifact which has one.

    What is shared (the complex product, blocks of rows) belongs to who asked for it.
    """
    while frame is not None:
        if own := _phase(frame.f_code):
            product = own == "softmax" and call in ("mm", "addmm_")
            return PRODUCTS[frame.f_code.co_name] if product else own
        frame = frame.f_back
    return "rest"


@cache
def _phase(code: CodeType) -> str | None:
    file = Path(code.co_filename)
    if not file.is_relative_to(SOURCE):
        return None
    return FUNCTIONS.get(code.co_name) or MODULES.get(file.stem)


def timed_steps(ours: Ours) -> Iterator[dict[str, float]]:
    """The seconds of one step after another, by phase."""
    training, config = ours.training, ours.training.config
    assert config.batch is not None
    for batch in training.queries.batches(seed=0, epoch=1, batch_size=config.batch, cap=config.cap):
        with Stopwatch() as watch:
            start = time.perf_counter()
            training.objective.step(training.tensors(batch), training.optimizer)
            total = time.perf_counter() - start
        watch.seconds["rest"] += total - sum(watch.seconds.values())
        yield watch.seconds


def square_gflops() -> float:
    """GFLOP/s of a square product, at its best."""
    a, b, c = (torch.randn(SQUARE, SQUARE) for _ in range(3))
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(a, b, out=c)
        seconds.append(time.perf_counter() - start)
    return 2e-9 * SQUARE**3 / min(seconds)


def measure(options: argparse.Namespace, *, limit: float) -> dict[str, Any]:
    """Steps until `limit` seconds have passed, three at least; the first is not counted."""
    ours, squares, steps = Ours(options.graph, options.model, options.rank), [], []
    begin = time.perf_counter()
    with denormals_flushed():
        for step in timed_steps(ours):
            steps.append(step)
            if len(steps) % 10 == 1:
                squares.append(square_gflops())
            if time.perf_counter() - begin > limit and len(steps) > 3:
                break
    steps = sorted(steps[1:], key=lambda step: sum(step.values()))
    faster = steps[: -(-len(steps) // 2)]
    seconds = {name: statistics.mean(step[name] for step in faster) for name in NAMES}
    table = ours.training.model.table("object")
    flop = 2e-9 * table.numel() * (ours.training.config.batch or 0)
    return {
        "graph": options.graph,
        "model": options.model,
        "rank": options.rank,
        "precision": ours.training.config.precision,
        "threads": torch.get_num_threads(),
        "steps_timed": len(steps),
        "milliseconds": {name: round(1e3 * seconds[name], 2) for name in NAMES},
        "share": {name: round(seconds[name] / sum(seconds.values()), 4) for name in NAMES},
        "gflops": {name: round(flop / seconds[name], 1) for name in PRODUCTS.values()},
        "square_gflops": round(max(squares), 1),
    }


def main() -> None:
    parser = options_of("Where the time of a training step goes.", rank=100)
    parser.add_argument("--model", default="complex")
    options = parser.parse_args()
    found = measure(options, limit=15.0 if options.quick else 60.0)
    for name in NAMES:
        print(f"{name:14}{found['milliseconds'][name]:10.2f} ms{found['share'][name]:9.1%}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
