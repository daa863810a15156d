"""From settings to what training is made of: device, precision, model, norm and objective."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from trifact.errors import ConfigError, TrainingError
from trifact.graph.graph import Graph
from trifact.graph.queries import Queries
from trifact.run import machine
from trifact.run.options import TrainConfig
from trifact.tensor.descent import Objective
from trifact.tensor.dura import Dura
from trifact.tensor.models import MODELS, Model
from trifact.tensor.regularizers import Regularizer, frequencies, regularizer
from trifact.tensor.workspace import Workspace
from trifact.wording import setting


def norm_of(config: TrainConfig) -> Regularizer | Dura:
    """The regularizer, with its coefficients."""
    assert config.reg is not None
    if config.regularizer == "dura":
        return Dura(config.reg)
    return regularizer(
        config.regularizer,
        entity=config.reg,
        predicate=config.reg_predicates,
        weighting=config.weighting,  # type: ignore[arg-type]
    )


def check_graph(graph: Graph, config: TrainConfig) -> None:
    """Refuse a graph that these settings cannot be trained on, or on which one has no effect."""
    if not len(graph.train):
        raise TrainingError(f"{graph.name}: there is no fact to train on")
    if config.schedule == "plateau" and not len(graph.valid):
        raise TrainingError(f"{graph.name}: it has no validation facts, by which plateau goes")
    if config.relations and config.setting == "standard" and len(graph.predicates) == 1:
        raise TrainingError(
            f"{graph.name}: it has one predicate, so there is none to predict; leave relations out"
        )


def check_refit(config: TrainConfig) -> None:
    """Whether a run with these settings can be trained once more without validation."""
    if config.schedule == "plateau":
        raise ConfigError(
            "the schedule plateau goes by validation, which a refit has not; leave one of them out"
        )


def check_device(name: str) -> None:
    """Refuse a device that torch does not find."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if not there[name]:
        raise ConfigError(f"torch finds no {name} device here; say {setting('device', 'cpu')}")


@contextmanager
def computing(config: TrainConfig) -> Iterator[None]:
    """How the CPU computes while this lasts: with the threads of the settings, or those it has.

    Numbers next to zero are zero: threads take that over from the one that starts them, so it is
    said before the first product.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(config.threads or before)
    try:
        with machine.denormals_flushed():
            yield
    finally:
        torch.set_num_threads(before)


def with_precision(config: TrainConfig, graph: Graph) -> TrainConfig:
    """The settings with the precision that pays here; a run keeps it wherever it goes on."""
    if config.precision != "auto":
        return config
    device, entities = torch.device(config.device), len(graph.entities)
    return config.replace(precision=machine.faster_precision(device, entities, width_of(config)))


def type_of_products(config: TrainConfig) -> torch.dtype:
    """What the large matrix products are made in."""
    return torch.bfloat16 if config.precision == "bfloat16" else torch.float32


def width_of(config: TrainConfig) -> int:
    """How many reals a row of a factor table has."""
    assert config.rank is not None
    return config.rank * MODELS[config.model].field.parts


def new_model(graph: Graph, config: TrainConfig) -> Model:
    """A model of the size of a graph, with random factors."""
    assert config.rank is not None
    sides = 2 if config.setting == "reciprocal" else 1
    model = MODELS[config.model](
        len(graph.entities),
        sides * len(graph.predicates),
        rank=config.rank,
        scale=config.init_scale,
        seed=config.seed,
    )
    model.tables = {name: table.to(config.device) for name, table in model.tables.items()}
    return model


def objective_of(graph: Graph, config: TrainConfig, *, model: Model, queries: Queries) -> Objective:
    """What a model is to minimize over the train facts of a graph."""
    assert config.batch is not None
    reciprocal = config.setting == "reciprocal"
    examples = graph.reciprocal("train") if reciprocal else graph.train
    return Objective(
        model,
        norm_of(config),
        answers=queries.expected_answers(config.batch, config.cap),
        reciprocal=reciprocal,
        relations=config.relations,
        frequencies=frequencies(
            torch.from_numpy(examples.copy()),
            entities=model.entities,
            predicates=model.predicates,
        ),
        # half for logits; the rest is for the rows of a batch, which no budget bounds
        work=Workspace(budget=config.budget_mb * 2**20 // 2, dtype=type_of_products(config)),
    )
