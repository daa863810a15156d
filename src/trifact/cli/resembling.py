"""The work behind `trifact similar`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.answer.answers import Answers, Cell, written
from trifact.answer.inversion import inverses
from trifact.answer.options import SimilarConfig
from trifact.answer.run import Run
from trifact.cli.predicting import print_for_programs
from trifact.cli.screen import say, screen, table
from trifact.errors import ConfigError

SHOWN = 20


def run_similarity(
    path: Path, name: str, *, predicate: bool, settings: dict[str, Any], form: str
) -> None:
    """Find what is like a name, and show it."""
    if not name:
        raise ConfigError("give the name of an entity, of a --predicate, or say --relations")
    found = Run(path).similar(name, predicate=predicate, **settings)
    if print_for_programs(found, form):
        return
    if len(found):
        screen().print(_grid(found))
    else:
        say("there is nothing else to be like it")


def run_relations(
    path: Path, name: str, *, predicate: bool, settings: dict[str, Any], form: str
) -> None:
    """Symmetry and inverse of every predicate."""
    useless = [f"--{option}" for option in settings if option != "budget_mb"]
    useless += ["--predicate"] if predicate else []
    if name or useless:
        what = name or useless[0]
        raise ConfigError(f"--relations is about all predicates; leave {what!r} out")
    config, run = SimilarConfig.from_values(settings), Run(path)
    budget = config.budget_mb * 2**20
    found = inverses(run.model(), run.graph(), budget=budget)
    if print_for_programs(found, form):
        return
    screen().print(_relations(found))
    if len(found) > SHOWN:
        say(f"the {SHOWN} clearest of {len(found):,} predicates; all of them: --format tsv")


def _grid(found: Answers) -> object:
    """Name, label where there is one, and the measure."""
    *texts, measure = (name for name in found.columns if name != "name")
    shown = [name for name in texts if any(found.columns[name])]
    grid = table(*shown, measure, text=len(shown))
    for row in found:
        grid.add_row(*(_text(row[name]) for name in shown), written(row[measure]))
    return grid


def _relations(found: Answers) -> object:
    grid = table("predicate", "nearest inverse", "similarity", "symmetry", "facts", text=2)
    for _, row in zip(range(SHOWN), found, strict=False):
        names = row["label"] or row["predicate"], row["inverse_label"] or row["inverse"]
        grid.add_row(
            *map(_text, names),
            *(written(row[column]) for column in ("similarity", "symmetry")),
            f"{row['facts']:,}",
        )
    return grid


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell)
