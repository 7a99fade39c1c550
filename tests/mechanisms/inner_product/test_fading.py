"""Fading: its privacy for ever is a sharp bound, also if rounds are answered by chance, and spends its budget."""

import math
from fractions import Fraction

import pytest

from untrackable.mechanisms.inner_product import fading_privacy
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.fading_privacy import ON_LATTICE, ONE_BY_ONE, all_rounds
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.registry import from_json
from untrackable.theory import lattice_rounds
from untrackable.theory.chance_of_answering import thinned_factor
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


def one_by_one(mechanism: Fading, rounds: int, share: Fraction) -> Experiment:
    factors = [thinned_factor(mechanism.base(t).privacy_factor(), share) for t in range(1, rounds + 1)]
    return Experiment(factors, grid=1 << 16)


@pytest.mark.parametrize(("bits", "width", "power", "eps", "delta", "scale"), OLD_SCALES)
def test_campaigns_with_an_older_scale_are_still_private(
    bits: int, width: int, power: float, eps: float, delta: float, scale: float
) -> None:
    """What was solved with a blunter bound is accepted, and spends less than it did."""
    mechanism = Fading(bits=bits, width=width, power=power, eps=eps, delta=delta, scale=scale)
    assert mechanism.privacy().delta(eps).upper < 0.95 * delta
    if power < 1:
        assert Fading(bits=bits, width=width, power=power, eps=eps, delta=delta).scale > 1.01 * scale


@pytest.mark.parametrize("share", [Fraction(1), HALF, TWENTIETH])
@pytest.mark.parametrize(("bits", "width", "power"), [(1, 1, 0.75), (8, 1, 0.55), (4, 3, 0.75), (8, 1, 2.0)])
def test_it_is_never_below_finitely_many_rounds(bits: int, width: int, power: float, share: Fraction) -> None:
    """Rounds that are accounted for one by one, exactly, reveal no more than the bound says; and hardly less."""
    mechanism = Fading(bits=bits, width=width, power=power, eps=2.0, delta=1e-6)
    everlasting = mechanism.privacy(participation=share)
    assert everlasting.certainty == "upper"
    for rounds in (3, ONE_BY_ONE, ONE_BY_ONE + 1, 150):
        found, truth = mechanism.privacy(reports=rounds, participation=share), one_by_one(mechanism, rounds, share)
        for gamma in (0.0, 0.5, 1.5):
            exact = truth.delta(gamma)
            assert exact.lower * (1 - 1e-9) <= found.delta(gamma).upper <= exact.upper * 1.03 + 1e-9
            assert everlasting.delta(gamma).upper >= exact.lower * (1 - 1e-9)


def test_the_first_rounds_are_exact() -> None:
    mechanism = Fading(bits=8, eps=1.0, delta=1e-6)
    assert mechanism.privacy(reports=ONE_BY_ONE).certainty == "exact"
    assert mechanism.privacy(reports=ONE_BY_ONE, participation=HALF).certainty == "exact"
    assert mechanism.privacy(reports=ONE_BY_ONE + 1).certainty == "upper"


