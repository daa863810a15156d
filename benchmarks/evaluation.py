"""Ranking the test facts against the bare matrix product and against plain evaluators, in one run.

All rank (or score) the test facts of a graph on both sides with ComplEx and random factors; each
has a process of its own, and they take turns on the same parts of the queries.

- products: the float32 product of the distinct queries with all candidates, and nothing else
- ours: filtered ranks, as `trifact evaluate` makes them
- plain: goes over the facts one by one: scores all candidates, leaves out the known, counts
- batched: scores 500 facts at a time, and loops over them only to filter

`peak_mb` is the memory of ranking: the most that its process held, less what it held with torch
warm and the graph loaded, before there were factors and an index of known answers. It must be at
most `allowed_mb`, the parameters and the budget.

    python benchmarks/evaluation.py --graph FB15K-237 --rank 500 [--budget-mb 256] [--quick]
"""

from __future__ import annotations

import ctypes
import statistics
import time
from typing import Any

import torch
from torch import Tensor

from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.run.questions import Questions
from trifact.tensor.models import MODELS
from trifact.tensor.ranking import Asked, ranks
from trifact.tensor.workspace import Workspace
from turns import MB, Turns, count_peak_anew, status, within_a_budget

BATCH = 500
PLAIN_FACTS = 25


class Worker:
    """The questions of a graph's test facts, and a model with random factors."""

    def __init__(self, graph: Graph, rank: int, budget: int) -> None:
        sizes = len(graph.entities), 2 * len(graph.predicates)
        self.model = MODELS["complex"](*sizes, rank=rank, scale=1.0)
        self.asked = Questions.of(graph.test, graph.known(), device=torch.device("cpu")).asked
        self.candidates, self.budget = self.model.table("object"), budget

    def parts(self, count: int) -> list[tuple[int, int]]:
        """Stretches of queries of one block each, spread over all."""
        row = self.candidates.itemsize * len(self.candidates)
        size = min(len(self.asked.entities), max(self.budget // 2 // row, 64))
        room = len(self.asked.entities) - size
        return [(room * i // max(count - 1, 1), room * i // max(count - 1, 1) + size)
                for i in range(count)]  # fmt: skip

    def cut(self, first: int, last: int) -> Asked:
        """The questions of some queries."""
        asked, edges = self.asked, torch.tensor([first, last])
        a, b = torch.searchsorted(asked.rows, edges).tolist()
        c, d = torch.searchsorted(asked.known_rows, edges).tolist()
        return Asked(
            asked.entities[first:last],
            asked.predicates[first:last],
            asked.rows[a:b] - first,
            asked.answers[a:b],
            asked.known_rows[c:d] - first,
            asked.known[c:d],
        )

    def queries(self, asked: Asked, rows: Tensor) -> Tensor:
        return self.model.queries(asked.entities[rows], asked.predicates[rows], towards="object")

    def seconds(self, asked: Asked) -> float:
        """Of all answers of the questions."""
        self.prepare(asked)
        start = time.perf_counter()
        share = self.run(asked)
        return (time.perf_counter() - start) / share

    def prepare(self, asked: Asked) -> None:
        """What is not timed."""

    def run(self, asked: Asked) -> float:
        """Do it, or a share of it; returns the share."""
        raise NotImplementedError


class Products(Worker):
    def run(self, asked: Asked) -> float:
        work = Workspace(self.budget // 2)
        for block in work.blocks(len(asked.entities), self.candidates):
            rows = torch.arange(block.start, min(block.stop, len(asked.entities)))
            queries = self.queries(asked, rows)
            buffer = work.logits(len(queries), self.candidates)[:, : len(self.candidates)]
            torch.mm(queries, self.candidates.T, out=buffer)
        return 1.0


class Ours(Worker):
    def run(self, asked: Asked) -> float:
        ranks(self.model, asked, budget=self.budget)
        return 1.0


class ByLists(Worker):
    def prepare(self, asked: Asked) -> None:
        """The plain ones may have the filter ready, a list for each query."""
        counts = torch.bincount(asked.known_rows, minlength=len(asked.entities)).tolist()
        self.filters = torch.split(asked.known, counts)


class Plain(ByLists):
    def run(self, asked: Asked) -> float:
        chosen = range(0, len(asked.rows), max(1, len(asked.rows) // PLAIN_FACTS))
        for place in chosen:
            row, answer = asked.rows[place : place + 1], int(asked.answers[place])
            scores = (self.queries(asked, row) @ self.candidates.T)[0]
            target = scores[answer].clone()
            scores[self.filters[int(row)]] = -torch.inf
            (scores >= target).sum().item()
        return len(chosen) / len(asked.rows)


class Batched(ByLists):
    def run(self, asked: Asked) -> float:
        rows, answers = asked.rows[:BATCH], asked.answers[:BATCH]
        scores = self.queries(asked, rows) @ self.candidates.T
        targets = scores.gather(1, answers.unsqueeze(1))
        for place, row in enumerate(rows.tolist()):
            scores[place, self.filters[row]] = -torch.inf
        (scores >= targets).float().sum(1).add_(1)
        return len(rows) / len(asked.rows)


WORKERS = {"products": Products, "ours": Ours, "plain": Plain, "batched": Batched}
_worker: Worker


def _start(kind: str, graph_name: str, rank: int, budget: int) -> dict[str, int]:
    global _worker  # noqa: PLW0603 - the state of a worker process
    graph, warm = load(graph_name), torch.ones(512, 512)
    torch.mm(warm, warm)  # torch makes its threads and buffers now
    ctypes.CDLL(None).malloc_trim(0)  # or what loading has left would be used and not be counted
    before = status("VmRSS")
    count_peak_anew()
    _worker = WORKERS[kind](graph, rank, budget)
    _worker.seconds(_worker.cut(0, 8))
    tables = sum(table.nbytes for table in _worker.model.tables.values())
    return {"queries": len(_worker.asked.entities), "answers": len(_worker.asked.rows),
            "parameters": tables, "before": before}  # fmt: skip


def _part(number: int, count: int) -> float:
    return _worker.seconds(_worker.cut(*_worker.parts(count)[number]))


def measure(graph: str, rank: int, *, budget: int, rounds: int, limit: float) -> dict[str, Any]:
    """A part a round, in turn; stops early when `limit` seconds have passed."""
    with Turns(WORKERS, _start, graph, rank, budget) as turns:
        times = turns.times(_part, rounds, limit=limit)
        peak = turns.ask("ours", status, "VmHWM")
    ours = turns.about["ours"]
    used, allowed = peak - ours["before"], ours["parameters"] + budget

    def ratio(one: str, other: str) -> float:
        pairs = zip(times[one], times[other], strict=True)
        return round(statistics.median(a / b for a, b in pairs), 2)

    return {
        "graph": graph,
        "rank": rank,
        "parts_timed": len(times["ours"]),
        "answers": ours["answers"],
        "distinct_queries": ours["queries"],
        "ratio_to_matmul": ratio("ours", "products"),
        "speedup": ratio("plain", "ours"),
        "speedup_over_batches": ratio("batched", "ours"),
        "budget_mb": budget // MB,
        "parameters_mb": round(ours["parameters"] / MB),
        "ranking_mb": round((used - ours["parameters"]) / MB),
        "peak_mb": round(used / MB),
        "allowed_mb": round(allowed / MB),
        "memory_holds": used <= allowed,
        "process_mb": round(peak / MB),
    }


if __name__ == "__main__":
    within_a_budget("Ranking against the bare matrix product.", measure, quick=7, usual=15)
