"""Why a model says so: the facts that an answer rests on, and the known facts that are like it.

The row of the entity that asks is solved anew from all its facts in train (rows.py), and then
without each of them: a fact matters as much as the answer becomes less probable without it. The
comparison is with the row solved from all facts, not with the trained one, which was found in
another way and differs a little.

Where there are too many facts to leave each out, the ones to try are chosen by influence: with
objective f, its Hessian H and the answer's log-probability a, leaving out the part g of the
gradient that is due to a fact lowers a by about -grad(a) . H^-1 g (Koh and Liang 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trifact.answer.answers import Answers, Cell
from trifact.answer.calibration import read_calibration
from trifact.answer.names import Names
from trifact.answer.newton import solve
from trifact.answer.options import ExplainConfig
from trifact.answer.rowobjective import Asking, RowObjective
from trifact.answer.rows import Meetings, Rows
from trifact.errors import InputError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.progress import Progress, silent
from trifact.run.machine import denormals_flushed
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.tensor.scoring import fact_scores
from trifact.tensor.trilinear import Towards

Fact = tuple[str, str, str]
Floats = NDArray[np.float64]
EXACTNESS = 1e-3  # of the product with the inverse Hessian: it only chooses


@dataclass(frozen=True, repr=False)
class Explanation:
    """What a fact's probability rests on; log-probabilities are among all but the entity itself."""

    fact: Fact
    labels: Fact
    """The same for people: labels, or names where there are none."""
    side: str
    split: str | None
    """Where the fact itself is: in "train", "valid" or "test"; None if it is new."""
    probability: float | None
    """That the fact is true, by the run's calibration; None where it has none."""
    doubts: tuple[str, ...]
    """What to know about this probability: sentences."""
    facts: int
    """Of how many distinct facts the row was solved."""
    tried: int
    """How many of them were left out; those with the largest estimated influence."""
    trained: float
    """log p of the answer with the row as it was trained."""
    solved: float
    """The same with the row solved anew from all its facts."""
    converged: bool
    """Whether that row was found as exactly as it should be."""
    reasons: Answers
    """Facts and how much log p drops without them, the largest drop first."""
    similar: Answers
    """Known facts with the same predicate, by the cosines of their factors with this one's."""

    def __repr__(self) -> str:
        return f"Explanation({' · '.join(self.labels)}: {len(self.reasons)} of {self.facts} facts)"

    def to_dict(self) -> dict[str, Any]:
        """In plain values, for JSON."""
        return {**vars(self), "reasons": list(self.reasons), "similar": list(self.similar)}


def explain(
    run: Run, fact: Fact, config: ExplainConfig | None = None, *, progress: Progress = silent
) -> Explanation:
    """Why the run gives a fact (subject, predicate, object), by name or label, its probability."""
    config, graph, model = config or ExplainConfig(), run.graph(), run.model()
    names = Names(graph)
    ids = names.entity(fact[0]), names.predicate(fact[1]), names.entity(fact[2])
    if ids[0] == ids[2]:
        raise InputError(f"{fact[0]!r} is subject and object; there is no other side to explain")
    probability, doubts = _probability(run, graph, model, ids)
    with denormals_flushed():
        question = _Question.of(Rows(graph, model, run.config), ids, side=config.side)
        full = question.objective.minimum()
        tried = question.promising(full.point, config.tries)
        drops = question.drops(full.point, tried, progress)
    order = np.argsort(-drops, kind="stable")[: config.k]
    likeness, like = _similar(graph, model, ids, config.k)
    return Explanation(
        fact=_named(graph, ids),
        labels=_labelled(graph, ids),
        side=config.side,
        split=next((name for name in graph.splits if _has(graph, name, ids)), None),
        probability=probability,
        doubts=tuple(doubts),
        facts=len(question.reached),
        tried=len(tried),
        trained=question.answer(question.trained)[0],
        solved=question.answer(full.point)[0],
        converged=full.converged,
        reasons=_table(graph, question.distinct[tried[order]], "drop", drops[order]),
        similar=_table(graph, like, "similarity", likeness),
    )