@pytest.mark.parametrize("power", [0.75, 1.0])
def test_the_default_scale_spends_the_budget(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a finer lattice of four times as many rounds, less than 0.001 of eps is left."""
    mechanism = Fading(bits=10, eps=1.0, delta=1e-6, power=power)
    monkeypatch.setattr(fading_privacy, "ON_LATTICE", 4 * ON_LATTICE)
    monkeypatch.setattr(lattice_rounds, "_POINTS", 1 << 15)
    sharp = all_rounds.__wrapped__(10, 1, mechanism.scale, power, math.inf, Fraction(1))
    assert 0.999 <= sharp.with_grid(1 << 17).gamma(1e-6).upper <= 1.0


@pytest.mark.parametrize("share", [Fraction(1), HALF, TWENTIETH])
def test_bounds_become_sharper_with_more_rounds_on_the_lattice(
    share: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are upper bounds on the same worlds, so fewer rounds on the lattice must not give a smaller one."""
    found = []
    for rounds in (ONE_BY_ONE, 256, ON_LATTICE):
        monkeypatch.setattr(fading_privacy, "ON_LATTICE", rounds)
        pair = all_rounds.__wrapped__(8, 1, 0.3, 0.75, math.inf, share)
        found.append(pair.gamma(1e-6).upper)
    assert found[0] > found[1] > found[2] > 0.9 * found[1]


# --- budgets of rounds that are answered by chance --------------------------------------------------------------


@pytest.mark.parametrize("share", [Fraction(1), HALF, TWENTIETH, Fraction(1, 10**18)])
@pytest.mark.parametrize("rounds", [None, 30, 365, 5000])
def test_a_budget_is_spent_by_chance(share: Fraction, rounds: int | None) -> None:
    made = Fading.for_budget(bits=8, eps=1.0, delta=1e-6, participation=share, rounds=rounds)
    spent = made.privacy(reports=rounds, participation=share).delta(1.0).upper
    assert spent <= 1e-6
    if share > Fraction(1, 100):
        assert spent > 0.97e-6
    assert made.eps >= 1.0
    assert made.privacy().delta(made.eps).upper <= 1e-6
    assert from_json(made.to_json()) == made


def test_answering_every_round_for_ever_is_the_constructor() -> None:
    for given in ({"power": 0.6}, {"width": 3}, {}):
        made = Fading.for_budget(bits=4, eps=1.0, delta=1e-6, **given)
        assert made == Fading(bits=4, eps=1.0, delta=1e-6, **given)


def test_rounds_that_are_answered_less_often_may_be_louder() -> None:
    def scale(share: Fraction, rounds: int | None) -> float:
        return Fading.for_budget(bits=8, eps=1.0, delta=1e-6, participation=share, rounds=rounds).scale

    for rounds in (None, 365):
        scales = [scale(share, rounds) for share in (Fraction(1), HALF, TWENTIETH)]
        assert scales == sorted(scales)
    for share in (Fraction(1), TWENTIETH):
        assert scale(share, 365) > scale(share, None)


def test_one_round_is_a_card() -> None:
    """The first round alone is one noisy inner product, as a deck of one card is."""
    made = Fading.for_budget(bits=4, eps=1.0, delta=1e-6, rounds=1, participation=HALF)
    alone = Experiment([thinned_factor(NoisyInnerProduct(bits=4, eps=made.scale, width=1).privacy_factor(), HALF)])
    assert made.privacy(reports=1, participation=HALF).delta(1.0).upper == alone.delta(1.0).upper
    assert alone.delta(1.0).upper <= 1e-6
    louder = NoisyInnerProduct(bits=4, eps=1.001 * made.scale, width=1).privacy_factor()
    assert Experiment([thinned_factor(louder, HALF)]).delta(1.0).lower > 1e-6


@pytest.mark.parametrize(("share", "rounds"), [(Fraction(0), None), (Fraction(1, 2), 0), (Fraction(1, 2), -3)])
def test_bad_budgets_are_refused(share: Fraction, rounds: int | None) -> None:
    with pytest.raises(ValueError, match="must be"):
        Fading.for_budget(bits=4, eps=1.0, delta=1e-6, participation=share, rounds=rounds)


@pytest.mark.parametrize(
    ("bits", "width", "power", "eps", "delta"),
    [(10, 1, 0.75, 1.0, 1e-6), (1, 1, 0.75, 1.0, 1e-11), (4, 4, 0.6, 2.0, 1e-6), (8, 1, 0.51, 0.5, 1e-6)],
)
def test_a_client_confirms_the_default_scale(bits: int, width: int, power: float, eps: float, delta: float) -> None:
    """In whole numbers, without the engine; and not far below what the engine says."""
    mechanism = Fading(bits=bits, width=width, power=power, eps=eps, delta=delta)
    law = mechanism.integer_privacy(None, values="any", step=eps / 512)
    assert 0.97 * delta < law.delta(eps) <= delta


@pytest.mark.parametrize("share", [HALF, TWENTIETH])
@pytest.mark.parametrize("rounds", [None, 365])
def test_a_client_confirms_rounds_answered_by_chance(share: Fraction, rounds: int | None) -> None:
    made = Fading.for_budget(bits=8, eps=1.0, delta=1e-6, participation=share, rounds=rounds)
    law = made.integer_privacy(rounds, values="any", step=1 / 512, participation=share)
    assert 0.97e-6 < law.delta(1.0) <= 1e-6
    every = made.integer_privacy(rounds, values="any", step=1 / 512)
    assert every.delta(1.0) > 1e-5
    if rounds is not None:
        truth = one_by_one(made, rounds, share).delta(1.0).lower
        assert law.delta(1.0) >= truth
