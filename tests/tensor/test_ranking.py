"""Ranks against a slow twin that goes answer by answer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.errors import TrifactError
from trifact.tensor.models import MODELS, Model
from trifact.tensor.ranking import Asked, Ranks, ranks

N, P = 19, 3


def model_with_ties(name: str, *, rows: int = 2 * P) -> Model:
    """Factors of few whole values, so that many scores are exactly equal."""
    model = MODELS[name](N, rows, rank=3)
    generator = torch.Generator().manual_seed(11)
    for key, table in model.tables.items():
        model.tables[key] = torch.randint(-1, 2, table.shape, generator=generator).float()
    return model


def questions(queries: int = 14) -> Asked:
    """Queries with none, one and several answers, all but some of them known, and other known."""
    generator = torch.Generator().manual_seed(12)
    entities = torch.randint(0, N, (queries,), generator=generator)
    predicates = torch.randint(0, 2 * P, (queries,), generator=generator)
    answered = torch.rand(queries, N, generator=generator) < 0.15
    answered[3] = False
    known = answered & (torch.rand(queries, N, generator=generator) < 0.8)
    known |= torch.rand(queries, N, generator=generator) < 0.2
    return Asked(entities, predicates, *answered.nonzero().T, *known.nonzero().T)


def slow_ranks(model: Model, asked: Asked) -> list[tuple[int, int]]:
    found = []
    for row, answer in zip(asked.rows.tolist(), asked.answers.tolist(), strict=True):
        scores = model.scores(asked.entities[row : row + 1], asked.predicates[row : row + 1])[0]
        known = set(asked.known[asked.known_rows == row].tolist())
        rivals = [float(scores[k]) for k in range(N) if k != answer and k not in known]
        target = float(scores[answer])
        larger, equal = sum(s > target for s in rivals), sum(s == target for s in rivals)
        found.append((1 + larger, 1 + larger + equal))
    return found


def pairs(found: Ranks) -> list[tuple[int, int]]:
    return list(zip(found.optimistic.tolist(), found.pessimistic.tolist(), strict=True))


def raw(asked: Asked) -> Asked:
    nothing = torch.empty(0, dtype=torch.int64)
    return asked._replace(known_rows=nothing, known=nothing)


@pytest.mark.parametrize("rows", [P, 2 * P])
@pytest.mark.parametrize("budget", [1, 3 * 8 * N, 2**20])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_those_of_the_slow_twin_within_any_budget(
    name: str, budget: int, rows: int
) -> None:
    model, asked = model_with_ties(name, rows=rows), questions()
    assert pairs(ranks(model, asked, budget=budget)) == slow_ranks(model, asked)
    assert pairs(ranks(model, raw(asked), budget=budget)) == slow_ranks(model, raw(asked))


def test_ties_are_between_the_two_and_realistic_is_their_mean() -> None:
    found = ranks(model_with_ties("distmult"), questions())
    assert (found.optimistic <= found.pessimistic).all()
    assert (found.optimistic < found.pessimistic).any()
    expected = [(low + high) / 2 for low, high in pairs(found)]
    assert found.realistic.tolist() == expected
    assert found.mrr() == pytest.approx(sum(1 / rank for rank in expected) / len(expected))


def test_scores_are_left_as_they_are_even_at_the_edge_of_their_range() -> None:
    """A target whose score is -inf or the smallest number still loses to its rivals only."""
    model = MODELS["distmult"](4, 2, rank=1)
    model.tables["predicate"].fill_(1.0)
    low = torch.finfo(torch.float32).min
    model.tables["entity"] = torch.tensor([[1.0], [low], [-torch.inf], [5.0]])
    zero, one = torch.tensor([0, 0]), torch.tensor([0])
    asked = Asked(one, one, zero, torch.tensor([1, 2]), one, torch.tensor([3]))
    assert pairs(ranks(model, asked)) == [(2, 2), (3, 3)]


def test_a_score_that_is_not_a_number_is_an_error() -> None:
    model = model_with_ties("cp")
    model.tables["object"][7] = torch.nan
    with pytest.raises(TrifactError, match="not a number"):
        ranks(model, questions())


def test_nothing_asked_is_nothing_found() -> None:
    none: Tensor = torch.empty(0, dtype=torch.int64)
    assert pairs(ranks(model_with_ties("cp"), Asked(none, none, none, none, none, none))) == []
