"""What is searched: settings of training, some of them with several values or a range.

A space is a file of settings in which a list means "one of these" and {low, high, log} "between":

>>> space = Space.from_values({"model": "cp", "reg": [0.01, 0.1], "lr": {"low": 0.01, "high": 0.5}})
>>> space.fixed, space.searched["lr"]
({'model': 'cp'}, Range(low=0.01, high=0.5, log=False))
>>> space.fixing({"lr": 0.1}).points()
[{'reg': 0.01}, {'reg': 0.1}]
"""

from __future__ import annotations

import itertools
import os
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from trifact.config import doc, line_of, read_toml
from trifact.errors import ConfigError, InputError
from trifact.run.options import TrainConfig
from trifact.trials.options import SearchConfig
from trifact.wording import setting

SHIPPED = Path(__file__).with_name("spaces")
SEARCH = "search"  # the table of a file that holds settings of the search itself


@dataclass(frozen=True)
class Range:
    """All numbers from low to high; evenly, or evenly in their logarithm."""

    low: float
    high: float
    log: bool = False


Choice = tuple[Any, ...] | Range


@dataclass(frozen=True)
class Space:
    """Settings that are fixed, and those that are searched with what they may be."""

    fixed: dict[str, Any] = field(default_factory=dict)
    searched: dict[str, Choice] = field(default_factory=dict)
    name: str = "space"

    @classmethod
    def from_values(cls, values: dict[str, Any], name: str = "space") -> Space:
        """From plain values, as a TOML file has them; everything is checked."""
        fixed, searched = dict[str, Any](), dict[str, Choice]()
        for key, value in values.items():
            choice = _choice(key, value)
            if isinstance(choice, Range) or len(choice) > 1:
                searched[key] = choice
            else:
                fixed[key] = choice[0]
        return cls(fixed, searched, name)

    def values(self) -> dict[str, Any]:
        """Plain values that `from_values` reads back."""
        choices = {
            key: asdict(choice) if isinstance(choice, Range) else list(choice)
            for key, choice in self.searched.items()
        }
        return {**self.fixed, **choices}

    def fixing(self, settings: dict[str, Any]) -> Space:
        """The same space with some settings fixed, whatever they were."""
        left = {key: choice for key, choice in self.searched.items() if key not in settings}
        checked = {key: _fitted(key, value) for key, value in settings.items()}
        return replace(self, fixed={**self.fixed, **checked}, searched=left)

    def config(self, point: dict[str, Any]) -> TrainConfig:
        """The settings of training at one point of the space; those without effect there rest."""
        return TrainConfig.from_values(self._effective(point))

    def _effective(self, point: dict[str, Any]) -> dict[str, Any]:
        return TrainConfig.effective({**self.fixed, **point})

    def points(self) -> list[dict[str, Any]]:
        """All points of a grid, the last setting changing fastest; of those alike, the first."""
        for key, choice in self.searched.items():
            if isinstance(choice, Range):
                way = setting("sampler", "tpe")
                raise ConfigError(f"{key} is a range; a grid needs a list (or say {way})")
        lists = typing.cast("list[tuple[Any, ...]]", list(self.searched.values()))
        found = dict[tuple[Any, ...], dict[str, Any]]()
        for row in itertools.product(*lists):
            point = dict(zip(self.searched, row, strict=True))
            found.setdefault(tuple(self._effective(point).items()), point)
        return list(found.values())

    @property
    def is_grid(self) -> bool:
        """Whether everything that is searched is a list."""
        return not any(isinstance(choice, Range) for choice in self.searched.values())

    def refuse_idle(self) -> None:
        """Refuse a setting that has no effect at any point, by what is fixed."""
        for key in (*self.fixed, *self.searched):
            for value in self.possible(key):
                idle = TrainConfig.idle({**self.fixed, key: value})
                if key in idle:
                    raise ConfigError(idle[key])

    def check(self) -> None:
        """Whether there is something to search, and something to judge it by."""
        self.refuse_idle()
        if not self.searched:
            raise ConfigError(
                f"{self.name}: nothing is searched; give a setting several values, such as reg = "
                "[0.01, 0.1], or a range, such as lr = {low = 0.01, high = 0.5, log = true}"
            )
        for key in ("epochs", "validate_every"):
            if 0 in self.possible(key):
                raise ConfigError(
                    f"{self.name}: {key} may be 0, but trials are judged by validation MRR"
                )

    def possible(self, key: str) -> tuple[Any, ...]:
        choice = self.searched.get(key)
        if isinstance(choice, Range):
            return (choice.low, choice.high)
        return choice or (self.fixed.get(key, getattr(TrainConfig(), key)),)

    def highest(self, key: str) -> Any:  # noqa: ANN401 - the field's annotation says the type
        """The largest value that a setting may have; None where it is left to the rule."""
        return max((v for v in self.possible(key) if v is not None), default=None)


