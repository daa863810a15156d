"""Discovery against the bare matrix product over the same queries, in one run.

Both go over the predicates of a graph, a part of them at a time, with ComplEx and random factors;
each has a process of its own, and they take turns on the same parts.

- products: the float32 product of the distinct queries with all candidates, and nothing else
- ours: the list of the best facts among all pairs that make sense, as `trifact discover` makes it

    python benchmarks/discovery.py --graph FB15K-237 --rank 500 [--budget-mb 256] [--quick]
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import torch

from trifact.answer.chances import Chances
from trifact.answer.leftout import LeftOut
from trifact.answer.ordering import ByChance
from trifact.answer.pairs import Pairs
from trifact.answer.platt import Maps
from trifact.answer.roles import pairs_of
from trifact.answer.shortlist import Shortlist
from trifact.answer.single import single_sides
from trifact.answer.sweep import Sweep
from trifact.graph.loading import load
from trifact.tensor.models import MODELS
from trifact.tensor.workspace import Workspace
from turns import MB, Turns, count_peak_anew, status, within_a_budget

TOP = 10_000


class Worker:
    """A graph, the pairs that make sense in it, and a model with random factors."""

    def __init__(self, graph_name: str, rank: int, budget: int) -> None:
        graph, self.budget = load(graph_name), budget
        sizes = len(graph.entities), 2 * len(graph.predicates)
        self.model = MODELS["complex"](*sizes, rank=rank, scale=1.0, seed=0)
        single = single_sides(graph.known("train"))
        self.whole = pairs_of(graph)
        self.left_out = LeftOut.of(graph, ("train", "valid", "test"), single=single)
        self.news = Shortlist(TOP)
        maps = Maps(np.ones(2), np.ones((len(graph.predicates), 2)))
        chances = Chances(np.ones(3), maps, np.arange(len(graph.predicates)))
        self.order = ByChance(chances, graph.known("train"))

    def part(self, number: int, count: int) -> Pairs:
        """Every `count`-th predicate in the order of their queries, so that parts are alike."""
        every = range(self.whole.predicates)
        sizes = [len(self.whole.subjects(p)) + len(self.whole.objects(p)) for p in every]
        chosen = np.sort(np.argsort(sizes, kind="stable")[number::count])
        return Pairs(self.whole.candidates, chosen, self.whole.predicates)

    def seconds(self, pairs: Pairs) -> float:
        start = time.perf_counter()
        self.run(pairs)
        return time.perf_counter() - start

    def run(self, pairs: Pairs) -> None:
        raise NotImplementedError


class Products(Worker):
    def run(self, pairs: Pairs) -> None:
        work, candidates = Workspace(self.budget // 2), self.model.table("object")
        entities, predicates = pairs.queries()
        for block in work.blocks(len(entities), candidates):
            queries = self.model.queries(entities[block], predicates[block], towards="object")
            buffer = work.logits(len(queries), candidates)[:, : len(candidates)]
            torch.mm(queries, candidates.T, out=buffer)


class Ours(Worker):
    def run(self, pairs: Pairs) -> None:
        sweep = Sweep(
            self.model,
            pairs,
            self.left_out,
            order=self.order,
            news=self.news,
            budget=self.budget,
        )
        sweep.run(lambda step: None)


WORKERS = {"products": Products, "ours": Ours}
_worker: Worker


def _start(kind: str, graph: str, rank: int, budget: int) -> dict[str, int]:
    global _worker  # noqa: PLW0603 - the state of a worker process
    _worker = WORKERS[kind](graph, rank, budget)
    whole = _worker.whole
    _worker.run(_worker.part(0, whole.predicates))  # the smallest predicate, to warm up
    count_peak_anew()
    tables = sum(table.nbytes for table in _worker.model.tables.values())
    return {"queries": len(whole.queries()[0]), "pairs": whole.count(), "parameters": tables,
            "resident": status("VmRSS")}  # fmt: skip


def _part(number: int, count: int) -> float:
    return _worker.seconds(_worker.part(number, count))


def measure(graph: str, rank: int, *, budget: int, rounds: int, limit: float) -> dict[str, Any]:
    """A part a round, in turn; stops early when `limit` seconds have passed."""
    with Turns(WORKERS, _start, graph, rank, budget) as turns:
        times = turns.times(_part, rounds, limit=limit)
        peak = turns.ask("ours", status, "VmHWM")
    ours = turns.about["ours"]
    ratios = [a / b for a, b in zip(times["ours"], times["products"], strict=True)]
    return {
        "graph": graph,
        "rank": rank,
        "parts_timed": f"{len(ratios)} of {rounds}",
        "distinct_queries": ours["queries"],
        "pairs": ours["pairs"],
        "top": TOP,
        "ratio_to_matmul": round(statistics.median(ratios), 2),
        "budget_mb": budget // MB,
        "parameters_mb": round(ours["parameters"] / MB),
        "discovery_mb": round((peak - ours["resident"]) / MB),
        "peak_mb": round(peak / MB),
    }


if __name__ == "__main__":
    within_a_budget("Discovery against the bare matrix product.", measure, quick=40, usual=12)
