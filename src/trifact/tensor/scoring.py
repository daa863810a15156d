"""The score of a fact: how probable its object is of its subject, and its subject of its object.

Scores of different queries cannot be compared as they are, because softmax leaves each query its
own offset. Their log-probabilities can; the score of a fact is the mean of its two sides,

    1/2 (log p(o | s, p) + log p(s | p, o)),  log p(o | s, p) = X[s,p,o] - log sum_k exp X[s,p,k].
"""

from __future__ import annotations

import torch
from torch import Tensor

from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace

NOTHING = -80.0


def fact_scores(
    model: Model, facts: Tensor, *, predicates: int, budget: int = 64 * 2**20
) -> Tensor:
    """The scores of facts (n, 3) of a graph with P `predicates`: (n,)."""
    back = facts.flip(1) + facts.new_tensor([0, predicates, 0])
    both = log_probabilities(model, torch.cat([facts, back]), budget=budget)
    return both.view(2, -1).mean(0)


def log_probabilities(model: Model, questions: Tensor, *, budget: int = 64 * 2**20) -> Tensor:
    """log p(answer | query) of questions (n, 3): entity, predicate (reciprocal id), answer.

    Each distinct query is scored once; about `budget` bytes are held at a time.
    """
    if not len(questions):
        return model.table("object").new_empty(0)
    # by predicate first, so that a block is of one side
    queries, rows = torch.unique(questions[:, [1, 0]], dim=0, return_inverse=True)
    order = rows.argsort(stable=True)
    rows, answers = rows[order], questions[order, 2]
    work, found = Workspace(budget // 2), list[Tensor]()
    for block in work.blocks(len(queries), model.table("object")):
        predicates, entities = queries[block].T
        buffer = work.logits(len(entities), model.table("object"))[:, : model.entities]
        scores = model.scores(entities, predicates, out=buffer)
        first, last = torch.searchsorted(rows, rows.new_tensor([block.start, block.stop])).tolist()
        row = rows[first:last] - block.start
        own = scores[row, answers[first:last]]
        found.append(own - log_sum_exp(scores)[row])
    result = torch.empty_like(torch.cat(found))
    result[order] = torch.cat(found)
    return result


def log_sum_exp(scores: Tensor) -> Tensor:
    """Of each row, (b, N) -> (b,), in place.

    What is smaller than exp(NOTHING) of the largest is taken as that: it changes no digit, and
    numbers that underflow make the exponential ten times slower.
    """
    largest = scores.amax(1, keepdim=True)
    total = scores.sub_(largest).clamp_min_(NOTHING).exp_().sum(1)
    return total.log_().add_(largest.squeeze(1))
