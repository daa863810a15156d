"""Omega_p^alpha: its scale, its gradients, its weighting by frequency."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.errors import ConfigError
from trifact.tensor import workspace
from trifact.tensor.regularizers import Regularizer, frequencies, regularizer
from trifact.tensor.trilinear import Complex, Field, Real

FIELDS = [pytest.param(Real(), id="real"), pytest.param(Complex(), id="complex")]
FAMILY = [(3.0, 3.0), (2.0, 2.0), (2.0, 3.0), (1.0, 1.0), (1.5, 2.0), (4.0, 3.0)]


def moduli(field: Field, table: Tensor) -> Tensor:
    return torch.complex(*table.chunk(2, -1)).abs() if field.parts == 2 else table.abs()


def draw(field: Field, rows: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    table = torch.randn(rows, 4 * field.parts, generator=generator, dtype=torch.float64)
    return table, torch.rand(rows, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_rows_are_what_autograd_finds(p: float, field: Field) -> None:
    table, counts = draw(field)
    leaf = table.clone().requires_grad_()
    expected = 0.3 / 3 * (counts.unsqueeze(1) * moduli(field, leaf) ** p).sum()
    value, gradient = Regularizer(p, p, 0.3, 9.0).rows("entity", table, counts, field=field)
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, *torch.autograd.grad(expected, leaf))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("p", "alpha"), FAMILY)
def test_tables_are_what_autograd_finds(
    p: float, alpha: float, field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "BLOCK", 20)  # several blocks of rows
    table, weights = draw(field)
    leaf = table.clone().requires_grad_()
    columns = (weights.unsqueeze(1) * moduli(field, leaf) ** p).sum(0) ** (1 / p)
    expected = 0.3 / 3 * (columns**alpha).sum()
    into = torch.ones_like(table)
    value = Regularizer(p, alpha, 9.0, 0.3).add_table(
        "predicate", table, weights, field=field, into=into
    )
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(into - 1, *torch.autograd.grad(expected, leaf))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("p", "alpha"), FAMILY)
def test_the_gradient_at_zero_is_zero(p: float, alpha: float, field: Field) -> None:
    table, weights = draw(field)
    table[2], table[:, 1] = 0.0, 0.0
    for zeros in (table, torch.zeros_like(table)):
        into = torch.zeros_like(table)
        omega = Regularizer(p, alpha, 1.0, 1.0)
        omega.add_table("entity", zeros, weights, field=field, into=into)
        _, gradient = omega.rows("entity", zeros, weights, field=field)
        assert into.isfinite().all() and gradient.isfinite().all()
        assert not into[2].any() and not gradient[2].any()


def test_the_scale_is_a_third_for_every_name() -> None:
    """lambda/3 per row and rank: N3 is 3 x the authors' later code, FRO 3 x the paper's."""
    row, once = torch.tensor([[2.0, -1.0]]), torch.ones(1)
    n3, _ = regularizer("n3", entity=0.6).rows("entity", row, once, field=Real())
    assert n3.item() == pytest.approx(0.6 / 3 * (8 + 1))
    fro, _ = regularizer("fro", entity=0.6).rows("entity", row, once, field=Real())
    assert fro.item() == pytest.approx(0.6 / 3 * (4 + 1))
    table = torch.tensor([[3.0, 0.0], [4.0, 2.0]])
    nuc2 = regularizer("nuc2", entity=0.6)
    value = nuc2.add_table(
        "entity", table, torch.ones(2), field=Real(), into=torch.zeros_like(table)
    )
    assert value.item() == pytest.approx(0.6 / 3 * (5**3 + 2**3))


def test_names_say_what_is_asked_for() -> None:
    n3 = regularizer("n3", entity=0.5, predicate=0.1)
    assert (n3.coefficient("subject"), n3.coefficient("predicate")) == (0.5, 0.1)
    assert n3.by_rows and not n3.by_tables
    assert regularizer("fro", entity=0.5).predicate == 0.5
    for over_tables in (
        regularizer("nuc2", entity=1),
        regularizer("n3", entity=1, weighting="none"),
    ):
        assert over_tables.by_tables and not over_tables.by_rows
    for nothing in (regularizer("none", entity=1), regularizer("n3", entity=0)):
        assert not nothing.by_tables and not nothing.by_rows
    with pytest.raises(ConfigError, match="no regularizer 'l1'; known: n3, fro, nuc2"):
        regularizer("l1", entity=1)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", ["n3", "fro"])
def test_touched_rows_of_all_facts_are_the_table_weighted_by_frequency(
    name: str, field: Field
) -> None:
    table, _ = draw(field)
    facts = torch.tensor([[0, 0, 1], [0, 1, 2], [5, 0, 1], [0, 1, 6], [3, 1, 3]])
    q = frequencies(facts, entities=7, predicates=2)
    assert {role: len(marginal) for role, marginal in q.items()} == {
        "subject": 7,
        "predicate": 2,
        "object": 7,
    }
    omega = regularizer(name, entity=0.3)
    once = torch.full((5,), 1 / 5, dtype=torch.float64)
    by_rows, _ = omega.rows("entity", table[facts[:, 0]], once, field=field)
    whole = omega.add_table(
        "entity", table, q["subject"].double(), field=field, into=torch.zeros_like(table)
    )
    torch.testing.assert_close(by_rows, whole, atol=1e-7, rtol=1e-6)
