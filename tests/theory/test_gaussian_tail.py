"""One Gaussian for many quiet rounds: it dominates groups of rounds, and hardly exceeds their variance."""

import itertools
import math
from typing import Any

import mpmath
import pytest

from untrackable.theory.convolution import group_slope, squares, tail_shift
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor


def quiet(hit: float, eps: float) -> Factor:
    truth = 1 / (1 + math.exp(-eps))
    return Factor(
        [hit * truth, hit * (1 - truth), 1 - hit], [hit * (1 - truth), hit * truth, 1 - hit], [eps, -eps, 0.0]
    )


@pytest.mark.parametrize("hit", [1.0, 0.5, 0.25, 0.02, 1e-6])
@pytest.mark.parametrize("rounds", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("loudest", [1e-4, 0.02, 0.3])
def test_a_group_of_rounds_is_dominated(hit: float, rounds: int, loudest: float) -> None:
    """By all quantiles of the Gaussian: its power is larger at every corner of the group's curve."""
    slope = group_slope(hit, rounds, loudest)
    if slope == math.inf:
        assert rounds * loudest > 0.1 or hit**rounds == 0
        return
    for eps in (loudest, loudest / 3):
        group = Experiment([(quiet(hit, eps), rounds)])
        gaussian = Experiment(gaussian=slope * eps)
        for gamma in (-0.5, 0.0, 0.1, 0.5, 0.9):
            at = gamma * rounds * eps
            assert group._delta(at, "forward")[0] <= gaussian._delta(at, "forward")[1] * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("hit", [1.0, 0.5])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_the_corners_by_exact_quantiles(hit: float, rounds: int) -> None:
    """The shift is at least Φ⁻¹(F(ε)) - Φ⁻¹(F(-ε)) at every corner, and equals the largest for quiet rounds."""
    mpmath.mp.dps = 40
    loudest = 1e-3

    def beyond(eps: float, k: int) -> Any:
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(eps)))
        total = mpmath.mpf(0)
        for up, down in itertools.product(range(rounds + 1), repeat=2):
            if up + down <= rounds and up - down >= k:
                ways = math.factorial(rounds) // (
                    math.factorial(up) * math.factorial(down) * math.factorial(rounds - up - down)
                )
                h = mpmath.mpf(hit)
                total += ways * (h * p) ** up * (h * (1 - p)) ** down * (1 - h) ** (rounds - up - down)
        return total

    def quantile(level: Any) -> Any:
        return mpmath.sqrt(2) * mpmath.erfinv(2 * level - 1)

    needed = max(
        quantile(beyond(loudest, k)) - quantile(beyond(-loudest, k))
        for k in range(1 - rounds, rounds + 1)
        if 0 < beyond(loudest, k) < 1
    )
    slope = group_slope(hit, rounds, loudest)
    assert float(needed) <= slope * loudest * (1 + 1e-12)
    assert slope * loudest == pytest.approx(float(needed), rel=1e-4)


def test_larger_groups_come_close_to_their_variance() -> None:
    excess = [group_slope(0.5, n, 1e-5) ** 2 / (0.5 * n) - 1 for n in (1, 2, 4, 8, 16, 32, 64)]
    assert excess == sorted(excess, reverse=True)
    assert excess[0] == pytest.approx(0.2378, abs=1e-3)
    assert excess[-1] < 0.005


@pytest.mark.parametrize("hit", [1.0, 0.5, 0.1])
@pytest.mark.parametrize(("after", "last"), [(3, 4), (3, 60), (10, 200), (64, 700)])
def test_a_tail_dominates_its_rounds(hit: float, after: int, last: int) -> None:
    scale, power = 2.0, 0.75
    rounds = Experiment([quiet(hit, scale * t**-power) for t in range(after + 1, last + 1)])
    tail = Experiment(gaussian=tail_shift(hit, scale, power, after, last))
    for gamma in (0.0, 0.1, 0.5, 1.0):
        assert rounds.delta(gamma).lower <= tail.delta(gamma).upper
    # A fifth less is too little where the rounds are nearly Gaussian.
    if hit >= 0.5 and last > 100:
        short = Experiment(gaussian=0.8 * tail_shift(hit, scale, power, after, last))
        assert rounds.delta(1.0).lower > short.delta(1.0).upper


def test_a_tail_is_no_larger_than_round_by_round() -> None:
    """One Gaussian for each round is the bound that was used before."""
    for hit, scale, after in itertools.product((1.0, 0.5, 0.01), (0.1, 2.0, 30.0), (64, 512)):
        alone = (
            group_slope(hit, 1, scale * (after + 1) ** -0.75) * scale * math.sqrt(squares(0.75, after, math.inf))
        )
        assert tail_shift(hit, scale, 0.75, after, math.inf) <= alone * (1 + 1e-6)


def test_a_tail_that_ends_is_empty() -> None:
    assert tail_shift(0.5, 1.0, 0.75, 64, 64) == 0
    assert squares(0.75, 64, 64) == 0
