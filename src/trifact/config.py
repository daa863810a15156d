"""Frozen settings: one doc line a field, checked when made, TOML in and out.

>>> @dataclass(frozen=True)
... class Bread(Config):
...     flour: str = option("rye", "what it is made of", choices=("rye", "wheat"))
...     minutes: int = option(45, "time in the oven", low=1)
>>> Bread(minutes=0)
Traceback (most recent call last):
trifact.errors.ConfigError: minutes must be at least 1, not 0
>>> print(Bread(minutes=50).to_toml(), end="")
# what it is made of
flour = "rye"
# time in the oven
minutes = 50
>>> Bread.from_toml('flour = "wheat"').flour
'wheat'
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
import re
import tomllib
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from trifact.errors import ConfigError, InputError

KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")


@dataclass(frozen=True)
class Idle:
    """Where a setting has no effect: another one has one of some values."""

    where: str
    values: tuple[object, ...]
    rest: object = None
    """What the setting is then, if not its default."""


def option(
    default: Any,  # noqa: ANN401 - the field's annotation says the type
    doc: str,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
    idle: Idle | None = None,
) -> Any:  # noqa: ANN401
    """A field of a Config: its default, its one doc line, and what its value may be."""
    limits = {"doc": doc, "choices": choices, "low": low, "high": high, "idle": idle}
    return dataclasses.field(default=default, metadata=limits)


@dataclass(frozen=True)
class Config:
    """Base of all settings; a subclass only lists its fields with `option`."""

    title: ClassVar[str | None] = None
    """Under which its options stand together in a help text, apart from the others."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = _fitted(field.name, getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)
            _check_limits(field.name, value, field.metadata)
        for problem in self.idle(vars(self)).values():
            raise ConfigError(problem)

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Self:
        """Made from plain values; a name that does not exist is refused with the nearest one."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise ConfigError(f"there is no setting {name!r}; {hint}")
        return cls(**values)

    @classmethod
    def idle(cls, values: Mapping[str, Any]) -> dict[str, str]:
        """Those of some values that have no effect beside the others, and why; no defaults."""
        found = dict[str, str]()
        for field in dataclasses.fields(cls):
            idle, value = field.metadata["idle"], values.get(field.name)
            if idle is None or value in (None, field.default, idle.rest):
                continue
            other = values.get(idle.where, getattr(cls, idle.where))
            if other in idle.values:
                found[field.name] = (
                    f"{field.name} has no effect with {idle.where} {other}; leave it out"
                )
        return found

    @classmethod
    def effective(cls, values: Mapping[str, Any], *, but: Collection[str] = ()) -> dict[str, Any]:
        """The same with those at rest that have no effect; those of `but` stay as they are."""
        resting = cls.idle(values).keys() - set(but)
        rests = {f.name: _rest(f) for f in dataclasses.fields(cls) if f.name in resting}
        return {**values, **rests}

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Made from the text of a TOML file; what it leaves out keeps its default."""
        return cls.from_values(parse_toml(text))

    def to_toml(self) -> str:
        """As TOML that `from_toml` reads back; a field that is None is left out."""
        lines = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                lines += [f"# {field.metadata['doc']}", f"{field.name} = {_toml(value)}"]
        return "\n".join(lines) + "\n"

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401
        """The same settings but for `changes`; those that lose their effect by them rest."""
        return type(self).from_values(self.effective({**vars(self), **changes}, but=changes))


def parse_toml(text: str) -> dict[str, Any]:
    """The values of a text; one that is no TOML is refused."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"this is not TOML: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The values of a TOML file; one that is none is refused by its name."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    except ValueError as error:
        raise InputError(f"this is not TOML ({error})", path=path) from None


def line_of(path: Path, problem: str, *, but: Collection[str] = ()) -> int | None:
    """The line of a TOML file that sets what a problem names first; some settings aside."""
    places = dict[int, int]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        key = KEY.match(line)
        named = key and key[1] not in but and re.search(rf"\b{re.escape(key[1])}\b", problem)
        if named:
            places[number] = named.start()
    return min(places, key=lambda number: places[number], default=None)


def doc(config: type[Config], name: str) -> str:
    """The doc line of one field, with its default: what help texts show."""
    field = next(f for f in dataclasses.fields(config) if f.name == name)
    choices = field.metadata["choices"]
    line: str = field.metadata["doc"]
    return f"{line} ({' | '.join(choices)})" if choices else line


def _fitted(name: str, value: object, hint: Any) -> object:  # noqa: ANN401
    """The value as the field's type, where that loses nothing (int to float, list to tuple)."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in kinds:
        return None
    kind = next(kind for kind in kinds if kind is not type(None))
    if getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined] # one of numpy's
    if kind is str and isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if kind is float and type(value) is int:
        return float(value)
    if typing.get_origin(kind) is tuple:
        if isinstance(value, list | tuple):
            return tuple(_fitted(name, item, typing.get_args(kind)[0]) for item in value)
    elif type(value) is kind:
        return value
    wanted = getattr(kind, "__name__", str(kind))
    raise ConfigError(f"{name} must be {wanted}, not {value!r}")


def _rest(field: dataclasses.Field[Any]) -> object:
    rest = field.metadata["idle"].rest
    return field.default if rest is None else rest


def _check_limits(name: str, value: Any, limits: typing.Mapping[str, Any]) -> None:  # noqa: ANN401
    choices, low, high = limits["choices"], limits["low"], limits["high"]
    if choices and value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be a finite number, not {value}")
    if low is not None and value is not None and value < low:
        raise ConfigError(f"{name} must be at least {low:.15g}, not {value:.15g}")
    if high is not None and value is not None and value > high:
        raise ConfigError(f"{name} must be at most {high:.15g}, not {value:.15g}")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL and for pairs of surrogates
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert isinstance(value, tuple)
    return "[" + ", ".join(_toml(item) for item in value) + "]"
