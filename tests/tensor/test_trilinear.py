"""The two fields against torch's own numbers, and adjoints against autograd."""

import pytest
import torch
from torch import Tensor

from trifact.tensor.trilinear import Complex, Field, Real, Towards, adjoint, query

FIELDS = [pytest.param(Real(), id="real"), pytest.param(Complex(), id="complex")]
SIDES = ["object", "subject"]


def native(field: Field, rows: Tensor) -> Tensor:
    return torch.complex(*rows.chunk(2, -1)) if field.parts == 2 else rows


def draw(field: Field, count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    size = (6, 5 * field.parts)
    return [torch.randn(size, generator=generator, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize("field", FIELDS)
def test_products_and_moduli_are_those_of_the_field(field: Field) -> None:
    x, y = draw(field, 2)
    a, b = native(field, x), native(field, y)
    torch.testing.assert_close(native(field, field.times(x, y)), a * b)
    torch.testing.assert_close(native(field, field.times_conjugate(x, y)), a * b.conj())
    torch.testing.assert_close(field.modulus(x), a.abs())
    factors = field.modulus(y)
    torch.testing.assert_close(native(field, field.stretch(x, factors)), a * factors)
    torch.testing.assert_close(field.stretch(x, factors[:, :1]), x * factors[:, :1])


@pytest.mark.parametrize("field", FIELDS)
def test_a_fact_has_one_score_whichever_end_is_asked_for(field: Field) -> None:
    subject, predicate, object_ = draw(field, 3)
    a, b, c = (native(field, x) for x in (subject, predicate, object_))
    expected = (a * b * c.conj()).real.sum(-1)
    forwards = query(field, subject, predicate, towards="object")
    backwards = query(field, object_, predicate, towards="subject")
    torch.testing.assert_close((forwards * object_).sum(-1), expected)
    torch.testing.assert_close((backwards * subject).sum(-1), expected)


@pytest.mark.parametrize("towards", SIDES)
@pytest.mark.parametrize("field", FIELDS)
def test_the_adjoint_is_what_autograd_finds(field: Field, towards: Towards) -> None:
    entity, predicate, gradient = draw(field, 3)
    leaves = entity.clone().requires_grad_(), predicate.clone().requires_grad_()
    expected = torch.autograd.grad(query(field, *leaves, towards=towards), leaves, gradient)
    found = adjoint(field, gradient, entity, predicate, towards=towards)
    torch.testing.assert_close(found, expected)
