"""Write docs/cli.md from the commands themselves; a test says whether it is current."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main

from trifact.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
TOP = """# Commands

Made by `make docs` from the commands themselves. Every command also has `--help`.

A name that begins with `-` comes after all options and `--`: `trifact predict RUN -k 3 -- -x p`.

| exit code | |
|---|---|
| 0 | done |
| 1 | no disk, no memory, no download; an output that is there already; a training that diverged |
| 2 | what was given: an option, a file, a name, a run; stderr says what to do, in one sentence |
| 130 | Ctrl-C; also SIGTERM, where it leaves something to go on with: stderr says how |
| 141, 143 | whoever read the output has gone; SIGTERM, where nothing is left |
"""


Command = Any  # of click, which typer has as a dependency or inside it, by version


def commands(command: Command, name: str = "trifact") -> Iterator[tuple[str, Command]]:
    """The tree of commands with their full names, groups before their members."""
    yield name, command
    for word, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{name} {word}")


def option_row(option: Any) -> str:  # noqa: ANN401
    """One row of a table of options: flags, and what they do, with choices and default."""
    flags = ", ".join(f"`{flag}`" for flag in [*option.opts, *option.secondary_opts])
    text, kind, default = option.help or "", option.type_descriptor.annotation, option.default
    if get_origin(kind) is Literal and "(" not in text:
        text += f" ({' · '.join(get_args(kind))})"
    if option.show_default and default and "default" not in text:
        text += f"; default {default}"
    if option.required:
        text += "; required"
    return f"| {flags} | {text.replace('.;', ';').replace('. (', ' (').replace('|', '·')} |"


def section(name: str, command: Command) -> str:
    """The part of the page about one command."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [p.metavar or p.name.upper() for p in arguments]
    words = [w if p.required else f"[{w}]" for w, p in zip(words, arguments, strict=True)]
    lines = [f"## {name}", "", f"`{' '.join([name, *words, '[OPTIONS]'])}`", "", command.help or ""]
    lines += ["", *(f"- `{w}`: {p.help}" for w, p in zip(words, arguments, strict=True))]
    options = [p for p in command.params if p.param_type_name == "option"]
    own = [p for p in options if _group(p) is None]
    if own:
        lines += ["", *table(own)]
    for group in dict.fromkeys(filter(None, map(_group, options))):
        flags = ", ".join(f"`{p.opts[0]}`" for p in options if _group(p) == group)
        lines += ["", f"[{group}](#{group.lower().replace(' ', '-')}): {flags}"]
    return "\n".join(lines)


def _group(option: Any) -> str | None:  # noqa: ANN401
    """What options are called together that many commands share."""
    return getattr(option, "rich_help_panel", None)


def table(options: list[Any]) -> list[str]:
    """Options, a row each."""
    return ["| option | what it does |", "|---|---|", *map(option_row, options)]


def shared(found: list[tuple[str, Command]]) -> str:
    """The options that many commands share, once."""
    groups = dict[str, dict[str, Any]]()
    for option in (p for _, command in found for p in command.params):
        if group := _group(option):
            groups.setdefault(group, {}).setdefault(option.opts[0], option)
    parts = ([f"## {name}", "", *table([*those.values()]), ""] for name, those in groups.items())
    return "\n".join(line for part in parts for line in part)


def page() -> str:
    """The whole page."""
    leaves = [
        (n, c) for n, c in commands(typer.main.get_command(app)) if not hasattr(c, "commands")
    ]
    commands_ = (section(name, command) + "\n" for name, command in leaves)
    return "\n".join([TOP, *commands_, shared(leaves)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
