"""Against an independent implementation: PyKEEN's evaluator finds the same ranks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import trifact
from trifact.graph.graph import Graph
from trifact.run import training
from trifact.run.evaluation import evaluate
from trifact.run.options import TrainConfig
from trifact.run.protocol import EvaluateConfig
from trifact.run.run import Run

with warnings.catch_warnings():  # of PyKEEN's own imports
    warnings.simplefilter("ignore")
    pykeen = pytest.importorskip("pykeen", reason="PyKEEN is not installed")
    models = pytest.importorskip("pykeen.models")
    evaluation = pytest.importorskip("pykeen.evaluation")
    triples = pytest.importorskip("pykeen.triples")

SIDES = {"overall": "both", "object": "tail", "subject": "head"}
METRICS = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10)},
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Numbers, their successors and remainders: queries with one answer and with many."""
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 50:02}") for i in range(50)]
    facts += [(f"n{i:02}", f"modulo {m}", f"n{i % m:02}") for i in range(50) for m in (2, 3, 5)]
    return trifact.load(facts, valid=0.1, test=0.2)


def theirs(run: Run, graph: Graph, name: str) -> Any:
    """PyKEEN's model with the factors of the run."""
    train = triples.CoreTriplesFactory(
        torch.tensor(graph.train), len(graph.entities), len(graph.predicates)
    )
    kind = {"complex": models.ComplEx, "distmult": models.DistMult}[name]
    model = kind(triples_factory=train, embedding_dim=run.config.rank, random_seed=0)
    for representations, table in (
        (model.entity_representations, "entity"),
        (model.relation_representations, "predicate"),
    ):
        factors = run.factors()[table]
        if name == "complex":  # [re | im] becomes pairs (re, im)
            factors = torch.stack(factors.chunk(2, 1), -1).flatten(1)
        with torch.no_grad():
            representations[0]._embeddings.weight.copy_(factors)
    return model.eval()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ["complex", "distmult"])
def test_all_metrics_are_those_of_pykeen(
    graph: Graph, tmp_path: Path, name: str, ties: bool
) -> None:
    """With ties: nothing was trained and the factors are zero, so every score is equal."""
    config = TrainConfig(model=name, setting="standard", rank=6, epochs=0 if ties else 20)
    config = config.replace(init_scale=0.0 if ties else 1e-3, precision="float32")
    run = training.train(graph, config, out=tmp_path / "run")
    ours = evaluate(run, EvaluateConfig(bootstrap=0)).metrics["filtered"]
    found = evaluation.RankBasedEvaluator(filtered=True, clear_on_finalize=False).evaluate(
        theirs(run, graph, name),
        torch.tensor(graph.test),
        additional_filter_triples=[torch.tensor(graph.train), torch.tensor(graph.valid)],
        use_tqdm=False,
    )
    for group, side in SIDES.items():
        row = ours["overall"] if group == "overall" else ours["by_side"][group]
        for kind in ("realistic", "optimistic", "pessimistic"):
            mine = row if kind == "realistic" else row[kind]
            for metric, their_name in METRICS.items():
                value = found.get_metric(f"{side}.{kind}.{their_name}")
                assert mine[metric] == pytest.approx(float(value), rel=1e-6), (side, kind, metric)
    assert np.isfinite(ours["overall"]["mrr"])
