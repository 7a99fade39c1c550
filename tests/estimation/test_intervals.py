"""Intervals around estimates: their radii, and their ends within [0, 1]."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from untrackable.estimation.intervals import (
    FloatArray,
    certain_order,
    interval_around,
    is_told,
    radii_of_deviations,
    radii_of_means,
    shares_told,
    shown_share,
    shown_shares,
    small_beta_radius,
)


def test_intervals_are_cut_off_at_0_and_1() -> None:
    interval = interval_around(np.array([-0.3, 0.1, 0.5, 0.95]), np.full(4, 0.2))
    assert interval.lower == pytest.approx([0, 0, 0.3, 0.75])
    assert interval.upper == pytest.approx([0, 0.3, 0.7, 1])


def test_a_share_is_shown_by_its_noise_and_not_by_what_it_happens_to_be() -> None:
    """An estimate of 653 % has an interval within [0, 1] that may be short by chance, and is not shown."""
    assert [is_told(width, 10.0) for width in (8.9, 9.0, 9.1)] == [True, True, False]
    frequencies, radius = np.array([6.53, -0.757, 0.3, 1.2, -0.1]), np.array([5.9, 1.29, 0.46, 0.45, 0.2])
    assert shares_told(radius).tolist() == [False, False, False, True, True]
    shown = shown_shares(frequencies, radius)
    assert np.isnan(shown[:3]).all()
    assert shown[3:].tolist() == [1.0, 0.0]
    lower, upper = interval_around(frequencies, radius)
    for share, *one in zip(shown, frequencies, lower, upper, strict=True):
        assert shown_share(*map(float, one)) == (None if np.isnan(share) else share)


@given(hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)), st.floats(0, 0.5))
def test_only_what_is_certain_changes_the_order(shares: FloatArray, radius: float) -> None:
    lower, upper = interval_around(shares, np.full(shares.size, radius))
    order = certain_order(lower, upper)
    assert sorted(order) == list(range(shares.size))
    for at, place in enumerate(order):
        for later in order[at + 1 :]:
            assert not lower[later] > upper[place]  # What is certain is shown.
        # And nothing else: whatever is overtaken is certainly below another share.
        for later in order[at + 1 :]:
            assert later > place or any(lower > upper[later])
    if lower.max() <= upper.min():
        assert order == sorted(order)


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
