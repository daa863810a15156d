"""The full multiclass log-loss over all candidates, with its gradients, in few passes.

For queries Q (B, D), candidates C (N, D) and answers Y (B, N; sparse, weighted) with n = Y 1:

    loss = sum_b n_b logZ_b - Q_b . (Y C)_b,   logZ_b = log sum_k exp(Q_b . C_k)
    dQ   = diag(n) S C - Y C,                  S = softmax(Q C^T)
    dC   = S^T diag(n) Q - Y^T Q

which is the loss of Lacroix, Usunier and Obozinski (2018), summed over the facts of the batch: a
query with many answers costs one row of logits, targets are never dense and only small matrices
are scaled. The B x N matrix is made in blocks of queries, in one buffer that fits the budget;
its passes are three products, one softmax in place and two maxima.

**A range of candidates.** Where several processes hold rows of C each, a block has two phases:
softmax over a range gives the range's own logZ; `Workspace.join` makes the logZ of all of it;
then the range gives its rows of dC and its part of dQ, scaled by exp(own - joint), on the small
matrices again. With one process the range is everything and the phases are one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trifact.tensor.batches import Targets
from trifact.tensor.workspace import Workspace, row_blocks

INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By how many bytes they have, as floats of the same size."""


class LogLoss(NamedTuple):
    """What `log_loss` finds besides dC."""

    log_z: Tensor  # (B,)
    answers: Tensor  # (B,), the scores of the answers: Q_b . (Y C)_b, over a range its part of it
    d_queries: Tensor  # (B, D), over a range its part of it

    def value(self, targets: Targets) -> Tensor:
        """The loss, summed over the queries."""
        return (targets.mass * self.log_z - self.answers).sum()


def log_loss(
    queries: Tensor, candidates: Tensor, targets: Targets, *, work: Workspace, into: Tensor
) -> LogLoss:
    """The loss of a batch, past autograd; writes dC to `into` (N, D), whatever it held."""
    gathered = targets.gather(candidates)
    answers = torch.linalg.vecdot(queries, gathered)
    d_queries, log_z = torch.empty_like(queries), torch.empty_like(targets.mass)
    table = work.cast(candidates)
    blocks = list(work.blocks(len(queries), table))
    if not blocks:
        into.zero_()
    for block in blocks:
        asked = queries[block]
        shares, own = softmax(asked, table, work=work)
        log_z[block] = work.join(own)
        factor = (own - log_z[block]).exp_().mul_(targets.mass[block]).unsqueeze(1)
        _product(shares, table, into=d_queries[block]).mul_(factor)
        scaled = (asked * factor).to(table.dtype)
        _accumulate(into, shares.T, scaled, anew=block is blocks[0])
    _subtract_answers(queries, targets, into=into)
    return LogLoss(log_z, answers, d_queries.sub_(gathered))


def softmax(queries: Tensor, candidates: Tensor, *, work: Workspace) -> tuple[Tensor, Tensor]:
    """Phase one: the shares of these candidates (b, N), in the buffer, and their logZ (b,).

    The largest share of a row is exp(largest logit - logZ), which gives logZ at any size of the
    logits and without a sum. The padding of a row is -inf, so its shares are zero.
    """
    n = len(candidates)
    buffer = work.logits(len(queries), candidates)
    torch.mm(queries.to(candidates.dtype), candidates.T, out=buffer[:, :n])
    buffer[:, n:] = -torch.inf
    largest = _largest(buffer).to(queries.dtype)
    torch.softmax(buffer, 1, out=buffer)
    return buffer[:, :n], largest.sub_(_largest(buffer).to(queries.dtype).log_())


def _largest(rows: Tensor) -> Tensor:
    """The largest entry of each row.

    From zero up, floats are in the order of their bits, and torch compares bfloat16 four times
    slower than integers. A row that is all negative, or has what is no number, needs the floats.
    """
    largest = rows.view(INTEGERS[rows.itemsize]).amax(1)
    return rows.amax(1) if bool((largest < 0).any()) else largest.view(rows.dtype)


def _subtract_answers(queries: Tensor, targets: Targets, *, into: Tensor) -> None:
    """into -= Y^T Q."""
    for ids, scattered in targets.scatter(queries):
        into.index_add_(0, ids, scattered, alpha=-1)


def _product(left: Tensor, right: Tensor, *, into: Tensor) -> Tensor:
    """into = left right, without a copy where the types are one."""
    if right.dtype == into.dtype:
        return torch.mm(left, right, out=into)
    return into.copy_(torch.mm(left, right))


def _accumulate(into: Tensor, left: Tensor, right: Tensor, *, anew: bool) -> None:
    """into += left right, or = if anew, in the type of `into` though the product may be rounded."""
    if right.dtype == into.dtype:
        into.addmm_(left, right, beta=0 if anew else 1)
        return
    for piece in row_blocks(into):
        put = into[piece].copy_ if anew else into[piece].add_
        put(torch.mm(left[piece], right))
