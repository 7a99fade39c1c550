"""Intervals of frequencies: exact laws of counts, never below their coverage and hardly above the normal radius."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from untrackable import Deck, Fresh
from untrackable.arrays import FloatArray
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import (
    Interval,
    certain_order,
    clipped,
    is_told,
    shares_told,
    shown_share,
    shown_shares,
    small_beta_radius,
)
from untrackable.mechanisms.local import RandomizedResponse, SubsetSelection
from untrackable.theory.accuracy import _log_tail, _widest_count_radius, count_interval
from untrackable.theory.turns import Turns

CHANCES = [(0.75, 0.25), (0.9, 0.01), (0.6, 0.55), (0.99966, 0.00034), (1.0, 0.0), (0.5, 0.1), (0.3, 0.0)]
NEARLY = 1 + 1e-9


def two_binomials(n: int, holders: int, there: float, elsewhere: float) -> np.ndarray:
    """The law of the count if so many of n people hold the value, by enumeration."""
    mine, theirs = np.arange(holders + 1), np.arange(n - holders + 1)
    return np.convolve(stats.binom.pmf(mine, holders, there), stats.binom.pmf(theirs, n - holders, elsewhere))


def worst_miss(n: int, there: float, elsewhere: float, beta: float, *, sampled: bool, people: int = 0) -> float:
    """The largest probability, of all populations, that an end misses the share.

    With `people`, the n reports are of a random sample of so many.
    """
    counts = np.arange(n + 1.0)
    lower, upper = count_interval(
        counts, n, beta, elsewhere=elsewhere, span=1 / (there - elsewhere), sampled=sampled
    )
    laws = np.array([two_binomials(n, held, there, elsewhere) for held in range(n + 1)])
    worst = 0.0
    for holders in range((people or n) + 1):
        share = holders / (people or n)
        law = stats.hypergeom.pmf(np.arange(n + 1), people, holders, n) @ laws if people else laws[holders]
        worst = max(worst, float(law[lower > share + 1e-12].sum()), float(law[upper < share - 1e-12].sum()))
    return worst


@pytest.mark.parametrize(("there", "elsewhere"), CHANCES)
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_no_population_is_missed_more_often_than_stated(there: float, elsewhere: float, beta: float) -> None:
    """Everybody, a random sample of three times as many, or of many: each end fails with at most beta/2 (exact)."""
    for n in (1, 2, 5, 16, 40):
        for sampled, people in ((False, 0), (True, 0), (True, n + 1), (True, 3 * n)):
            assert worst_miss(n, there, elsewhere, beta, sampled=sampled, people=people) <= beta / 2 * NEARLY


def test_intervals_a_little_too_narrow_are_noticed() -> None:
    """Those of a 1.2 times larger beta miss more often than stated, in the same test."""
    assert worst_miss(60, 0.9, 0.1, 0.06, sampled=False) > 0.05 / 2
    assert worst_miss(60, 0.9, 0.1, 0.06, sampled=True, people=600) > 0.05 / 2
    # If everybody answered, an interval of a sample is wide; of a sample, an interval of everybody misses.
    assert worst_miss(60, 0.99, 0.01, 0.05, sampled=True, people=120) <= 0.05 / 2
    assert worst_miss(60, 0.99, 0.01, 0.05, sampled=False, people=120) > 3 * 0.05 / 2


@pytest.mark.parametrize(("there", "elsewhere"), CHANCES)
def test_the_bound_on_a_tail_holds_and_is_close(there: float, elsewhere: float) -> None:
    for n, held in ((1, 0), (9, 4), (60, 0), (60, 60), (60, 20)):
        law = two_binomials(n, held, there, elsewhere)
        counts = np.arange(n + 1.0)
        exact = law[::-1].cumsum()[::-1]
        bound = np.exp(_log_tail(np.full(n + 1, float(held)), counts, n, there, elsewhere))
        assert np.all(exact <= bound * NEARLY + 1e-300)
    mean, spread = (
        20 * there + 40 * elsewhere,
        math.sqrt(20 * there * (1 - there) + 40 * elsewhere * (1 - elsewhere)),
    )
    if spread > 2:
        far = counts > mean + 1.5 * spread
        assert np.all(bound[far] <= 1.5 * exact[far] + 1e-15)


def of_shares(mechanism: Any, shares: np.ndarray, n: int, seed: int = 1) -> Estimate:
    """An estimate of n reports that happens to be exact, for values of these shares."""
    (batch,) = mechanism.simulate([0], rounds=1, seed=seed)
    found = mechanism.aggregator().add(batch.reports).estimate()
    some: Estimate = replace(found, n=n, frequencies=shares)
    return some


EPS = [0.1, 0.3, 1.0, 2.0, 2.85, 4.0, 4.7, 6.0, 8.0]
VALUES = [2, 4, 16, 128, 1024]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("everybody", [False, True])
def test_intervals_are_within_1_3_times_the_normal_radius(values: int, everybody: bool) -> None:
    """For loud and quiet reports, of one value and of all at once: the issue's table had 12.9."""
    shares = np.resize([0.0, 0.05, 0.5, 0.2, 0.25], values) if values > 2 else np.array([0.3, 0.7])
    for eps in EPS:
        bits = values.bit_length() - 1
        made = [Deck(bits=bits, slots=1, eps_report=eps), Fresh(SubsetSelection(values=values, eps=eps))]
        made += [Fresh(RandomizedResponse(eps=eps))] if values == 2 else []
        for mechanism in made:
            found = of_shares(mechanism, shares, 100_000)
            assert found.chance is not None
            q, gap = np.asarray(found.chance), 1 / found.span
            p = q + gap
            variance = shares * p * (1 - p) + (1 - shares) * q * (1 - q)
            if not everybody:
                found = replace(found, turns=Turns(rounds=12))
                variance = variance + shares * (1 - shares) * gap**2
            for together in (False, True):
                lower, upper = found.ends(simultaneous=together)
                level = found.beta / (found.statistics if together else 1)
                normal = stats.norm.isf(level / 2) * np.sqrt(variance / found.n) / gap
                assert np.all((upper - lower) / 2 <= 1.3 * normal)
                assert np.all((upper >= shares) & (lower <= shares))