@dataclass(frozen=True)
class _Question:
    """One side of a fact as a question of an entity, and the entity's row as a problem."""

    objective: RowObjective
    asking: Asking
    trained: Tensor  # (D,): the row as it is
    distinct: Ints  # (m, 3): the facts of the entity
    copies: Ints  # (F,): which of them each fact of the objective is
    reached: Ints  # which of them say anything about the row

    @classmethod
    def of(cls, rows: Rows, fact: tuple[int, int, int], *, side: str) -> _Question:
        subject, predicate, object_ = fact
        entity, answer = (subject, object_) if side == "subject" else (object_, subject)
        predicate += 0 if side == "subject" else len(rows.graph.predicates)
        towards: Towards = "subject" if predicate >= rows.model.predicates else "object"
        own, table = _own_facts(rows.graph, entity), rows.model.source(towards)
        found = rows.objectives(own, entity, tables=[table]) if len(own) else {}
        if table not in found:
            name = rows.graph.entities[entity]
            raise InputError(f"train has no fact that says anything about {name!r} as one who asks")
        columns = (np.array([x]) for x in (entity, predicate, answer, 0))
        distinct, copies = np.unique(own, axis=0, return_inverse=True)
        return cls(
            found[table],
            rows.asking(Meetings(towards, *columns), entity),
            rows.model.tables[table][entity].double(),
            distinct,
            copies,
            np.unique(copies[found[table].reached.numpy()]),
        )

    def answer(self, u: Tensor) -> tuple[float, Tensor]:
        """log p of the answer with row u, and its gradient (D,)."""
        value, gradient = self.asking.log_probabilities(u)
        return float(value[0]), gradient[0]

    def promising(self, u: Tensor, most: int) -> Ints:
        """Facts without which the answer may drop furthest: all, or `most` by influence."""
        if len(self.reached) <= most:
            return self.reached
        order = np.argsort(-self.influence(u)[self.reached], kind="stable")
        return self.reached[order[:most]]

    def influence(self, u: Tensor) -> Floats:
        """By how much the answer drops without each distinct fact, to first order: (m,)."""
        gradient = self.answer(u)[1]
        step = solve(self.objective.at(u).curvature, gradient, exactness=EXACTNESS)
        due = -(self.objective.by_fact(u) @ step).numpy()
        sums = np.bincount(self.copies, weights=due, minlength=len(self.distinct))
        return np.asarray(sums, dtype=np.float64)

    def drops(self, u: Tensor, tried: Ints, progress: Progress) -> Floats:
        """By how much the answer drops without each of some facts, solved anew: (len(tried),)."""
        whole, found = self.answer(u)[0], list[float]()
        for number, fact in enumerate(tried.tolist()):
            progress("leaving out facts", number, len(tried))
            kept = torch.from_numpy(self.copies != fact).double()
            found.append(whole - self.answer(self.objective.weighted(kept).minimum(u).point)[0])
        return np.array(found)


def _has(graph: Graph, split: str, fact: tuple[int, int, int]) -> bool:
    return bool((graph.splits[split] == fact).all(axis=1).any())


def _probability(
    run: Run, graph: Graph, model: Model, fact: tuple[int, int, int]
) -> tuple[float | None, list[str]]:
    """Of a fact, and what to know about it."""
    calibration = read_calibration(run)
    if calibration is None:
        return None, []
    score = fact_scores(model, torch.tensor([fact]), predicates=len(graph.predicates))
    train, facts = graph.known("train"), np.array([fact])
    said = calibration.probabilities(facts, score.double().numpy(), train)
    return float(said[0]), calibration.doubts(facts[:, 1])


def _own_facts(graph: Graph, entity: int) -> Ints:
    """The facts of an entity in train, self-loops left out."""
    ends = graph.train[:, [0, 2]] == entity
    found: Ints = graph.train[ends[:, 0] ^ ends[:, 1]]
    return found


def _similar(graph: Graph, model: Model, fact: tuple[int, int, int], k: int) -> tuple[Floats, Ints]:
    """Other facts of train with the predicate, by the mean cosine of their two ends."""
    facts = np.unique(graph.train[graph.train[:, 1] == fact[1]], axis=0)
    facts = facts[(facts != np.array(fact)).any(axis=1)]
    subjects = _cosines(model.table("subject"), fact[0]).numpy()
    objects = _cosines(model.table("object"), fact[2]).numpy()
    likeness = (subjects[facts[:, 0]] + objects[facts[:, 2]]) / 2
    order = np.argsort(-likeness, kind="stable")[:k]
    return likeness[order], facts[order]


def _cosines(table: Tensor, entity: int) -> Tensor:
    """Of one row with all: (N,), float64; zero where a row is zero."""
    sizes = table.norm(dim=1)
    products = sizes * sizes[entity]
    return torch.where(products > 0, table @ table[entity] / products, 0.0).double()


def _table(graph: Graph, facts: Ints, measure: str, values: Floats) -> Answers:
    columns = dict[str, list[Cell]]()
    for place, name in enumerate(("subject", "predicate", "object")):
        columns[name] = [_named(graph, fact)[place] for fact in facts.tolist()]
    if graph.entity_labels or graph.predicate_labels:
        for place, name in enumerate(("subject", "predicate", "object")):
            columns[f"{name}_label"] = [_labelled(graph, fact)[place] for fact in facts.tolist()]
    return Answers({**columns, measure: values.tolist()})


def _named(graph: Graph, fact: Sequence[int]) -> Fact:
    return graph.entities[fact[0]], graph.predicates[fact[1]], graph.entities[fact[2]]


def _labelled(graph: Graph, fact: Sequence[int]) -> Fact:
    subject, object_ = graph.entity_label(fact[0]), graph.entity_label(fact[2])
    return subject, graph.predicate_label(fact[1]), object_
