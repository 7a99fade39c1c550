"""Laws in whole numbers, against enumeration of the definition and against the engine."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrackable.theory import integer_losses
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.integer_losses import LONGEST, WHOLE, LossLaw, composed, mixed

EPS = st.floats(0.01, 3)
SHARES = st.integers(1, 999)


def three(step: float, share: int) -> LossLaw:
    """Loss ±step with probability share/1000 (as randomised response), 0 otherwise."""
    told = Fraction(share, 1000)
    truth = Fraction(1 / (1 + math.exp(-step)))
    return LossLaw.of(Fraction(step), {1: told * truth, 0: 1 - told, -1: told * (1 - truth)})


def enumerated(factors: list[tuple[float, int]], eps: float) -> float:
    """δ(eps) by listing every outcome."""
    total = 0.0
    for signs in itertools.product((1, 0, -1), repeat=len(factors)):
        mass, loss = 1.0, 0.0
        for sign, (step, share) in zip(signs, factors, strict=True):
            truth = 1 / (1 + math.exp(-step))
            mass *= {1: share / 1000 * truth, 0: 1 - share / 1000, -1: share / 1000 * (1 - truth)}[sign]
            loss += sign * step
        total += mass * max(0.0, -math.expm1(eps - loss))
    return total


@settings(max_examples=60, deadline=None)
@given(EPS, SHARES, st.integers(1, 7), st.floats(0, 4))
def test_a_power_is_exact_and_rounded_up(step: float, share: int, times: int, eps: float) -> None:
    truth = enumerated([(step, share)] * times, eps)
    found = (three(step, share) ** times).delta(eps)
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-9) + 1e-13


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(EPS, SHARES), min_size=2, max_size=5), st.floats(0, 4))
def test_a_composition_on_a_common_step_is_never_optimistic_and_close(
    factors: list[tuple[float, int]], eps: float
) -> None:
    truth = enumerated(factors, eps)
    found = composed([three(*factor) for factor in factors], 1 / 512).delta(eps)
    assert truth * (1 - 1e-12) <= found
    # A loss is split over two neighbours of a step h: as if h²/4 were added to its variance, for each of them.
    assert found <= truth + len(factors) / 512


@settings(max_examples=60, deadline=None)
@given(EPS, SHARES, st.floats(1e-3, 2), st.floats(0, 3))
def test_another_step_dominates(step: float, share: int, other: float, eps: float) -> None:
    law = three(step, share)
    assert law.on(other).delta(eps) >= law.delta(eps) * (1 - 1e-12)


def test_splitting_a_loss_keeps_the_masses_of_both_worlds() -> None:
    moved = three(0.7, 400).on(0.25)
    here = [mass / WHOLE for mass in moved.masses]
    there = [mass * math.exp(-0.25 * position) for position, mass in enumerate(here, moved.low)]
    assert sum(here) == pytest.approx(1, rel=1e-9)
    assert sum(there) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 0.0), (0.0, 0.3), (0.7, 0.0), (0.7, 1e-3), (45.0, 1e-9)])
def test_what_is_declared_has_the_declared_delta(eps: float, delta: float) -> None:
    law = LossLaw.declared(eps, delta)
    assert law.delta(eps) == delta
    factor = Factor([1.0, 0.0], [0.0, 1.0]) if eps == math.inf else response_factor(eps)
    base = Experiment([factor]).delta(eps / 2).upper
    assert law.delta(eps / 2) == pytest.approx(delta + (1 - delta) * base, rel=1e-9)


def test_what_is_given_away_adds_up() -> None:
    both = LossLaw.declared(0.0, 0.1) * LossLaw.declared(0.0, 0.2)
    assert both.delta(5.0) == pytest.approx(0.28, rel=1e-12)
    assert both.delta(5.0) >= 0.28 * (1 - 1e-15)
    assert (LossLaw.everything() * LossLaw.declared(1.0, 0.0)).delta(100.0) == 1.0
    assert LossLaw.nothing().delta(0.0) == 0.0


def test_a_mixture_is_the_sum_of_its_parts() -> None:
    one = three(0.5, 700)
    parts = [(Fraction(1, 4), one**2), (Fraction(3, 4), one**5)]
    expected = sum(float(weight) * law.delta(0.3) for weight, law in parts)
    assert mixed(parts).delta(0.3) == pytest.approx(expected, rel=1e-12)


def test_ends_that_are_cut_off_count_as_given_away() -> None:
    law = three(0.05, 900) ** 4096
    assert law.cut > 0
    assert len(law.masses) < 2 * 4096
    factor = Factor(
        [0.9 / (1 + math.exp(-0.05)), 0.9 / (1 + math.exp(0.05)), 0.1],
        [0.9 / (1 + math.exp(0.05)), 0.9 / (1 + math.exp(-0.05)), 0.1],
    )
    exact = Experiment([(factor, 4096)]).delta(20.0)
    assert exact.lower <= law.delta(20.0) <= exact.upper * (1 + 1e-6)


def test_different_steps_do_not_multiply() -> None:
    with pytest.raises(ValueError, match="same step"):
        three(0.5, 500) * three(0.6, 500)


def test_beyond_the_largest_loss_nothing_is_told() -> None:
    assert (three(0.125, 500) ** 8).delta(1.0) == 0.0


def test_losses_of_very_many_steps_are_on_the_safe_side_and_few() -> None:
    law = LossLaw.of(Fraction(10), {1: Fraction(3, 4), -1: Fraction(1, 4)})
    fine = law.on(1e-6)
    assert len(fine.masses) <= 2
    assert fine.infinite >= law.masses[2]
    for eps in (0.0, 1e-5, 1.0, 9.0):
        assert fine.delta(eps) >= law.delta(eps)


@settings(max_examples=60, deadline=None)
@given(EPS, SHARES, st.floats(0, 1), st.floats(1e-3, 0.5), st.floats(0, 4))
def test_a_law_by_its_deltas_dominates_and_is_close(
    step: float, share: int, gives_away: float, grid: float, eps: float
) -> None:
    one = three(step, share) * LossLaw.declared(0.0, gives_away)
    positions = range(0, 400, 1 + int(0.01 / grid))
    found = LossLaw.profile(grid, {position: one.delta(position * grid) for position in positions})
    assert found.delta(eps) >= one.delta(eps) * (1 - 1e-12)
    for position in positions[:20]:
        assert found.delta(position * grid) == pytest.approx(one.delta(position * grid), rel=1e-9, abs=1e-12)
    truth = gives_away + (1 - gives_away) * enumerated([(step, share), (0.3, 500)], eps)
    assert composed([found, three(0.3, 500)], 1 / 512).delta(eps) >= truth * (1 - 1e-12)


def test_a_law_by_deltas_that_are_not_convex_is_that_of_their_hull() -> None:
    law = LossLaw.profile(0.1, {0: 0.5, 1: 0.499, 2: 0.2, 3: 0.3})
    assert law.delta(0.0) == pytest.approx(0.5, rel=1e-12)
    middle = 0.5 + (0.2 - 0.5) * (math.exp(0.1) - 1) / (math.exp(0.2) - 1)
    assert law.delta(0.1) == pytest.approx(middle, rel=1e-12)
    assert law.delta(0.3) == law.delta(9.0) == pytest.approx(0.2, rel=1e-12)


def test_products_are_the_same_whichever_way_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    one = tuple((i * 0x9E3779B97F4A7C15 << 60) % WHOLE for i in range(1, 60))
    other = tuple((i * i * 0xD1B54A32D192ED03 << 50) % WHOLE for i in range(1, 45))
    exact = [0] * (len(one) + len(other) - 1)
    for i, j in itertools.product(range(len(one)), range(len(other))):
        exact[i + j] += one[i] * other[j]
    rounded = tuple(-(-number // WHOLE) for number in exact)
    for sparse, transformed in ((1000, 1000), (0, 1000), (0, 0)):
        monkeypatch.setattr(integer_losses, "_SPARSE", sparse)
        monkeypatch.setattr(integer_losses, "_TRANSFORMED", transformed)
        assert integer_losses._product(one, other) == rounded


def test_very_many_times_the_same_is_never_too_long_and_never_optimistic() -> None:
    step = 0.0004
    law = three(step, 666) ** 1_000_000
    assert len(law.masses) <= 4 * LONGEST
    masses = [0.666 / (1 + math.exp(-step)), 0.666 / (1 + math.exp(step)), 0.334]
    exact = Experiment([(Factor(masses, [masses[1], masses[0], masses[2]]), 1_000_000)]).delta(1.0)
    assert exact.lower <= law.delta(1.0) <= exact.upper * 1.01


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-9])
def test_a_small_eps_does_not_make_laws_long(eps: float) -> None:
    both = composed([three(0.3, 500), three(0.7, 500), LossLaw.declared(0.5, 1e-3)], eps / 512)
    assert len(both.masses) <= 2 * LONGEST + 3
    truth = enumerated([(0.3, 500), (0.7, 500)], eps)
    assert truth <= both.delta(eps) <= 1e-3 + truth + LossLaw.declared(0.5, 0.0).delta(0.0)
