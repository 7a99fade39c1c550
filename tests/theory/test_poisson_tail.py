"""The comparison with a Poisson number: it bounds tails of sums, by enumeration, and is close to the normal."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from untrackable.theory.poisson_tail import LOG_FACTOR, log_poisson_tail, poisson_radius

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
        bound = log_poisson_tail(values, np.full(values.size, variance), np.full(values.size, part))
        assert np.all(np.log(tails) <= bound + 1e-9)


def test_without_its_factor_it_would_not_hold() -> None:
    values, tails, variance = sums(LAWS["signs"], 1)
    bound = log_poisson_tail(values, np.full(2, variance), np.ones(2))
    assert np.any(np.log(tails) > bound - LOG_FACTOR)


@pytest.mark.parametrize("beta", [0.05, 0.01, 1e-3, 1e-6])
def test_radii_are_within_1_3_times_the_normal_one(beta: float) -> None:
    """Bernstein's, which is given as the largest, is not, at 0.05. No radius is smaller than the normal one."""
    for n in (3000, 10**5, 10**8):
        for variance, part in ((1.0, 2.0), (0.1, 1.0), (600.0, 70.0)):
            log = math.log(2 / beta)
            bernstein = math.sqrt(2 * variance * log / n) + part * log / (3 * n)
            found = poisson_radius(n, beta / 2, np.array([variance]), np.array([part]), np.array([bernstein]))
            normal = norm.isf(beta / 2) * math.sqrt(variance / n)
            assert normal < found[0] < 1.3 * normal
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