def read_space(
    source: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[Space, dict[str, Any]]:
    """The space of a file, of a shipped name or of plain values as a file has them.

    With it come its settings of the search itself.
    """
    if isinstance(source, Mapping):
        return _parts(dict(source), "space")
    path = _find(os.fspath(source))
    values = read_toml(path)
    try:
        return _parts(values, path.stem)
    except ConfigError as error:
        raise InputError(str(error), path=path, line=line_of(path, str(error))) from None


def _parts(values: dict[str, Any], name: str) -> tuple[Space, dict[str, Any]]:
    search = values.pop(SEARCH, {})
    if not isinstance(search, dict):
        raise ConfigError("search must be a table: [search] and settings below it")
    SearchConfig.from_values(search)
    space = Space.from_values(values, name)
    space.refuse_idle()
    return space, search


def shipped() -> list[str]:
    """The names of the spaces that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _find(source: str) -> Path:
    if source in shipped():
        return SHIPPED / f"{source}.toml"
    path = Path(source)
    if not path.exists() and path.suffix != ".toml" and len(path.parts) == 1:
        raise InputError(f"no space is called {source!r}; known: {', '.join(shipped())}, or a file")
    return path


def _choice(key: str, value: object) -> Choice:
    if isinstance(value, dict):
        return _range(key, value)
    values = value if isinstance(value, list | tuple) else [value]
    if not values:
        raise ConfigError(f"{key} has no value; give at least one")
    if None in values and len(values) > 1:
        raise ConfigError(f"{key} has no value among others; say what it would be by rule")
    fitted = tuple(_fitted(key, item) for item in values)
    for number, item in enumerate(fitted):
        if item in fitted[:number]:
            raise ConfigError(f"{key} has the value {item!r} twice; once is enough")
    return fitted


def _range(key: str, value: dict[str, Any]) -> Range:
    if unknown := set(value) - {"low", "high", "log"}:
        raise ConfigError(f"{key}: a range has low, high and log, not {', '.join(sorted(unknown))}")
    if "low" not in value or "high" not in value:
        raise ConfigError(f"{key}: a range needs both low and high")
    if isinstance(getattr(TrainConfig(), key, None), str):
        listed = doc(TrainConfig, key)
        raise ConfigError(f"{key} is no number and has no range; list its values ({listed})")
    low, high, log = (
        _fitted(key, value["low"]),
        _fitted(key, value["high"]),
        value.get("log", False),
    )
    if not low < high:
        raise ConfigError(f"{key}: low must be below high, not {low:g} and {high:g}")
    if not isinstance(log, bool):
        raise ConfigError(f"{key}: log must be true or false, not {log!r}")
    if log and low <= 0:
        raise ConfigError(f"{key}: a logarithmic range begins above 0, not at {low:g}")
    return Range(low, high, log)


def _fitted(key: str, value: object) -> Any:  # noqa: ANN401
    """The value as the setting's type; one that training would refuse is refused here."""
    return getattr(TrainConfig.from_values({key: value}), key)
