"""Evaluation of a run: ranks of facts on both sides, and what they come to, kept with the run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trifact.durable import write_text
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers, reciprocal
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.graph.sources import shown
from trifact.graph.storage import seen_facts
from trifact.progress import Progress, silent
from trifact.run.candidates import Candidates, observed, of_types
from trifact.run.matching import match
from trifact.run.protocol import EvaluateConfig
from trifact.run.questions import Questions
from trifact.run.ranktable import Ranked, RankTable, read_ranks
from trifact.run.record import FOLDER, FORMAT, METRICS, RANKS, read_record, sections, sha256
from trifact.run.run import Run
from trifact.tensor.ranking import Ranks, filtered_and_raw
from trifact.wording import setting

CPU = torch.device("cpu")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """An evaluation, and the folder of the run where it is to be kept."""

    path: Path
    ranks: RankTable
    metrics: dict[str, Any]
    """The content of `metrics.json`; see docs/evaluation.md."""

    def __repr__(self) -> str:
        mrr = self.metrics["filtered"]["overall"]["mrr"]
        return f"Evaluation({self.path}: {len(self.ranks.facts):,} facts, MRR {mrr:.4f})"

    def kept(self) -> Evaluation:
        """The same, once ranks and metrics are in their folder."""
        self.ranks.save(self.path / RANKS)
        ranks = {"file": RANKS, "sha256": sha256(self.path / RANKS)}
        record = {**self.metrics, "ranks": ranks}
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_text(self.path / METRICS, text + "\n")
        return replace(self, metrics=record)


def evaluate(
    run: Run,
    config: EvaluateConfig | None = None,
    *,
    other: Graph | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Rank the facts of a split (or of another graph) and keep ranks and metrics with the run.

    `other` is the graph that the settings name, where it has been read already.
    """
    return measure(run, config, other=other, progress=progress).kept()


