"""What probabilities are fitted on and judged by: facts that are true, and facts that are not.

**Given false facts**: the facts of a split, and those of the file; each counts once.

**Answers**: the model is asked all questions of a split, (s, p, ?) and (?, p, o) for its facts,
while the facts of all other splits are hidden, and its k best answers are taken. Those that the
split has are true, the others count as false. A fact that answers two questions counts twice.
Facts of the split that are *not* among the k best are left out: nothing is said about the false
ones down there either, so they would make low scores look far too probable.

**Pairs**: the same with questions of all pairs that make sense, whether or not the split has an
answer. Half of those asked have one; a question counts for as many of its kind as there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from trifact.answer.best import as_facts, best
from trifact.answer.leftout import with_loops
from trifact.answer.options import CalibrateConfig
from trifact.answer.pairs import Pairs
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
    asked, of = questions(graph, split, most=config.questions, seed=config.seed)
    labelled = _answered(graph, model, config, _Asked(asked, np.ones(len(asked)), of), split=split)
    if not len(labelled.facts):
        raise NothingToFitError(
            f"{graph.name}: every answer to its {split} facts is in another split too, "
            "so there is nothing to fit probabilities on"
        )
    progress("scoring", 0, 0)
    return _scored(graph, model, config, labelled)


def pool_of_pairs(graph: Graph, model: Model, config: CalibrateConfig, pairs: Pairs) -> Pool:
    """The pool of the model's own answers to questions of all kinds, the true ones of valid."""
    asked = _of_both_kinds(graph, pairs, most=config.questions, seed=config.seed)
    return _scored(graph, model, config, _answered(graph, model, config, asked, among=pairs))


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


class _Asked(NamedTuple):
    """Some questions (n, 2), how much each counts (n,), and how many there are in all."""

    questions: Ints
    weights: Floats
    of: int


def _answered(
    graph: Graph,
    model: Model,
    config: CalibrateConfig,
    asked: _Asked,
    *,
    split: str = "valid",
    among: Pairs | None = None,
) -> _Labelled:
    """The k best answers, among all entities or those that make sense."""
    rows, weights, of = asked
    hidden = graph.known(*(other for other in graph.splits if other != split))
    itself = with_loops(graph)[rows[:, 1] % len(graph.predicates)]  # as answers are made
    allowed = None
    if among is not None:
        allowed = {j: among.candidates.of(j) for j in np.unique(rows[:, 1]).tolist()}
    found = best(
        model,
        rows,
        config.k,
        allowed=allowed,
        hidden=hidden,
        itself=itself,
        budget=config.budget_mb * 2**20,
    )
    answers = as_facts(rows[found.rows], found.answers, len(graph.predicates))
    facts, which = np.unique(answers, axis=0, return_inverse=True)
    about = {
        "split": split,
        "negatives": None,
        "left_out": None,
        "k": config.k,
        "questions": {"asked": len(rows), "of": of, "seed": config.seed},
    }
    counts = np.bincount(which, weights[found.rows], minlength=len(facts)).astype(np.float64)
    return _Labelled(facts, graph.known(split).contains(facts), counts, about)


def _of_both_kinds(graph: Graph, pairs: Pairs, *, most: int, seed: int) -> _Asked:
    """Questions of pairs: half with an answer in valid, half without, or all if there are fewer.

    A question counts for as many of its kind as were not asked; on average it counts once.
    """
    every = np.stack([part.numpy() for part in pairs.queries()], axis=1)
    sides = 2 * pairs.predicates
    has_one = np.isin(every @ np.array([sides, 1]), graph.known("valid").questions)
    random, weights = np.random.default_rng(seed), np.zeros(len(every))
    for kind in (np.flatnonzero(has_one), np.flatnonzero(~has_one)):
        drawn = random.choice(kind, min(len(kind), -(-most // 2)), replace=False)
        weights[drawn] = len(kind) / max(1, len(drawn))
    asked = np.flatnonzero(weights)
    return _Asked(every[asked], weights[asked] * (len(asked) / len(every)), len(every))


def questions(graph: Graph, split: str, *, most: int, seed: int) -> tuple[Ints, int]:
    """Distinct questions of a split on both sides, (n, 2): entity, predicate; and of how many.

    They go by predicate, so that a block is of one side.
    """
    found = np.unique(graph.reciprocal(split)[:, [1, 0]], axis=0)[:, ::-1]
    if len(found) <= most:
        return found, len(found)
    chosen = np.random.default_rng(seed).choice(len(found), most, replace=False)
    return found[np.sort(chosen)], len(found)
