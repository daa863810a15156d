"""The row of an entity: f is the training objective but for a constant; its minimum is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.tensor.conftest import native
from trifact.answer.newton import Local, minimize, solve
from trifact.answer.rows import Rows
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, in_order, reciprocal
from trifact.graph.vocabulary import Vocabulary
from trifact.run.options import TrainConfig
from trifact.tensor.models import MODELS, Model
from trifact.tensor.trilinear import Role

ENTITY = 4
MODEL_NAMES = sorted(MODELS)
SETTINGS = ("reciprocal", "standard")
NORMS = [("n3", "frequency"), ("n3", "none"), ("fro", "frequency"), ("fro", "none"),
         ("nuc2", "frequency"), ("nuc2", "none"), ("dura", "frequency"),
         ("none", "frequency")]  # fmt: skip
RELATIONS = {"fro": 0.6, "dura": 1.5}  # the weight of the second loss, with some norms


def small_graph(*, entities: int = 9, predicates: int = 2, facts: int = 25, seed: int = 5) -> Graph:
    """Random facts, some of them twice; entity 4 has a self-loop."""
    random = np.random.default_rng(seed)
    drawn = random.integers((entities, predicates, entities), size=(facts, 3))
    drawn = in_order(np.concatenate([drawn, drawn[:5], [[ENTITY, 1, ENTITY]]]))
    names = Vocabulary.of([f"e{i:02}" for i in range(entities)])
    kinds = Vocabulary.of([f"p{j}" for j in range(predicates)])
    return Graph("small", names, kinds, drawn, drawn[:0].copy(), drawn[:0].copy())


def made(
    name: str = "complex",
    setting: str = "reciprocal",
    *,
    norm: str = "n3",
    weighting: str = "frequency",
    graph: Graph | None = None,
    negatives: int = 10_000,
) -> Rows:
    """A float64 model with factors of order one, as a run of a small graph would have it."""
    graph = graph or small_graph()
    sides = 2 if setting == "reciprocal" else 1
    model = MODELS[name](len(graph.entities), sides * len(graph.predicates), rank=3, scale=0.7)
    model.tables = {key: table.double() for key, table in model.tables.items()}
    config = TrainConfig(
        model=name,
        rank=3,
        setting=setting,
        regularizer=norm,
        weighting=weighting,
        reg=0.0 if norm == "none" else 0.3,
        relations=RELATIONS.get(norm, 0.0),
    )
    return Rows(graph, model, config, negatives)


def facts_of(graph: Graph, entity: int) -> Ints:
    """Its facts of train but for self-loops."""
    ends = graph.train[:, [0, 2]] == entity
    found: Ints = graph.train[ends[:, 0] ^ ends[:, 1]]
    return found


def scores(model: Model, tables: dict[str, Tensor], entity: int, predicate: int) -> Tensor:
    """Those of all candidates, by the definition of the trilinear product."""
    a, b, c = (native(model, tables[name]) for name in model.roles.values())
    if predicate < model.predicates:
        return torch.einsum("r,r,kr->k", a[entity], b[predicate], c.conj()).real
    return torch.einsum("kr,r,r->k", a, b[predicate - model.predicates], c[entity].conj()).real


def omega(rows: Rows, tables: dict[str, Tensor], facts: Ints, entity: int) -> Tensor:
    """The regularizer of the entities' tables by its formula, times the examples of training.

    The frequency of the entity is that of the facts, those of others are as they were in training.
    """
    p, alpha = {"n3": (3, 3), "fro": (2, 2), "nuc2": (2, 3)}[rows.config.regularizer]
    both, count = rows.config.setting == "reciprocal", len(rows.graph.predicates)
    trained, now = (reciprocal(f, count) if both else f for f in (rows.graph.train, facts))
    total = torch.zeros((), dtype=torch.float64)
    roles: tuple[tuple[int, Role], ...] = ((0, "subject"), (2, "object"))
    for place, role in roles:
        size = native(rows.model, tables[rows.model.roles[role]]).abs()
        q = np.bincount(trained[:, place], minlength=len(size)) / len(trained)
        q[entity] = (now[:, place] == entity).sum() / len(trained)
        q = q if rows.config.weighting == "frequency" else np.ones(len(size))
        total = total + (torch.from_numpy(q) @ size.pow(p)).pow(alpha / p).sum()
    assert rows.config.reg is not None
    return rows.config.reg / 3 * total * len(trained)


def dura(rows: Rows, tables: dict[str, Tensor], facts: Ints) -> Tensor:
    """By its formula, summed over the examples of the facts."""
    a, b, c = (native(rows.model, tables[name]).abs() for name in rows.model.roles.values())
    i, j, k = examples(rows, facts).T
    assert rows.config.reg is not None
    squares = a[i] ** 2 + (a[i] * b[j]) ** 2 + c[k] ** 2 + (c[k] * b[j]) ** 2
    return rows.config.reg * squares.sum()


def second_loss(rows: Rows, tables: dict[str, Tensor], facts: Ints) -> Tensor:
    """-log p(predicate | subject, object), summed over the examples of the facts."""
    a, b, c = (native(rows.model, tables[name]) for name in rows.model.roles.values())
    i, j, k = examples(rows, facts).T
    logits = torch.einsum("nr,pr,nr->np", a[i], b, c[k].conj()).real
    return (logits.logsumexp(1) - logits[torch.arange(len(j)), j]).sum()


def examples(rows: Rows, facts: Ints) -> Tensor:
    """The facts, and in the reciprocal setting their reciprocals: (n, 3)."""
    both = rows.config.setting == "reciprocal"
    found = reciprocal(facts, len(rows.graph.predicates)) if both else facts
    return torch.from_numpy(found.copy())


def whole_objective(rows: Rows, u: dict[str, Tensor], facts: Ints, entity: int) -> Tensor:
    """The training objective of facts, summed, with the rows u of an entity put in.

    The entity is no candidate of its own queries; its self-loops are left out.
    """
    tables = {name: table.clone() for name, table in rows.model.tables.items()}
    for name, row in u.items():
        before, after = tables[name][:entity], tables[name][entity + 1 :]
        tables[name] = torch.cat([before, row[None], after])
    count, loops = len(rows.graph.predicates), (facts[:, [0, 2]] == entity).all(axis=1)
    total = torch.zeros((), dtype=torch.float64)
    for e, q, a in reciprocal(facts[~loops], count).tolist():
        logits = scores(rows.model, tables, e, q)
        others = torch.arange(len(logits)) != (entity if e == entity else -1)
        total = total + logits[others].logsumexp(0) - logits[a]
    total = total + rows.config.relations * second_loss(rows, tables, facts[~loops])
    if rows.config.regularizer == "none":
        return total
    if rows.config.regularizer == "dura":
        return total + dura(rows, tables, facts[~loops])
    return total + omega(rows, tables, facts[~loops], entity)


class Case(NamedTuple):
    """An entity with its facts, and the objective of the whole as a function of its rows."""

    rows: Rows
    facts: Ints
    entity: int | None
    whole: Callable[[dict[str, Tensor]], Tensor]


def case(rows: Rows, *, new: bool) -> Case:
    """Entity 4 as it was trained; or one that is new, with facts on both sides."""
    train, count = rows.graph.train, len(rows.graph.entities)
    if not new:
        own = facts_of(rows.graph, ENTITY)
        return Case(rows, own, ENTITY, lambda u: whole_objective(rows, u, train, ENTITY))
    own = np.array([[count, 0, 2], [count, 0, 7], [3, 1, count], [5, 0, count], [5, 0, count]])
    both = np.concatenate([train, own])
    return Case(rows, own, None, lambda u: whole_objective(rows, u, both, count))


def some_rows(tables: Iterable[str], width: int, *, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {table: torch.randn(width, generator=generator, dtype=torch.float64) for table in tables}


every_problem = pytest.mark.parametrize(
    ("name", "setting", "norm", "weighting", "new"),
    [(m, s, *n, 0) for m in MODEL_NAMES for s in SETTINGS for n in NORMS]
    + [(m, s, *n, 1) for m in MODEL_NAMES for s in SETTINGS for n in NORMS[::2]],
)


@every_problem
def test_f_is_the_training_objective_but_for_a_constant(
    name: str, setting: str, norm: str, weighting: str, new: int
) -> None:
    rows, facts, entity, whole = case(
        made(name, setting, norm=norm, weighting=weighting), new=bool(new)
    )
    objectives = rows.objectives(facts, entity)
    width = rows.model.table("object").shape[1]
    one, two, way = (some_rows(objectives, width, seed=seed) for seed in range(3))
    f_one, f_two = ({t: objectives[t].at(u[t]) for t in objectives} for u in (one, two))
    difference = sum(f_one[t].value - f_two[t].value for t in objectives)
    assert difference == pytest.approx(float(whole(one) - whole(two)), abs=1e-9)

    leaves = {t: u.clone().requires_grad_() for t, u in one.items()}
    gradients = torch.autograd.grad(whole(leaves), [*leaves.values()], create_graph=True)
    along = torch.stack([g @ way[t] for g, t in zip(gradients, leaves, strict=True)]).sum()
    bent = torch.autograd.grad(along, [*leaves.values()])
    for table, gradient, curved in zip(leaves, gradients, bent, strict=True):
        torch.testing.assert_close(f_one[table].gradient, gradient.detach(), atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(f_one[table].curvature(way[table]), curved, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("norm", "weighting"), NORMS)
@pytest.mark.parametrize(("name", "setting"), [("complex", "reciprocal"), ("cp", "standard")])
def test_what_is_due_to_a_fact_is_missing_without_it(
    name: str, setting: str, norm: str, weighting: str
) -> None:
    rows, facts, entity, _ = case(made(name, setting, norm=norm, weighting=weighting), new=False)
    for objective in rows.objectives(facts, entity).values():
        u = some_rows(["it"], objective.width, seed=4)["it"]
        due, whole = objective.by_fact(u), objective.at(u).gradient
        for number in range(len(facts)):
            weights = torch.ones(len(facts)).double()
            weights[number] = 0
            rest = objective.weighted(weights).at(u).gradient
            torch.testing.assert_close(whole - due[number], rest, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_minimum_is_that_of_a_plain_optimizer(name: str, setting: str, new: bool) -> None:
    rows, facts, entity, whole = case(made(name, setting), new=new)
    solved = rows.solve(facts, entity)
    assert solved.converged
    leaves = {
        table: torch.full_like(row, 0.1).requires_grad_() for table, row in solved.rows.items()
    }
    plain = torch.optim.LBFGS(
        [*leaves.values()], max_iter=500, tolerance_grad=1e-10, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        plain.zero_grad()
        value = whole(leaves)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    plain.step(closure)  # type: ignore[no-untyped-call]
    for table, row in solved.rows.items():
        torch.testing.assert_close(row, leaves[table].detach(), atol=2e-4, rtol=2e-4)
    assert float(whole(solved.rows)) <= float(whole(leaves).detach()) + 1e-8


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", MODEL_NAMES)
def test_no_other_row_is_better(name: str, setting: str) -> None:
    rows, facts, entity, whole = case(made(name, setting), new=False)
    solved = rows.solve(facts, entity)
    least = float(whole(solved.rows))
    trained = {table: rows.model.tables[table][ENTITY] for table in rows.tables}
    assert least < float(whole(trained))
    for seed in range(5):
        moved = {t: u + 0.1 * some_rows([t], len(u), seed=seed)[t] for t, u in solved.rows.items()}
        assert least < float(whole(moved))


def test_a_row_that_no_fact_reaches_is_zero() -> None:
    rows = made("cp", "standard")
    count = len(rows.graph.entities)
    solved = rows.solve(np.array([[count, 0, 2], [count, 1, 3]]))
    assert bool(solved.rows["subject"].any())
    assert not bool(solved.rows["object"].any())


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_the_gradient_at_zero_is_finite(name: str) -> None:
    rows, facts, entity, _ = case(made(name), new=True)
    for objective in rows.objectives(facts, entity).values():
        zero = torch.zeros(objective.width, dtype=torch.float64)
        here = objective.at(zero)
        assert bool(here.gradient.isfinite().all())
        assert bool(here.gradient.any())
        assert bool(here.curvature(here.gradient).isfinite().all())
        assert bool(here.curvature(zero).eq(0).all())


@pytest.mark.parametrize("setting", SETTINGS)
def test_blocks_give_what_one_block_gives(setting: str) -> None:
    whole = made("complex", setting)
    rows, facts, entity, _ = case(whole, new=False)
    by_one = replace(whole, budget=1)
    u = some_rows(["entity"], 6, seed=1)["entity"]
    one, many = (r.objectives(facts, entity)["entity"].at(u) for r in (rows, by_one))
    assert one.value == pytest.approx(many.value, rel=1e-12)
    torch.testing.assert_close(one.gradient, many.gradient)
    torch.testing.assert_close(one.curvature(u), many.curvature(u))


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_sample_of_negatives_stands_for_all(setting: str) -> None:
    graph = small_graph(entities=30, facts=400)
    everything = made("complex", setting, graph=graph)
    sampled = replace(everything, negatives=60)
    facts = facts_of(graph, ENTITY)
    u = 0.3 * some_rows(["entity"], 6, seed=1)["entity"]
    exact, found = (r.objectives(facts, ENTITY)["entity"].at(u) for r in (everything, sampled))
    none = replace(everything, negatives=0).objectives(facts, ENTITY)["entity"].at(u)
    assert abs(found.value - exact.value) < 0.3 * abs(exact.value - none.value)
    again = replace(everything, negatives=60).objectives(facts, ENTITY)["entity"].at(u)
    assert again.value == found.value
    assert again.gradient.equal(found.gradient)


def test_without_a_norm_there_is_no_minimum_but_an_end() -> None:
    rows = made("cp", norm="none", negatives=0)
    count, farthest = len(rows.graph.entities), rows.model.table("object").norm(dim=1).argmax()
    solved = rows.solve(np.array([[count, 0, int(farthest)]]))
    assert solved.converged
    assert all(bool(row.isfinite().all()) for row in solved.rows.values())


def test_newton_ends_at_once_on_a_quadratic_function() -> None:
    generator = torch.Generator().manual_seed(2)
    root = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    hessian, center = root @ root.T + torch.eye(5), torch.arange(5.0).double()

    def function(x: Tensor) -> Local:
        image = hessian @ (x - center)
        return Local(float((x - center) @ image / 2), image, lambda v: hessian @ v)

    zero = torch.zeros(5).double()
    found = minimize(function, zero, origin=function(zero), tolerance=1e-9)
    torch.testing.assert_close(found.point, center)
    assert found.converged
    assert found.steps <= 12
    right = torch.ones(5).double()
    torch.testing.assert_close(
        hessian @ solve(lambda v: hessian @ v, right, exactness=1e-12), right
    )


def test_newton_halves_steps_that_go_too_far() -> None:
    """sqrt(1 + (x - 3)^2): from zero, full steps go ever farther away from the minimum."""

    def function(x: Tensor) -> Local:
        root = (1 + (x - 3) @ (x - 3)).sqrt()
        return Local(float(root), (x - 3) / root, lambda v: v / root**3)

    zero = torch.zeros(1).double()
    found = minimize(function, zero, origin=function(zero))
    assert found.converged
    assert float(found.point) == pytest.approx(3.0, abs=1e-4)


def test_newton_is_not_stopped_by_the_rounding_of_values() -> None:
    """Values known to 1e-7 of what they are at zero say nothing about the last steps."""

    def function(x: Tensor) -> Local:
        noise = 1e-5 * float(torch.sin(1e9 * x.sum()))
        value = 100 + float((x - 3).pow(4).sum() + (x - 3).pow(2).sum()) - 119 + noise
        slope, bend = 4 * (x - 3).pow(3) + 2 * (x - 3), 12 * (x - 3).pow(2) + 2
        return Local(value, slope, lambda v: bend * v)

    zero = torch.zeros(1).double()
    origin = function(zero)._replace(value=100.0)
    found = minimize(function, zero, origin=origin, tolerance=1e-10)
    assert found.converged
    assert float(found.point) == pytest.approx(3.0, abs=1e-8)
