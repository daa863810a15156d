"""What the paper says of its models, objective and ranks."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from trifact.tensor.batches import Batch
from trifact.tensor.descent import Objective
from trifact.tensor.models import MODELS, ComplEx, DistMult, Model
from trifact.tensor.ranking import Asked, ranks
from trifact.tensor.regularizers import regularizer

N, P, R = 12, 3, 5


def every_score(model: Model) -> Tensor:
    """X[i, j, k] for the objects of every (i, j)."""
    ids = torch.cartesian_prod(torch.arange(model.entities), torch.arange(model.predicates))
    return model.scores(ids[:, 0], ids[:, 1]).view(model.entities, model.predicates, -1)


def drawn(name: str, *, predicates: int = P) -> Model:
    return MODELS[name](N, predicates, rank=R, scale=1.0, seed=2)


def test_complex_without_imaginary_parts_is_distmult() -> None:
    real, both = DistMult(N, P, rank=R, scale=1.0), ComplEx(N, P, rank=R)
    both.tables = {key: torch.cat([u, torch.zeros_like(u)], 1) for key, u in real.tables.items()}
    torch.testing.assert_close(every_score(both), every_score(real))


def test_distmult_is_symmetric_and_complex_need_not_be() -> None:
    x = every_score(drawn("distmult"))
    torch.testing.assert_close(x, x.transpose(0, 2))
    y = every_score(drawn("complex"))
    assert not torch.allclose(y, y.transpose(0, 2))


def test_a_real_predicate_is_symmetric_and_an_imaginary_one_antisymmetric() -> None:
    model = drawn("complex")
    model.tables["predicate"][0, R:] = 0.0
    model.tables["predicate"][1, :R] = 0.0
    x = every_score(model)
    torch.testing.assert_close(x[:, 0], x[:, 0].T)
    torch.testing.assert_close(x[:, 1], -x[:, 1].T)


def some_facts() -> Tensor:
    facts = torch.randint(0, N, (40, 3), generator=torch.Generator().manual_seed(3))
    distinct: Tensor = torch.unique(facts.remainder(torch.tensor([N, P, N])), dim=0)
    return distinct


def grouped(facts: Tensor) -> Batch:
    """The distinct queries of facts and their reciprocals."""
    both = torch.cat([facts, facts.flip(1) + torch.tensor([0, P, 0])])
    queries, rows = torch.unique(both[:, :2], dim=0, return_inverse=True)
    order = rows.argsort(stable=True)
    return Batch(queries[:, 0], queries[:, 1], rows[order], both[order, 2])


def objective(model: Model, facts: Tensor, *, reciprocal: bool) -> float:
    omega = regularizer("n3", entity=0.3, predicate=0.2)
    mean = Objective(model, omega, 2.0 * len(facts), reciprocal=reciprocal)
    value, _ = mean.gradients(grouped(facts))
    return float(value.loss + value.penalty)


def flip(facts: Tensor, predicate: int) -> Tensor:
    """The same knowledge with one predicate stated the other way round."""
    return torch.where((facts[:, 1] == predicate).unsqueeze(1), facts.flip(1), facts)


@pytest.mark.parametrize("name", MODELS)
def test_semantic_invariance_flipping_a_predicate_changes_nothing(name: str) -> None:
    """The reciprocal objective is the same with the two rows of the predicate exchanged."""
    model, facts = drawn(name, predicates=2 * P), some_facts()
    before = objective(model, facts, reciprocal=True)
    assert objective(model, flip(facts, 1), reciprocal=True) != pytest.approx(before, rel=1e-4)
    rows = model.tables["predicate"]
    rows[[1, 1 + P]] = rows[[1 + P, 1]]
    assert objective(model, flip(facts, 1), reciprocal=True) == pytest.approx(before, rel=1e-6)


def test_the_standard_objective_of_cp_is_not_invariant() -> None:
    model, facts = drawn("cp"), some_facts()
    before = objective(model, facts, reciprocal=False)
    assert objective(model, flip(facts, 1), reciprocal=False) != pytest.approx(before, rel=1e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reciprocal", [True, False])
def test_the_loss_at_zero_is_log_n_for_every_fiber(name: str, reciprocal: bool) -> None:
    """A mean over 2|S| examples of one fiber each, or over |S| facts of two."""
    model = drawn(name, predicates=2 * P if reciprocal else P)
    model.tables = {key: torch.zeros_like(table) for key, table in model.tables.items()}
    fibers = 1 if reciprocal else 2
    found = objective(model, some_facts(), reciprocal=reciprocal)
    assert found == pytest.approx(fibers * math.log(N), rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_both_settings_regularize_a_fact_alike(name: str) -> None:
    """With the rows of a predicate and of its reciprocal equal, so are the mean penalties
    of the models whose subjects and objects share their factors."""
    one, two = drawn(name), drawn(name, predicates=2 * P)
    two.tables = dict(one.tables, predicate=one.tables["predicate"].repeat(2, 1))
    facts, omega = some_facts(), regularizer("n3", entity=0.3, predicate=0.2)
    penalties = []
    for model, reciprocal in ((one, False), (two, True)):
        mean = Objective(model, omega, 2.0 * len(facts), reciprocal=reciprocal)
        penalties.append(float(mean.gradients(grouped(facts))[0].penalty))
    if name == "cp":
        assert penalties[0] != pytest.approx(penalties[1], rel=1e-3)
    else:
        assert penalties[0] == pytest.approx(penalties[1], rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_constant_scorer_ranks_everything_in_the_middle(name: str) -> None:
    model = drawn(name, predicates=2 * P)
    model.tables = {key: torch.ones_like(table) for key, table in model.tables.items()}
    batch, nothing = grouped(some_facts()), torch.empty(0, dtype=torch.int64)
    asked = Asked(*batch[:4], nothing, nothing)
    found = ranks(model, asked)
    assert set(found.realistic.tolist()) == {(N + 1) / 2}
    assert set(found.optimistic.tolist()) == {1}
    assert set(found.pessimistic.tolist()) == {N}


def tree(n: int, depth: int) -> Tensor:
    """The facts (parent, 0, child) of an n-ary tree whose nodes are numbered level by level."""
    nodes = (n ** (depth + 1) - 1) // (n - 1)
    children = torch.arange(1, nodes)
    parents = (children - 1) // n
    return torch.stack([parents, torch.zeros_like(parents), children], 1)


def symmetric_scorer(facts: Tensor) -> DistMult:
    """A link scores by its depth and nothing else scores: children stand before the ancestor.

    DistMult holds any symmetric matrix, by its eigenvectors.
    """
    nodes = int(facts.max()) + 1
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    for parent, _, child in facts.tolist():
        matrix[parent, child] = matrix[child, parent] = 1.0 + child
    values, vectors = torch.linalg.eigh(matrix)
    model = DistMult(nodes, 1, rank=nodes)
    model.tables = {"entity": vectors.float(), "predicate": values.float().unsqueeze(0)}
    return model


@pytest.mark.parametrize(("n", "depth"), [(2, 3), (3, 2), (3, 3), (4, 3)])
def test_a_symmetric_scorer_has_the_mrr_of_the_appendix_on_a_tree(n: int, depth: int) -> None:
    facts = tree(n, depth)
    both = torch.cat([facts, facts.flip(1) + torch.tensor([0, 1, 0])])
    queries, rows = torch.unique(both[:, :2], dim=0, return_inverse=True)
    order = rows.argsort(stable=True)
    rows, answers = rows[order], both[order, 2]
    asked = Asked(queries[:, 0], queries[:, 1], rows, answers, rows, answers)
    found = ranks(symmetric_scorer(facts), asked)

    internal = (n**depth - n) // (n - 1)
    leaves = n**depth
    total = leaves + n + (n + 1) * internal
    assert sorted(found.realistic.tolist()) == [1.0] * (total - internal) + [n + 1.0] * internal
    expected = (leaves + n + internal / (n + 1) + internal * n) / total
    assert found.mrr() == pytest.approx(expected, rel=1e-12)
