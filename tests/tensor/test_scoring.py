"""The score of a fact is the mean log-probability of its two ends, in blocks of any size."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.tensor.models import MODELS, Model
from trifact.tensor.scoring import fact_scores, log_probabilities

N, P = 17, 3


def some_facts() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    facts = [torch.randint(0, high, (25,), generator=generator) for high in (N, P, N)]
    drawn = torch.stack(facts, 1)
    return torch.cat([drawn, drawn[:3]])  # some twice


def slow_score(model: Model, fact: Tensor) -> float:
    s, p, o = fact.tolist()
    towards_object = model.scores(torch.tensor([s]), torch.tensor([p]))[0].double()
    towards_subject = model.scores(torch.tensor([o]), torch.tensor([p + P]))[0].double()
    return float((towards_object.log_softmax(0)[o] + towards_subject.log_softmax(0)[s]) / 2)


@pytest.mark.parametrize("rows", [P, 2 * P])
@pytest.mark.parametrize("budget", [1, 5 * N * 8, 2**20])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scale", [1.0, 5.0])  # beyond the floor of exponentials, too
def test_scores_are_those_of_the_slow_twin_within_any_budget(
    name: str, budget: int, rows: int, scale: float
) -> None:
    model, facts = MODELS[name](N, rows, rank=4, scale=scale), some_facts()
    found = fact_scores(model, facts, predicates=P, budget=budget)
    expected = torch.tensor([slow_score(model, fact) for fact in facts])
    torch.testing.assert_close(found, expected)


def test_probabilities_of_all_answers_sum_to_one() -> None:
    model = MODELS["complex"](N, 2 * P, rank=4, scale=3.0)
    answers = torch.arange(N)
    questions = torch.stack([torch.full((N,), 5), torch.full((N,), 2), answers], 1)
    assert log_probabilities(model, questions).exp().sum() == pytest.approx(1.0)


def test_no_facts_have_no_scores() -> None:
    model = MODELS["cp"](N, 2 * P, rank=2)
    nothing = torch.empty(0, 3, dtype=torch.int64)
    assert fact_scores(model, nothing, predicates=P).shape == (0,)
