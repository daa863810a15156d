"""The figures of docs/results.md; each carries the hash of the records that it was drawn from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from scripts.tensor_picture import draw_tensors
from trifact.durable import replacing
from trifact.paper import printed
from trifact.paper.archive import Record

Records = dict[str, Record]
KEY = "Records"
BLUE, RED = "#3b6ea5", "#c8553d"


class Picture(NamedTuple):
    """A figure: its file and title, what it is made of, what it shows, and how it is drawn."""

    name: str
    title: str
    inputs: Any
    caption: str
    draw: Callable[[Any], Figure]

    @property
    def hash(self) -> str:
        """SHA-256 of what it is made of."""
        return hashlib.sha256(json.dumps(self.inputs, sort_keys=True).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Draw it, with its hash inside."""
        figure = self.draw(self.inputs)
        with replacing(folder / self.name) as part:
            figure.savefig(part, format="png", dpi=130, metadata={KEY: self.hash})
        plt.close(figure)


def hash_in(path: Path) -> str:
    """The hash that a figure carries."""
    with Image.open(path) as image:
        return str(image.info.get(KEY, ""))


def pictures(records: Records) -> list[Picture]:
    """All figures that there are records for."""
    found = [_first(records), _batches(records), _against_paper(records)]
    return [picture for picture in found if picture.inputs]


def _first(records: Records) -> Picture:
    """Figure 1 of the paper, with the numbers of a model that was trained."""
    caption = (
        "Figure 1 of the paper, redrawn with the numbers of CP models that trifact trained on "
        "seven facts: (a) a score is a sum of R products, (b) the two fibers of a fact and their "
        "losses, (c) with reciprocal predicates the fiber of subjects becomes one of objects. On "
        "a floor subjects go back and objects to the right; dark cells are probable objects."
    )
    return Picture("results-tensors.png", "Figure 1", records.get("figure1"), caption, draw_tensors)


def _batches(records: Records) -> Picture:
    """Validation MRR by epoch for two batch sizes, in both settings."""
    curves = {
        setting: {
            str(facts): [
                (epoch["epoch"], epoch["mrr"])
                for epoch in records[name]["history"]
                if epoch["mrr"] is not None
            ]
            for facts in (100, 400)
            if (name := f"FB15K-237-batch{facts}-{setting}-figure") in records
        }
        for setting in ("standard", "reciprocal")
    }
    caption = (
        "The effect of the batch size on FB15K-237 in the two settings, all else being equal "
        "(ComplEx-N3, rank 50, steps of facts): the paper's figure 2, whose graph is FB15K."
    )
    inputs = {setting: lines for setting, lines in curves.items() if lines}
    return Picture(
        "results-batch.png", "MRR by epoch and batch size", inputs, caption, _draw_batches
    )


def _draw_batches(curves: dict[str, dict[str, list[tuple[int, float]]]]) -> Figure:
    figure, all_axes = plt.subplots(
        1, len(curves), figsize=(4.6 * len(curves), 3.4), layout="constrained", squeeze=False
    )
    for axes, (setting, lines) in zip(all_axes[0], curves.items(), strict=True):
        for colour, (facts, points) in zip((BLUE, RED), lines.items(), strict=False):
            axes.plot(*zip(*points, strict=True), ".-", color=colour, label=f"{facts} facts a step")
        axes.set(title=setting.title(), xlabel="epoch", ylabel="validation MRR")
        axes.legend(frameon=False, loc="lower right")
        _plain(axes)
    return figure


def _against_paper(records: Records) -> Picture:
    """Our test MRR beside the paper's, a place a cell of Table 2."""
    points = [
        (*recipe.values(), record["metrics"]["test"]["mrr"])
        for record in records.values()
        if (recipe := record.get("recipe"))
        and not record["config"]["seed"]
        and recipe["row"] in printed.ROWS
        and recipe["dataset"] in printed.DATASETS
    ]
    caption = (
        "Test MRR of the rows of Table 2: a bar is the paper's, marks are ours (hollow: *small*, "
        "400 reals in a row; full: larger). Every graph has a scale of its own."
    )
    return Picture("results-mrr.png", "Our MRR and the paper's", points, caption, _draw_mrr)


def _draw_mrr(points: list[tuple[str, str, str, float]]) -> Figure:
    datasets = [name for name in printed.DATASETS if name in {point[0] for point in points}]
    figure, all_axes = plt.subplots(
        *(1, len(datasets)), figsize=(2.2 + 2.2 * len(datasets), 3.2), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    rows = list(reversed(printed.ROWS))
    for axes, dataset in zip(all_axes[0], datasets, strict=True):
        for place, row in enumerate(rows):
            if published := printed.ROWS[row].found.get(dataset):
                axes.plot(published.mrr, place, "|", color=RED, markersize=16, markeredgewidth=2.5)
        for _, row, size, mrr in (point for point in points if point[0] == dataset):
            face = "none" if size == "small" else BLUE
            axes.plot(mrr, rows.index(row), "o", color=BLUE, markerfacecolor=face, markersize=8)
        axes.set(title=dataset, xlabel="MRR", ylim=(-0.6, len(rows) - 0.4))
        axes.grid(axis="y", color="#e4e4e4")
        axes.margins(x=0.12)
        _plain(axes)
    labels = [f"{printed.ROWS[row].model}, {printed.ROWS[row].part.lower()}" for row in rows]
    all_axes[0][0].set_yticks(range(len(rows)), labels)
    return figure


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
