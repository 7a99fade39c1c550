"""Intervals around estimates: their radii, and their ends within [0, 1]."""

import math

import numpy as np
import pytest

from untrackable.estimation.intervals import (
    interval_around,
    radii_of_deviations,
    radii_of_means,
    single_interval,
    small_beta_radius,
)


def test_intervals_are_cut_off_at_0_and_1() -> None:
    interval = interval_around(np.array([-0.3, 0.1, 0.5, 0.95]), np.full(4, 0.2))
    assert interval.lower == pytest.approx([0, 0, 0.3, 0.75])
    assert interval.upper == pytest.approx([0, 0.3, 0.7, 1])
    for frequency, lower, upper in zip((-0.3, 0.1, 0.5, 0.95), *interval, strict=True):
        assert single_interval(frequency, 0.2) == (lower, upper)


def test_radii_are_hoeffdings() -> None:
    radii = radii_of_means(3.0, 50, 0.1, (7,), statistics=7)
    assert radii.single == pytest.approx(np.full(7, 3 * math.sqrt(math.log(2 / 0.1) / 100)))
    assert radii.simultaneous == pytest.approx(np.full(7, 3 * math.sqrt(math.log(2 * 7 / 0.1) / 100)))
    same = radii_of_deviations(np.full(7, 3 / math.sqrt(50)), 0.1, statistics=7)
    assert same.single == pytest.approx(radii.single)
    assert same.simultaneous == pytest.approx(radii.simultaneous)


def test_a_beta_may_be_tiny() -> None:
    assert small_beta_radius(2.0, 0.1) == pytest.approx(2 * math.sqrt(math.log(20) / 2))
    assert small_beta_radius(1.0, 5e-324) == pytest.approx(math.sqrt((math.log(2) + 744.44) / 2), rel=1e-5)
