"""The second loss: which predicate holds between a subject and an object.

    -log p(j | i, k),   p(j | i, k) = softmax of X[i, ., k] over all rows of the predicate table

for every fact, as Chen et al. (2021) add it to the losses of the two fibers. Re <a, b, conj(c)>
stays the same when a and b change places, so what asks for a predicate is made of object and
subject as what asks for a subject is made of object and predicate; and the loss is the same
function. Facts of one subject and one object are met in different queries, so nothing is grouped:
a fact is a row of logits, only as long as there are predicates.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from trifact.tensor import trilinear
from trifact.tensor.batches import Side, Targets
from trifact.tensor.gradients import Found
from trifact.tensor.losses import log_loss
from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace, alone, rows_at_a_time


def relation_loss(
    model: Model, side: Side, *, weight: float, work: Workspace, found: Found
) -> Tensor:
    """The loss of the facts of some queries times `weight`; adds its gradients.

    Some facts are worked on at a time: there may be thousands of one query.
    """
    towards, batch, table = side.towards, side.batch, model.table("predicate")
    origin, target = model.source(towards), model.roles[towards]
    work = replace(work, join=alone, widest=0)  # predicates are not split among processes
    d_entities = table.new_zeros(len(batch.entities), table.shape[1])
    d_table, total = torch.empty_like(table), table.new_zeros(())
    every = torch.arange(len(batch.rows), device=table.device)
    for some in torch.split(every, rows_at_a_time(table)):
        rows, answers, weights = batch.rows[some], batch.answers[some], side.targets.weights[some]
        near = side.entity.index_select(0, rows)  # (a, D)
        far = model.tables[target].index_select(0, answers)  # (a, D)
        ends = (far, near) if towards == "object" else (near, far)  # object and subject
        queries = trilinear.query(model.field, *ends, towards="subject")
        asked = Targets(some - some[0], batch.predicates[rows], weights * weight, weights * weight)
        result = log_loss(queries, table, asked, work=work, into=d_table)
        found.whole("predicate").add_(d_table)
        back = trilinear.adjoint(model.field, result.d_queries, *ends, towards="subject")
        d_far, d_near = back if towards == "object" else back[::-1]
        d_entities.index_add_(0, rows, d_near)
        found.add(target, answers, d_far)
        total += result.value(asked)
    found.add(origin, batch.entities, d_entities)
    return total
