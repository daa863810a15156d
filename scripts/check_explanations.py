"""Check explanations: train again without the fact that one names, and without a random one.

    python -m scripts.check_explanations GRAPH ...    measure (10 to 20 minutes), keep the records
    python -m scripts.check_explanations              only the tables of the page

Answers are questions of test facts, on both sides, that the model ranks among the first ten and
whose entity has at least three facts in train. For each, the first fact of the explanation is
left out of train and a model trained anew, with the same seed; and once more without another fact
of the same entity, drawn at random.

Two trainings should differ by nothing but the fact. So steps are large (of UMLS the whole train
set), and first factors not as small as usual: from next to zero Adagrad's first steps go by signs,
and one fact less leads to another solution. The records are results/explanations/GRAPH.json.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from scripts.pages import Part, table
from scripts.records import ROOT, about, records_in
from trifact.answer.answers import Cell
from trifact.answer.explanation import explain
from trifact.answer.options import ExplainConfig
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.loading import load
from trifact.paper.archive import Record, write
from trifact.run.comparison import signed_rank
from trifact.run.evaluation import by_fact
from trifact.run.options import TrainConfig
from trifact.run.questions import Questions
from trifact.run.run import Run
from trifact.run.training import train
from trifact.tensor.models import Model
from trifact.tensor.ranking import ranks
from trifact.tensor.scoring import log_probabilities

RECORDS = ROOT / "results" / "explanations"
PART = Part("explanations.md", "check_explanations")
WELL, FACTS = 10, 3
SEED, RESAMPLES = 0, 10_000
CONFIG = TrainConfig(
    reg=0.05, init_scale=0.3, validate_every=0, precision="float32", threads=1, seed=SEED
)
CONFIGS = {
    "UMLS": CONFIG.replace(rank=25, batch=100_000, epochs=200),
    "World": CONFIG.replace(rank=20, batch=1000, epochs=15),
}
ANSWERS = {"UMLS": 120, "World": 100}
SIDES = ("subject", "object")


def measure(name: str) -> dict[str, Any]:
    """The record: every answer, and what all come to."""
    start, graph, rows = time.process_time(), load(name), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        run, random = train(graph, CONFIGS[name], out=Path(folder) / "run"), _random()
        chosen = _chosen(graph, run.model(), random)[: ANSWERS[name]]
        for number, (fact, side) in enumerate(chosen):
            rows.append(_row(run, fact, side, random))
            print(f"{name}: {number + 1} of {len(chosen)}", flush=True)
        head = about(run)
    return {
        **head,
        "ranked_up_to": WELL,
        "processor_minutes": round((time.process_time() - start) / 60, 1),
        "summary": summary(rows),
        "answers": rows,
    }


def _random() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _chosen(
    graph: Graph, model: Model, random: np.random.Generator
) -> list[tuple[tuple[int, int, int], str]]:
    """Facts and sides, in a random order: well ranked, with facts enough to choose from."""
    found = _ranks(graph, model, graph.test)
    places = [(row, side) for row in range(len(graph.test)) for side in (0, 1)]
    kept = list[tuple[tuple[int, int, int], str]]()
    for place in random.permutation(len(places)).tolist():
        row, side = places[place]
        subject, predicate, object_ = graph.test[row].tolist()
        own = _own_facts(graph, (subject, object_)[side])
        if subject != object_ and found[row, side] <= WELL and len(own) >= FACTS:
            kept.append(((subject, predicate, object_), SIDES[side]))
    return kept


def _row(
    run: Run, fact: tuple[int, int, int], side: str, random: np.random.Generator
) -> dict[str, Any]:
    """One answer: the named fact and a random one, and the answer as trained without each."""
    graph = run.graph()
    told = (graph.entities[fact[0]], graph.predicates[fact[1]], graph.entities[fact[2]])
    first = explain(run, told, ExplainConfig(side=side, k=1)).reasons[0]
    named = _ids(graph, first)
    own = _own_facts(graph, fact[0] if side == "subject" else fact[2])
    others = own[(own != named).any(axis=1)]
    drawn = others[int(random.integers(len(others)))]
    return {
        "facts": len(own),
        "said": first["drop"],
        **_measured(graph, run.model(), fact, side),
        **{
            kind: _measured(graph, _without(graph, left, run.config), fact, side)
            for kind, left in (("named", named), ("random", drawn))
        },
    }


def _ids(graph: Graph, row: dict[str, Cell]) -> Ints:
    """A fact of an explanation, by id."""
    subject, object_ = (graph.entities.find(str(row[name])) for name in ("subject", "object"))
    predicate = graph.predicates.find(str(row["predicate"]))
    return np.array([subject, predicate, object_], dtype=np.int64)


def _without(graph: Graph, left: Ints, config: TrainConfig) -> Model:
    """A model trained without a fact."""
    rest = graph.train[(graph.train != left).any(axis=1)]
    with tempfile.TemporaryDirectory() as folder:
        return train(replace(graph, train=rest), config, out=Path(folder) / "run").model()


def _measured(
    graph: Graph, model: Model, fact: tuple[int, int, int], side: str
) -> dict[str, float]:
    """The rank of an answer, filtered, and its log-probability."""
    rank = float(_ranks(graph, model, np.array([fact]))[0, SIDES.index(side)])
    question = fact if side == "subject" else (fact[2], fact[1] + len(graph.predicates), fact[0])
    return {"rank": rank, "log_p": float(log_probabilities(model, torch.tensor([question]))[0])}


def _ranks(graph: Graph, model: Model, facts: Ints) -> Any:  # noqa: ANN401
    """Realistic filtered ranks (n, 2): asked of the subject, and of the object."""
    questions = Questions.of(facts, graph.known(), device=torch.device("cpu"))
    return by_fact(questions, ranks(model, questions.asked)).realistic


def _own_facts(graph: Graph, entity: int) -> Ints:
    ends = graph.train[:, [0, 2]] == entity
    return np.unique(graph.train[ends[:, 0] ^ ends[:, 1]], axis=0)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How often and how far ranks and log-probabilities fall, and the paired difference."""
    falls = {kind: _falls(rows, kind) for kind in ("named", "random")}
    said = np.array([row["said"] for row in rows])
    return {
        "answers": len(rows),
        **{kind: _shares(found) for kind, found in falls.items()},
        "paired": {
            name: _paired(falls["named"][name] - falls["random"][name])
            for name in ("log_rank", "reciprocal_rank", "log_p")
        },
        "spearman_of_said_and_real_drop": float(spearmanr(said, falls["named"]["log_p"]).statistic),
    }


