"""The work behind `trifact explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.answer.answers import Answers, Cell
from trifact.answer.explanation import Explanation, Fact, explain
from trifact.answer.options import ExplainConfig
from trifact.cli.predicting import say_doubts
from trifact.cli.screen import count, print_json, screen, short, table, watching
from trifact.run.run import Run

NAMES = ("subject", "predicate", "object")
WHERE = {
    "train": "it is known: the model was trained on it",
    "valid": "it is known, and was held out to validate on",
    "test": "it is known, and was held out to test on",
    None: "the graph does not have it",
}


def run_explanation(path: Path, fact: Fact, *, settings: dict[str, Any], form: str) -> None:
    """Explain a fact, and show it."""
    config, run = ExplainConfig.from_values(settings), Run(path)
    with watching() as progress:
        found = explain(run, fact, config, progress=progress)
    if form == "json":
        print_json(found.to_dict())
    else:
        show(found)
    say_doubts(run, None if found.probability is None else found.doubts)


def show(found: Explanation) -> None:
    """The fact, what it rests on, and what is like it."""
    out, shown = screen(), dict(zip(NAMES, found.labels, strict=True))
    out.print(" · ".join(short(text, 24) for text in found.labels))
    probable = "" if found.probability is None else f"probability {found.probability:.3f}; "
    out.print(f"{probable}{WHERE[found.split]}", style="dim")
    asker, answer = ("subject", "object") if found.side == "subject" else ("object", "subject")
    out.print(
        f"log p of the {answer}: {found.trained:.3f} as trained, {found.solved:.3f} with the "
        f"row of the {asker} solved anew from its {count(found.facts, 'fact')}"
        f"{f'; {found.tried:,} of them were left out in turn' if found.tried < found.facts else ''}"
        f"{'' if found.converged else '; it was not solved to the end'}\n",
        style="dim",
    )
    title = f"Facts of {short(shown[asker], 30)} that it rests on"
    out.print(_grid(found.reasons, "drop", title=title), "")
    if len(found.similar):
        out.print(_grid(found.similar, "similarity", title="The most similar known facts"))


def _grid(facts: Answers, measure: str, *, title: str) -> object:
    grid = table(*NAMES, measure, title=title, text=3)
    for row in facts:
        grid.add_row(*(_shown(row, name) for name in NAMES), f"{row[measure]:.3f}")
    return grid


def _shown(row: dict[str, Cell], name: str) -> str:
    """The label, or the name where there is none."""
    return str(row.get(f"{name}_label") or row[name])
