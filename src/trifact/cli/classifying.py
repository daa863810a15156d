"""The work behind `trifact classify`: true facts against false ones, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.cli.facts import as_said, facts_of
from trifact.cli.screen import count, keeping, print_json, say, screen, table, watching
from trifact.run.classification import FILE, classify, keep
from trifact.run.record import FOLDER
from trifact.run.run import Run

SHOWN = 15
WHY = {
    "facts": "with names that the run does not know",
    "known": "which the graph has as true",
}
COLUMNS = ("accuracy", "precision", "recall", "f1", "auc")


def run_classification(
    path: Path,
    negatives: dict[str, Path],
    *,
    reading: dict[str, Any],
    budget_mb: int,
    as_json: bool,
) -> None:
    """Classify, and show it."""
    run, said = Run(path), as_said(reading, of=negatives)
    with watching() as progress:
        false = {split: facts_of(path, said, progress) for split, path in negatives.items()}
        found = classify(run, negatives=false, budget_mb=budget_mb, progress=progress)
    for split, left in found["left_out"].items():
        say_what_was_left_out(negatives[split].name, left)
    if as_json:
        print_json(found)
    else:
        show(found)
    place = run.path / FOLDER / FILE
    with keeping(place):
        keep(found, place)


def say_what_was_left_out(name: str, left: dict[str, int]) -> None:
    """Of a file of false facts."""
    for key, why in WHY.items():
        if left[key]:
            say(f"{name}: {count(left[key], 'fact')} left out, {why}")


def show(found: dict[str, Any]) -> None:
    """Validation, where thresholds come from, and test; then the largest predicates."""
    grid = table("split", "true", "false", *(name.title() for name in COLUMNS))
    for split in ("valid", "test"):
        grid.add_row(split, *_cells(found[split]))
    screen().print(grid, "")
    rows = sorted(found["by_predicate"], key=lambda row: -row["true"] - row["false"])
    title = f"The largest of {len(rows):,} predicates, test" if len(rows) > SHOWN else "Predicates"
    grid = table("predicate", "true", "false", "Accuracy", "F1", title=title)
    for row in rows[:SHOWN]:
        accuracy, f1 = f"{row['accuracy']:.3f}", f"{row['f1']:.3f}"
        grid.add_row(row["label"], f"{row['true']:,}", f"{row['false']:,}", accuracy, f1)
    screen().print(grid)


def _cells(row: dict[str, Any]) -> list[str]:
    shares = ("-" if row[name] is None else f"{row[name]:.3f}" for name in COLUMNS)
    return [f"{row['true']:,}", f"{row['false']:,}", *shares]
