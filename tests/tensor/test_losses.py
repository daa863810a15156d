"""The log-loss against its definition: grouped, in blocks, over ranges, in any precision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from trifact.tensor import workspace
from trifact.tensor.batches import Batch, Targets
from trifact.tensor.losses import log_loss, softmax
from trifact.tensor.workspace import Workspace

N, D, B = 37, 6, 9


def problem(dtype: torch.dtype = torch.float64, *, scale: float = 1.0) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(B, D, generator=generator, dtype=torch.float64) * scale
    candidates = torch.randn(N, D, generator=generator, dtype=torch.float64)
    rows = torch.cat([torch.arange(B), torch.tensor([0, 0, 4, 4, 4, 8])]).sort().values
    answers = torch.randint(0, N, rows.shape, generator=generator)
    weights = torch.rand(rows.shape, generator=generator, dtype=torch.float64)
    return queries.to(dtype), candidates.to(dtype), rows, answers, weights.to(dtype)


def targets_of(rows: Tensor, answers: Tensor, weights: Tensor, *, scale: float = 1.0) -> Targets:
    batch = Batch(torch.zeros(B).long(), torch.zeros(B).long(), rows, answers, weights)
    return Targets.of(batch, like=weights, scale=scale)


def ungrouped(queries: Tensor, candidates: Tensor, *targets: Tensor) -> tuple[Tensor, ...]:
    """The slow twin: one dense row of logits per answer, torch's cross-entropy, autograd."""
    rows, answers, weights = targets
    leaves = queries.clone().requires_grad_(), candidates.clone().requires_grad_()
    logits = leaves[0][rows] @ leaves[1].T
    each = torch.nn.functional.cross_entropy(logits, answers, reduction="none")
    loss = (weights * each).sum()
    return loss.detach(), *torch.autograd.grad(loss, leaves)


def grouped(
    queries: Tensor, candidates: Tensor, targets: Targets, work: Workspace
) -> tuple[Tensor, ...]:
    into = torch.full_like(candidates, torch.nan)
    found = log_loss(queries, candidates, targets, work=work, into=into)
    return found.value(targets), found.d_queries, into


def block_of(rows: int, itemsize: int = 8) -> int:
    """A budget for so many rows of logits."""
    return rows * 40 * itemsize  # 37 columns are padded to 40 of eight bytes


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 100])
def test_grouped_is_ungrouped_in_blocks_of_any_size(rows: int) -> None:
    queries, candidates, *targets = problem()
    found = grouped(queries, candidates, targets_of(*targets), Workspace(budget=block_of(rows)))
    torch.testing.assert_close(found, ungrouped(queries, candidates, *targets))


@pytest.mark.parametrize("entries", [1, 7, 20])
def test_answers_are_subtracted_some_at_a_time(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "BLOCK", entries)
    queries, candidates, *targets = problem()
    found = grouped(queries, candidates, targets_of(*targets), Workspace())
    torch.testing.assert_close(found, ungrouped(queries, candidates, *targets))


def test_blocks_keep_to_the_budget_and_cover_every_query_once() -> None:
    candidates = torch.zeros(N, D, dtype=torch.float64)
    for rows, sizes in {1: [1] * 9, 2: [2, 2, 2, 2, 1], 5: [5, 4], 9: [9], 0: [1] * 9}.items():
        blocks = list(Workspace(budget=block_of(rows)).blocks(B, candidates))
        assert [len(range(B)[block]) for block in blocks] == sizes
        assert [i for block in blocks for i in range(B)[block]] == list(range(B))
    assert list(Workspace().blocks(0, candidates)) == []


@pytest.mark.parametrize("columns", [1, 200, 400, 2000, 10**5, 10**7])
def test_blocks_of_a_table_cover_it_and_begin_aligned_where_they_are_many(columns: int) -> None:
    rows = range(40_943)
    blocks = list(workspace.row_blocks(torch.empty(len(rows), columns, device="meta")))
    assert [row for block in blocks for row in rows[block]] == list(rows)
    size = blocks[0].stop
    assert size == 1 or size * columns <= workspace.BLOCK
    assert size <= workspace.ALIGNMENT or size % workspace.ALIGNMENT == 0


def test_a_narrow_range_goes_in_the_blocks_of_the_widest() -> None:
    whole = torch.zeros(N, D, dtype=torch.float64)
    for rows in (1, 2, 5):
        expected = list(Workspace(block_of(rows)).blocks(B, whole))
        assert list(Workspace(block_of(rows), widest=N).blocks(B, whole[:5])) == expected
        assert list(Workspace(block_of(rows)).blocks(B, whole[:5])) != expected


def test_scale_and_weights_multiply_answers() -> None:
    queries, candidates, rows, answers, weights = problem()
    found = grouped(
        queries, candidates, targets_of(rows, answers, weights, scale=0.25), Workspace()
    )
    torch.testing.assert_close(found, ungrouped(queries, candidates, rows, answers, weights / 4))
    batch = Batch(torch.zeros(B).long(), torch.zeros(B).long(), rows, answers)
    found = grouped(queries, candidates, Targets.of(batch, like=queries), Workspace())
    ones = torch.ones_like(weights)
    torch.testing.assert_close(found, ungrouped(queries, candidates, rows, answers, ones))


