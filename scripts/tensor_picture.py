"""Figure 1 of the paper with the numbers of models that were trained: record and picture.

A tensor is drawn as floors, one a predicate; on a floor subjects go back and objects to the
right. So a fiber of objects lies from left to right, and a fiber of subjects from front to back.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Polygon

from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.paper import archive
from trifact.paper.archive import Record
from trifact.run.options import TrainConfig
from trifact.run.training import train
from trifact.tensor.models import CP

COUNTRIES = {"France": "Paris", "Germany": "Berlin", "Italy": "Rome"}
BORDERS = (("France", "Germany"), ("France", "Italy"))
SUBJECT, PREDICATE, OBJECT = "France", "capital", "Paris"
CONFIG = TrainConfig(
    *("cp", 4), reg=0.01, batch=50, epochs=12, validate_every=0, init_scale=0.3, threads=1
)
DIGITS = 4
OBJECTS, SUBJECTS, INK = "#c8553d", "#2a7f76", "#333333"
SHADES = LinearSegmentedColormap.from_list("shades", ["#f6f7f9", "#3b6ea5"])
LEAN, FLAT, FLOOR = 0.45, 0.55, 4.4  # of a floor: how it leans, how flat it is, how high


def record() -> Record:
    """Factors of CP on seven facts, trained in both settings, rounded."""
    facts = [(country, PREDICATE, city) for country, city in COUNTRIES.items()]
    facts += [pair for a, b in BORDERS for pair in ((a, "borders", b), (b, "borders", a))]
    graph = load(facts, LoadConfig(valid=0.0, test=0.0))
    found = archive.begun("figure1", code=archive.commit())
    found |= {"entities": graph.entities[:], "predicates": graph.predicates[:]}
    for setting in ("standard", "reciprocal"):
        with TemporaryDirectory() as folder:
            config = CONFIG.replace(setting=setting, precision="float32")
            tables = train(graph, config, out=Path(folder) / "run").model().tables
        found[setting] = {
            name: [[round(value, DIGITS) for value in row] for row in table.tolist()]
            for name, table in tables.items()
        }
    return found


class Tensors(NamedTuple):
    """What the record holds, as tensors, and the ids of the fact that is shown."""

    entities: list[str]
    predicates: list[str]
    standard: CP
    reciprocal: CP

    @classmethod
    def of(cls, found: Record) -> Tensors:
        models = (
            CP.of({name: torch.tensor(rows) for name, rows in found[setting].items()})
            for setting in ("standard", "reciprocal")
        )
        return cls(found["entities"], found["predicates"], *models)

    @property
    def fact(self) -> tuple[int, int, int]:
        entity, predicate = self.entities.index, self.predicates.index
        return entity(SUBJECT), predicate(PREDICATE), entity(OBJECT)

    @staticmethod
    def scores(model: CP) -> torch.Tensor:
        """X[j, i, k], towards objects."""
        ids = torch.cartesian_prod(torch.arange(model.predicates), torch.arange(model.entities))
        scores = model.scores(ids[:, 1], ids[:, 0])
        return scores.view(model.predicates, model.entities, -1)


def draw_tensors(found: Record) -> Figure:
    """The three parts of the figure."""
    tensors = Tensors.of(found)
    figure, panels = plt.subplots(1, 3, figsize=(12.5, 5), layout="constrained")
    titles = ("(a) CP: a score is a sum", "(b) two fibers, two losses", "(c) with reciprocals")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
        axes.set_aspect("equal")
        axes.axis("off")
    _score(panels[0], tensors)
    _fibers(panels[1], tensors)
    _reciprocal(panels[2], tensors)
    return figure


def _score(axes: Axes, tensors: Tensors) -> None:
    """The rows of the fact, their product term by term, and the tensor they are a cell of."""
    i, j, k = tensors.fact
    model, scores = tensors.standard, tensors.scores(tensors.standard)
    _floors(axes, scores, tensors.entities, tensors.predicates)
    _outline(axes, j, (i, i + 1), (k, k + 1), colour=INK)
    rows = [model.table("subject")[i], model.table("predicate")[j], model.table("object")[k]]
    rows.append(rows[0] * rows[1] * rows[2])
    labels = (f"$a$  {SUBJECT}", f"$b$  {PREDICATE}", f"$c$  {OBJECT}", "$a_r b_r c_r$")
    for number, (label, row) in enumerate(zip(labels, rows, strict=True)):
        top = -2.6 - 1.25 * number - (0.35 if number == 3 else 0)
        _strip(axes, 0.6, top, row.tolist(), label=label)
    total = f"sum {float(rows[3].sum()):.2f}"
    axes.text(0.7 + 1.5 * len(rows[3]), top + 0.5, total, fontsize=9, va="center", color=INK)
    _arrow(axes, (9.2, top + 0.5), (_at(j, i + 0.5, k + 0.9)), colour=INK, bend=0.5)


def _fibers(axes: Axes, tensors: Tensors) -> None:
    """The fiber of objects and the fiber of subjects through the fact."""
    i, j, k = tensors.fact
    scores, count = tensors.scores(tensors.standard), len(tensors.entities)
    _floors(axes, scores, tensors.entities, tensors.predicates)
    _outline(axes, j, (i, i + 1), (0, count), colour=OBJECTS)
    _outline(axes, j, (0, count), (k, k + 1), colour=SUBJECTS)
    asked = f"({SUBJECT}, {PREDICATE}, ?)", f"(?, {PREDICATE}, {OBJECT})"
    _loss(axes, -3.1, scores[j, i], k, label=asked[0], colour=OBJECTS)
    _loss(axes, -6.0, scores[j, :, k], i, label=asked[1], colour=SUBJECTS)


def _reciprocal(axes: Axes, tensors: Tensors) -> None:
    """Twice as many predicates, and only fibers of objects."""
    i, j, k = tensors.fact
    scores, count = tensors.scores(tensors.reciprocal), len(tensors.entities)
    back = j + len(tensors.predicates)
    names = [*tensors.predicates, *(f"{name}$^{{-1}}$" for name in tensors.predicates)]
    _floors(axes, scores, tensors.entities, names)
    _outline(axes, j, (i, i + 1), (0, count), colour=OBJECTS)
    _outline(axes, j, (0, count), (k, k + 1), colour=SUBJECTS, dashed=True)
    _outline(axes, back, (k, k + 1), (0, count), colour=SUBJECTS)
    _arrow(axes, _at(j, count, k + 0.5), _at(back, k, 2.5), colour=SUBJECTS, bend=0.1)


def _at(floor: float, back: float, right: float) -> tuple[float, float]:
    """A place in the tensor, on paper."""
    return right + LEAN * back, FLOOR * floor + FLAT * back


def _floors(axes: Axes, scores: torch.Tensor, entities: list[str], names: list[str]) -> None:
    """All cells, shaded by their share of their fiber of objects."""
    shares, count = torch.softmax(scores, 2), len(entities)
    for floor, name in enumerate(names):
        for i in range(count):
            for k in range(count):
                corners = [_at(floor, i + a, k + b) for a, b in ((0, 0), (0, 1), (1, 1), (1, 0))]
                shade = SHADES(float(shares[floor, i, k]))
                axes.add_patch(Polygon(corners, facecolor=shade, edgecolor="white", linewidth=0.8))
        x, y = _at(floor, count, 0)
        axes.text(x, y + 0.15, name, fontsize=9, style="italic", color=INK)
    for entity, name in enumerate(entities):
        x, y = _at(0, 0, entity + 0.5)
        axes.text(x, y - 0.2, name, fontsize=7, rotation=35, ha="right", va="top", color=INK)
        x, y = _at(0, entity + 0.5, 0)
        axes.text(x - 0.25, y, name, fontsize=7, ha="right", va="center", color=INK)
    axes.set(xlim=(-3.2, 12), ylim=(-8.2 if len(names) == 2 else -2.6, FLOOR * len(names)))


def _outline(
    axes: Axes,
    floor: int,
    back: tuple[int, int],
    right: tuple[int, int],
    *,
    colour: str,
    dashed: bool = False,
) -> None:
    corners = [(0, 0), (0, 1), (1, 1), (1, 0)]
    places = [_at(floor, back[a], right[b]) for a, b in corners]
    style = "--" if dashed else "-"
    axes.add_patch(Polygon(places, fill=False, edgecolor=colour, linewidth=2.2, linestyle=style))


def _strip(axes: Axes, left: float, bottom: float, values: list[float], *, label: str) -> None:
    """A row of numbers in boxes."""
    axes.text(left - 0.2, bottom + 0.5, label, fontsize=9, ha="right", va="center", color=INK)
    for number, value in enumerate(values):
        x = left + 1.5 * number
        corners = [(x, bottom), (x + 1.5, bottom), (x + 1.5, bottom + 1), (x, bottom + 1)]
        shade = SHADES(min(abs(value) / 3, 0.6))
        axes.add_patch(Polygon(corners, facecolor=shade, edgecolor="white"))
        axes.text(x + 0.75, bottom + 0.5, f"{value:.2f}", fontsize=8, ha="center", va="center")


def _loss(
    axes: Axes, bottom: float, fiber: torch.Tensor, answer: int, *, label: str, colour: str
) -> None:
    """The shares of a fiber as bars, and minus the logarithm of the answer's."""
    shares = torch.softmax(fiber, 0).tolist()
    for number, share in enumerate(shares):
        height = 1.6 * share
        corners = [(0, 0), (0.9, 0), (0.9, height), (0, height)]
        places = [(number + x, bottom + y) for x, y in corners]
        face = colour if number == answer else "#c9ced6"
        axes.add_patch(Polygon(places, facecolor=face, edgecolor="none"))
    axes.plot([-0.1, len(shares)], [bottom, bottom], color=INK, linewidth=0.8)
    text = f"{label}\nloss {-math.log(shares[answer]):.3f}"
    axes.text(len(shares) + 0.4, bottom + 0.7, text, fontsize=9, va="center", color=colour)


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], *, colour: str, bend: float
) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=12,
            color=colour,
            connectionstyle=f"arc3,rad={bend}",
            linewidth=1.2,
        )
    )
