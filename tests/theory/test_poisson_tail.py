"""The comparison with a Poisson number: it bounds tails of sums, by enumeration, and is close to the normal."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm, poisson

from untrackable.theory.accuracy import _excess, _log_poisson_tail, poisson_radius

LAWS: dict[str, list[dict[float, float]]] = {
    "signs": [{-1.0: 0.5, 1.0: 0.5}],
    "rare": [{-0.1: 10 / 11, 1.0: 1 / 11}],
    "frequent": [{-2.0: 1 / 3, 1.0: 2 / 3}],
    "three values": [{-1.0: 0.3, 0.0: 0.4, 1.0: 0.3}],
    "of different variance": [{-1.0: 0.5, 1.0: 0.5}, {-0.05: 20 / 21, 1.0: 1 / 21}, {-0.5: 0.5, 0.5: 0.5}],
}
"""Terms with mean 0 that do not exceed 1."""


def sums(laws: list[dict[float, float]], n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """All values of a sum of n terms, these laws in turn, with their tails and the variance."""
    found, variance = {0.0: 1.0}, 0.0
    for law in itertools.islice(itertools.cycle(laws), n):
        assert sum(x * p for x, p in law.items()) == pytest.approx(0.0, abs=1e-12)
        variance += sum(x * x * p for x, p in law.items())
        added: dict[float, float] = {}
        for (value, chance), (x, p) in itertools.product(found.items(), law.items()):
            place = round(value + x, 9)
            added[place] = added.get(place, 0.0) + chance * p
        found = added
    values = np.array(sorted(found))
    tails = np.array([found[x] for x in values])[::-1].cumsum()[::-1]
    return values, tails, variance


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_no_tail_is_heavier(name: str, n: int) -> None:
    values, tails, variance = sums(LAWS[name], n)
    for part in (1.0, 1.7):  # Terms may also be known to be smaller than they could be.
        bound = _log_poisson_tail(values, np.full(values.size, variance), np.full(values.size, part))
        assert np.all(np.log(tails) <= bound + 1e-9)


def test_with_a_smaller_variance_it_would_not_hold() -> None:
    for name, n in (("signs", 1), ("signs", 30), ("rare", 7)):
        values, tails, variance = sums(LAWS[name], n)
        bound = _log_poisson_tail(values, np.full(values.size, 0.25 * variance), np.ones(values.size))
        assert np.any(np.log(tails) > bound + 1e-9)


@pytest.mark.parametrize("mean", [1e-6, 0.01, 0.3, 3.0, 50.0, 1000.0])
def test_it_is_the_best_of_all_thresholds(mean: float) -> None:
    """Moments are those of a sum over the law, and no threshold gives much less."""
    numbers = np.arange(int(mean + 30 * np.sqrt(mean) + 80))
    law = poisson.pmf(numbers, mean)
    for deviations in (0.5, 1.0, 2.0, 4.0, 6.0):
        place = mean + deviations * np.sqrt(mean)
        tried = place - np.geomspace(1e-3, 1e3 + place, 3000)
        above = np.maximum(0.0, numbers - tried[:, None])
        _, first, second = _excess(tried, np.full(tried.size, mean))
        assert first == pytest.approx(above @ law, rel=1e-5, abs=1e-300)
        assert second == pytest.approx(above**2 @ law, rel=1e-5, abs=1e-300)
        best = min(0.0, float((np.log(above**2 @ law) - 2 * np.log(place - tried)).min()))
        (found,) = _log_poisson_tail(np.array([place - mean]), np.array([mean]), np.ones(1))
        assert best - 1e-3 <= found <= best + 0.1


def test_large_means_keep_their_digits() -> None:
    """The tail of a thousand millions is nearly that of a normal number, and never below it."""
    for mean in (1e5, 1e7, 1e9):
        for deviations in (1.0, 3.0, 5.0, 7.0):
            (found,) = _log_poisson_tail(np.array([deviations * np.sqrt(mean)]), np.array([mean]), np.ones(1))
            assert norm.logsf(deviations) < found < norm.logsf(deviations) + 1.5


@pytest.mark.parametrize("beta", [0.05, 0.01, 1e-3, 1e-6])
def test_radii_are_within_1_3_times_the_normal_one(beta: float) -> None:
    """Bernstein's, which is given as the largest, is not, at 0.05. No radius is smaller than the normal one."""
    for n in (3000, 10**5, 10**8):
        for variance, part in ((1.0, 2.0), (0.1, 1.0), (600.0, 70.0)):
            log = math.log(2 / beta)
            bernstein = math.sqrt(2 * variance * log / n) + part * log / (3 * n)
            found = poisson_radius(n, beta / 2, np.array([variance]), np.array([part]), np.array([bernstein]))
            normal = norm.isf(beta / 2) * math.sqrt(variance / n)
            assert normal < found[0] < 1.27 * normal
            assert found[0] < bernstein
    assert math.sqrt(2 * math.log(2 / 0.05)) > 1.38 * norm.isf(0.05 / 2)


def test_the_radius_grows_less_than_the_variance() -> None:
    """So the shares that are possible are an interval: farther away, the radius falls short ever more."""
    for n, part in ((1, 3.0), (5, 3.0), (50, 3.0), (1000, 3.0), (10**5, 20.0)):
        for level in (0.25, 0.025, 1e-6):
            variance = np.geomspace(1e-4, 9.0, 2000)
            most = np.full(variance.size, 1000 * part)
            found = poisson_radius(n, level, variance, np.full(variance.size, part), most)
            assert np.all(np.diff(found / variance) <= 1e-9)
            assert np.all(np.diff(found) >= -1e-9)


def test_radii_are_those_of_the_tail() -> None:
    """At each radius the tail is at most the level, and a little before it is not."""
    for level in (0.25, 0.025, 1e-9):
        mean = np.geomspace(1e-6, 9e4, 1500)
        found = poisson_radius(1, level, mean, np.ones(mean.size), np.full(mean.size, np.inf))
        assert np.all(_log_poisson_tail(found, mean, np.ones(mean.size)) <= math.log(level) + 1e-6)
        assert np.all(_log_poisson_tail(0.995 * found, mean, np.ones(mean.size)) > math.log(level))
