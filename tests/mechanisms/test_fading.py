"""Fading: its privacy for ever is a sharp bound, and spends its budget."""

import math
from fractions import Fraction

import pytest

from untrackable.mechanisms import fading
from untrackable.mechanisms.fading import ON_LATTICE, ONE_BY_ONE, Fading, all_rounds
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import from_json
from untrackable.theory import convolution
from untrackable.theory.experiment import Experiment

HALF, TWENTIETH = Fraction(1, 2), Fraction(1, 20)
# Solved before the tail was sharpened: bits, width, power, eps, delta, and the scale.
OLD_SCALES = [
    (1, 1, 0.51, 1.0, 1e-6, 0.02698654),
    (1, 1, 4.0, 1.0, 1e-6, 0.9243027),
    (1, 1, 0.75, 0.01, 1e-3, 0.00640468),
    (1, 1, 0.75, 20.0, 1e-11, 2.100998),
    (10, 1, 0.75, 1.0, 1e-6, 0.2267636),
    (10, 1, 0.75, 1.0, 1e-11, 0.1657882),
    (10, 1, 1.5, 5.0, 1e-9, 2.357022),
    (8, 8, 0.75, 2.0, 1e-6, 1.073558),
    (2, 2, 0.6, 1.0, 1e-6, 0.1375366),
    (10, 1, 4.0, 20.0, 1e-6, 18.49092),
]


def one_by_one(mechanism: Fading, rounds: int) -> Experiment:
    return Experiment([mechanism.base(t).privacy_factor() for t in range(1, rounds + 1)], grid=1 << 16)


@pytest.mark.parametrize(("bits", "width", "power", "eps", "delta", "scale"), OLD_SCALES)
def test_campaigns_with_an_older_scale_are_still_private(
    bits: int, width: int, power: float, eps: float, delta: float, scale: float
) -> None:
    """What was solved with a blunter bound is accepted, and spends less than it did."""
    mechanism = Fading(bits=bits, width=width, power=power, eps=eps, delta=delta, scale=scale)
    assert mechanism.privacy().delta(eps).upper < 0.95 * delta
    if power < 1:
        assert Fading(bits=bits, width=width, power=power, eps=eps, delta=delta).scale > 1.01 * scale


@pytest.mark.parametrize(("bits", "width", "power"), [(1, 1, 0.75), (8, 1, 0.55), (4, 3, 0.75), (8, 1, 2.0)])
def test_it_is_never_below_finitely_many_rounds(bits: int, width: int, power: float) -> None:
    """Rounds that are accounted for one by one, exactly, reveal no more than the bound says; and hardly less."""
    mechanism = Fading(bits=bits, width=width, power=power, eps=2.0, delta=1e-6)
    everlasting = mechanism.privacy()
    assert everlasting.certainty == "upper"
    for rounds in (3, ONE_BY_ONE, ONE_BY_ONE + 1, 150):
        found, truth = mechanism.privacy(reports=rounds), one_by_one(mechanism, rounds)
        for gamma in (0.0, 0.5, 1.5):
            exact = truth.delta(gamma)
            assert exact.lower * (1 - 1e-9) <= found.delta(gamma).upper <= exact.upper * 1.03 + 1e-9
            assert everlasting.delta(gamma).upper >= exact.lower * (1 - 1e-9)


def test_the_first_rounds_are_exact() -> None:
    mechanism = Fading(bits=8, eps=1.0, delta=1e-6)
    assert mechanism.privacy(reports=ONE_BY_ONE).certainty == "exact"
    assert mechanism.privacy(reports=ONE_BY_ONE + 1).certainty == "upper"


@pytest.mark.parametrize("power", [0.75, 1.0])
def test_the_default_scale_spends_the_budget(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a finer lattice of four times as many rounds, less than 0.001 of eps is left."""
    mechanism = Fading(bits=10, eps=1.0, delta=1e-6, power=power)
    monkeypatch.setattr(fading, "ON_LATTICE", 4 * ON_LATTICE)
    monkeypatch.setattr(convolution, "_POINTS", 1 << 15)
    sharp = all_rounds.__wrapped__(mechanism.local.differing_exact(), 1, mechanism.scale, power, math.inf)
    assert 0.999 <= sharp.with_grid(1 << 17).gamma(1e-6).upper <= 1.0


@pytest.mark.parametrize("share", [Fraction(1), HALF, TWENTIETH])
def test_bounds_become_sharper_with_more_rounds_on_the_lattice(
    share: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are upper bounds on the same worlds, so fewer rounds on the lattice must not give a smaller one."""
    found = []
    for rounds in (ONE_BY_ONE, 256, ON_LATTICE):
        monkeypatch.setattr(fading, "ON_LATTICE", rounds)
        pair = all_rounds.__wrapped__(share * Fraction(128, 255), 1, 0.3, 0.75, math.inf)
        found.append(pair.gamma(1e-6).upper)
    assert found[0] > found[1] > found[2] > 0.9 * found[1]


# --- budgets of the first rounds --------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [None, 30, 365, 5000])
def test_a_budget_is_spent(rounds: int | None) -> None:
    made = Fading.for_budget(bits=8, eps=1.0, delta=1e-6, rounds=rounds)
    assert 0.99e-6 < made.privacy(reports=rounds).delta(1.0).upper <= 1e-6
    assert made.eps >= 1.0
    assert made.privacy().delta(made.eps).upper <= 1e-6
    assert from_json(made.to_json()) == made


def test_answering_every_round_for_ever_is_the_constructor() -> None:
    for given in ({"power": 0.6}, {"width": 3}, {}):
        made = Fading.for_budget(bits=4, eps=1.0, delta=1e-6, **given)
        assert made == Fading(bits=4, eps=1.0, delta=1e-6, **given)


def test_fewer_rounds_may_be_louder() -> None:
    made = [Fading.for_budget(bits=8, eps=1.0, delta=1e-6, rounds=rounds) for rounds in (30, 365, 5000, None)]
    scales = [each.scale for each in made]
    assert scales == sorted(scales, reverse=True)


def test_one_round_is_a_card() -> None:
    """The first round alone is one noisy inner product, as a deck of one card is."""
    made = Fading.for_budget(bits=4, eps=1.0, delta=1e-6, rounds=1)
    alone = Experiment([NoisyInnerProduct(bits=4, eps=made.scale, width=1).privacy_factor()])
    assert made.privacy(reports=1).delta(1.0).upper == alone.delta(1.0).upper
    assert alone.delta(1.0).upper <= 1e-6
    louder = NoisyInnerProduct(bits=4, eps=1.001 * made.scale, width=1).privacy_factor()
    assert Experiment([louder]).delta(1.0).lower > 1e-6


@pytest.mark.parametrize("rounds", [0, -3])
def test_bad_budgets_are_refused(rounds: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        Fading.for_budget(bits=4, eps=1.0, delta=1e-6, rounds=rounds)