def _falls(rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """What each answer lost without a fact: a positive number is a loss."""
    before, after = (np.array([r["rank"] for r in some]) for some in (rows, _of(rows, kind)))
    log_p, later = (np.array([r["log_p"] for r in some]) for some in (rows, _of(rows, kind)))
    return {
        "log_rank": np.log(after / before),
        "reciprocal_rank": 1 / before - 1 / after,
        "log_p": log_p - later,
    }


def _of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row[kind] for row in rows]


def _shares(falls: dict[str, Any]) -> dict[str, float]:
    return {
        "rank_fell": float((falls["log_rank"] > 0).mean()),
        "rank_rose": float((falls["log_rank"] < 0).mean()),
        "log_p_fell": float((falls["log_p"] > 0).mean()),
        **{f"mean_{name}": float(values.mean()) for name, values in falls.items()},
    }


def _paired(differences: Any) -> dict[str, Any]:  # noqa: ANN401
    """The mean of named less random, its bootstrap interval, and Wilcoxon's test."""
    drawn = _random().integers(len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return {
        "mean": float(differences.mean()),
        "interval": [float(low), float(high)],
        "wilcoxon": signed_rank(differences),
    }


def made() -> str:
    """The tables of the page."""
    return "\n".join(map(_section, records_in(RECORDS)))


def _section(record: Record) -> str:
    found, config = record["summary"], record["config"]
    lines = [
        f"{record['graph']['name']}, {config['model']} of rank {config['rank']}, "
        f"{config['epochs']} epochs; {found['answers']} answers ranked up to "
        f"{record['ranked_up_to']}; trained anew without the fact:\n",
    ]
    kinds = {"named": "the first fact named", "random": "a random other one"}
    head = (
        "left out",
        "rank falls",
        "rank rises",
        "log p falls",
        "mean loss of log p",
        "of 1 / rank",
    )
    lines += table(head, (_left_out(name, found[kind]) for kind, name in kinds.items()))
    names = {"log_rank": "log rank", "reciprocal_rank": "1 / rank", "log_p": "log p"}
    paired = ("named less random, paired", "mean", "95 % interval", "Wilcoxon p")
    lines += table(paired, (_fall(name, found["paired"][key]) for key, name in names.items()))
    spearman = found["spearman_of_said_and_real_drop"]
    lines.append(
        f"Rank correlation of the drop that is said with that of training anew: {spearman:.2f}.\n"
    )
    return "\n".join(lines)


def _left_out(name: str, row: Record) -> tuple[str, ...]:
    shares = (f"{row[key]:.1%}" for key in ("rank_fell", "rank_rose", "log_p_fell"))
    return name, *shares, f"{row['mean_log_p']:.4f}", f"{row['mean_reciprocal_rank']:.4f}"


def _fall(name: str, row: Record) -> tuple[str, ...]:
    low, high = row["interval"]
    p = f"{row['wilcoxon']['p']:.1e}"
    return f"fall of {name}", f"{row['mean']:.4f}", f"{low:.4f} to {high:.4f}", p


def main() -> None:
    parser = argparse.ArgumentParser(description="Check explanations by training again.")
    parser.add_argument("graphs", nargs="*", help=f"some of {', '.join(CONFIGS)}")
    for name in parser.parse_args().graphs:
        write(RECORDS / f"{name}.json", measure(name))
    PART.write(made())


if __name__ == "__main__":
    main()
