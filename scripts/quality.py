"""Quality by epoch and by second, of runs that differ in cap and precision: a figure and a table.

python -m scripts.quality        draws docs/quality.png from the records in results/quality/

The records are those of runs (`scripts.records`). A run whose name ends in `emulated` had its
bfloat16 products made by `scripts.bfloat16`: its seconds say nothing and are not shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from scripts.pages import table
from scripts.records import ROOT, records_in
from trifact.durable import replacing

RECORDS = ROOT / "results" / "quality"
PICTURE = ROOT / "docs" / "quality.png"
DRAWN = "FB15K-237"
GOALS = {"FB15K-237": 0.345, "WN18RR": 0.455}
SHOWN_FROM = 0.28
STYLES = ("o-", "s-", "^-", "v-", "D--", "x:")
UNITS = {0: "queries", 1: "examples"}
HEAD = (
    *("graph", "", "steps an epoch", "seconds an epoch", "goal", "passed in epoch"),
    *("after seconds", "best (in epoch)"),
)


@dataclass(frozen=True)
class Curve:
    """Validation MRR by epoch, and what an epoch costs."""

    graph: str
    label: str
    steps: int
    """Of an epoch."""
    seconds: float | None
    """Of the fastest epoch: others only had less of the machine. None if they say nothing."""
    points: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Curve:
        """The curve of a run's record."""
        config, history = record["config"], record["history"]
        rows = round(history[0]["queries_per_second"] * history[0]["seconds"])
        fastest = min(epoch["seconds"] for epoch in history)
        return cls(
            graph=record["graph"]["name"],
            label=_label(config),
            steps=-(-rows // config["batch"]),
            seconds=None if record["name"].endswith("emulated") else fastest,
            points=tuple((e["epoch"], e["mrr"]) for e in history if e["mrr"] is not None),
        )

    @property
    def passed(self) -> int | None:
        """The first epoch that was found at the goal."""
        return next((epoch for epoch, mrr in self.points if mrr >= GOALS[self.graph]), None)

    @property
    def best(self) -> tuple[int, float]:
        """The epoch of the best MRR, and it."""
        return max(self.points, key=lambda point: point[1])


def _label(config: dict[str, Any]) -> str:
    cap, batch = config["cap"], config["batch"]
    of = f"cap {cap}" if cap else "no cap"
    rows = f"{batch:,} {UNITS.get(cap, 'chunks')} a step"
    return f"{of}, {rows}" + (", bfloat16" if config["precision"] == "bfloat16" else "")


def curves(folder: Path = RECORDS) -> list[Curve]:
    """Of all records of a graph that has a goal."""
    kept = [record for record in records_in(folder) if record["graph"]["name"] in GOALS]
    found = map(Curve.of, kept)
    return sorted(found, key=lambda curve: (curve.graph, curve.label))


def drawn(found: Sequence[Curve]) -> list[Curve]:
    """Those of the figure."""
    return [curve for curve in found if curve.graph == DRAWN]


def digest(shown: Sequence[Curve]) -> str:
    """Says whether a picture is of these curves."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def draw(shown: Sequence[Curve], path: Path = PICTURE) -> None:
    """Two panels, by epoch and by second; the picture carries the digest of its curves."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.0), dpi=110, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    for style, colour, curve in zip(cycle(STYLES), cycle(range(10)), shown, strict=False):
        look: dict[str, Any] = {"color": f"C{colour}", "markersize": 4, "linewidth": 1.4}
        epochs, mrrs = zip(*curve.points, strict=True)
        left.plot(epochs, mrrs, style, label=curve.label, **look)
        if curve.seconds is not None:
            right.plot([epoch * curve.seconds for epoch in epochs], mrrs, style, **look)
    for panel, name in ((left, "epoch"), (right, "seconds of training, one thread")):
        panel.set_xlabel(name)
        panel.grid(alpha=0.3)
        panel.axhline(GOALS[DRAWN], color="grey", linewidth=0.8, linestyle=":")
    left.set_ylim(bottom=SHOWN_FROM)
    left.set_ylabel("validation MRR")
    left.legend(fontsize=8, loc="lower right")
    with replacing(path) as fresh:
        figure.savefig(fresh, format="png", metadata={"Curves": digest(shown), "Software": None})


def section(found: Sequence[Curve]) -> list[str]:
    """The part of docs/performance.md."""
    lines = [
        "## Quality by epoch and by second\n",
        "ComplEx of rank 100 with N3, Adagrad 0.1: one objective and seed, float32 unless said, "
        "and steps that differ in which facts they meet. The batches are such that an epoch has "
        "equally many steps, so that a step sees equally many facts on average. Without a cap a "
        "query comes with all its answers at once; with cap 1 steps are of facts, as in the "
        "paper's code.\n",
        f"![Validation MRR on {DRAWN} by epoch and by second](quality.png)\n",
        *table(HEAD, map(_row, found)),
        "Seconds are those of a run's fastest epoch, on one thread of a machine with other work.",
    ]
    if any(curve.seconds is None for curve in found):
        lines.append(
            "bfloat16 products were emulated (`scripts/bfloat16.py`), for want of a processor "
            "that has them: what they do to quality is shown, what they do to time is not."
        )
    return [*lines, ""]


def _row(curve: Curve) -> tuple[object, ...]:
    seconds = after = "–"
    if curve.seconds is not None:
        seconds = f"{curve.seconds:.0f}"
        after = f"{curve.passed * curve.seconds:,.0f}" if curve.passed else "–"
    goal, (epoch, mrr) = GOALS[curve.graph], curve.best
    best = f"{mrr:.4f} ({epoch} of {curve.points[-1][0]})"
    passed = curve.passed or "not yet"
    return curve.graph, curve.label, curve.steps, seconds, goal, passed, after, best


if __name__ == "__main__":
    draw(drawn(curves()))
