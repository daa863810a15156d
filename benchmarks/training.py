"""An epoch of training against the plain algorithm, and against PyKEEN, in one run.

The baseline is the algorithm of the paper's code, written by us: one row of logits a fact (and
reciprocal), float32, dense logits, torch autograd, torch.optim.Adagrad, 1000 facts a step. Ours
goes over distinct queries. Both are ComplEx (or --model) with N3 on the same graph; each has a
process of its own, steps are timed alternately, and medians are scaled to an epoch. Where the
baseline would take too long or too much memory, `--no-baseline` leaves it out. `--pykeen` adds
PyKEEN's training loop, which goes over distinct queries too.

Memory: `training_mb` is what our process came to hold at most, less what it held with torch and
the graph and no model; `allowed_mb` is what it may: parameters, their bfloat16 copy if products
are bfloat16, the optimizer's state, one gradient of the entities, and the budget.

    python benchmarks/training.py --graph FB15K-237 --rank 100 [--pykeen] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.run.options import TrainConfig, resolved
from trifact.run.preparation import with_precision
from trifact.run.questions import asked_of
from trifact.run.training import Training
from turns import MB, Turns, count_peak_anew, options_of, status

FACTS_A_STEP = 1000
REG = 0.15


@dataclass
class Timed:
    """Something that makes steps, and how many of them are an epoch."""

    steps: Iterator[float]
    epoch_steps: float


class Plain:
    """The baseline: everything by autograd, one row of logits a fact."""

    def __init__(self, graph_name: str, model: str, rank: int) -> None:
        graph = load(graph_name)
        self.examples = torch.from_numpy(graph.reciprocal("train"))
        self.complex, self.shared = model == "complex", model != "cp"
        sizes = (len(graph.entities), 2 * len(graph.predicates), len(graph.entities))
        width = rank * (2 if self.complex else 1)
        tables = [(1e-3 * torch.randn(n, width)).requires_grad_() for n in sizes]
        self.tables = [tables[0], tables[1], tables[0] if self.shared else tables[2]]
        distinct = tables[:2] if self.shared else tables
        self.optimizer = torch.optim.Adagrad(distinct, lr=0.1)

    def step(self, examples: Tensor) -> float:
        """Seconds of one step."""
        start = time.perf_counter()
        a, b, c = (t[ids] for t, ids in zip(self.tables, examples.T, strict=True))
        query = self._complex_product(a, b) if self.complex else a * b
        loss = torch.nn.functional.cross_entropy(query @ self.tables[2].T, examples[:, 2])
        penalty = sum((self._modulus(x) ** 3).sum() for x in (a, b, c)) * (REG / 3 / len(a))
        self.optimizer.zero_grad()
        torch.autograd.backward(loss + penalty)
        self.optimizer.step()
        return time.perf_counter() - start

    def _modulus(self, x: Tensor) -> Tensor:
        if not self.complex:
            return x.abs()
        re, im = x.chunk(2, 1)
        return (re**2 + im**2 + 1e-30).sqrt()

    @staticmethod
    def _complex_product(a: Tensor, b: Tensor) -> Tensor:
        (ar, ai), (br, bi) = a.chunk(2, 1), b.chunk(2, 1)
        return torch.cat([ar * br - ai * bi, ar * bi + ai * br], 1)

    def timed(self) -> Timed:
        order = torch.randperm(len(self.examples), generator=torch.Generator().manual_seed(0))
        steps = (self.step(self.examples[ids]) for ids in torch.split(order, FACTS_A_STEP))
        return Timed(steps, len(self.examples) / FACTS_A_STEP)


class Pykeen:
    """PyKEEN's loop over distinct queries (LCWA), full log-loss, without a regularizer.

    Its queries weigh one each, however many answers they have. A step costs what it does whichever
    its queries are, so it is given a part of the facts.
    """

    def __init__(self, graph_name: str, model: str, rank: int) -> None:
        with warnings.catch_warnings():  # of its own imports
            warnings.simplefilter("ignore")
            from pykeen.models import model_resolver
            from pykeen.training import LCWATrainingLoop
            from pykeen.training.callbacks import TrainingCallback
            from pykeen.triples import CoreTriplesFactory
        graph = load(graph_name)
        self.queries, part = len(graph.queries("train")), np.random.default_rng(0)
        self.facts = CoreTriplesFactory(
            torch.from_numpy(part.choice(graph.train, 8 * FACTS_A_STEP, replace=False)),
            num_entities=len(graph.entities),
            num_relations=len(graph.predicates),
            create_inverse_triples=True,
        )
        self.model = model_resolver.make(
            model, triples_factory=self.facts, embedding_dim=rank, loss="crossentropy"
        )
        optimizer = torch.optim.Adagrad(self.model.get_grad_params(), lr=0.1)
        self.loop = LCWATrainingLoop(
            model=self.model, triples_factory=self.facts, optimizer=optimizer
        )
        self.ends = ends = list[float]()

        class Clock(TrainingCallback):
            def on_batch(self, *_: object, **__: object) -> None:
                ends.append(time.perf_counter())

        self.clock: Any = Clock

    def steps(self) -> Iterator[float]:
        """Seconds from the end of a step to that of the next; the last one is not full."""
        while True:
            self.ends.clear()
            self.loop.train(
                self.facts,
                num_epochs=1,
                batch_size=FACTS_A_STEP,
                callbacks=[self.clock],
                use_tqdm=False,
                pin_memory=False,
            )
            assert len(self.ends) > 2, "too few queries"
            yield from np.diff(self.ends[:-1]).tolist()

    def timed(self) -> Timed:
        return Timed(self.steps(), self.queries / FACTS_A_STEP)


class Ours:
    """Training as `trifact train` does it."""

    def __init__(self, graph_name: str, model: str, rank: int) -> None:
        graph = load(graph_name)
        self.resident = _resident_with(graph)
        config = resolved(TrainConfig(model=model, rank=rank, reg=REG), graph)
        config = with_precision(config, graph)
        nowhere = Path("nowhere")  # steps alone write nothing
        self.training = Training(graph, config, nowhere, lambda *_: None)

    def timed(self) -> Timed:
        training, config = self.training, self.training.config
        assert config.batch is not None
        batches = training.queries.batches(seed=0, epoch=1, batch_size=config.batch, cap=config.cap)
        return Timed(map(self.step, batches), len(training.queries) / config.batch)

    def step(self, batch: Any) -> float:  # noqa: ANN401
        """Seconds of one step."""
        start = time.perf_counter()
        self.training.objective.step(self.training.tensors(batch), self.training.optimizer)
        return time.perf_counter() - start

    def memory(self) -> dict[str, Any]:
        """What it came to hold and what it may, in MB, with the settings that say so."""
        config, model = self.training.config, self.training.model
        parameters = sum(table.nbytes for table in model.tables.values())
        entities = model.table("object").nbytes
        copy = entities // 2 if config.precision == "bfloat16" else 0
        state = sum(tensor.nbytes for tensor in self.training.optimizer.state.values())
        allowed = parameters + copy + state + entities + config.budget_mb * MB
        return {
            "precision": config.precision,
            "batch": config.batch,
            "budget_mb": config.budget_mb,
            "parameters_mb": round(parameters / MB),
            "allowed_mb": round(allowed / MB),
            "training_mb": round((status("VmHWM") - self.resident) / MB),
            "peak_mb": round(status("VmHWM") / MB),
        }


def _resident_with(graph: Graph) -> int:
    """Bytes that this process holds with torch and a graph and its indexes; peaks count anew."""
    indexes = graph.queries("train"), asked_of(graph, "valid", device=torch.device("cpu"))
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))  # its library is loaded
    held = status("VmRSS")
    del indexes  # training makes them again
    count_peak_anew()
    return held


class Products:
    """The three matrix products of a step of ours and nothing else: what is left to gain."""

    def __init__(self, graph_name: str, model: str, rank: int) -> None:
        ours = Ours(graph_name, model, rank)
        batch, objective = ours.training.config.batch, ours.training.objective
        assert batch is not None
        candidates = objective.work.cast(objective.model.table("object"))
        queries = torch.randn(batch, candidates.shape[1]).to(candidates)
        self.blocks = [queries[part] for part in objective.work.blocks(batch, candidates)]
        self.candidates, self.work = candidates, objective.work
        self.gradient = torch.zeros_like(candidates)
        self.epoch_steps = len(ours.training.queries) / batch

    def step(self) -> float:
        """Seconds of the products of one step."""
        start = time.perf_counter()
        for queries in self.blocks:
            logits = self.work.logits(len(queries), self.candidates)[:, : len(self.candidates)]
            torch.mm(queries, self.candidates.T, out=logits)
            torch.mm(logits, self.candidates)
            self.gradient.addmm_(logits.T, queries)
        return time.perf_counter() - start

    def timed(self) -> Timed:
        return Timed(iter(self.step, -1.0), self.epoch_steps)


WORKERS: dict[str, type[Plain | Pykeen | Ours | Products]] = {
    "plain": Plain,
    "pykeen": Pykeen,
    "ours": Ours,
    "products": Products,
}
_worker: Plain | Pykeen | Ours | Products
_timed: Timed


def _start(kind: str, graph: str, model: str, rank: int) -> float:
    global _worker, _timed  # noqa: PLW0603 - the state of a worker process
    torch.set_flush_denormal(True)  # as training does
    _worker = WORKERS[kind](graph, model, rank)
    _timed = _worker.timed()
    next(_timed.steps)
    return _timed.epoch_steps


def _steps(*_: int) -> list[float]:
    """Seconds of the next ones; what is long is done less often."""
    return list(islice(_timed.steps, 1 if isinstance(_worker, Plain | Pykeen) else 2))


def _memory() -> dict[str, Any]:
    return _worker.memory() if isinstance(_worker, Ours) else {"peak_mb": status("VmHWM") // MB}


def measure(options: argparse.Namespace, *, rounds: int, seconds: float) -> dict[str, Any]:
    """Rounds of steps, alternating; stops early when `seconds` have passed."""
    left_out = {"plain": options.no_baseline, "pykeen": not options.pykeen}
    kinds = [kind for kind in WORKERS if not left_out.get(kind)]
    with Turns(kinds, _start, options.graph, options.model, options.rank) as turns:
        times = turns.times(_steps, rounds, limit=seconds)
        memory = {kind: turns.ask(kind, _memory) for kind in kinds}
    medians = {kind: statistics.median(chain(*steps)) for kind, steps in times.items()}
    epoch = {kind: turns.about[kind] * median for kind, median in medians.items()}
    return {
        "graph": options.graph,
        "model": options.model,
        "rank": options.rank,
        "rounds": len(times["ours"]),
        "seconds_per_epoch": round(epoch["ours"], 2),
        "matmul_share": round(epoch["products"] / epoch["ours"], 3),
        **memory["ours"],
        **(_against(epoch, memory["plain"]) if "plain" in kinds else {}),
        **({"pykeen": _beside(epoch, memory["pykeen"])} if "pykeen" in kinds else {}),
    }


def _against(epoch: dict[str, float], plain: dict[str, Any]) -> dict[str, Any]:
    """Ours against the baseline; `ceiling` is the speedup if only the products took time."""
    return {
        "baseline_seconds_per_epoch": round(epoch["plain"], 2),
        "speedup": round(epoch["plain"] / epoch["ours"], 2),
        "ceiling": round(epoch["plain"] / epoch["products"], 2),
        "baseline_peak_mb": plain["peak_mb"],
    }


def _beside(epoch: dict[str, float], pykeen: dict[str, Any]) -> dict[str, Any]:
    """Ours against PyKEEN."""
    return {
        "version": version("pykeen"),
        "seconds_per_epoch": round(epoch["pykeen"], 2),
        "speedup": round(epoch["pykeen"] / epoch["ours"], 2),
        "peak_mb": pykeen["peak_mb"],
    }


def main() -> None:
    parser = options_of("An epoch against the plain algorithm.", rank=100)
    parser.add_argument("--model", default="complex")
    parser.add_argument("--no-baseline", action="store_true", help="leave out the plain algorithm")
    parser.add_argument("--pykeen", action="store_true", help="PyKEEN's training loop, too")
    options = parser.parse_args()
    rounds, seconds = (5, 20.0) if options.quick else (25, 300.0)
    print(json.dumps(measure(options, rounds=rounds, seconds=seconds)))


if __name__ == "__main__":
    main()
