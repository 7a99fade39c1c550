"""Very many equal losses by one transform: against direct convolution, against mpmath, and for very large decks."""

import math

import mpmath
import numpy as np
import pytest

from untrackable import Deck, NoisyInnerProduct
from untrackable.theory import Factor
from untrackable.theory.convolution import (
    _FEWEST,
    _lattice_step,
    _transform_points,
    loss_by_transform,
    loss_on_lattice,
    total_loss,
)
from untrackable.theory.factor import RepeatedFactor

mpmath.mp.dps = 60


def repeated(eps: float, count: int, *, bits: int = 5, width: int = 1) -> list[RepeatedFactor]:
    return [(NoisyInnerProduct(bits=bits, eps=eps, width=width).privacy_factor().merged(), count)]


@pytest.mark.parametrize(
    "factors",
    [
        repeated(0.02, 1000),
        repeated(0.003, 30_000),
        repeated(0.3, 2000, bits=1),
        repeated(0.01, 5000, width=3),
        [*repeated(0.25, 1500), (NoisyInnerProduct(bits=3, eps=0.25, width=1).privacy_factor().merged(), 800)],
    ],
)
def test_it_agrees_with_direct_convolution(factors: list[RepeatedFactor]) -> None:
    step = _lattice_step(factors)
    assert step is not None
    points = _transform_points(factors, step)
    assert points > 0
    exact, found = loss_on_lattice(factors, step), loss_by_transform(factors, step, points)
    assert found.lost_mass < 1e-11
    for gamma in (0.0, 0.1, 1.0, 2.0, 5.0):
        for one, other in (
            (exact.delta_forward(gamma), found.delta_forward(gamma)),
            (exact.delta_backward(gamma), found.delta_backward(gamma)),
        ):
            assert other[0] <= one[1]
            assert one[0] <= other[1]
            assert other[1] - other[0] <= 3 * found.lost_mass + 1e-8 * one[1]
    for loss in (-1.0, 0.0, 0.7):
        low, high = found.cdf(loss, "Q")
        assert low <= exact.cdf(loss, "Q")[1]
        assert exact.cdf(loss, "Q")[0] <= high


def test_it_brackets_the_sum_in_many_digits() -> None:
    """Two outcomes: a binomial law of two million draws, summed by mpmath around where it matters."""
    eps, count, gamma = 2e-4, 2_000_000, 1.0
    factors = repeated(eps, count, bits=1)
    found = total_loss(factors, 0.0, 1 << 18).delta_forward(gamma)
    factor = factors[0][0]
    up, loss = mpmath.mpf(float(factor.p[factor.loss > 0][0])), mpmath.mpf(float(factor.loss.max()))
    first = count // 2 + math.ceil(gamma / float(loss) / 2)
    log = (
        mpmath.loggamma(count + 1) - mpmath.loggamma(first + 1) - mpmath.loggamma(count - first + 1)
        + first * mpmath.log(up) + (count - first) * mpmath.log(1 - up)
    )  # fmt: skip
    mass, delta, ones = mpmath.exp(log), mpmath.mpf(0), first
    while mass > mpmath.mpf(10) ** -40:
        delta += mass * max(mpmath.mpf(0), -mpmath.expm1(gamma - (2 * ones - count) * loss))
        mass *= mpmath.mpf(count - ones) / (ones + 1) * up / (1 - up)
        ones += 1
    assert found[0] <= delta <= found[1]
    assert found[1] - found[0] <= 1e-6 * delta


def test_where_it_does_not_apply() -> None:
    few, one_sided = repeated(0.02, _FEWEST - 1), Factor(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.4, 0.1]))
    assert _transform_points(few, _lattice_step(few) or 1.0) == 0
    assert _transform_points([(one_sided, 2000)], 1.0) == 0
    assert _transform_points([*repeated(0.02, 2000), *repeated(0.04, 2000)], 0.02) == 0
    far = repeated(1e-7, 10**15)
    assert _transform_points(far, _lattice_step(far) or 1.0) == 0


@pytest.mark.parametrize("slots", [1_500_000, 10**7, 10**9])
@pytest.mark.parametrize(("eps", "delta"), [(1.0, 1e-6), (0.1, 1e-8), (4.0, 1e-9)])
def test_very_large_decks_spend_their_budget(slots: int, eps: float, delta: float) -> None:
    deck = Deck.for_budget(bits=16, slots=slots, eps=eps, delta=delta, width=1)
    spent = deck.privacy().gamma(delta)
    assert eps * (1 - 1e-3) <= spent.lower <= spent.upper <= eps
