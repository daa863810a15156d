"""What people see while they wait, and afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from trifact import progress
from trifact.errors import OutputError


def screen() -> Console:
    """Where results go, to the letter: brackets and colons in names are no style and no emoji."""
    return Console(highlight=False, soft_wrap=False, markup=False, emoji=False)


def heading(title: str, rest: str = "") -> Text:
    """A title, and what follows it on its line."""
    return Text.assemble((title, "bold"), rest)


def say(*notes: str) -> None:
    """Tell what was done, apart from the results."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
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
    console = Console(stderr=True)
    what = TextColumn("{task.description}", markup=False)
    columns = SpinnerColumn(), what, BarColumn(), TimeRemainingColumn()
    if not console.is_terminal:
        yield progress.silent
        return
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield show


def table(*columns: str, title: str = "", text: int = 1) -> Table:
    """A table in the house's style; the first `text` columns are text, the others numbers."""
    grid = Table(title=title or None, title_justify="left", title_style="bold", box=None)
    for number, column in enumerate(columns):
        grid.add_column(column, justify="left" if number < text else "right", no_wrap=True)
    return grid


def short(name: str, width: int = 30) -> str:
    """A name that fits: its beginning and its end, which say most."""
    name = " ".join(name.split())
    kept = width - 1
    return name if len(name) <= width else f"{name[: kept // 3]}…{name[-(kept - kept // 3) :]}"


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
