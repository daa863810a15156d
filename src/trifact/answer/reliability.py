"""How far probabilities can be trusted: what they said, and what was true.

Of n facts with probability p_i, truth y_i (0 or 1) and weight w_i, W their sum:

    Brier score  1/W sum_i w_i (p_i - y_i)^2                          (Brier 1950)
    log-loss    -1/W sum_i w_i [y_i log p_i + (1 - y_i) log(1 - p_i)]
    ECE          1/W sum_b |sum_{i in b} w_i (p_i - y_i)|             (Naeini et al. 2015)

over ten bins b: of equal width (`ece`), or of equal weight (`ece_by_mass`), which sees more where
most probabilities are small. A Brier score needs one to compare it with: `brier_of_share` is what
always saying the share of true facts comes to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trifact.graph.known import Ints
from trifact.run.ranktable import Bools, Floats

BINS = 10
CERTAIN = 1e-12  # a probability nearer to zero or one than this is taken as this in the log-loss


def measured(probabilities: Floats, true: Bools, weights: Floats) -> dict[str, Any]:
    """All measures, in plain values."""
    share = float(np.average(true, weights=weights))
    return {
        "facts": len(true),
        "weight": float(weights.sum()),
        "share_true": share,
        "ece": gap(bins_by_width(probabilities), probabilities - true, weights),
        "ece_by_mass": gap(bins_by_mass(probabilities, weights), probabilities - true, weights),
        "brier": brier(probabilities, true, weights),
        "brier_of_share": share * (1 - share),
        "log_loss": log_loss(probabilities, true, weights),
        "bins": table(probabilities, true, weights),
    }


def brier(probabilities: Floats, true: Bools, weights: Floats) -> float:
    """The mean squared distance from the truth."""
    return float(np.average((probabilities - true) ** 2, weights=weights))


def log_loss(probabilities: Floats, true: Bools, weights: Floats) -> float:
    """The mean surprise, in nats."""
    safe = np.clip(probabilities, CERTAIN, 1 - CERTAIN)
    return float(-np.average(np.log(np.where(true, safe, 1 - safe)), weights=weights))


def gap(bins: Ints, errors: Floats, weights: Floats) -> float:
    """The distance of said and true in each bin, averaged by weight."""
    sums = np.bincount(bins, weights * errors, minlength=BINS)
    return float(np.abs(sums).sum() / weights.sum())


def bins_by_width(probabilities: Floats) -> Ints:
    """[0, 0.1), [0.1, 0.2), ..., [0.9, 1]: (n,)."""
    return np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)


def bins_by_mass(probabilities: Floats, weights: Floats) -> Ints:
    """Tenths of all weight, by rising probability: (n,)."""
    order = np.argsort(probabilities, kind="stable")
    before = np.cumsum(weights[order]) - weights[order] / 2
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.minimum(before * BINS / weights.sum(), BINS - 1).astype(np.int64)
    return found


def table(probabilities: Floats, true: Bools, weights: Floats) -> list[dict[str, float | None]]:
    """Of each bin by width: its weight, the mean of what was said, and the share that is true."""
    bins = bins_by_width(probabilities)
    mass = np.bincount(bins, weights, minlength=BINS)
    said = np.bincount(bins, weights * probabilities, minlength=BINS)
    held = np.bincount(bins, weights * true, minlength=BINS)
    return [
        {
            "low": place / BINS,
            "high": (place + 1) / BINS,
            "weight": float(mass[place]),
            "said": float(said[place] / mass[place]) if mass[place] else None,
            "true": float(held[place] / mass[place]) if mass[place] else None,
        }
        for place in range(BINS)
    ]