@pytest.mark.parametrize("beta", [0.2, 0.01, 1e-6])
def test_no_interval_is_wider_than_promised(beta: float) -> None:
    """What a plan promises is at least the radius of every count that a share within [0, 1] gives on average."""
    for n in (1, 7, 50, 400):
        for there, elsewhere in CHANCES:
            promised = _widest_count_radius(n, beta, (there, elsewhere)) / (there - elsewhere)
            counts = np.arange(math.ceil(n * elsewhere), math.floor(n * there) + 1.0)
            shares = (counts / n - elsewhere) / (there - elsewhere)
            for sampled in (False, True):
                lower, upper = count_interval(
                    counts, n, beta, elsewhere=elsewhere, span=1 / (there - elsewhere), sampled=sampled
                )
                radius = np.maximum(shares - lower, upper - shares)
                assert np.all(radius <= promised * NEARLY)
            assert promised <= 1.6 * math.sqrt(math.log(2 / beta) / (2 * n)) / (there - elsewhere) or n < 50


def around(shares: FloatArray, radius: FloatArray) -> Interval:
    return clipped(Interval(shares - radius, shares + radius))


def test_intervals_are_cut_off_at_0_and_1() -> None:
    interval = around(np.array([-0.3, 0.1, 0.5, 0.95]), np.full(4, 0.2))
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
    lower, upper = around(frequencies, radius)
    for share, *one in zip(shown, frequencies, lower, upper, strict=True):
        assert shown_share(*map(float, one)) == (None if np.isnan(share) else share)


@given(hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)), st.floats(0, 0.5))
def test_only_what_is_certain_changes_the_order(shares: FloatArray, radius: float) -> None:
    lower, upper = around(shares, np.full(shares.size, radius))
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


def test_radii_without_a_law_of_counts_are_hoeffdings() -> None:
    found = Estimate(np.zeros(7), 50, 0.1, np.zeros(7), span=np.full(7, 3.0))
    assert found.radius == pytest.approx(np.full(7, 3 * math.sqrt(math.log(2 / 0.1) / 100)))
    assert found.simultaneous_radius == pytest.approx(np.full(7, 3 * math.sqrt(math.log(2 * 7 / 0.1) / 100)))


def test_a_beta_may_be_tiny() -> None:
    assert small_beta_radius(2.0, 0.1) == pytest.approx(2 * math.sqrt(math.log(20) / 2))
    assert small_beta_radius(1.0, 5e-324) == pytest.approx(math.sqrt((math.log(2) + 744.44) / 2), rel=1e-5)
