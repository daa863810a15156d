"""Charts as SVG text: they take their colours from the page, so they suit light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 420, 240  # nearly those of a phone, so that text is readable there
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 44
LETTER = 7.5  # pixels that a letter is wide, at most
LONGEST = 26  # letters of a label


@dataclass(frozen=True)
class Series:
    """A line: its name and its points."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = False
    """Whether the points are marked; one that stands alone always is."""


@dataclass(frozen=True)
class Axis:
    """A scale from values to pixels, with round ticks."""

    low: float
    high: float
    start: float
    end: float
    least: float = 0.0
    """The smallest step from tick to tick."""

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """The axis that holds all values; one value gets some room."""
        low, high = min(values), max(values)
        room = 0.5 if low == high else 0.0
        whole = all(float(value).is_integer() for value in values)  # then so are the ticks
        return cls(low - room, high + room, start, end, 1.0 if whole else 0.0)

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round values."""
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        step *= next(k for k in (1, 2, 5, 10) if (self.high - self.low) / (k * step) <= 6)
        step = max(step, self.least)
        first = math.ceil(self.low / step)
        return [step * k for k in range(first, math.floor(self.high / step) + 1)]


def line_chart(
    series: Sequence[Series], *, x: str, y: str, reference: Sequence[tuple[float, float]] = ()
) -> str:
    """Lines over two axes, and a dashed one to compare them with; `legend` says which is which."""
    points = [*reference, *(point for line in series for point in line.points)]
    if len(points) == len(reference):
        return ""
    across = Axis.over([p[0] for p in points], LEFT, WIDTH - RIGHT)
    up = Axis.over([p[1] for p in points], HEIGHT - BOTTOM, TOP)
    body = [_grid(across, up, x, y)]
    if reference:
        body.append(_line(reference, across, up, kind="reference"))
    for number, line in enumerate(series):
        colour = f"c{number % 6}"
        body.append(_line(line.points, across, up, kind=f"line {colour}"))
        for a, b in line.points if line.dots or len(line.points) == 1 else ():
            place = f'cx="{across(a):.1f}" cy="{up(b):.1f}"'
            body.append(f'<circle class="dot {colour}" {place} r="3"/>')
    return _svg(body, f"{y} by {x}")


def _line(points: Sequence[tuple[float, float]], across: Axis, up: Axis, *, kind: str) -> str:
    path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in points)
    return f'<polyline class="{kind}" points="{path}"/>'


def legend(names: Sequence[str]) -> str:
    """The names of several lines in their colours; one line needs none."""
    if len(names) < 2:
        return ""
    items = "".join(f'<li class="c{i % 6}">{escape(name)}</li>' for i, name in enumerate(names))
    return f'<ul class="legend">{items}</ul>'


def bar_chart(rows: Sequence[tuple[str, float]], *, unit: str, form: str = ".3f") -> str:
    """Horizontal bars from zero, each with its label and value: as tall as it has rows."""
    if not rows:
        return ""
    height, most = 22 * len(rows) + 8, max(value for _, value in rows) or 1.0
    names = [_short(name) for name, _ in rows]
    label = 16 + LETTER * max(map(len, names))
    room = WIDTH - label - 8 - LETTER * max(len(f"{value:{form}}") for _, value in rows)
    body = []
    for number, (shown, (name, value)) in enumerate(zip(names, rows, strict=True)):
        top, width = 4 + 22 * number, room * value / most
        body.append(f'<text class="label" x="{label - 8}" y="{top + 13}">{escape(shown)}</text>')
        body.append(
            f'<rect class="bar" x="{label}" y="{top}" width="{max(width, 1):.1f}" height="17">'
            f"<title>{escape(name)}: {value:{form}}</title></rect>"
        )
        place = label + max(width, 1) + 6
        body.append(f'<text class="value" x="{place:.1f}" y="{top + 13}">{value:{form}}</text>')
    return _svg(body, unit, height=height)


def _short(name: str) -> str:
    """A label that leaves room for its bar: its beginning and its end, which say most."""
    return name if len(name) <= LONGEST else f"{name[:10]}…{name[11 - LONGEST :]}"


def histogram(counts: Sequence[tuple[str, int]], *, x: str) -> str:
    """Vertical bars with their labels below, or every second, third ... where they are many."""
    if not counts:
        return ""
    most, width = max(n for _, n in counts) or 1, (WIDTH - LEFT - RIGHT) / len(counts)
    every = math.ceil(LETTER * max(len(label) for label, _ in counts) / width)  # as have room
    up = Axis(0, most, HEIGHT - BOTTOM, TOP, 1.0)
    body = [
        _ticks_up(up),
        f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT - 4}">{escape(x)}</text>',
    ]
    for number, (label, count) in enumerate(counts):
        left = LEFT + number * width
        body.append(
            f'<rect class="bar" x="{left + 2:.1f}" y="{up(count):.1f}" width="{width - 4:.1f}" '
            f'height="{max(up(0) - up(count), 0):.1f}"><title>{label}: {count:,}</title></rect>'
        )
        if number % every == 0:
            place = f'x="{left + width / 2:.1f}" y="{up(0) + 16}"'
            body.append(f'<text class="tick" {place}>{escape(label)}</text>')
    return _svg(body, f"histogram of {x}")


def _grid(across: Axis, up: Axis, x: str, y: str) -> str:
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts = [_ticks_up(up)]
    for tick in across.ticks():
        place = across(tick)
        parts.append(
            f'<text class="tick" x="{place:.1f}" y="{HEIGHT - BOTTOM + 16}">{tick:,g}</text>'
        )
    parts.append(f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT - 4}">{escape(x)}</text>')
    turned = f'transform="rotate(-90 12 {middle})"'
    parts.append(f'<text class="axis" x="12" y="{middle}" {turned}>{escape(y)}</text>')
    return "".join(parts)


def _ticks_up(up: Axis) -> str:
    return "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(t):.1f}" y2="{up(t):.1f}"/>'
        f'<text class="tick up" x="{LEFT - 6}" y="{up(t) + 4:.1f}">{t:,g}</text>'
        for t in up.ticks()
    )


def _svg(body: Sequence[str], title: str, *, height: float = HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(body)}</svg>"
    )
