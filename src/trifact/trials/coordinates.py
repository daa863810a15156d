"""Parallel coordinates: a line a trial, through its settings to what it came to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from trifact.run.pictures import Axis
from trifact.trials.space import Choice, Range

WIDTH, HEIGHT = 860, 300
LEFT, RIGHT, TOP, BOTTOM = 60, 30, 34, 20
HALO = 'style="paint-order:stroke;stroke:var(--paper);stroke-width:4px"'  # over the lines


@dataclass(frozen=True)
class Upright:
    """One axis: where each value stands on it, and what is written beside it."""

    name: str
    choice: Choice

    def height(self, value: Any) -> float:  # noqa: ANN401 - of any setting
        """The pixel of a value; listed values stand at equal distances."""
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * self._share(value)

    def ticks(self) -> list[Any]:
        """Values to write: all that are listed, or round ones of a range."""
        if not isinstance(self.choice, Range):
            return list(self.choice)
        low, high = self.choice.low, self.choice.high
        if not self.choice.log:
            return list(Axis(low, high, 0, 1).ticks())
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1,) if high / low >= 100 else (1, 2, 5)
        round_ones = [step * 10.0**decade for decade in decades for step in steps]
        return [value for value in round_ones if low <= value <= high] or [low, high]

    def _share(self, value: Any) -> float:  # noqa: ANN401
        if not isinstance(self.choice, Range):
            return self.choice.index(value) / max(len(self.choice) - 1, 1)
        low, high = self._scaled(self.choice.low), self._scaled(self.choice.high)
        return (self._scaled(value) - low) / (high - low)

    def _scaled(self, value: float) -> float:
        assert isinstance(self.choice, Range)
        return math.log(value) if self.choice.log else float(value)


@dataclass(frozen=True)
class Line:
    """A trial: its name, its settings, and the result by which lines are coloured."""

    name: str
    settings: dict[str, Any]
    result: float


def parallel_coordinates(choices: dict[str, Choice], lines: Sequence[Line], *, result: str) -> str:
    """An axis for each setting and, last, one for the result; the better, the stronger the line.

    The best stands out in another colour.
    """
    if len(lines) < 2:
        return ""
    order = sorted(lines, key=lambda line: line.result)
    low, high = order[0].result, order[-1].result
    span = Range(low, high) if low < high else Range(low - 0.5, high + 0.5)
    axes = [*(Upright(k, _sorted(c)) for k, c in choices.items()), Upright(result, span)]
    places = [LEFT + (WIDTH - LEFT - RIGHT) * k / (len(axes) - 1) for k in range(len(axes))]
    body = list[str]()
    for line in order:
        values = [*(line.settings[axis.name] for axis in axes[:-1]), line.result]
        heights = [axis.height(value) for axis, value in zip(axes, values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        share = (line.result - span.low) / (span.high - span.low)
        best = line is order[-1]
        strength = 1.0 if best else 0.2 + 0.6 * share**2
        body.append(
            f'<polyline class="line c{int(best)}" style="opacity:{strength:.2f}" points="{path}">'
            f"<title>{escape(line.name)}: {line.result:.4f}</title></polyline>"
        )
    body += [_axis(axis, x) for axis, x in zip(axes, places, strict=True)]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="settings of the trials and their {escape(result)}">{"".join(body)}</svg>'
    )


def _axis(axis: Upright, x: float) -> str:
    marks = "".join(
        f'<text class="up" {HALO} x="{x - 6:.1f}" y="{axis.height(value) + 4:.1f}">'
        f"{_number(value)}</text>"
        for value in axis.ticks()
    )
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="axis" x="{x:.1f}" y="14">{escape(axis.name)}</text>{marks}'
    )


def _sorted(choice: Choice) -> Choice:
    """Listed numbers by size; words stay as they were listed."""
    if isinstance(choice, Range) or any(isinstance(value, str) for value in choice):
        return choice
    return tuple(sorted(choice))


def _number(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, str):
        return escape(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
