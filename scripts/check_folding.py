"""Check new entities: 200 are left out of training and folded in, against a model trained on all.

    python -m scripts.check_folding --graph FOLDER       write the graph without them, to train on
    python -m scripts.check_folding ALL WITHOUT          measure two runs, and keep the record
    python -m scripts.check_folding                      only the table of the page

ALL is a run on the whole graph, WITHOUT one on the graph without the 200, with the same settings.
The 200 are drawn from the entities with at least five train and one test facts, and folded in
from their train facts with others. Both models rank the same answers among the same entities:
those of the test facts with one of the 200, on both sides, filtered by all facts. To see what the
queries are worth that an entity does not answer (`negatives`), it is done without them, with the
usual sample and with all; and test facts without any of the 200 show whether they stand in the
way of others.
"""

from __future__ import annotations

import argparse
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from scripts.pages import Part, table
from scripts.records import ROOT, records_in
from trifact.answer.folding import Folded, fold
from trifact.answer.rows import NEGATIVES
from trifact.durable import write_text
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.graph.loading import load
from trifact.paper.archive import Record, commit, settings_of, write
from trifact.run import machine
from trifact.run.evaluation import by_fact
from trifact.run.matching import match
from trifact.run.metrics import interval
from trifact.run.questions import Questions
from trifact.run.ranktable import Floats
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.tensor.ranking import ranks

GRAPH, HELD, SEED = "FB15K-237", 200, 0
FEWEST = {"train": 5, "test": 1}
SAMPLES = (0, NEGATIVES, 10**9)
RESAMPLES = 10_000
RECORDS = ROOT / "results" / "folding"
PART = Part("new-entities.md", "check_folding")


def held_out(graph: Graph) -> Ints:
    """The ids of the entities that are left out, ascending."""
    enough = [_counts(graph, split) >= fewest for split, fewest in FEWEST.items()]
    eligible = np.flatnonzero(np.all(enough, axis=0))
    return np.sort(np.random.default_rng(SEED).choice(eligible, HELD, replace=False))


def _counts(graph: Graph, split: str) -> Ints:
    """How many facts have an entity; a self-loop is one."""
    facts, n = graph.splits[split], len(graph.entities)
    others = facts[facts[:, 0] != facts[:, 2], 2]
    return np.bincount(facts[:, 0], minlength=n) + np.bincount(others, minlength=n)


def write_graph(folder: Path) -> None:
    """The graph without any fact of theirs, as files to train on."""
    graph = load(GRAPH)
    held = held_out(graph)
    for split, facts in graph.splits.items():
        kept = facts[~np.isin(facts[:, [0, 2]], held).any(axis=1)]
        lines = ("\t".join(_told(graph, fact)) + "\n" for fact in kept.tolist())
        write_text(folder / f"{split}.txt", "".join(lines))


def _told(graph: Graph, fact: list[int]) -> tuple[str, str, str]:
    return graph.entities[fact[0]], graph.predicates[fact[1]], graph.entities[fact[2]]


