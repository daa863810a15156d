"""A step against the objective as the paper writes it, fact by fact, through autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from trifact.tensor import workspace
from trifact.tensor.batches import Batch
from trifact.tensor.descent import Objective
from trifact.tensor.dura import Dura
from trifact.tensor.gradients import Gradient, Rows
from trifact.tensor.models import MODELS, Model
from trifact.tensor.optimizers import optimizer
from trifact.tensor.regularizers import frequencies, regularizer
from trifact.tensor.workspace import Workspace

Twin = Callable[..., tuple[Tensor, Tensor]]
SETTINGS = [pytest.param(True, id="reciprocal"), pytest.param(False, id="standard")]


def whole(gradient: Gradient, table: Tensor) -> Tensor:
    return gradient.whole(table) if isinstance(gradient, Rows) else gradient


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("relations", [0.0, 0.7])
@pytest.mark.parametrize("penalty", ["n3", "fro", "dura", "none"])
@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_the_ungrouped_objective(
    name: str,
    reciprocal: bool,
    penalty: str,
    relations: float,
    weighted: bool,
    double_model: Callable[..., Model],
    batch_of: Callable[..., Batch],
    plain: Twin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = double_model(name, predicates=10 if reciprocal else 5)
    three_rows = 3 * model.table("object").shape[1]
    monkeypatch.setattr(workspace, "BLOCK", three_rows)
    batch = batch_of(entities=23, predicates=10, weighted=weighted)
    omega = Dura(0.3) if penalty == "dura" else regularizer(penalty, entity=0.3, predicate=0.2)
    work = Workspace(budget=4 * 24 * 8)  # blocks of four queries
    objective = Objective(model, omega, 7.0, reciprocal=reciprocal, relations=relations, work=work)
    leaves = {key: table.clone().requires_grad_() for key, table in model.tables.items()}
    loss, cost = plain(objective, batch, leaves)
    expected = torch.autograd.grad(loss + cost, list(leaves.values()))

    for _ in range(2):  # what the workspace holds from the first time does not matter
        value, found = objective.gradients(batch)
        torch.testing.assert_close(value.loss, loss.detach())
        torch.testing.assert_close(value.penalty, cost.detach())
        for key, gradient in zip(leaves, expected, strict=True):
            torch.testing.assert_close(whole(found[key], model.tables[key]), gradient)


@pytest.mark.parametrize("relations", [0.0, 0.7])
@pytest.mark.parametrize("reciprocal", SETTINGS)
def test_a_model_of_zeros_has_the_loss_of_knowing_nothing(
    reciprocal: bool,
    relations: float,
    double_model: Callable[..., Model],
    batch_of: Callable[..., Batch],
) -> None:
    model = double_model("complex", predicates=10 if reciprocal else 5)
    for table in model.tables.values():
        table.zero_()
    batch = batch_of(entities=23, predicates=10, weighted=False)
    answers, none = float(len(batch.answers)), regularizer("none", entity=0)
    objective = Objective(model, none, answers, reciprocal=reciprocal, relations=relations)
    value, _ = objective.gradients(batch)
    assert float(value.loss) == pytest.approx(objective.blank)


@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize(("penalty", "weighting"), [("nuc2", "frequency"), ("n3", "none")])
@pytest.mark.parametrize("name", MODELS)
def test_regularizers_over_whole_tables(
    name: str,
    penalty: str,
    weighting: str,
    reciprocal: bool,
    double_model: Callable[..., Model],
    batch_of: Callable[..., Batch],
) -> None:
    """Whatever the batch, the penalty is lambda Omega of the tables."""
    rows = 10 if reciprocal else 5
    model, batch = double_model(name, predicates=rows), batch_of(entities=23, predicates=10)
    facts = torch.randint(0, 5, (40, 3), generator=torch.Generator().manual_seed(8))
    q = frequencies(facts, entities=23, predicates=rows)
    omega = regularizer(penalty, entity=0.3, predicate=0.2, weighting=weighting)  # type: ignore[arg-type]
    with_it = Objective(model, omega, 7.0, reciprocal=reciprocal, frequencies=q)
    without = Objective(model, regularizer("none", entity=0), 7.0, reciprocal=reciprocal)
    leaves = {key: table.clone().requires_grad_() for key, table in model.tables.items()}
    expected = torch.zeros((), dtype=torch.float64)
    for role, key in model.roles.items():
        u = leaves[key]
        absolute = torch.complex(*u.chunk(2, -1)).abs() if name == "complex" else u.abs()
        weight = q[role].double().unsqueeze(1) if weighting == "frequency" else 1.0
        norms = (weight * absolute**omega.p).sum(0) ** (1 / omega.p)
        expected = expected + omega.coefficient(role) / 3 * (norms**omega.alpha).sum()
    slopes = torch.autograd.grad(expected, list(leaves.values()))

    value, found = with_it.gradients(batch)
    torch.testing.assert_close(value.penalty, expected.detach())
    bare = without.gradients(batch)[1]
    for key, slope in zip(leaves, slopes, strict=True):
        table = model.tables[key]
        torch.testing.assert_close(whole(found[key], table) - whole(bare[key], table), slope)


def test_cp_leaves_the_subjects_that_were_not_asked_as_they_are(
    double_model: Callable[..., Model], batch_of: Callable[..., Batch]
) -> None:
    model, batch = double_model("cp", predicates=10), batch_of(entities=23, predicates=10)
    before = {key: table.clone() for key, table in model.tables.items()}
    objective = Objective(model, regularizer("n3", entity=0.1), 30.0)
    objective.step(batch, optimizer("adagrad", rate=0.1))
    moved = {key: (table != before[key]).any(1) for key, table in model.tables.items()}
    assert moved["subject"].nonzero().flatten().tolist() == torch.unique(batch.entities).tolist()
    assert (
        moved["predicate"].nonzero().flatten().tolist() == torch.unique(batch.predicates).tolist()
    )
    assert moved["object"].all()


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_tables_to_the_bit(
    name: str, batch_of: Callable[..., Batch]
) -> None:
    tables = []
    for _ in range(2):
        model = MODELS[name](23, 10, rank=4, seed=1)
        objective = Objective(model, regularizer("n3", entity=0.1), 30.0)
        rate = optimizer("adagrad", rate=0.1)
        for queries in (11, 5, 8):
            objective.step(batch_of(entities=23, predicates=10, queries=queries), rate)
        tables.append(model.tables)
    assert all(torch.equal(tables[0][key], tables[1][key]) for key in tables[0])


def test_a_batch_of_one_side_only_is_that_side(
    double_model: Callable[..., Model], batch_of: Callable[..., Batch], plain: Twin
) -> None:
    model, batch = double_model("cp"), batch_of(entities=23, predicates=5)
    objective = Objective(model, regularizer("n3", entity=0.1), 30.0, reciprocal=False)
    for shift, keys in ((0, {"object"}), (5, {"subject"})):
        asked = batch._replace(predicates=batch.predicates + shift)
        value, found = objective.gradients(asked)
        assert {key for key, gradient in found.items() if isinstance(gradient, Tensor)} == keys
        torch.testing.assert_close(value.loss, plain(objective, asked, model.tables)[0])


@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_bfloat16_steps_go_the_same_way(
    name: str, reciprocal: bool, batch_of: Callable[..., Batch]
) -> None:
    model = MODELS[name](23, 10 if reciprocal else 5, rank=8, scale=0.5)
    batch, omega = batch_of(entities=23, predicates=10), regularizer("n3", entity=0.1)
    exact, rough = (
        Objective(model, omega, 30.0, reciprocal=reciprocal, work=Workspace(dtype=dtype))
        for dtype in (torch.float32, torch.bfloat16)
    )
    (value, right), (other, near) = exact.gradients(batch), rough.gradients(batch)
    assert other.loss.item() == pytest.approx(value.loss.item(), rel=0.01)
    for key, table in model.tables.items():
        error = whole(near[key], table) - whole(right[key], table)
        assert error.norm() < 0.02 * whole(right[key], table).norm()