def measure(
    run: Run,
    config: EvaluateConfig | None = None,
    *,
    other: Graph | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """The same, but for keeping: nothing is written."""
    config, graph = config or EvaluateConfig(), run.graph()
    if config.graph and other is None:
        other = load(config.graph, LoadConfig(valid=0.0, test=0.0), progress=progress)
    chosen = _chosen(run, graph, config, other)
    candidates = _candidates(graph, config)
    allowed = None if candidates is None else candidates.allowed(CPU)
    questions = Questions.of(chosen.facts, chosen.known, device=CPU, allowed=allowed)
    about, model = _about_run(run, config), run.model(config.checkpoint)
    run.refuse_change(about["factors_sha256"], config.checkpoint)
    filtered, raw = filtered_and_raw(
        model,
        questions.asked,
        budget=config.budget_mb * 2**20,
        double=config.double,
        progress=progress,
    )
    table = RankTable(
        split=chosen.split,
        facts=chosen.facts,
        seen=graph.seen(chosen.facts),
        filtered=by_fact(questions, filtered),
        raw=by_fact(questions, raw) if config.raw else None,
    )
    progress("measuring", 0, 0)
    path = run.path / FOLDER / config.folder(chosen.split, chosen.source)
    record = {
        "format": FORMAT,
        "label": path.name,
        "run": about,
        "graph": _about_graph(graph),
        "facts": _about_facts(
            table,
            chosen,
            graph,
            seen=seen_facts(run.path),
            distinct=len(questions.asked.entities),
        ),
        "protocol": _protocol(config, candidates, chosen.facts, len(graph.predicates)),
        **sections(table, graph, config),
    }
    return Evaluation(path, table, record)


def read_evaluation(run: Run, label: str) -> Evaluation:
    """An evaluation that was kept; refused if its files do not belong together."""
    path = run.path / FOLDER / label
    record = read_record(path / METRICS)
    if sha256(path / RANKS) != record["ranks"]["sha256"]:
        raise RunError(f"{path / RANKS}: these are not the ranks of its metrics; evaluate again")
    return Evaluation(path, read_ranks(path / RANKS), record)


def is_current(run: Run, record: dict[str, Any]) -> bool:
    """Whether the run still has the factors that were evaluated."""
    about = record["run"]
    return bool(about["factors_sha256"] == run.factors_hash(about["checkpoint"]))


def as_usual(record: dict[str, Any]) -> bool:
    """Whether the metrics are those of an evaluation with nothing said but, maybe, a label."""
    about, usual = record["protocol"], EvaluateConfig()
    return (about["k"], about["bootstrap"]) == ([*usual.k], _bootstrap(usual))


@dataclass(frozen=True)
class _Chosen:
    """The facts to rank, the known ones to leave out, and where the facts are from."""

    split: str
    facts: Ints
    known: KnownAnswers
    source: str = ""
    left_out: dict[str, int] | None = None


def _chosen(run: Run, graph: Graph, config: EvaluateConfig, other: Graph | None) -> _Chosen:
    known = [graph.splits[split] for split in config.filter]
    if other is not None and not _is_own(graph, other):
        chosen = _of_other_graph(graph, config, known, other)
    else:
        index = KnownAnswers.of(*known, predicates=len(graph.predicates))
        chosen = _Chosen(config.split, graph.splits[config.split], index)
    if not len(chosen.facts):
        where = f"{chosen.source or run.path}: "
        why = f"there is no fact to rank in its split {chosen.split}"
        if chosen.left_out and chosen.left_out["facts"]:
            why = f"the run knows the names of none of its {chosen.left_out['facts']:,} facts"
        raise RunError(f"{where}{why}; choose another {setting('split')} or {setting('graph')}")
    return chosen


def _is_own(graph: Graph, other: Graph) -> bool:
    """Whether it is the graph of the run, split as that or in one piece."""
    theirs = other.all_in_train() if other.drawn else other
    return theirs.content_hash in (graph.content_hash, graph.all_in_train().content_hash)


def _of_other_graph(
    graph: Graph, config: EvaluateConfig, known: list[Ints], other: Graph
) -> _Chosen:
    """The facts of a split of another graph, or all of them where it comes in one piece."""
    everything = other.all_in_train().train
    whole = len(everything) == len(other.train) or other.drawn
    split = "all" if whole else config.split
    theirs = match(graph, other, everything)
    matched = theirs if whole else match(graph, other, other.splits[split])
    index = KnownAnswers.of(*known, theirs.facts, predicates=len(graph.predicates))
    return _Chosen(split, matched.facts, index, other.name, matched.left_out)


def _candidates(graph: Graph, config: EvaluateConfig) -> Candidates | None:
    if config.types:
        return of_types(graph, Path(config.types))
    return observed(graph) if config.type_constrained else None


def by_fact(questions: Questions, ranks: Ranks) -> Ranked:
    """The ranks of facts (n, 2), of those of the questions that they ask."""
    return Ranked(questions.by_fact(ranks.optimistic), questions.by_fact(ranks.pessimistic))


def _about_run(run: Run, config: EvaluateConfig) -> dict[str, Any]:
    return {
        "model": run.config.model,
        "rank": run.config.rank,
        "setting": run.config.setting,
        "checkpoint": config.checkpoint,
        "epoch": run.epoch(config.checkpoint),
        "factors_sha256": run.factors_hash(config.checkpoint),
    }


def _about_graph(graph: Graph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "entities": len(graph.entities),
        "predicates": len(graph.predicates),
        "content_hash": graph.content_hash,
    }


def _about_facts(
    table: RankTable, chosen: _Chosen, graph: Graph, *, seen: Ints, distinct: int
) -> dict[str, Any]:
    """What was ranked; `seen` are facts beside train that the factors were trained on."""
    entities, predicates = graph.in_train
    trained = KnownAnswers.of(graph.train, seen, predicates=len(graph.predicates))
    facts = table.facts
    return {
        "split": table.split,
        "source": chosen.source or None,
        "left_out": chosen.left_out,
        "facts": len(facts),
        "queries": 2 * len(facts),
        "distinct_queries": distinct,
        "in_train": int(trained.contains(facts).sum()),
        "unseen": {
            "facts": int((~table.seen).sum()),
            "entities": int((~entities[np.unique(facts[:, [0, 2]])]).sum()),
            "predicates": int((~predicates[np.unique(facts[:, 1])]).sum()),
        },
        "sha256": hash_of(facts),
    }


def hash_of(facts: Ints) -> str:
    """Of facts in their order."""
    return hashlib.sha256(np.ascontiguousarray(facts, dtype="<i8").tobytes()).hexdigest()


def _protocol(
    config: EvaluateConfig, candidates: Candidates | None, facts: Ints, predicates: int
) -> dict[str, Any]:
    lacking = 0 if candidates is None else candidates.lacking(reciprocal(facts, predicates))
    return {
        "filter": [*config.filter],
        "candidates": config.candidates,
        "types": shown(Path(config.types)) if config.types else None,
        "types_sha256": sha256(Path(config.types)) if config.types else None,
        "answers_that_are_no_candidates": lacking,
        "ties": "realistic",
        "precision": "float64" if config.double else "float32",
        "k": [*config.k],
        "bootstrap": _bootstrap(config),
    }


def _bootstrap(config: EvaluateConfig) -> dict[str, int]:
    return {"resamples": config.bootstrap, "seed": config.seed, "level": 95}
