"""A small graph that is known by name, and recipes for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trifact.paper.recipes import Choice, Recipe
from trifact.paper.reproduction import Workshop
from trifact.run.options import TrainConfig

TRAIN = TrainConfig(
    rank=4, batch=30, epochs=5, validate_every=1, patience=9, precision="float32", lr=0.2
)
RECIPE = Recipe(
    "Toy", "complex-n3-reciprocal", "small", TRAIN, Choice(values=(0.01, 0.1), epochs=2)
)
STEPS = 5  # of an epoch: about 140 queries, 30 a step


@pytest.fixture(scope="module")
def library_of_graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that is known by name: numbers, their successors and their parity."""
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 60:02}") for i in range(60)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(60)]
    order = np.random.default_rng(0).permutation(len(facts))
    lines = ["\t".join(facts[i]) + "\n" for i in order]
    data = tmp_path_factory.mktemp("data")
    (data / "Toy").mkdir()
    for split, part in (("train", lines[24:]), ("valid", lines[:12]), ("test", lines[12:24])):
        (data / "Toy" / f"{split}.txt").write_text("".join(part))
    return data


@pytest.fixture(scope="module")
def known_by_name(
    library_of_graphs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Benchmarks by name are those of `library_of_graphs`, in a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIFACT_DATA", str(library_of_graphs))
        patch.setenv("TRIFACT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "runs", tmp_path / "results")


def library(*rows: str) -> dict[str, Recipe]:
    """Recipes of some rows on Toy, each as it is called."""
    found = dict[str, Recipe]()
    for row in rows:
        model, norm, setting = row.split("-")
        train = TRAIN.replace(model=model, regularizer=norm, setting=setting)
        recipe = replace(RECIPE, row=row, train=train)
        found[recipe.name] = recipe
    return found
