"""Settings as command line options: made from a Config's fields, so they are written once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import typer

from trifact.config import Config, doc


def takes(config: type[Config]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for every field of `config`.

    The command is called with `settings`: the fields that the user gave, and only those.
    """
    fields = dataclasses.fields(config)
    hints = typing.get_type_hints(config)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> None:  # noqa: ANN401
            given = {f.name: arguments.pop(f.name) for f in fields}
            values = {name: value for name, value in given.items() if value is not None}
            for name, value in values.items():
                if typing.get_origin(hints[name]) is tuple:
                    values[name] = tuple(part.strip() for part in value.split(","))
            command(**arguments, settings=values)

        own = inspect.signature(command, eval_str=True)
        kept = [p for p in own.parameters.values() if p.name != "settings"]
        added = [_parameter(config, field, hints[field.name]) for field in fields]
        wrapper.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in [*kept, *added]}
        return wrapper

    return decorate


def _parameter(config: type[Config], field: Any, hint: Any) -> inspect.Parameter:  # noqa: ANN401
    kind = str if typing.get_origin(hint) is tuple else hint
    shown = "" if field.default in ("", (), None) else f"; default {_shown(field.default)}"
    flag = field.name.replace("_", "-")
    names = [f"--{flag}/--no-{flag}"] if kind is bool else [f"--{flag}"]
    option = typer.Option(*names, help=doc(config, field.name) + shown, show_default=False)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