def test_a_query_in_chunks_is_the_query_whole() -> None:
    queries, candidates, rows, answers, weights = problem()
    whole = grouped(queries, candidates, targets_of(rows, answers, weights), Workspace())
    each = Batch(rows, rows, torch.arange(len(rows)), answers, weights)  # one chunk an answer
    y = Targets.of(each, like=weights)
    loss, d_queries, d_candidates = grouped(queries[rows], candidates, y, Workspace())
    joined = torch.zeros_like(queries).index_add_(0, rows, d_queries)
    torch.testing.assert_close((loss, joined, d_candidates), whole)


@pytest.mark.parametrize("cuts", [(0, 20, N), (0, 1, 30, 36, N)])
@pytest.mark.parametrize("rows", [2, 5, 100])
def test_ranges_of_candidates_joined_are_the_whole(cuts: tuple[int, ...], rows: int) -> None:
    """A range knows its own rows of C and is told the joint logZ of every block."""
    queries, candidates, *targets = problem()
    y, budget = targets_of(*targets), block_of(rows)
    loss, d_queries, d_candidates = grouped(queries, candidates, y, Workspace(budget))

    ranges = [slice(a, b) for a, b in itertools.pairwise(cuts)]
    own = [softmax(queries, candidates[r], work=Workspace())[1].clone() for r in ranges]
    joint = torch.logsumexp(torch.stack(own), 0)
    into = torch.full_like(candidates, torch.nan)
    parts = []
    for r in ranges:
        work = Workspace(budget, join=told(joint), widest=N)
        inside = y.within(r.start, r.stop)
        parts.append(log_loss(queries, candidates[r], inside, work=work, into=into[r]))

    joined = y.mass * joint - torch.stack([part.answers for part in parts]).sum(0)
    torch.testing.assert_close(joined.sum(), loss)
    torch.testing.assert_close(torch.stack([p.d_queries for p in parts]).sum(0), d_queries)
    torch.testing.assert_close(into, d_candidates)


def told(joint: Tensor) -> Callable[[Tensor], Tensor]:
    """A join that hands out the joint logZ block by block."""
    place = 0

    def join(own: Tensor) -> Tensor:
        nonlocal place
        place += len(own)
        return joint[place - len(own) : place]

    return join


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_extreme_logits_neither_overflow_nor_vanish(size: float) -> None:
    """Two candidates a hair apart at a score of ±10,000, and one far below or above them."""
    candidates = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    queries = torch.tensor([[size, 1.0]])
    batch = Batch(torch.tensor([0]), torch.tensor([0]), torch.tensor([0]), torch.tensor([0]))
    y = Targets.of(batch, like=queries)
    loss, d_queries, d_candidates = grouped(queries, candidates, y, Workspace())
    share = torch.softmax(queries.double() @ candidates.double().T, 1)
    expected = -torch.log(share[0, 0]).item() if size > 0 else 1e4
    assert loss.item() == pytest.approx(expected, abs=1e-3)  # float32 at 10,000 has no more
    torch.testing.assert_close(d_queries, (share @ candidates.double()).float() - candidates[:1])
    one = torch.tensor([[1.0], [0.0], [0.0]])
    torch.testing.assert_close(d_candidates, (share.T.float() - one) * queries)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    "sizes", [(5.0, 0.25), (0.0, 1.0), (-0.0,), (-2.0, -50.0), (3.0, -2.0), (1e5, -1e5)]
)
def test_log_z_of_logits_of_any_sign(sizes: tuple[float, ...], dtype: torch.dtype) -> None:
    """Rows of logits that are all positive, all negative or zero, alone and in company."""
    queries = torch.tensor(sizes, dtype=torch.float64).unsqueeze(1)
    candidates = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    expected = torch.logsumexp(queries @ candidates.T, 1)
    kind = torch.float32 if dtype == torch.bfloat16 else dtype
    found = softmax(queries.to(kind), candidates.to(dtype), work=Workspace())[1]
    torch.testing.assert_close(found.double(), expected, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("nan", [torch.nan, -torch.nan])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_log_z_of_what_is_not_a_number_is_none(nan: float, dtype: torch.dtype) -> None:
    queries = torch.tensor([[2.0], [nan], [-2.0]])
    found = softmax(queries, torch.tensor([[1.0], [-1.0]], dtype=dtype), work=Workspace())[1]
    assert found.isnan().tolist() == [False, True, False]


def test_what_is_not_a_number_shows() -> None:
    queries, candidates, *targets = problem()
    queries[3, 0] = torch.nan
    assert math.isnan(grouped(queries, candidates, targets_of(*targets), Workspace())[0])


def test_bfloat16_products_are_close_and_keep_the_type_of_the_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workspace, "BLOCK", 10 * D)  # several blocks of candidates
    queries, candidates, *targets = problem(torch.float32)
    y, work = targets_of(*targets), Workspace(block_of(4, itemsize=2), dtype=torch.bfloat16)
    rough, exact = (grouped(queries, candidates, y, w) for w in (work, Workspace()))
    for one, other in zip(rough, exact, strict=True):
        assert one.dtype == torch.float32
        assert not torch.equal(one, other)
        assert (one - other).norm() < 0.01 * other.norm()


def test_one_workspace_serves_batches_of_any_size_and_type() -> None:
    work = Workspace(budget=block_of(4))
    for dtype in (torch.float64, torch.float32, torch.float64):
        for size in (N, 5, 16, N):
            queries, candidates, rows, answers, weights = problem(dtype)
            table, modest = candidates[:size], answers % size
            found = grouped(queries, table, targets_of(rows, modest, weights), work)
            expected = ungrouped(queries, table, rows, modest, weights)
            torch.testing.assert_close(found, expected)
