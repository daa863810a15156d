"""The benchmarks count what they say they count."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch
from scripts.benchmarks import headline
from scripts.bfloat16 import ThroughFloat32

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def test_the_readme_says_what_was_measured() -> None:
    assert headline() in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("step")


def test_every_phase_of_a_step_is_met_and_they_sum_to_it(step: ModuleType) -> None:
    """A function that is renamed would fall out of its phase."""
    seconds = next(step.timed_steps(step.Ours("World", "complex", 4)))
    assert tuple(seconds) == step.NAMES
    assert all(spent > 0 for spent in seconds.values())


def test_bfloat16_products_through_float32_are_rounded_once() -> None:
    left, right = torch.randn(2, 40, 30, generator=torch.Generator().manual_seed(3)).bfloat16()
    exact = left.double() @ right.double().T
    out = torch.empty(40, 40, dtype=torch.bfloat16)
    with ThroughFloat32():
        found = torch.mm(left, right.T)
        torch.mm(left, right.T, out=out)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, out)
    torch.testing.assert_close(found, exact.bfloat16(), rtol=2**-7, atol=2**-14)
    assert (found == exact.bfloat16()).double().mean() > 0.99  # the rest lie between two numbers


def test_other_products_are_left_alone() -> None:
    left = torch.randn(40, 30, generator=torch.Generator().manual_seed(4))
    with ThroughFloat32():
        found = torch.mm(left, left.T)
    assert torch.equal(found, torch.mm(left, left.T))
