"""Digits of the permanent-state coordinate where doubles would lose them, against sixty of mpmath's."""

from typing import Any

import mpmath
import pytest

from untrackable.mechanisms.fading import ONE_BY_ONE, later_shift
from untrackable.mechanisms.randomness import coin
from untrackable.randomizers.randomness import Chance
from untrackable.theory import Factor
from untrackable.theory.kept_bit import Noise, privacy_factor

mpmath.mp.dps = 60


def test_nearly_equal_coins_keep_their_difference() -> None:
    whole, q, p, reports = 1 << 64, 0.9, 0.5, 3
    for first, second in ((1000, 2), (1, 1 << 20), (whole - 1000, whole - 2)):
        found = privacy_factor(coin(Chance(first)), coin(Chance(second)), Noise.of(q, p), reports)
        a, b = (mpmath.mpf(threshold) / whole for threshold in (first, second))
        likelihood = [
            (mpmath.mpf(q) ** x * (1 - mpmath.mpf(q)) ** (reports - x), mpmath.mpf(p) ** reports)
            for x in range(reports + 1)
        ]
        truth = max(abs(mpmath.log((a * r + (1 - a) * s) / (b * r + (1 - b) * s))) for r, s in likelihood)
        assert abs(found.loss).max() == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize(("q", "p"), [(2e-10, 1e-10), (0.75, 0.5), (0.9, 1e-12)])
def test_what_a_reported_zero_says(q: float, p: float) -> None:
    truth = mpmath.log((1 - mpmath.mpf(q)) / (1 - mpmath.mpf(p)))
    assert Noise.of(q, p).zeros == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 20.0])
@pytest.mark.parametrize("bits", [1, 8])
def test_the_tail_of_fading_is_that_of_its_shifts(scale: float, bits: int) -> None:
    """Groups of rounds need a smaller shift than the sum of the shifts of single rounds, but not by much."""
    last = ONE_BY_ONE + 5
    differ = mpmath.mpf(2) ** (bits - 1) / (mpmath.mpf(2) ** bits - 1)

    def quantile(level: Any) -> Any:
        return mpmath.sqrt(2) * mpmath.erfinv(2 * level - 1)

    total = mpmath.mpf(0)
    for t in range(ONE_BY_ONE + 1, last + 1):
        reach = differ * mpmath.tanh(scale * mpmath.mpf(t) ** -0.75 / 2) / 2
        total += (quantile(1 - differ / 2 + reach) - quantile(1 - differ / 2 - reach)) ** 2
    found = later_shift(float(differ), 1, scale, 0.75, ONE_BY_ONE, last)
    assert 0.8 * float(mpmath.sqrt(total)) <= found <= float(mpmath.sqrt(total)) * 1.1


def test_masses_are_normalised() -> None:
    assert Factor([0.5, 0.5 + 9e-10], [0.25, 0.75]).p.sum() == pytest.approx(1.0, abs=1e-15)
