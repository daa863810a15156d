"""Time to the first answer against a bare `import torch`, and of further ones against products.

A run with random factors is kept in a temporary folder. Then, taking turns:

- torch: a process that imports torch, and nothing else
- first: a process that opens the run and asks for the objects of one question, in Python
- command: the same by `trifact predict`

and in one process, over many single questions:

- product: the query and the k queries back, each against all candidates: what an answer needs
- answer: `Predictor.objects`

    python benchmarks/answering.py [--graph FB15K-237] [--rank 500] [--repeats 9] [--quick]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import trifact
from trifact.answer.predictor import Predictor
from trifact.graph.graph import Graph
from trifact.graph.storage import save_graph
from trifact.run import checkpoint
from trifact.run.folder import CHECKPOINTS, save_config
from trifact.run.options import TrainConfig
from trifact.tensor.models import MODELS
from turns import options_of

K = 10
ASK = "import sys, trifact; trifact.load_run(sys.argv[1]).predictor().objects(*sys.argv[2:])"


def keep_random_run(path: Path, graph: Graph, rank: int) -> None:
    """A run of ComplEx that nobody trained."""
    model = MODELS["complex"](len(graph.entities), 2 * len(graph.predicates), rank=rank, scale=0.1)
    path.mkdir()
    save_graph(graph, path)
    save_config(path, TrainConfig(rank=rank, reg=0.1, batch=100, precision="float32"))
    about = {"epoch": 1, "mrr": None}
    checkpoint.save(path / CHECKPOINTS, "best", {"factors": model.tables}, about)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def process(*words: str) -> Callable[[], object]:
    """A new interpreter, from its start to its end."""

    def run() -> object:
        return subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)  # fmt: skip

    return run


def first_answers(run: Path, graph: Graph, repeats: int) -> dict[str, float]:
    """Medians of the three processes."""
    subject, predicate, _ = graph.test[0].tolist()
    asked = str(run), graph.entities[subject], graph.predicates[predicate]
    works = {
        "torch": process("-c", "import torch"),
        "first": process("-c", ASK, *asked),
        "command": process("-m", "trifact", "predict", *asked),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(repeats + 1):
        for name, work in works.items():
            taken = seconds(work)
            if number:  # the first round only warms the disk's cache
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def further_answers(run: Path, graph: Graph, questions: int) -> dict[str, float]:
    """Medians of an answer and of the products it needs."""
    predictor = Predictor.of(trifact.load_run(run))
    model = predictor.model
    candidates = model.table("object")
    facts = graph.test[:: max(1, len(graph.test) // questions)][:questions].tolist()
    times: dict[str, list[float]] = {"product": [], "answer": []}
    for subject, predicate, obj in facts:
        back = torch.full((K,), predicate + len(graph.predicates))

        def products(s: int = subject, p: int = predicate, o: int = obj) -> None:
            there = model.queries(torch.tensor([s]), torch.tensor([p]), towards="object")
            torch.mm(there, candidates.T)
            others = model.queries(torch.full((K,), o), back, towards="object")  # noqa: B023
            torch.mm(others, candidates.T)

        names = graph.entities[subject], graph.predicates[predicate]
        times["product"].append(seconds(products))
        times["answer"].append(seconds(lambda n=names: predictor.objects(*n, k=K)))  # type: ignore[misc]
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def main() -> None:
    parser = options_of("Time to an answer against what it needs.", rank=500)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    repeats, questions = (3, 50) if options.quick else (options.repeats, 500)
    graph = trifact.load(options.graph)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        keep_random_run(run, graph, options.rank)
        first, further = first_answers(run, graph, repeats), further_answers(run, graph, questions)
    print(f"import torch {first['torch']:.2f} s, first answer {first['first']:.2f} s, "
          f"by command {first['command']:.2f} s")  # fmt: skip
    print(f"a further answer {1e3 * further['answer']:.2f} ms, "
          f"its products {1e3 * further['product']:.2f} ms")  # fmt: skip
    print(
        json.dumps(
            {
                "graph": options.graph,
                "rank": options.rank,
                "ratio_to_torch": round(first["first"] / first["torch"], 3),
                "command_ratio_to_torch": round(first["command"] / first["torch"], 3),
                "torch_seconds": round(first["torch"], 3),
                "ratio_to_products": round(further["answer"] / further["product"], 3),
                "answer_ms": round(1e3 * further["answer"], 3),
            }
        )
    )


if __name__ == "__main__":
    main()
