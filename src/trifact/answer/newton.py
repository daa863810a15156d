"""Newton's method with conjugate gradients, for smooth convex functions of few numbers.

A step solves H d = -g by conjugate gradients, the more exactly the nearer the minimum is (Dembo,
Eisenstat and Steihaug 1982), and is halved until the function falls. Functions made of float32
products are known to about seven digits, their gradients far better near the minimum: so a step
may also raise the value by its rounding (Hager and Zhang 2005), and the end is told by the
gradient alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

TOLERANCE = 1e-5  # of the gradient at zero
MOST_STEPS = 60
MOST_PRODUCTS = 250  # of one step
MOST_HALVINGS = 30
DECREASE = 1e-4  # of what the slope promises
ROUNDING = 1e-6  # of the value at zero, where all parts are positive


class Local(NamedTuple):
    """A function near a point."""

    value: float
    gradient: Tensor  # (D,)
    curvature: Callable[[Tensor], Tensor]
    """The Hessian times a vector (D,)."""


class Minimum(NamedTuple):
    """Where a function is smallest, as far as it was found."""

    point: Tensor  # (D,)
    value: float
    steps: int
    converged: bool
    """Whether the gradient has become small; if not, there may be no minimum at all."""


def minimize(
    function: Callable[[Tensor], Local],
    start: Tensor,
    *,
    origin: Local,
    tolerance: float = TOLERANCE,
) -> Minimum:
    """The minimum from a start (D,), float64.

    `origin` is the function at zero, wherever the start is: the gradient must fall to a share
    `tolerance` of what it is there, and values are known to ROUNDING of the value there.
    """
    point, here = start, function(start)
    scale, slack = float(origin.gradient.norm()), ROUNDING * abs(origin.value)
    for steps in range(MOST_STEPS):
        size = float(here.gradient.norm())
        if size <= tolerance * scale:
            return Minimum(point, here.value, steps, True)
        direction = solve(here.curvature, -here.gradient, exactness=min(0.3, (size / scale) ** 0.5))
        moved = _advance(function, point, direction, here=here, slack=slack)
        if moved is None:
            return Minimum(point, here.value, steps, False)
        point, here = moved
    return Minimum(point, here.value, MOST_STEPS, False)


def solve(product: Callable[[Tensor], Tensor], right: Tensor, *, exactness: float) -> Tensor:
    """x with H x = right (D,), but for a residual of `exactness`, by conjugate gradients.

    Where H has no curvature left, what was found so far (at first: `right` itself).
    """
    x, residual = torch.zeros_like(right), right.clone()
    direction, square = residual.clone(), float(residual @ residual)
    goal = exactness**2 * square
    for _ in range(MOST_PRODUCTS):
        image = product(direction)
        curvature = float(direction @ image)
        if curvature <= 0 or square <= goal:
            break
        x = x + square / curvature * direction
        residual = residual - square / curvature * image
        square, before = float(residual @ residual), square
        direction = residual + square / before * direction
    return x if bool(x.any()) else right


def _advance(
    function: Callable[[Tensor], Local],
    point: Tensor,
    direction: Tensor,
    *,
    here: Local,
    slack: float,
) -> tuple[Tensor, Local] | None:
    """The first of the full step, its half, its quarter ... that decreases the function enough."""
    slope, step = float(here.gradient @ direction), 1.0
    for _ in range(MOST_HALVINGS):
        there = function(point + step * direction)
        if there.value <= here.value + DECREASE * step * slope + slack:
            return point + step * direction, there
        step /= 2
    return None
