"""What the paper proves or says of its regularizers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.tensor.regularizers import Regularizer
from trifact.tensor.trilinear import Real

N3, FRO, NUC2 = (Regularizer(p, alpha, 1.0, 1.0) for p, alpha in ((3, 3), (2, 2), (2, 3)))


def omega(
    regularizer: Regularizer, tables: list[Tensor], weights: list[Tensor] | None = None
) -> float:
    """Omega_p^alpha of three tables, with weights of their rows."""
    weights = weights or [table.new_ones(len(table)) for table in tables]
    terms = [
        regularizer.add_table("entity", table, q, field=Real(), into=torch.zeros_like(table))
        for table, q in zip(tables, weights, strict=True)
    ]
    return float(sum(terms))


def rank_one(*sizes: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(sum(sizes))
    return [torch.randn(n, 1, generator=generator, dtype=torch.float64) for n in sizes]


def balanced(tables: list[Tensor], p: float) -> list[Tensor]:
    """The same term, rescaled so that its three factors have the same p-norm."""
    norms = torch.stack([table.norm(p) for table in tables])
    mean = norms.prod() ** (1 / 3)
    return [table * mean / norm for table, norm in zip(tables, norms, strict=True)]


@pytest.mark.parametrize("regularizer", [N3, FRO, NUC2])
def test_lemma_1_a_balanced_term_is_least_and_a_product_of_norms(regularizer: Regularizer) -> None:
    p, alpha = regularizer.p, regularizer.alpha
    term = rank_one(5, 4, 6)
    product = torch.stack([table.norm(p) for table in term]).prod().item()
    least = omega(regularizer, balanced(term, p))
    assert least == pytest.approx(product ** (alpha / 3))
    for stretch in ((2.0, 0.5, 1.0), (1.1, 1.1, 1 / 1.21), (0.9, 1.0, 1 / 0.9)):
        scaled = [c * u for c, u in zip(stretch, balanced(term, p), strict=True)]
        assert omega(regularizer, scaled) > least * 1.001


def test_proposition_1_the_frobenius_penalty_is_no_norm() -> None:
    """|||diag(1, 0)||| = |||diag(0, 1)||| = 1, yet their mean, I/2, is above 1: not convex.

    |||X|||^(2/3) is the least Omega_2^2 of a decomposition of X.
    """
    for corner in ([1.0, 0.0], [0.0, 1.0]):
        e = torch.tensor([corner], dtype=torch.float64).T
        assert omega(FRO, [e, e, torch.ones(1, 1, dtype=torch.float64)]) ** 1.5 == pytest.approx(1)
    sizes = []
    generator = torch.Generator().manual_seed(0)
    for rank in (2, 2, 3, 5) * 25:
        left = torch.randn(2, rank, generator=generator, dtype=torch.float64)
        right = torch.linalg.pinv(left).T / 2  # left right^T = I/2, exactly of rank two
        torch.testing.assert_close(left @ right.T, torch.eye(2, dtype=torch.float64) / 2)
        third = torch.ones(1, rank, dtype=torch.float64)
        terms = [balanced([left[:, [r]], right[:, [r]], third[:, [r]]], 2) for r in range(rank)]
        tables = [torch.cat(column, 1) for column in zip(*terms, strict=True)]
        sizes.append(omega(FRO, tables) ** 1.5)
    assert min(sizes) > 1.4  # the best, by the two axes, has the square root of two
    axes = [torch.eye(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64) / 2]
    terms = [balanced([*(m[:, [r]] for m in axes), torch.ones(1, 1).double()], 2) for r in range(2)]
    tables = [torch.cat(column, 1) for column in zip(*terms, strict=True)]
    assert omega(FRO, tables) ** 1.5 == pytest.approx(2**0.5)
    assert min(sizes) >= 2**0.5 - 1e-9


@pytest.mark.parametrize("regularizer", [N3, NUC2])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 4), (50, 7, 50)])
def test_the_all_ones_tensor_weighs_the_same_at_any_size(
    regularizer: Regularizer, sizes: tuple[int, int, int]
) -> None:
    """Weighted by uniform frequencies; without weights it grows as (MNP)^(1/p)."""
    ones = [torch.ones(n, 1, dtype=torch.float64) for n in sizes]
    uniform = [torch.full((n,), 1 / n, dtype=torch.float64) for n in sizes]
    assert omega(regularizer, ones, uniform) == pytest.approx(1.0)
    grown = (sizes[0] * sizes[1] * sizes[2]) ** (1 / regularizer.p)
    assert omega(regularizer, balanced(ones, regularizer.p)) == pytest.approx(grown)
