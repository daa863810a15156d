"""Against an independent implementation: PyKEEN's evaluator finds the same ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import trifact
from trifact.graph.graph import Graph
from trifact.run import checkpoint, training
from trifact.run.evaluation import evaluate
from trifact.run.folder import CHECKPOINTS
from trifact.run.options import TrainConfig
from trifact.run.protocol import EvaluateConfig
from trifact.run.ranktable import SIDES
from trifact.run.run import Run

with warnings.catch_warnings():  # of PyKEEN's own imports
    warnings.simplefilter("ignore")
    pykeen = pytest.importorskip("pykeen", reason="PyKEEN is not installed")
    models = pytest.importorskip("pykeen.models")
    evaluation = pytest.importorskip("pykeen.evaluation")
    triples = pytest.importorskip("pykeen.triples")

THEIRS = {"object": "tail", "subject": "head"}
TIES = ("optimistic", "realistic", "pessimistic")
METRICS = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10)},
}
TIED: dict[str, Callable[[Tensor], Tensor]] = {
    "none": torch.Tensor.clone,
    "many": torch.Tensor.sign,  # whole numbers: equal scores are exactly equal, in both
    "all": torch.zeros_like,
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
@pytest.mark.parametrize("tied", TIED)
@pytest.mark.parametrize("name", ["complex", "distmult"])
def test_ranks_and_metrics_are_those_of_pykeen(
    graph: Graph, tmp_path: Path, name: str, tied: str
) -> None:
    """Rank by rank for every fact and side, whatever ties are counted as; then what they give."""
    config = TrainConfig(model=name, setting="standard", rank=6, epochs=20, precision="float32")
    run = training.train(graph, config, out=tmp_path / "run")
    factors = {table: TIED[tied](rows) for table, rows in run.factors().items()}
    checkpoint.save(run.path / CHECKPOINTS, "best", {"factors": factors}, run.metrics)
    ours = evaluate(run, EvaluateConfig(bootstrap=0))
    evaluator = evaluation.RankBasedEvaluator(filtered=True, clear_on_finalize=False)
    found = evaluator.evaluate(
        theirs(run, graph, name),
        torch.tensor(ours.ranks.facts),
        additional_filter_triples=[torch.tensor(graph.train), torch.tensor(graph.valid)],
        use_tqdm=False,
    )
    assert len(ours.ranks.facts) == len(graph.test) > 30
    for place, side in enumerate(SIDES):
        for ties in TIES:
            ranks = np.concatenate(evaluator.ranks[THEIRS[side], ties])  # (n,), in order of facts
            np.testing.assert_array_equal(ours.ranks.filtered.under(ties)[:, place], ranks)
            row = ours.metrics["filtered"]["by_side"][side]
            for metric, their_name in METRICS.items():
                value = found.get_metric(f"{THEIRS[side]}.{ties}.{their_name}")
                mine = (row if ties == "realistic" else row[ties])[metric]
                assert mine == pytest.approx(float(value), rel=1e-6), (side, ties, metric)
    ranked = ours.ranks.filtered
    assert (ranked.optimistic < ranked.pessimistic).any() == (tied != "none")
    assert len(np.unique(ranked.realistic)) > 3  # where all are tied, by the filter alone
