"""Entities and predicates that are alike, by their factors: exact, in blocks.

What stands for a name is its row, or its rows side by side: an entity of CP has one as subject
and one as object; a predicate of the reciprocal setting has that of the reciprocal, too. Over the
complex numbers rows are [re | im], so that their inner product is Re <x, conj(y)>.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trifact.answer.answers import Answers
from trifact.answer.best import Best, largest
from trifact.answer.names import Names, Several, listed
from trifact.answer.options import SimilarConfig
from trifact.errors import ConfigError, RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.vocabulary import Vocabulary
from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace


def similar_entities(
    model: Model, graph: Graph, names: Several, config: SimilarConfig | None = None
) -> Answers:
    """The entities most like one, or like each of several; an entity is not like itself."""
    config, find = config or SimilarConfig(), Names(graph).entity
    asked = np.array([find(name) for name in _asked(names)], dtype=np.int64)
    vectors = Vectors.of(entity_tables(model, config.role), measure=config.measure)
    found = nearest(vectors, asked, k=config.k, budget=config.budget_mb * 2**20)
    return _table(found, asked, graph.entities, graph.entity_labels, config.measure)


def similar_predicates(
    model: Model, graph: Graph, names: Several, config: SimilarConfig | None = None
) -> Answers:
    """The predicates most like one, or like each of several."""
    config, find = config or SimilarConfig(), Names(graph).predicate
    if config.role != SimilarConfig.role:
        raise ConfigError("a predicate has no role; leave role out")
    asked = np.array([find(name) for name in _asked(names)], dtype=np.int64)
    tables = predicate_tables(model, len(graph.predicates))
    vectors = Vectors.of(tables, measure=config.measure)
    found = nearest(vectors, asked, k=config.k, budget=config.budget_mb * 2**20)
    return _table(found, asked, graph.predicates, graph.predicate_labels, config.measure)


def entity_tables(model: Model, role: str = "both") -> list[Tensor]:
    """The tables (N, D) whose rows, side by side, stand for the entities; shared, it is one."""
    sides = {"subject": model.table("subject"), "object": model.table("object")}
    if model.roles["subject"] == model.roles["object"]:
        if role != "both":
            raise ConfigError("only in CP has an entity a row for each role; leave role out")
        return [sides["object"]]
    return [*sides.values()] if role == "both" else [sides[role]]


def predicate_tables(model: Model, predicates: int) -> list[Tensor]:
    """The tables (P, D) whose rows stand for the predicates: one, or two if reciprocal."""
    rows = model.table("predicate")
    return [rows[start : start + predicates] for start in range(0, len(rows), predicates)]


@dataclass(frozen=True)
class Vectors:
    """n vectors, each in parts, and what an inner product is divided by to be a similarity."""

    parts: Sequence[Tensor]  # (n, D_i) each
    lengths: Tensor  # (n,); ones, if inner products are wanted

    @classmethod
    def of(cls, parts: Sequence[Tensor], *, measure: str = "cosine") -> Vectors:
        """The rows of some tables side by side; nothing is copied."""
        squares = torch.stack([_squares(part) for part in parts]).sum(0)
        if not bool(squares.isfinite().all()):
            raise RunError("the factors of this run are no finite numbers; train it again")
        lengths = squares.sqrt() if measure == "cosine" else torch.ones_like(squares)
        return cls(parts, lengths.clamp_min(torch.finfo(lengths.dtype).tiny))

    def __len__(self) -> int:
        return len(self.lengths)


def nearest(
    vectors: Vectors, asked: Ints, *, k: int, budget: int, among: Vectors | None = None
) -> Best:
    """The k nearest of each vector that is asked for (ids, (n,)), without itself.

    They are looked for `among` others with the same ids, or among the vectors themselves. Scores
    are held in blocks: with their places they are within `budget` bytes.
    """
    among = among or vectors
    work, found = Workspace(budget // 8), list[Best]()
    for block in work.blocks(len(asked), among.parts[0]):
        ids = torch.from_numpy(asked[block])
        scores = _similarities(vectors, ids, among, work)
        scores[torch.arange(len(ids)), ids] = -torch.inf
        rows, others, values = largest(scores, k)
        found.append(Best(rows + block.start, others, values))
    return Best.joined(found)


def _similarities(vectors: Vectors, ids: Tensor, among: Vectors, work: Workspace) -> Tensor:
    """Inner products over lengths: (b,) -> (b, n)."""
    scores = work.logits(len(ids), among.parts[0])[:, : len(among)]
    for number, (mine, theirs) in enumerate(zip(vectors.parts, among.parts, strict=True)):
        rows = mine.index_select(0, ids)
        torch.addmm(scores, rows, theirs.T, beta=min(number, 1), out=scores)
    return scores.div_(among.lengths).div_(vectors.lengths[ids, None])


def _squares(part: Tensor) -> Tensor:
    """Of the lengths of rows, without a copy of the table: (n, D) -> (n,)."""
    norms: Tensor = torch.linalg.vector_norm(part, dim=1)
    return norms.square_()


def _asked(names: Several) -> list[str]:
    if not (found := listed(names)):
        raise ConfigError("give a name, or several, to find what is like them")
    return found


def _table(
    found: Best, asked: Ints, names: Vocabulary, labels: Mapping[int, str], measure: str
) -> Answers:
    values = found.scores.clip(-1, 1) if measure == "cosine" else found.scores
    return Answers(
        {
            "name": [names[i] for i in asked[found.rows].tolist()],
            "similar": [names[i] for i in found.answers.tolist()],
            "label": [labels.get(i) for i in found.answers.tolist()],
            measure: values.tolist(),
        }
    )
