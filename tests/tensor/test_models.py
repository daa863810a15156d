"""Tables, roles and scores of the three models."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from trifact.errors import ConfigError
from trifact.tensor.models import MODELS, Model
from trifact.tensor.registry import choose


def test_an_unknown_name_lists_the_known_ones() -> None:
    assert choose(MODELS, "cp", kind="model") is MODELS["cp"]
    with pytest.raises(ConfigError, match="no model 'rescal'; known: cp, distmult, complex"):
        choose(MODELS, "rescal", kind="model")


@pytest.mark.parametrize("name", MODELS)
def test_tables_have_their_names_shapes_type_and_scale(name: str) -> None:
    model = MODELS[name](300, 40, rank=50)
    width = 100 if name == "complex" else 50
    rows = {"cp": {"subject", "predicate", "object"}}.get(name, {"entity", "predicate"})
    assert set(model.tables) == rows
    assert (model.entities, model.predicates, model.rank) == (300, 40, 50)
    for key, table in model.tables.items():
        assert table.shape == (40 if key == "predicate" else 300, width)
        assert table.dtype == torch.float32
        assert table.std().item() == pytest.approx(1e-3, rel=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_decides_the_tables_and_the_global_generator_does_not(name: str) -> None:
    first = MODELS[name](9, 4, rank=3, seed=5)
    torch.rand(1)
    again, other = MODELS[name](9, 4, rank=3, seed=5), MODELS[name](9, 4, rank=3, seed=6)
    for key, table in first.tables.items():
        assert torch.equal(table, again.tables[key])
        assert not torch.equal(table, other.tables[key])


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_fibers_of_the_tensor_on_both_sides(
    name: str, double_model: Callable[..., Model], score: Callable[..., Tensor]
) -> None:
    model = double_model(name)
    x = score(model, model.tables)
    entities, predicates = torch.tensor([3, 3, 8, 0, 22]), torch.tensor([0, 5, 9, 4, 7])
    found = model.scores(entities, predicates)
    for row, (entity, predicate) in enumerate(zip(entities, predicates, strict=True)):
        fiber = x[entity, predicate] if predicate < 5 else x[:, predicate - 5, entity]
        torch.testing.assert_close(found[row], fiber)


@pytest.mark.parametrize("name", MODELS)
def test_with_twice_the_rows_reciprocal_queries_ask_for_objects(
    name: str, double_model: Callable[..., Model], score: Callable[..., Tensor]
) -> None:
    model = double_model(name, predicates=10)
    x = score(model, model.tables)
    torch.testing.assert_close(model.scores(torch.tensor([4]), torch.tensor([8]))[0], x[4, 8])
