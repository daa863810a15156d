"""The optimizers are torch's; rows are the whole table where that is exact."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from trifact.errors import ConfigError
from trifact.tensor.gradients import Found, Rows
from trifact.tensor.optimizers import OPTIMIZERS, SCHEDULES, Plateau, optimizer
from trifact.tensor.workspace import Workspace

TORCH: dict[str, Callable[[list[Tensor]], torch.optim.Optimizer]] = {
    "adagrad": lambda tables: torch.optim.Adagrad(tables, lr=0.1),
    "adam": lambda tables: torch.optim.Adam(tables, lr=0.1),
    "sgd": lambda tables: torch.optim.SGD(tables, lr=0.1),
}


def gradients(steps: int = 5) -> list[Rows]:
    """Gradients on some rows of a table (9, 4), other ones at every step."""
    generator = torch.Generator().manual_seed(4)
    return [
        Rows(
            torch.randperm(9, generator=generator)[:5],
            torch.randn(5, 4, generator=generator),
        )
        for _ in range(steps)
    ]


def start() -> Tensor:
    return torch.randn(9, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_those_of_torch(name: str, by_rows: bool) -> None:
    table, leaf = start(), start().requires_grad_()
    ours, theirs = optimizer(name, rate=0.1), TORCH[name]([leaf])
    for rows in gradients():
        leaf.grad = rows.whole(table)
        ours.update("entity", table, rows if by_rows else rows.whole(table))
        theirs.step()
    torch.testing.assert_close(table, leaf.detach())


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_copied_state_goes_on_to_the_bit(name: str, by_rows: bool) -> None:
    table, ours = start(), optimizer(name, rate=0.1)
    steps = [rows if by_rows else rows.whole(table) for rows in gradients(6)]
    for gradient in steps[:3]:
        ours.update("entity", table, gradient)
    copy, resumed = table.clone(), optimizer(name, rate=0.1)
    resumed.state = {key: value.clone() for key, value in ours.state.items()}
    for gradient in steps[3:]:
        ours.update("entity", table, gradient)
        resumed.update("entity", copy, gradient)
    assert torch.equal(table, copy)
    assert all(torch.equal(value, resumed.state[key]) for key, value in ours.state.items())


def test_each_table_has_a_state_of_its_own() -> None:
    ours, tables = optimizer("adagrad", rate=0.1), (start(), start())
    for name, table in zip(("subject", "object"), tables, strict=True):
        ours.update(name, table, torch.ones_like(table))
    assert set(ours.state) == {"subject.sum", "object.sum"}
    assert torch.equal(*tables)


def test_an_unknown_optimizer_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no optimizer 'lion'; known: adagrad, adam, sgd"):
        optimizer("lion", rate=0.1)


def test_rows_that_repeat_are_summed() -> None:
    rows = Rows.summed(torch.tensor([4, 1, 4]), torch.tensor([[1.0], [2.0], [5.0]]))
    assert rows.whole(torch.zeros(6, 1)).flatten().tolist() == [0, 2, 0, 0, 6, 0]


def test_gradients_are_whole_only_where_something_needs_the_whole() -> None:
    tables = {"entity": torch.zeros(3, 2), "predicate": torch.zeros(4, 2)}
    for _ in range(2):  # the workspace is used again, and begins at zero again
        found = Found(tables, work := Workspace())
        found.add("entity", torch.tensor([1, 1]), torch.ones(2, 2))
        found.whole("entity")[0] += 5
        found.add("predicate", torch.tensor([2]), torch.ones(1, 2))
        found.add("predicate", torch.tensor([2, 0]), torch.ones(2, 2))
        joined = found.joined()
        assert isinstance(joined["predicate"], Rows) and isinstance(joined["entity"], Tensor)
        assert joined["entity"].tolist() == [[5, 5], [2, 2], [0, 0]]
        assert joined["predicate"].ids.tolist() == [0, 2]
        assert joined["predicate"].values.tolist() == [[1, 1], [2, 2]]
        work.array("d.entity", 3, 2, like=tables["entity"]).fill_(9)


def test_plateau_waits_and_then_lowers_the_rate() -> None:
    plateau, rate, seen = Plateau(factor=0.5, patience=2), 0.1, []
    for mrr in (0.2, 0.3, 0.3, 0.29, 0.31, 0.31, 0.31, 0.31, 0.31):
        rate = plateau.after(rate, mrr)
        seen.append(rate)
    assert seen == [0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.0125]
    assert vars(plateau) == {"factor": 0.5, "patience": 2, "best": 0.31, "waited": 0}
    assert SCHEDULES["constant"]().after(0.1, 0.0) == 0.1
