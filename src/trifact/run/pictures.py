"""Charts as SVG text: they take their colours from the page, so they suit light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 280
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 44


@dataclass(frozen=True)
class Series:
    """A line: its name and its points."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """A scale from values to pixels, with round ticks."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> Axis:
        """The axis that holds all values; one value gets some room."""
        low, high = min(values), max(values)
        room = 0.5 if low == high else 0.0
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round values."""
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        step *= next(k for k in (1, 2, 5, 10) if (self.high - self.low) / (k * step) <= 6)
        first = math.ceil(self.low / step)
        return [step * k for k in range(first, math.floor(self.high / step) + 1)]


def line_chart(series: Sequence[Series], *, x: str, y: str) -> str:
    """Lines over two axes; `legend` says which is which."""
    points = [point for line in series for point in line.points]
    if not points:
        return ""
    across = Axis.over([p[0] for p in points], LEFT, WIDTH - RIGHT)
    up = Axis.over([p[1] for p in points], HEIGHT - BOTTOM, TOP)
    body = [_grid(across, up, x, y)]
    for number, line in enumerate(series):
        path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in line.points)
        body.append(f'<polyline class="line c{number % 6}" points="{path}"/>')
        if len(line.points) == 1:
            a, b = line.points[0]
            body.append(f'<circle class="dot c{number % 6}" cx="{across(a)}" cy="{up(b)}" r="3"/>')
    return _svg(body, f"{y} by {x}")


def legend(names: Sequence[str]) -> str:
    """The names of several lines in their colours; one line needs none."""
    if len(names) < 2:
        return ""
    items = "".join(f'<li class="c{i % 6}">{escape(name)}</li>' for i, name in enumerate(names))
    return f'<ul class="legend">{items}</ul>'


def bar_chart(rows: Sequence[tuple[str, float]], *, unit: str) -> str:
    """Horizontal bars from zero, each with its label and value: as tall as it has rows."""
    if not rows:
        return ""
    height, label = 22 * len(rows) + 8, 220
    most = max(value for _, value in rows) or 1.0
    body = []
    for number, (name, value) in enumerate(rows):
        top, width = 4 + 22 * number, (WIDTH - label - 64) * value / most
        shown = name if len(name) <= 32 else f"{name[:10]}…{name[-21:]}"
        body.append(f'<text class="label" x="{label - 8}" y="{top + 13}">{escape(shown)}</text>')
        body.append(
            f'<rect class="bar" x="{label}" y="{top}" width="{max(width, 1):.1f}" height="17">'
            f"<title>{escape(name)}: {value:.4g}</title></rect>"
        )
        place = label + max(width, 1) + 6
        body.append(f'<text class="value" x="{place:.1f}" y="{top + 13}">{value:.3g}</text>')
    return _svg(body, unit, height=height)


def histogram(counts: Sequence[tuple[str, int]], *, x: str) -> str:
    """Vertical bars with their labels below."""
    if not counts:
        return ""
    most, width = max(n for _, n in counts) or 1, (WIDTH - LEFT - RIGHT) / len(counts)
    up = Axis(0, most, HEIGHT - BOTTOM, TOP)
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
        middle = left + width / 2
        body.append(f'<text class="tick" x="{middle:.1f}" y="{up(0) + 16}">{escape(label)}</text>')
    return _svg(body, f"histogram of {x}")


def _grid(across: Axis, up: Axis, x: str, y: str) -> str:
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts = [_ticks_up(up)]
    for tick in across.ticks():
        place = across(tick)
        parts.append(
            f'<text class="tick" x="{place:.1f}" y="{HEIGHT - BOTTOM + 16}">{tick:g}</text>'
        )
    parts.append(f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT - 4}">{escape(x)}</text>')
    turned = f'transform="rotate(-90 12 {middle})"'
    parts.append(f'<text class="axis" x="12" y="{middle}" {turned}>{escape(y)}</text>')
    return "".join(parts)


def _ticks_up(up: Axis) -> str:
    return "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(t):.1f}" y2="{up(t):.1f}"/>'
        f'<text class="tick up" x="{LEFT - 6}" y="{up(t) + 4:.1f}">{t:g}</text>'
        for t in up.ticks()
    )


def _svg(body: Sequence[str], title: str, *, height: float = HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(body)}</svg>"
    )
