"""What is ahead of a wish: experiments that have no record yet, and how long they take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import torch

from trifact.graph.graph import Graph
from trifact.paper.recipes import Recipe
from trifact.paper.reproduction import Workshop, finished, run_folder
from trifact.run.folder import HISTORY
from trifact.run.history import read
from trifact.run.machine import flop_of_products, peak_flops
from trifact.run.options import TrainConfig
from trifact.run.preparation import type_of_products, width_of, with_precision

_peak_flops = cache(peak_flops)


def undone(recipe: Recipe, seeds: int, shop: Workshop) -> Iterator[Recipe]:
    """What is without a record: the recipe, and what it chooses with other seeds."""
    record, settled = finished(recipe, shop), recipe
    if record is None:
        yield recipe
    if recipe.choice:  # before it is made, any value will do: all cost the same
        settled = recipe.settled(record["choice"]["chosen"] if record else recipe.choice.values[0])
    for seed in range(1, seeds):
        other = settled.sown(seed)
        if record is None or finished(other, shop) is None:
            yield other


def epochs_left(recipe: Recipe, shop: Workshop) -> int:
    """The most epochs that are to be trained for its record; patience may end it before."""
    choice, epochs = recipe.choice, recipe.train.epochs
    if choice:
        epochs += (len(choice.values) - 1) * choice.epochs
    folders = [run_folder(recipe, shop, value) for value in (choice.values if choice else [None])]
    return max(0, epochs - sum(len(read(folder / HISTORY)) for folder in folders))


def seconds_an_epoch(config: TrainConfig, graph: Graph) -> float:
    """How long the matrix products of an epoch take at this machine's peak."""
    config, size = with_precision(config, graph), (len(graph.entities), width_of(config))
    peak = _peak_flops(type_of_products(config), torch.device(config.device), *size)
    queries = int(graph.queries("train").chunks(config.cap).sum())
    return flop_of_products(queries, *size) / peak
