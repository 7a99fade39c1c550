"""Tails against sums of probabilities, and the two procedures against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from untrackable.theory.accuracy import (
    Dependence,
    binomial_tail,
    discovery_level,
    mean_radius,
    mean_tail,
    radius_tail,
)


@pytest.mark.parametrize("chance", [0.01, 0.3, 0.4999])
@pytest.mark.parametrize("trials", [1, 2, 17])
def test_binomial_tails_are_sums(trials: int, chance: float) -> None:
    counts = np.arange(-1, trials + 3)
    law = [math.comb(trials, c) * chance**c * (1 - chance) ** (trials - c) for c in range(trials + 1)]
    expected = [1.0 if c <= 0 else math.fsum(law[c:]) for c in counts]
    for times in (1, 5):  # looked up where counts are often the same
        assert np.allclose(binomial_tail(np.tile(counts, times), trials, chance), expected * times, rtol=1e-12)
    each = np.full(counts.size, chance)
    assert np.allclose(binomial_tail(counts, trials, each), expected, rtol=1e-12)


def test_binomial_tails_of_many() -> None:
    counts = np.array([0, 499_000, 500_000, 503_000, 510_000])
    assert np.allclose(binomial_tail(counts, 10**6, 0.5), binom.sf(counts - 1, 10**6, 0.5), rtol=1e-9)


def test_means_are_hoeffdings() -> None:
    """The radius at which one side fails with probability β/2."""
    for beta in (0.5, 1e-3, 1e-12):
        radius = mean_radius(100, beta, span=3.0)
        assert math.isclose(mean_tail(np.array([radius]), 100, 3.0)[0], beta / 2, rel_tol=1e-9)
    assert mean_tail(np.array([-1.0, 0.0]), 100, 3.0).tolist() == [1.0, 1.0]


def test_a_radius_is_turned_around() -> None:
    betas = np.array([0.9, 0.05, 1e-9, 1e-200])
    found = radius_tail(np.array([mean_radius(100, b) for b in betas]), lambda beta: mean_radius(100, beta))
    assert np.all(found >= betas * (1 - 1e-9))
    assert np.all(found <= betas * 10 ** (1 / 32) * (1 + 1e-9))
    assert radius_tail(np.array([-1.0, 0.0]), lambda beta: mean_radius(100, beta)).tolist() == [1.0, 1.0]


def by_definition(p_values: list[float], rate: float, dependence: Dependence) -> list[bool]:
    m = len(p_values)
    if dependence == "any":
        rate /= sum(1 / i for i in range(1, m + 1))
    r = max((r for r in range(1, m + 1) if sorted(p_values)[r - 1] <= rate * r / m), default=0)
    return [r > 0 and p <= sorted(p_values)[r - 1] for p in p_values]


grid = st.lists(st.integers(0, 1000).map(lambda i: i / 1000), min_size=1, max_size=12)


@given(grid, st.sampled_from([0.0501, 0.2003, 0.9007]), st.sampled_from(["positive", "any"]), st.integers(0, 12))
def test_discoveries_are_their_definition(
    p_values: list[float], rate: float, dependence: Dependence, cut: int
) -> None:
    whole = np.array(p_values)
    level = discovery_level([whole[:cut], whole[cut:]], rate, dependence=dependence)
    assert (whole <= level).tolist() == by_definition(p_values, rate, dependence)


def test_arguments() -> None:
    with pytest.raises(ValueError, match="rate must be strictly between"):
        discovery_level([np.array([0.5])], 0.0)
    with pytest.raises(ValueError, match="dependence must be one of"):
        discovery_level([np.array([0.5])], 0.5, dependence="none")  # type: ignore[arg-type]