def measure(everything: Run, without: Run) -> dict[str, Any]:
    """The record: both models on the same answers, and what folding took."""
    graph = load(GRAPH)
    held = [graph.entities[i] for i in held_out(graph).tolist()]
    _check_runs(graph, everything, without, held)
    facts, found = _facts(graph, without, held), dict[int, Folded]()
    for negatives in SAMPLES:
        found[negatives] = fold(without, facts, negatives=negatives)
        print(f"folded with {negatives:,}", flush=True)
    exam = Exam.of(found[NEGATIVES].graph, graph, held)
    trained = exam.ranked(_same_entities(everything, exam.graph))
    return {
        "commit": commit(),
        "machine": machine.describe(),
        "graph": {"name": graph.name, "content_hash": graph.content_hash},
        "config": settings_of(without),
        "runs": {"all": _about(everything), "without": _about(without)},
        "entities": len(exam.graph.entities),
        "held": HELD,
        "train_facts": len(facts),
        "test_facts": len(exam.facts),
        "facts_of_others": len(exam.others),
        "trained": trained.table(),
        "folded": {
            str(n): {**exam.ranked(folded.model).table(against=trained), **_taken(folded)}
            for n, folded in found.items()
        },
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _check_runs(graph: Graph, everything: Run, without: Run, held: list[str]) -> None:
    """The runs must be what they are said to be: a check of the wrong two says nothing."""
    assert everything.graph().content_hash == graph.content_hash
    known = without.graph().entities
    assert not any(name in known for name in held)
    for name in ("model", "rank", "setting", "regularizer", "reg", "epochs", "batch", "seed"):
        assert getattr(everything.config, name) == getattr(without.config, name), name


def _facts(graph: Graph, without: Run, held: list[str]) -> list[tuple[str, str, str]]:
    """The train facts of the held out with entities that the smaller run knows."""
    known, chosen = without.graph().entities, set(held)
    told = (_told(graph, fact) for fact in graph.train.tolist())
    return [
        (s, p, o)
        for s, p, o in told
        if (s in chosen and o in known) or (o in chosen and s in known)
    ]


def _same_entities(run: Run, graph: Graph) -> Model:
    """The model of a run with the entities of a graph, in its order."""
    model, names = run.model(), run.graph().entities
    rows = torch.tensor([names.find(name) for name in graph.entities])
    tables = {name: t if name == "predicate" else t[rows] for name, t in model.tables.items()}
    return type(model).of(tables)


@dataclass(frozen=True)
class Ranked:
    """Reciprocal ranks of the answers, by the part that the held-out entity has."""

    facts: Floats  # (n, 2): asked for the object, and for the subject
    asks: Floats
    answers: Floats
    others: Floats

    def table(self, against: Ranked | None = None) -> dict[str, Any]:
        parts = ("facts", "asks", "answers", "others")
        found = {f"mrr_{part}": float(getattr(self, part).mean()) for part in parts}
        return found if against is None else {**found, **_compared(against.facts, self.facts)}


@dataclass(frozen=True)
class Exam:
    """Test facts with a held-out entity, and as many without, in the ids of a wider graph."""

    graph: Graph
    known: KnownAnswers
    facts: Ints
    others: Ints
    is_held: NDArray[np.bool_]  # (N,)

    @classmethod
    def of(cls, graph: Graph, source: Graph, held: list[str]) -> Exam:
        splits = [match(graph, source, facts).facts for facts in source.splits.values()]
        chosen = set(held)
        is_held = np.array([name in chosen for name in graph.entities])
        theirs = is_held[splits[2][:, [0, 2]]].any(axis=1)
        random, rest = np.random.default_rng(SEED), splits[2][~theirs]
        others = rest[random.choice(len(rest), int(theirs.sum()), replace=False)]
        known = KnownAnswers.of(*splits, predicates=len(graph.predicates))
        return cls(graph, known, splits[2][theirs], others, is_held)

    def ranked(self, model: Model) -> Ranked:
        """All answers by a model."""
        facts, others = (self._reciprocal_ranks(model, some) for some in (self.facts, self.others))
        asks = self.is_held[self.facts[:, [0, 2]]]  # (n, 2): whether the one who asks is held out
        return Ranked(facts, facts[asks], facts[asks[:, ::-1]], others)

    def _reciprocal_ranks(self, model: Model, facts: Ints) -> Floats:
        questions = Questions.of(facts, self.known, device=torch.device("cpu"))
        return np.asarray(1 / by_fact(questions, ranks(model, questions.asked)).realistic)


def _compared(before: Floats, after: Floats) -> dict[str, Any]:
    """The ratio and the difference of MRR, with intervals over facts drawn with replacement."""
    drawn = np.random.default_rng(SEED).integers(len(before), size=(RESAMPLES, len(before)))
    first, second = (values.mean(axis=1)[drawn].mean(axis=1) for values in (before, after))
    return {
        "ratio": float(after.mean() / before.mean()),
        "ratio_interval": interval((second / first)[:, None])[:, 0].tolist(),
        "difference": float(after.mean() - before.mean()),
        "difference_interval": interval((second - first)[:, None])[:, 0].tolist(),
    }


def _taken(folded: Folded) -> dict[str, Any]:
    """Facts, steps and seconds of an entity."""
    some = folded.entities
    return {
        "converged": sum(entity.solved.converged for entity in some),
        "facts": _spread([entity.facts for entity in some]),
        "steps": _spread([entity.solved.steps for entity in some]),
        "seconds": _spread([entity.seconds for entity in some]),
    }


def _spread(values: list[float] | list[int]) -> dict[str, float]:
    return {
        "median": round(float(np.median(values)), 4),
        "most": round(float(np.max(values)), 4),
        "sum": round(float(np.sum(values)), 4),
    }


def _about(run: Run) -> dict[str, Any]:
    kept = {key: run.metrics[key] for key in ("epoch", "mrr")}
    return {**kept, "factors_sha256": run.factors_hash()}


def made() -> str:
    """The tables of the page."""
    return "\n".join(map(_section, records_in(RECORDS)))


def _section(record: Record) -> str:
    config, folded = record["config"], record["folded"]
    best = folded[str(NEGATIVES)]
    names = {
        "0": "folded in, nobody's wrong answer",
        str(NEGATIVES): f"**folded in, a sample of {NEGATIVES:,} queries**",
        str(SAMPLES[-1]): "folded in, all queries of training",
    }
    rows = [("trained on all", *_cells(record["trained"], "", ""))]
    for key, name in names.items():
        row = folded[key]
        low, high = row["ratio_interval"]
        ratio = f"{row['ratio']:.1%} ({low:.1%} to {high:.1%})"
        rows.append((name, *_cells(row, ratio, f"{row['seconds']['median']:.2f}")))
    head = ("", "MRR", "of trained on all", "asks", "answers", "others", "seconds")
    lines = [
        f"{record['graph']['name']}, {config['model']} of rank {config['rank']}: "
        f"{record['held']} entities, folded in from {record['train_facts']:,} train facts "
        f"(median {best['facts']['median']:.0f}); filtered MRR of their "
        f"{record['test_facts']:,} test facts on both sides, of the queries in which they ask and "
        f"of those that they answer, and of {record['facts_of_others']:,} test facts without "
        "them.\n",
        *table(head, rows),
        f"Seconds are those of one processor core, the median of an entity; what all entities "
        f"have in common is not in it. With the sample, {best['converged']} of {record['held']} "
        f"converged, after {best['steps']['median']:.0f} Newton steps (median) and "
        f"{best['steps']['most']:.0f} at most. Intervals are over facts, drawn with "
        f"replacement.\n",
    ]
    return "\n".join(lines)


def _cells(row: Record, ratio: str, seconds: str) -> tuple[str, ...]:
    parts = (f"{row[f'mrr_{part}']:.3f}" for part in ("asks", "answers", "others"))
    return f"{row['mrr_facts']:.4f}", ratio, *parts, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Check new entities against training on all.")
    parser.add_argument("runs", nargs="*", type=Path, help="ALL and WITHOUT")
    parser.add_argument("--graph", type=Path, help="write the graph without them to this folder")
    options = parser.parse_args()
    if options.graph:
        write_graph(options.graph)
        return
    if options.runs:
        torch.set_num_threads(1)
        everything, without = map(Run, options.runs)
        write(RECORDS / f"{GRAPH}.json", measure(everything, without))
    PART.write(made())


if __name__ == "__main__":
    main()
