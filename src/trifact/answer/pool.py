"""What probabilities are fitted on and judged by: facts that are true, and facts that are not.

**Given false facts**: the facts of a split, and those of the file; each counts once.

**Answers**: the model is asked all questions of a split, (s, p, ?) and (?, p, o) for its facts,
while the facts of all other splits are hidden, and its k best answers are taken. Those that the
split has are true, the others count as false. A fact that answers two questions counts twice.
Facts of the split that are *not* among the k best are left out: nothing is said about the false
ones down there either, so they would make low scores look far too probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trifact.answer.best import best
from trifact.answer.leftout import with_loops
from trifact.answer.options import CalibrateConfig
from trifact.answer.platt import Sample
from trifact.errors import RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.progress import Progress, silent
from trifact.run.matching import false_facts
from trifact.run.ranktable import Bools, Floats
from trifact.tensor.models import Model
from trifact.tensor.scoring import fact_scores


class NothingToFitError(RunError):
    """A graph whose held-out facts say nothing about probabilities."""


@dataclass(frozen=True)
class Pool:
    """Distinct facts (n, 3), in the order of their ids, and what is known and said of them."""

    facts: Ints
    sample: Sample
    about: dict[str, Any]
    """What it was made of, in plain values."""


def pool_of(
    graph: Graph,
    model: Model,
    config: CalibrateConfig,
    *,
    split: str = "valid",
    progress: Progress = silent,
) -> Pool:
    """The pool of the model's own answers to a split."""
    _refuse_empty(graph, split)
    progress("asking", 0, 0)
    labelled = _answered(graph, model, config, split)
    if not len(labelled.facts):
        raise NothingToFitError(
            f"{graph.name}: every answer to its {split} facts is in another split too, "
            "so there is nothing to fit probabilities on"
        )
    progress("scoring", 0, 0)
    return _scored(graph, model, config, labelled)


def pool_with(
    graph: Graph, model: Model, config: CalibrateConfig, false: Graph, *, split: str = "valid"
) -> Pool:
    """The pool of a split and given false facts."""
    _refuse_empty(graph, split)
    return _scored(graph, model, config, _given(graph, false, split))


def _refuse_empty(graph: Graph, split: str) -> None:
    if not len(graph.splits[split]):
        raise RunError(
            f"{graph.name}: its split {split} is empty, and probabilities need facts "
            "that the model was not trained on; hold some out"
        )


def _scored(graph: Graph, model: Model, config: CalibrateConfig, labelled: _Labelled) -> Pool:
    """With scores, which are those of facts (see tensor/scoring.py)."""
    scores = fact_scores(
        model,
        torch.from_numpy(labelled.facts),
        predicates=len(graph.predicates),
        budget=config.budget_mb * 2**20,
    )
    if not bool(scores.isfinite().all()):
        raise RunError("a score of this model is not a finite number; its training has diverged")
    predicates, weights = labelled.facts[:, 1], labelled.weights
    sample = Sample(scores.double().numpy(), predicates, labelled.true, weights)
    return Pool(labelled.facts, sample, labelled.about)


@dataclass(frozen=True)
class _Labelled:
    facts: Ints  # (n, 3), distinct
    true: Bools  # (n,)
    weights: Floats  # (n,)
    about: dict[str, Any]


def _given(graph: Graph, other: Graph, split: str) -> _Labelled:
    given, left_out = false_facts(graph, other)
    true, false = np.unique(graph.splits[split], axis=0), np.unique(given, axis=0)
    facts = np.concatenate([true, false])
    about = {
        "split": split,
        "negatives": other.name,
        "left_out": left_out,
        "k": None,
        "questions": None,
    }
    truth = np.arange(len(facts)) < len(true)
    order = np.lexsort(facts.T[::-1])
    return _Labelled(facts[order], truth[order], np.ones(len(facts)), about)


def _answered(graph: Graph, model: Model, config: CalibrateConfig, split: str) -> _Labelled:
    asked, all_of_them = questions(graph, split, most=config.questions, seed=config.seed)
    hidden = graph.known(*(other for other in graph.splits if other != split))
    budget = config.budget_mb * 2**20
    itself = with_loops(graph)[asked[:, 1] % len(graph.predicates)]  # as answers are made
    found = best(model, asked, config.k, hidden=hidden, itself=itself, budget=budget)
    answers = _as_facts(asked[found.rows], found.answers, len(graph.predicates))
    facts, counts = np.unique(answers, axis=0, return_counts=True)
    about = {
        "split": split,
        "negatives": None,
        "left_out": None,
        "k": config.k,
        "questions": {"asked": len(asked), "of": all_of_them, "seed": config.seed},
    }
    return _Labelled(facts, graph.known(split).contains(facts), counts.astype(np.float64), about)


def questions(graph: Graph, split: str, *, most: int, seed: int) -> tuple[Ints, int]:
    """Distinct questions of a split on both sides, (n, 2): entity, predicate; and of how many.

    They go by predicate, so that a block is of one side.
    """
    found = np.unique(graph.reciprocal(split)[:, [1, 0]], axis=0)[:, ::-1]
    if len(found) <= most:
        return found, len(found)
    chosen = np.random.default_rng(seed).choice(len(found), most, replace=False)
    return found[np.sort(chosen)], len(found)


def _as_facts(asked: Ints, answers: Ints, predicates: int) -> Ints:
    """Questions (n, 2) with reciprocal ids and their answers (n,) as facts (n, 3)."""
    forward = np.column_stack([asked, answers])
    backward = np.column_stack([answers, asked[:, 1] - predicates, asked[:, 0]])
    return np.where((asked[:, 1] < predicates)[:, None], forward, backward)
