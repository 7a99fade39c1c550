"""Decks of any local mechanism for a budget: spent wholly, by the exact factor of the worst pair of values."""

import math
from fractions import Fraction
from typing import Any

import pytest

from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.inner_product import crowd_settings
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.ordered_catalogue import ORDERED
from untrackable.mechanisms.tables_catalogue import TABLES
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import (
    counted_by_clients,
    dealt_for_budget,
    dealt_for_crowd,
    guessed_crowd_eps,
    largest_crowd_eps,
    with_eps,
)


@pytest.mark.parametrize(
    "base", [Views.prefixes(bits=10, eps=1.0), OneBitMean(values=9, eps=1.0)], ids=["views", "one bit"]
)
@pytest.mark.parametrize(("slots", "share"), [(1, Fraction(1)), (12, Fraction(1)), (365, Fraction(1, 3))])
def test_all_cards_together_spend_the_budget(base: Views | OneBitMean, slots: int, share: Fraction) -> None:
    deck = dealt_for_budget(base, slots=slots, eps=1.0, delta=1e-6, participation=share)
    assert deck.privacy(participation=share).delta(1.0).upper <= 1e-6
    louder = Dealt(with_eps(deck.base, deck.base.eps * 1.0001), slots)  # type: ignore[attr-defined]
    assert louder.privacy(participation=share).delta(1.0).upper > 1e-6


def test_one_view_of_everything_is_a_plain_deck() -> None:
    given = {"slots": 50, "eps": 1.0, "delta": 1e-6}
    plain = Deck.for_budget(bits=8, width=1, **given)  # type: ignore[arg-type]
    found = dealt_for_budget(NoisyInnerProduct(bits=8, eps=1.0, width=1), **given)  # type: ignore[arg-type]
    assert found.base.eps == pytest.approx(plain.eps_report, rel=1e-8)  # type: ignore[attr-defined]


def test_prefixes_pay_for_the_highest_bit() -> None:
    """Their reports differ for more than half of the questions: eps is smaller by the root of that."""
    plain = Deck.for_budget(bits=16, slots=365, eps=1.0, delta=1e-6, width=1)
    found = dealt_for_budget(Views.prefixes(bits=16, eps=1.0), slots=365, eps=1.0, delta=1e-6)
    assert found.base.eps / plain.eps_report == pytest.approx((1 + 1.6067 / 16) ** -0.5, rel=1e-3)  # type: ignore[attr-defined]


def test_a_crowd_allows_more() -> None:
    base = Views.prefixes(bits=6, eps=1.0)
    given = {"slots": 12, "eps": 1.0, "delta": 1e-6}
    alone = dealt_for_budget(base, **given)  # type: ignore[arg-type]
    deck = dealt_for_crowd(base, people=1_000_000, **given)  # type: ignore[arg-type]
    assert deck.base.eps > 5 * alone.base.eps  # type: ignore[attr-defined]
    spent = deck.crowd(people=1_000_000).delta(1.0)
    assert 0 < spent.lower <= spent.upper <= 1e-6


@pytest.mark.parametrize(("people", "reports"), [(2_000, 1), (100_000, 4)])
@pytest.mark.parametrize(
    "set_for_crowd",
    [crowd_settings.deck, *(each.for_budget for each in (TABLES["views"], ORDERED["views"], ORDERED["one-bit"]))],
)
def test_a_client_without_the_engine_confirms_what_is_set_for_a_crowd(
    set_for_crowd: Any, people: int, reports: int
) -> None:
    """Such as the one for web pages. Its sums are much coarser than the engine's if few rounds are loud."""
    crowd, single = CrowdBudget(eps=2.2, delta=1e-8, people=people), ((0,), (1,), (2,))
    asked: dict[str, Any] = {"views": single, "shown": single, "want": "mean"}
    budget = Budget(values=8, eps=math.inf, reports=reports, people=crowd.people, crowd=crowd, **asked)
    law = set_for_crowd(budget).integer_crowd(people=crowd.people)
    assert 1e-10 < law.delta(crowd.eps) <= crowd.delta


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 9)])
@pytest.mark.parametrize(("reports", "slots"), [(3, 1), (30, 2), (2000, 1), (2000, 40), (20_000, 365)])
@pytest.mark.parametrize("base", [NoisyInnerProduct(bits=1, eps=1.0), NoisyInnerProduct(bits=6, eps=1.0, width=4)])
@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
def test_a_client_confirms_what_is_far_quieter_than_the_crowd_allows(
    base: NoisyInnerProduct, eps: float, reports: int, slots: int, share: Fraction
) -> None:
    """In large crowds its sums are left out, so they must be within the budget there."""
    people = int(reports / share)
    asked = (slots, people, eps, 1e-6, share)
    half = with_eps(base, guessed_crowd_eps(base, *asked) / 2)
    counted = counted_by_clients(half, *asked)
    law = Dealt(counted, slots).integer_crowd(people=people, participation=share)
    assert law is not None
    assert law.delta(eps) <= 1e-6
    assert counted == half or reports < 2000


def test_the_limit_alone_cuts_off_what_a_crowd_allows() -> None:
    base, asked = NoisyInnerProduct(bits=3, eps=1.0, width=2), (12, 50_000, 1.0, 1e-6, Fraction(1, 2))
    loudest = largest_crowd_eps(base, *asked)
    assert loudest > 2
    for most in (0.5, 0.999 * loudest):
        assert largest_crowd_eps(base, *asked, most) == most
    assert largest_crowd_eps(base, *asked, 1.01 * loudest) == pytest.approx(loudest, rel=2e-4)


def test_a_coarse_bound_is_never_below_the_sharp_one() -> None:
    for eps in (0.5, 2.0, 5.0):
        deck = Dealt(NoisyInnerProduct(bits=3, eps=eps, width=2), 12)
        sharp = deck.crowd(people=50_000, participation=Fraction(1, 2)).delta(0.5).upper
        coarse = deck.crowd_delta_upper(0.5, people=50_000, reports=12, participation=Fraction(1, 2))
        assert sharp <= coarse * (1 + 1e-6) <= 3 * sharp + 1e-18
