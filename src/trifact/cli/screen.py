"""What people see while they wait, and afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from trifact import progress
from trifact.errors import OutputError
from trifact.graph.sources import one_line

WIDTH = 80  # that all tables fit
LEAST = 8  # of it, for a name


class Screen(Console):
    """Text is text: brackets are no style, colons no emoji, and no name steers the terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - those of rich
        """Text as rich has it."""
        return super().render_str(_harmless(text), **options)

    def on_broken_pipe(self) -> None:
        """Whoever read us has gone; the door knows what to do."""
        raise BrokenPipeError


def screen() -> Console:
    """Where results go."""
    console = Screen()
    console.width = max(console.width, WIDTH)  # a line that wraps, rather than a number that is cut
    return console


def print_json(found: object) -> None:
    """Plain values, for programs."""
    put(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def put(text: str) -> None:
    """Text for programs, to the letter; nowhere, if stdout is closed."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise BrokenPipeError from None  # one with a number typer would take for its own


def heading(title: str, rest: str = "") -> Text:
    """A title, and what follows it on its line."""
    return Text.assemble((_harmless(title), "bold"), _harmless(rest))


def _harmless(text: str) -> str:
    return "\n".join(map(one_line, text.split("\n")))


_watched = list[Screen]()
"""The screen with a bar on it, if there is one: what is said meanwhile goes above the bar."""


def say(*notes: str) -> None:
    """Tell what was done, apart from the results."""
    console = _watched[-1] if _watched else Screen(stderr=True)
    for note in notes:
        console.print(note, style="dim", soft_wrap=True)


@contextmanager
def keeping(path: Path) -> Iterator[None]:
    """Say where something is kept; or that it cannot be, which is no reason not to show it."""
    try:
        yield
        say(f"kept in {path}")
    except OutputError as error:
        say(f"not kept: {error}")


@contextmanager
def watching() -> Iterator[progress.Progress]:
    """A bar for long work, on a terminal; nothing where the output is piped."""
    console = Screen(stderr=True)
    what = TextColumn("{task.description}", markup=False)
    columns = SpinnerColumn(), what, BarColumn(), TimeRemainingColumn()
    if not console.is_terminal:
        yield progress.silent
        return
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.tasks[0].total = total or None  # to `update` None is no change
            bar.update(task, description=one_line(what), completed=done)

        _watched.append(console)
        try:
            yield show
        finally:
            _watched.pop()


class Grid:
    """A table that fits the screen: where it is narrow names give way, and never numbers."""

    def __init__(self, columns: Sequence[str], *, title: str, text: int) -> None:
        self.columns, self.title, self.text = columns, title, text
        self.rows = list[tuple[list[str], str | None]]()
        self.justify: list[Literal["left", "right"]] = [
            "left" if number < text else "right" for number in range(len(columns))
        ]

    def add_row(self, *cells: str, style: str | None = None) -> None:
        """One more row; cells that are not given are empty."""
        self.rows.append(([one_line(cell) for cell in cells], style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        title = _harmless(self.title) or None
        grid = Table(title=title, title_justify="left", title_style="bold", box=None)
        for column, justify in zip(self.columns, self.justify, strict=True):
            grid.add_column(column, justify=justify, no_wrap=True)
        room = self._room(options.max_width)
        for cells, style in self.rows:
            names = (short(cell, room) for cell in cells[: self.text])
            grid.add_row(*names, *cells[self.text :], style=style)
        yield grid

    def _room(self, width: int) -> int:
        """How wide a name may be, so that all fit beside the numbers; two blanks each."""
        widths = [cell_len(column) for column in self.columns]
        for cells, _ in self.rows:
            for place, cell in enumerate(cells):
                widths[place] = max(widths[place], cell_len(cell))
        names, room = widths[: self.text], width - 2 * len(widths) - sum(widths[self.text :])
        widest = max(names, default=LEAST)
        while widest > LEAST and sum(min(name, widest) for name in names) > room:
            widest -= 1
        return widest


def table(*columns: str, title: str = "", text: int = 1) -> Grid:
    """A table in the house's style; the first `text` columns are names, the others numbers."""
    return Grid(columns, title=title, text=text)


def short(name: str, width: int = 30) -> str:
    """A name that fits: its beginning and its end, which say most."""
    name = one_line(name)
    if cell_len(name) <= width:
        return name
    kept = width - 1
    first, last = set_cell_size(name, kept // 3), set_cell_size(name[::-1], kept - kept // 3)
    return f"{first}…{last[::-1]}"


def count(number: int, thing: str, things: str = "") -> str:
    """A number and what it counts."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def bars(counts: list[tuple[str, int]], *, width: int = 40) -> Table:
    """A histogram in characters: a label, a bar, a count."""
    grid = Table(box=None, show_header=False, padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column()
    grid.add_column(justify="right")
    most = max((count for _, count in counts), default=1) or 1
    for label, count in counts:
        eighths = round(8 * width * count / most)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        grid.add_row(label, bar or ("▏" if count else ""), f"{count:,}")
    return grid


def share(part: int, whole: int) -> str:
    """A part of a whole in percent; a dash if there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
