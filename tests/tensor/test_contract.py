"""What every model keeps to, whatever it is: one suite over the registry."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.tensor.batches import Batch
from trifact.tensor.descent import Objective
from trifact.tensor.models import MODELS, Model
from trifact.tensor.optimizers import optimizer
from trifact.tensor.ranking import Asked, ranks
from trifact.tensor.regularizers import regularizer

GROUPS, SIZE = 3, 5
N = GROUPS * SIZE
SETTINGS = [pytest.param(True, id="reciprocal"), pytest.param(False, id="standard")]


def facts_between_groups(shift: int) -> Tensor:
    """Entities in groups; every one of group g stands to every one of group g + shift."""
    group = torch.arange(N) // SIZE
    linked = (group.unsqueeze(1) + shift) % GROUPS == group.unsqueeze(0)
    subjects, objects = linked.nonzero().T
    return torch.stack([subjects, torch.zeros_like(subjects), objects], 1)


def both_sides(facts: Tensor) -> Tensor:
    """Facts and their reciprocals, with one predicate: (i, 0, k) and (k, 1, i)."""
    return torch.cat([facts, facts.flip(1) + torch.tensor([0, 1, 0])])


def grouped(facts: Tensor) -> tuple[Tensor, ...]:
    """Entities and predicates of the distinct queries; row and answer of every fact."""
    queries, rows = torch.unique(facts[:, :2], dim=0, return_inverse=True)
    order = rows.argsort(stable=True)
    return queries[:, 0], queries[:, 1], rows[order], facts[order, 2]


def trained(name: str, facts: Tensor, *, reciprocal: bool, steps: int = 60) -> Model:
    model = MODELS[name](N, 2 if reciprocal else 1, rank=6, scale=0.1, seed=3)
    batch = Batch(*grouped(both_sides(facts)))
    omega = regularizer("n3", entity=0.01)
    objective = Objective(model, omega, float(len(batch.rows)), reciprocal=reciprocal)
    rate = optimizer("adagrad", rate=0.1)
    first = objective.step(batch, rate)
    for _ in range(steps):
        last = objective.step(batch, rate)
    assert sum(last) < sum(first)
    return model


def filtered_mrr(model: Model, facts: Tensor, known: Tensor) -> float:
    entities, predicates, rows, answers = grouped(both_sides(facts))
    everything = both_sides(known)
    place = (everything[:, :1] == entities) & (everything[:, 1:2] == predicates)
    fact, row = place.nonzero().T
    order = row.argsort(stable=True)
    asked = Asked(entities, predicates, rows, answers, row[order], everything[fact[order], 2])
    return ranks(model, asked).mrr()


def withheld_mrr(name: str, shift: int, *, reciprocal: bool) -> float:
    """Filtered MRR of facts that training did not see."""
    facts = facts_between_groups(shift)
    hidden = torch.arange(len(facts)) % 7 == 3
    model = trained(name, facts[~hidden], reciprocal=reciprocal)
    return filtered_mrr(model, facts[hidden], facts)


@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_a_planted_symmetric_graph_is_recovered_by_every_model(name: str, reciprocal: bool) -> None:
    assert withheld_mrr(name, 0, reciprocal=reciprocal) == 1.0


@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_a_planted_antisymmetric_graph_is_recovered_by_all_but_distmult(
    name: str, reciprocal: bool
) -> None:
    mrr = withheld_mrr(name, 1, reciprocal=reciprocal)
    assert mrr < 0.7 if name == "distmult" else mrr == 1.0


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_queries_is_its_queries_one_by_one(name: str, rows: int) -> None:
    model = MODELS[name](N, rows, rank=4, scale=1.0)
    entities, predicates = torch.arange(N), torch.arange(N) % 2
    scores = model.scores(entities, predicates)
    assert scores.shape == (N, N)
    for row in range(N):
        single = model.scores(entities[row : row + 1], predicates[row : row + 1])
        torch.testing.assert_close(scores[row : row + 1], single)


@pytest.mark.parametrize("reciprocal", SETTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_ranks_in_chunks_are_ranks_in_one(name: str, reciprocal: bool) -> None:
    model = MODELS[name](N, 2 if reciprocal else 1, rank=4, scale=1.0)
    entities, predicates, rows, answers = grouped(both_sides(facts_between_groups(1)))
    asked = Asked(entities, predicates, rows, answers, rows, answers)
    whole = ranks(model, asked)
    for budget in (1, 8 * N * 4, 8 * N * 7):
        chunked = ranks(model, asked, budget=budget)
        assert torch.equal(whole.optimistic, chunked.optimistic)
        assert torch.equal(whole.pessimistic, chunked.pessimistic)


@pytest.mark.parametrize("name", MODELS)
def test_tables_by_name_are_all_there_is_to_a_model(name: str) -> None:
    model, other = (MODELS[name](N, 2, rank=4, scale=1.0, seed=seed) for seed in (0, 1))
    other.tables = {key: table.clone() for key, table in model.tables.items()}
    entities, predicates = torch.arange(N), torch.arange(N) % 2
    assert torch.equal(model.scores(entities, predicates), other.scores(entities, predicates))
