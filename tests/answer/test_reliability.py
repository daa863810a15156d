"""ECE, Brier score and log-loss by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trifact.answer.reliability import bins_by_mass, bins_by_width, brier, log_loss, measured

SAID = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
TRUE = np.array([False, True, False, True, True])
ONCE = np.ones(5)


def test_measures_by_hand() -> None:
    found = measured(SAID, TRUE, ONCE)
    squares = 0.05**2 + 0.85**2 + 0.15**2 + 0.05**2 + 0
    assert found["brier"] == pytest.approx(squares / 5)
    # three bins: 0.05 for none true, 0.3 for one of two true, 1.95 for two of two
    assert found["ece"] == pytest.approx((0.05 + 0.7 + 0.05) / 5)
    surprise = math.log(0.95) + math.log(0.15) + math.log(0.85) + math.log(0.95)
    assert found["log_loss"] == pytest.approx(-surprise / 5)
    assert found["share_true"] == pytest.approx(0.6)
    assert found["brier_of_share"] == pytest.approx(0.24)


def test_bins_are_half_open_but_for_the_last() -> None:
    edges = np.array([0.0, 0.0999, 0.1, 0.5, 0.9, 1.0])
    assert bins_by_width(edges).tolist() == [0, 0, 1, 5, 9, 9]
    bins = measured(SAID, TRUE, ONCE)["bins"]
    assert [row["weight"] for row in bins] == [1, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    assert bins[1] == {"low": 0.1, "high": 0.2, "weight": 2.0, "said": 0.15, "true": 0.5}
    assert bins[4]["said"] is None


def test_bins_by_mass_are_tenths_of_the_weight() -> None:
    said = np.linspace(0.3, 0.4, 20)[::-1]
    assert np.bincount(bins_by_mass(said, np.ones(20))).tolist() == [2] * 10
    assert (np.diff(bins_by_mass(said, np.ones(20))) <= 0).all()
    weights = np.r_[np.ones(10), np.full(10, 3.0)]
    mass = np.bincount(bins_by_mass(said, weights), weights)
    assert len(mass) == 10
    assert mass.max() <= 6


def test_a_weight_is_as_good_as_copies() -> None:
    weights = np.array([1.0, 2, 1, 3, 1])
    rows = np.repeat(np.arange(5), weights.astype(int))
    heavy, copied = measured(SAID, TRUE, weights), measured(SAID[rows], TRUE[rows], np.ones(8))
    for key in ("ece", "brier", "log_loss", "share_true", "weight"):
        assert heavy[key] == pytest.approx(copied[key])


def test_what_is_right_has_no_error_and_certainty_in_the_wrong_is_finite() -> None:
    sure = TRUE.astype(float)
    assert measured(sure, TRUE, ONCE)["ece"] == 0
    assert brier(sure, TRUE, ONCE) == 0
    assert log_loss(1 - sure, TRUE, ONCE) == pytest.approx(-math.log(1e-12), rel=1e-4)


def test_always_saying_the_share_has_no_calibration_error_and_the_brier_score_of_the_share() -> (
    None
):
    found = measured(np.full(5, 0.6), TRUE, ONCE)
    assert found["ece"] == pytest.approx(0)
    assert found["brier"] == pytest.approx(found["brier_of_share"])
