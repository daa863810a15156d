"""Is a fact true? A threshold for each predicate, chosen on validation, judged on test.

True are the facts of a split; false ones must be given. A fact is taken as true if its score
(see tensor/scoring.py) reaches the threshold of its predicate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from trifact.durable import write_text
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.progress import Progress, silent
from trifact.run.matching import false_facts
from trifact.run.ranktable import Bools, Floats
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.tensor.scoring import fact_scores

FORMAT = 1
FILE = "classification.json"


@dataclass(frozen=True)
class Judged:
    """Facts with their scores and whether they are true."""

    predicates: Ints
    scores: Floats
    true: Bools


@dataclass(frozen=True)
class Thresholds:
    """Where truth begins: for predicates with both kinds of facts, and for all others."""

    by_predicate: dict[int, float]
    otherwise: float

    @classmethod
    def of(cls, judged: Judged) -> Thresholds:
        """Those with the highest accuracy on some facts."""
        found = dict[int, float]()
        for predicate in np.unique(judged.predicates).tolist():
            its = judged.predicates == predicate
            if 0 < judged.true[its].sum() < its.sum():
                found[predicate] = best_threshold(judged.scores[its], judged.true[its])
        return cls(found, best_threshold(judged.scores, judged.true))

    def accepted(self, judged: Judged) -> Bools:
        """Which facts are taken as true."""
        bars = (self.by_predicate.get(p, self.otherwise) for p in judged.predicates.tolist())
        return judged.scores >= np.fromiter(bars, dtype=float, count=len(judged.scores))


def best_threshold(scores: Floats, true: Bools) -> float:
    """The cut with the most facts on their right side; between two scores, in their middle."""
    order = np.argsort(scores, kind="stable")
    ranked, truth = scores[order], true[order]
    right = np.concatenate([[0], np.cumsum(~truth)]) + truth.sum()
    right -= np.concatenate([[0], np.cumsum(truth)])  # of the cut before each place, and the end
    apart = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])
    place = int(np.argmax(np.where(apart, right, -1)))
    if place == 0:
        return float(ranked[0])
    if place == len(ranked):
        return float(np.nextafter(ranked[-1], np.inf))
    return float((ranked[place - 1] + ranked[place]) / 2)


def classify(
    run: Run, *, negatives: dict[str, Graph], budget_mb: int = 256, progress: Progress = silent
) -> dict[str, Any]:
    """Thresholds on "valid", accuracy and F1 on "test"; `negatives` are false facts for both.

    Facts of the files that the graph has as true are left out. The fields of what is found are
    in docs/evaluation.md.
    """
    graph, factors = run.graph(), run.factors_hash()
    model = run.model()
    run.refuse_change(factors)
    judged, left_out = dict[str, Judged](), dict[str, dict[str, int]]()
    for split in ("valid", "test"):
        progress(f"scoring {split}", 0, 0)
        false, left_out[split] = false_facts(graph, negatives[split])
        judged[split] = _judged(graph, model, split, false, budget=budget_mb * 2**20)
    thresholds = Thresholds.of(judged["valid"])
    return {
        "format": FORMAT,
        "factors_sha256": factors,
        "graph": graph.content_hash,
        "left_out": left_out,
        **{split: measured(facts, thresholds.accepted(facts)) for split, facts in judged.items()},
        "threshold": thresholds.otherwise,
        "by_predicate": _by_predicate(graph, thresholds, judged["test"]),
    }


def keep(found: dict[str, Any], path: Path) -> None:
    """Write what was found to a file."""
    write_text(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def measured(judged: Judged, accepted: Bools) -> dict[str, Any]:
    """Accuracy, precision, recall, F1 and the area under the ROC curve."""
    true, hits = int(judged.true.sum()), int((accepted & judged.true).sum())
    precision, recall = hits / max(int(accepted.sum()), 1), hits / max(true, 1)
    return {
        "true": true,
        "false": len(judged.true) - true,
        "accuracy": float((accepted == judged.true).mean()),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(precision + recall, 1e-300),
        "auc": _area(judged),
    }


def _area(judged: Judged) -> float | None:
    """How often a true fact scores above a false one; a tie counts one half."""
    true = int(judged.true.sum())
    false = len(judged.true) - true
    if not true * false:
        return None
    places = float(rankdata(judged.scores)[judged.true].sum())
    return (places - true * (true + 1) / 2) / (true * false)


def _judged(graph: Graph, model: Model, split: str, false: Ints, *, budget: int) -> Judged:
    true = graph.splits[split]
    if not len(true):
        raise RunError(f"{graph.name}: there is no fact in its split {split} to classify")
    facts = np.concatenate([true, false])
    scores = fact_scores(
        model, torch.from_numpy(facts), predicates=len(graph.predicates), budget=budget
    )
    truth = np.arange(len(facts)) < len(true)
    return Judged(facts[:, 1], scores.double().numpy(), truth)


def _by_predicate(graph: Graph, thresholds: Thresholds, test: Judged) -> list[dict[str, Any]]:
    accepted, rows = thresholds.accepted(test), list[dict[str, Any]]()
    for predicate in np.unique(test.predicates).tolist():
        its = test.predicates == predicate
        part = Judged(test.predicates[its], test.scores[its], test.true[its])
        rows.append(
            {
                "predicate": graph.predicates[predicate],
                "label": graph.predicate_label(predicate),
                "threshold": thresholds.by_predicate.get(predicate),
                **measured(part, accepted[its]),
            }
        )
    return rows
