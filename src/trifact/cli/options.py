"""Settings as command line options: made from the fields of a Config, so they are written once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from trifact.config import Config, doc
from trifact.errors import ConfigError
from trifact.graph.options import READING, LoadConfig

Command = Callable[..., None]
ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*?))\s*,')  # in quotes, or as it stands


@dataclass(frozen=True)
class Some:
    """Some fields of a config, by name."""

    config: type[Config]
    names: tuple[str, ...]


FACTS = Some(LoadConfig, READING)
"""What every command takes that reads a file of facts beside a run; see cli/facts.py."""


def takes(**configs: type[Config] | Some) -> Callable[[Command], Command]:
    """Give a command an option for every field of some configs.

    The command is called with `name={field: value}` for each, of the fields that the user gave
    and only of those, so that a file of settings can say the others.
    """
    parts = {name: _part(config) for name, config in configs.items()}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> None:  # noqa: ANN401
            typed = [n for part in parts.values() for n in part.names if arguments[n] is not None]
            try:
                given = {name: _given(part, arguments) for name, part in parts.items()}
                command(**arguments, **given)
            except ConfigError as error:
                raise ConfigError(_with_flags(str(error), typed)) from None

        own = inspect.signature(command, eval_str=True)
        kept = [p for p in own.parameters.values() if p.name not in configs]
        fields = [_parameter(part.config, name) for part in parts.values() for name in part.names]
        parameters = [*kept, *fields]
        wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapper

    return decorate


def _with_flags(sentence: str, names: list[str]) -> str:
    """What is wrong with settings, called as they were typed.

    Some names are also words: these are meant where the sentence begins.
    """
    for name in names:
        meant = rf"\b{name}\b" if "_" in name else rf"^{name}\b"
        sentence = re.sub(meant, f"--{name.replace('_', '-')}", sentence)
    return sentence


def _part(config: type[Config] | Some) -> Some:
    """A whole config is all of its fields."""
    if isinstance(config, Some):
        return config
    return Some(config, tuple(field.name for field in dataclasses.fields(config)))


def _given(part: Some, arguments: dict[str, Any]) -> dict[str, Any]:
    """Take a config's options out of the arguments: those that were given, tuples taken apart."""
    values = {name: arguments.pop(name) for name in part.names}
    hints = typing.get_type_hints(part.config)
    return {
        name: _items(name, value, hints[name]) if _is_tuple(hints[name]) else value
        for name, value in values.items()
        if value is not None
    }


def _items(name: str, text: str, hint: object) -> tuple[Any, ...]:
    """The items of a list between commas, each of the type that the field's items have.

    As in CSV: an item that has a comma stands in double quotes, and so does one that begins or
    ends with blanks.
    """
    kind = typing.get_args(hint)[0]
    if not text.strip():
        raise ConfigError(f"{name} is empty; leave it out, or give some")
    try:
        found = (item.groups(default="") for item in ITEM.finditer(f"{text},"))
        return tuple(kind(quoted.replace('""', '"') or plain) for quoted, plain in found)
    except ValueError:
        raise ConfigError(f"{name} must be {kind.__name__} between commas, not {text!r}") from None


def _parameter(config: type[Config], name: str) -> inspect.Parameter:
    hint, default = typing.get_type_hints(config)[name], getattr(config, name)
    kind = str if _is_tuple(hint) else hint
    shown = "" if default is False or default in ("", (), None) else f"; default {_shown(default)}"
    flag = name.replace("_", "-")
    names = [f"--{flag}/--no-{flag}"] if default is True else [f"--{flag}"]
    names += [f"-{flag}"] if len(flag) == 1 else []
    option = typer.Option(
        *names, help=doc(config, name) + shown, show_default=False, rich_help_panel=config.title
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _is_tuple(hint: object) -> bool:
    return typing.get_origin(hint) is tuple


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)
