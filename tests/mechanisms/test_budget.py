"""Budgets that reports spend wholly, by the exact factor of the worst pair of values; alone, or in a crowd."""

import pytest

from untrackable.mechanisms.budget import best_in_crowd, largest_crowd_eps, with_eps
from untrackable.mechanisms.deck import Dealt, Deck, dealt_for_budget
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.views import Views


@pytest.mark.parametrize(
    "base", [Views.prefixes(bits=10, eps=1.0), OneBitMean(values=9, eps=1.0)], ids=["views", "one bit"]
)
@pytest.mark.parametrize("slots", [1, 12, 365])
def test_all_cards_together_spend_the_budget(base: Views | OneBitMean, slots: int) -> None:
    deck = dealt_for_budget(base, slots=slots, eps=1.0, delta=1e-6)
    assert deck.privacy().delta(1.0).upper <= 1e-6
    louder = Dealt(with_eps(deck.base, deck.base.eps * 1.0001), slots)  # type: ignore[attr-defined]
    assert louder.privacy().delta(1.0).upper > 1e-6


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
    loudest = largest_crowd_eps(base, people=1_000_000, **given)
    assert loudest > 5 * alone.base.eps  # type: ignore[attr-defined]
    deck = Dealt(with_eps(base, loudest), 12)
    spent = deck.crowd(people=1_000_000).delta(1.0)
    assert 0 < spent.lower <= spent.upper <= 1e-6


# --- which report is solved for a crowd: the most promising ones, as long as they can be better ------------------


def chosen(guessed: list[float], solved: dict[float, float]) -> tuple[float, list[float]]:
    """The best of reports that are their errors, and those that were solved."""
    asked: list[float] = []

    def solve(guess: float) -> float:
        asked.append(guess)
        return solved[guess]

    return best_in_crowd(guessed, solve, lambda error: error), asked


def test_the_best_of_the_two_nearest_is_chosen() -> None:
    assert chosen([3.0, 1.0, 2.0], {1.0: 2.5, 2.0: 2.2}) == (2.2, [1.0, 2.0])
    assert chosen([3.0, 1.0, 2.0], {1.0: 2.1, 2.0: 2.2}) == (2.1, [1.0, 2.0])


def test_what_cannot_be_better_is_not_solved() -> None:
    assert chosen([2.0, 1.0], {1.0: 1.5}) == (1.5, [1.0])
    assert chosen([1.0], {1.0: 1.5}) == (1.5, [1.0])
