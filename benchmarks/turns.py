"""What benchmarks share: their options, and processes that take turns.

So things are timed side by side, and never at the same time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

MB = 2**20
T = TypeVar("T")


def options_of(about: str, *, rank: int) -> argparse.ArgumentParser:
    """The options that all benchmarks of a model have."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--graph", default="FB15K-237")
    parser.add_argument("--rank", type=int, default=rank)
    parser.add_argument("--quick", action="store_true", help="within 50 seconds")
    return parser


def within_a_budget(about: str, measure: Callable[..., Any], *, quick: int, usual: int) -> None:
    """The command of a benchmark that has a budget of memory: so many rounds of it, in turn."""
    parser = options_of(about, rank=500)
    parser.add_argument("--budget-mb", type=int, default=256)
    options = parser.parse_args()
    rounds, limit = (quick, 18.0) if options.quick else (usual, 300.0)
    budget = options.budget_mb * MB
    found = measure(options.graph, options.rank, budget=budget, rounds=rounds, limit=limit)
    print(json.dumps(found))


class Turns:
    """A process for each kind of work; `about` is what starting it gave."""

    def __init__(self, kinds: Iterable[str], start: Callable[..., Any], *task: object) -> None:
        self.began = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        self.pools = {kind: ProcessPoolExecutor(1, mp_context=spawn) for kind in kinds}
        starts = {kind: pool.submit(start, kind, *task) for kind, pool in self.pools.items()}
        self.about: dict[str, Any] = {kind: begun.result() for kind, begun in starts.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self.pools.values():
            pool.shutdown()

    def ask(self, kind: str, function: Callable[..., T], *given: object) -> T:
        """What a function gives in the process of a kind."""
        return self.pools[kind].submit(function, *given).result()

    def times(
        self, work: Callable[[int, int], T], rounds: int, *, limit: float
    ) -> dict[str, list[T]]:
        """Work in turn, by kind; from the third round on it may end after `limit` seconds."""
        found = {kind: list[T]() for kind in self.pools}
        for number in range(rounds):
            for kind, times in found.items():
                times.append(self.ask(kind, work, number, rounds))
            if time.perf_counter() - self.began > limit and number >= 2:
                break
        return found


def status(key: str) -> int:
    """Bytes of this process: VmRSS, those it holds, or VmHWM, the most it held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


def count_peak_anew() -> None:
    """From here on, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
