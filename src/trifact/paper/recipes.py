"""Recipes: what was, and is to be, trained to reproduce one number of the paper.

A recipe is a TOML file: a graph, a row of a table, a size; `[train]` has the settings of training
and `[choose]`, where it is there, one setting that validation chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trifact.config import Config, option, read_toml
from trifact.errors import ConfigError, InputError
from trifact.run.options import TrainConfig

FOLDER = Path(__file__).with_name("recipes")
PARTS = ("dataset", "row", "size", "train", "choose")
CHOSEN = ("reg", "lr", "init_scale", "relations")


@dataclass(frozen=True)
class Choice(Config):
    """A setting that is chosen: each value is trained a little, and the best one to the end."""

    setting: str = option("reg", "which setting", choices=CHOSEN)
    values: tuple[float, ...] = option((), "what to choose from")
    epochs: int = option(10, "epochs of training that each value gets", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.values)) < 2 or len(set(self.values)) < len(self.values):
            raise ConfigError("values must be two or more different numbers")


@dataclass(frozen=True)
class Recipe:
    """One experiment: a graph, a row of a table, a size, and how it is trained."""

    dataset: str
    row: str
    size: str
    train: TrainConfig
    choice: Choice | None = None

    def __post_init__(self) -> None:
        train, choice = self.train, self.choice
        chosen = choice.setting if choice else ""
        for name in ("rank", "batch", "reg"):
            if getattr(train, name) is None and name != chosen:
                raise ConfigError(f"a recipe must say {name}")
        if choice and not 0 < train.validate_every <= choice.epochs <= train.epochs:
            raise ConfigError(
                f"the choice needs a validation within its {choice.epochs} epochs, "
                f"and no more epochs than the {train.epochs} of training"
            )
        for value in choice.values if choice else ():
            self.settled(value)  # refuses one that cannot be trained

    @property
    def name(self) -> str:
        """What its record is called, and its run."""
        seed = f"-seed{self.train.seed}" if self.train.seed else ""
        return f"{self.dataset}-{self.row}-{self.size}{seed}"

    def trial(self, value: float) -> TrainConfig:
        """The settings of one value's trial."""
        assert self.choice is not None
        return self.settled(value).train.replace(epochs=self.choice.epochs)

    def settled(self, value: float) -> Recipe:
        """The recipe with its choice made."""
        assert self.choice is not None
        train = self.train.replace(**{self.choice.setting: value})
        return replace(self, train=train, choice=None)

    @property
    def example(self) -> Recipe:
        """Settled, with any of its values: what it costs does not depend on them."""
        return self.settled(self.choice.values[0]) if self.choice else self

    def sown(self, seeds: int, chosen: float | None = None) -> list[Recipe]:
        """The same with other seeds, from 1 on; of a choice, with the value that was chosen."""
        settled = self if chosen is None else self.settled(chosen)
        assert settled.choice is None
        return [replace(settled, train=settled.train.replace(seed=s)) for s in range(1, seeds)]


def read_recipe(path: Path) -> Recipe:
    """The recipe of a file; what is wrong in it is said with its place."""
    values = read_toml(path)
    try:
        return recipe_of(values)
    except ConfigError as error:
        raise InputError(str(error), path=path) from None


def recipe_of(values: dict[str, Any]) -> Recipe:
    """A recipe from plain values."""
    for name in values:
        if name not in PARTS:
            raise ConfigError(f"there is no {name!r} in a recipe; it has {', '.join(PARTS)}")
    for name in PARTS[:3]:
        if not isinstance(values.get(name), str) or not values[name]:
            raise ConfigError(f"a recipe must say its {name}, in words")
    for name in PARTS[3:]:
        if not isinstance(values.get(name, {}), dict):
            raise ConfigError(f"[{name}] must be a table")
    choice = Choice.from_values(values["choose"]) if "choose" in values else None
    train = TrainConfig.from_values(values.get("train", {}))
    dataset, row, size = (values[name] for name in PARTS[:3])
    return Recipe(dataset, row, size, train, choice)


def read_recipes(folder: Path = FOLDER) -> dict[str, Recipe]:
    """All recipes of a folder by name; a file must be called after its recipe."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InputError("there is no recipe (*.toml) in it", path=folder)
    found = {path.stem: read_recipe(path) for path in paths}
    for name, recipe in found.items():
        if recipe.name != name:
            raise InputError(f"its recipe is called {recipe.name}", path=folder / f"{name}.toml")
    return found
