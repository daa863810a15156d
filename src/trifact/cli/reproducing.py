"""The work behind `trifact reproduce`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from trifact.cli.screen import heading, say, screen, table, watching
from trifact.cli.training import show as show_epoch
from trifact.errors import OutputError, TrainingError
from trifact.paper import archive, claims, printed, tables
from trifact.paper.beyond import beyond
from trifact.paper.plan import Wish
from trifact.paper.recipes import FOLDER, read_recipes
from trifact.paper.reproduction import Workshop
from trifact.paper.session import Session
from trifact.paper.tables import Findings, Sheet
from trifact.run.durations import seconds
from trifact.run.folder import NotSavedError
from trifact.run.training import Interrupted

OTHERS = "Some go by records of table2, table3, wilcoxon, symmetry and figure-batch."
GO_ON = "all is saved; go on with the same command"


@dataclass(frozen=True)
class Request:
    """What the user asked for, as it was typed."""

    what: str
    datasets: str
    rows: str
    sizes: str
    seeds: int
    runs: Path
    results: Path
    recipes: Path | None
    time: str

    def wish(self) -> Wish:
        """What it is."""
        return Wish(
            what=self.what,
            datasets=_items(self.datasets),
            rows=_items(self.rows),
            sizes=_items(self.sizes),
            seeds=self.seeds,
        )


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def run_reproduction(asked: Request, *, only_show: bool) -> None:
    """Do what is missing, then show the paper's numbers and ours."""
    wish, library = asked.wish(), read_recipes(asked.recipes or FOLDER)
    length, missing = seconds(asked.time) if asked.time else math.inf, set[str]()
    diverged = set[str]()
    until = time.monotonic() + length
    wish.recipes(library)  # a wish that cannot be is refused before anything is shown
    try:
        if not only_show:
            with watching() as progress:
                shop = Workshop(asked.runs, asked.results, say, show_epoch, progress, until)
                missing = Session(library, shop, diverged).fulfil(wish)
    except (Interrupted, KeyboardInterrupt):
        if time.monotonic() < until:
            raise Interrupted(f"stopped; {GO_ON}") from None
        say(f"the time is over; {GO_ON}")
    except NotSavedError as error:
        raise OutputError(f"{error}; go on with the same command") from None
    show(wish, Findings(archive.read_all(asked.results), library.keys(), missing))
    if diverged:
        raise TrainingError(f"no number, as training diverged: {', '.join(sorted(diverged))}")


def show(wish: Wish, findings: Findings) -> None:
    """The tables of a wish."""
    target, out = wish.target, screen()
    datasets, sizes = target.datasets, target.sizes
    if wish.what == "claims":
        for claim in claims.claims(findings, sizes[0]):
            out.print(heading(claim.says))
            out.print(f"  paper  {claim.paper}\n  ours   {claim.ours}\n")
        out.print(OTHERS, style="dim")
        return
    sheets = {
        "table1": lambda: [tables.table1(findings, datasets)],
        "table2": lambda: [tables.table2(findings, _in_order(datasets), sizes)],
        "table3": lambda: tables.table3(findings, datasets, sizes),
        "figure-batch": lambda: [claims.batches(findings, datasets)],
        "wilcoxon": lambda: [claims.wilcoxon(findings, datasets, sizes)],
        "symmetry": lambda: [tables.symmetry(findings, datasets)],
        "appendix": lambda: [tables.appendix(findings)],
        "beyond": lambda: [beyond(findings, datasets, sizes)],
    }
    for sheet in sheets[wish.what]():
        _print(sheet, out)


def _in_order(datasets: tuple[str, ...]) -> list[str]:
    """In the order of the paper's tables, not of the work."""
    known = printed.DATASETS
    return sorted(datasets, key=lambda name: known.index(name) if name in known else len(known))


def _print(sheet: Sheet, out: Console) -> None:
    grid = table(*sheet.header, title=sheet.title, text=sheet.text)
    for row in sheet.rows:
        grid.add_row(*row, style="bold" if len(row) == 1 else None)
    out.print(grid, "")
    for note in sheet.notes:
        out.print(note, style="dim")
