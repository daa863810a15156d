"""What is ahead of a wish: experiments that have no record yet, and how long they take."""

from __future__ import annotations

from operator import mul

import torch

from trifact.graph.graph import Graph
from trifact.paper.recipes import Recipe
from trifact.paper.reproduction import Workshop, finished, run_folders
from trifact.run.folder import HISTORY
from trifact.run.history import read
from trifact.run.machine import flop_of_products, probed_flops
from trifact.run.options import TrainConfig
from trifact.run.preparation import type_of_products, width_of, with_precision


def undone(recipe: Recipe, seeds: int, shop: Workshop) -> list[Recipe]:
    """What is without a record: the recipe, and what it chooses with other seeds."""
    record = finished(recipe, shop)
    if record is None:
        return [recipe, *recipe.example.sown(seeds)]
    others = recipe.sown(seeds, record["choice"].get("chosen"))
    return [other for other in others if finished(other, shop) is None]


def ahead(recipes: list[Recipe], graph: Graph, shop: Workshop) -> tuple[int, float]:
    """The most epochs that recipes on a graph have left, and the seconds of their products."""
    queries = graph.queries("train")
    chunks = {cap: int(queries.chunks(cap).sum()) for cap in {r.train.cap for r in recipes}}
    epochs = [epochs_left(recipe, shop) for recipe in recipes]
    seconds = [seconds_an_epoch(r.train, graph, chunks[r.train.cap]) for r in recipes]
    return sum(epochs), sum(map(mul, epochs, seconds))


def epochs_left(recipe: Recipe, shop: Workshop) -> int:
    """The most epochs that are to be trained for its record; patience may end it before."""
    epochs = recipe.train.epochs
    if recipe.choice:
        epochs += (len(recipe.choice.values) - 1) * recipe.choice.epochs
    done = sum(len(read(folder / HISTORY)) for folder in run_folders(recipe, shop))
    return max(0, epochs - done)


def seconds_an_epoch(config: TrainConfig, graph: Graph, queries: int) -> float:
    """How long the matrix products of an epoch of some queries take at this machine's peak."""
    config, size = with_precision(config, graph), (len(graph.entities), width_of(config))
    peak = probed_flops(type_of_products(config), torch.device(config.device), *size)
    return flop_of_products(queries, *size) / peak
