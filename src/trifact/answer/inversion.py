"""Predicates that are inverse to each other, or symmetric, according to their factors.

Every predicate j has a row f_j that asks it towards objects and a row g_j that asks it the other
way round, in the same tables:

| setting, model           | f_j | g_j                      |
|--------------------------|-----|--------------------------|
| reciprocal               | B_j | B_{j+P}, learned         |
| standard, ComplEx        | B_j | conj(B_j)                |
| standard, DistMult       | B_j | B_j                      |

because Re <a, b, conj(c)> = Re <c, conj(b), conj(a)>. Predicate k is the inverse of j where f_k is
g_j and g_k is f_j, so

    inverse(j, k) = cos([f_j | g_j], [g_k | f_k])          from -1 to 1,

and the *symmetry* of j is inverse(j, j): 1 for a symmetric predicate, -1 for an antisymmetric one.
For ComplEx in the standard setting it is (|re|² - |im|²) / (|re|² + |im|²), for DistMult 1.

CP in the standard setting asks the other way round with other tables, so its rows say nothing of
this. There the cosine is that of the scores themselves, X_j = A diag(b_j) Cᵀ against X_kᵀ:

    <X_j, X_kᵀ> = b_jᵀ (G ∘ Gᵀ) b_k,  G = AᵀC,    ‖X_j‖² = b_jᵀ (AᵀA ∘ CᵀC) b_j

which needs no N x N matrix.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trifact.answer.answers import Answers
from trifact.answer.similarity import Vectors, nearest, predicate_tables
from trifact.graph.graph import Graph
from trifact.tensor.models import Model

BUDGET = 64 * 2**20


def inverses(model: Model, graph: Graph, *, budget: int = BUDGET) -> Answers:
    """Each predicate with its symmetry and its nearest inverse, the clearest cases first.

    With one predicate there is no other, and the inverse is None.
    """
    count, names, labels = len(graph.predicates), graph.predicates, graph.predicate_labels
    forwards, backwards = directions(model, count)
    found = nearest(forwards, np.arange(count), k=1, budget=budget, among=backwards)
    symmetry = _diagonal(forwards, backwards).double().numpy().clip(-1, 1)
    others, values = np.full(count, -1), np.full(count, -1.0)
    others[found.rows], values[found.rows] = found.answers, found.scores.clip(-1, 1)
    order = np.argsort(-np.maximum(symmetry, values), kind="stable").tolist()
    facts = np.bincount(graph.train[:, 1], minlength=count)
    paired = [(j, int(others[j])) for j in order]
    return Answers(
        {
            "predicate": [names[j] for j in order],
            "label": [labels.get(j) for j in order],
            "facts": facts[order].tolist(),
            "symmetry": symmetry[order].tolist(),
            "inverse": [names[k] if k >= 0 else None for _, k in paired],
            "inverse_label": [labels.get(k) for _, k in paired],
            "similarity": [float(values[j]) if k >= 0 else None for j, k in paired],
        }
    )


def directions(model: Model, predicates: int) -> tuple[Vectors, Vectors]:
    """[f_j | g_j] and [g_j | f_j] of all predicates, so that inverse(j, k) is their similarity."""
    tables = predicate_tables(model, predicates)
    if len(tables) == 1 and model.roles["subject"] != model.roles["object"]:
        return _by_scores(model)
    if len(tables) == 1:  # standard: what asks the other way round is known, not learned
        ones = torch.ones_like(tables[0])
        if model.field.parts == 2:
            ones.chunk(2, 1)[1].zero_()
        tables = [tables[0], model.field.times_conjugate(ones, tables[0])]
    forwards = Vectors.of(tables)
    return forwards, Vectors(tables[::-1], forwards.lengths)


def _by_scores(model: Model) -> tuple[Vectors, Vectors]:
    """Of CP in the standard setting: vectors whose similarity is the cosine of X_j and X_kᵀ."""
    subjects, rows, objects = (model.table(r) for r in ("subject", "predicate", "object"))
    crossed = subjects.T @ objects  # G: (R, R)
    lengths = _quadratic(rows, (subjects.T @ subjects) * (objects.T @ objects)).sqrt()
    lengths = lengths.clamp_min(torch.finfo(lengths.dtype).tiny)
    return Vectors([rows @ (crossed * crossed.T)], lengths), Vectors([rows], lengths)


def _quadratic(rows: Tensor, form: Tensor) -> Tensor:
    """bᵀ form b for each row b: (P, R), (R, R) -> (P,); rounding may not make it negative."""
    return ((rows @ form) * rows).sum(1).clamp_min(0)


def _diagonal(forwards: Vectors, backwards: Vectors) -> Tensor:
    """inverse(j, j): (P,)."""
    pairs = zip(forwards.parts, backwards.parts, strict=True)
    products = torch.stack([(mine * theirs).sum(1) for mine, theirs in pairs]).sum(0)
    return products / forwards.lengths / backwards.lengths
