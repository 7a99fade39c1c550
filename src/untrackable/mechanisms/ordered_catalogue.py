"""Mechanisms for ordered questions of which a mean or quantiles are wanted, and how to set them for a budget."""

import math
from collections.abc import Callable
from typing import Any

from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.inner_product_settings import LAST_CARD
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.one_bit_mean import MOST_VALUES, OneBitMean
from untrackable.mechanisms.local.views import LARGEST_VIEW, Views
from untrackable.mechanisms.wanted_figure import Want
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import (
    LARGEST_CROWD_EPS,
    guessed_crowd_eps,
    largest_crowd_eps,
    largest_eps,
    with_eps,
)

_KEPT_BACK = 0.01
"""The part of the crowd's eps that is not spent, so that a client can confirm the rest with coarser sums."""


def _prefixes(budget: Budget) -> Views:
    """Views of the highest 1, 2, … bits of a value, all equally likely."""
    return Views.prefixes(bits=budget.bits, eps=1.0)


def _one_bit(budget: Budget) -> OneBitMean:
    """One noisy bit of the number."""
    if budget.want != "mean":
        raise Unsuitable("values", "One noisy bit of each number tells the mean only.")
    return OneBitMean(values=budget.values, eps=1.0)


def _alone(base_of: Callable[[Budget], Any]) -> Callable[[Budget], Mechanism]:
    """A deck with one card for each round. All cards together spend the budget."""

    def set_for(budget: Budget) -> Dealt:
        slots, base = budget.last_round(LAST_CARD), base_of(budget)
        found = largest_eps(base, slots, budget.eps, budget.delta, budget.participation)
        return Dealt(with_eps(base, found), slots)

    return set_for


def _of_report(base_of: Callable[[Budget], Any]) -> Callable[[Budget, float, int], Mechanism]:
    def set_for_report(budget: Budget, eps_report: float, width: int) -> Dealt:
        return Dealt(with_eps(base_of(budget), eps_report), budget.last_round(LAST_CARD))

    return set_for_report


def _in_crowd(base_of: Callable[[Budget], Any]) -> Callable[[Budget], Mechanism]:
    """The loudest deck that a crowd hides within its budget, and that keeps the one of each person alone."""

    def set_for_crowd(budget: Budget) -> Dealt:
        slots, base, crowd = budget.last_round(LAST_CARD), base_of(budget), budget.crowd
        if crowd is None:
            raise TypeError("the budget must have a crowd")
        most = LARGEST_CROWD_EPS
        if budget.eps != math.inf:
            most = min(most, largest_eps(base, slots, budget.eps, budget.delta, budget.participation))
        asked = (slots, crowd.people, crowd.eps * (1 - _KEPT_BACK), crowd.delta, budget.participation)
        guess = min(guessed_crowd_eps(base, *asked), most)
        return Dealt(with_eps(base, guess if crowd.roughly else largest_crowd_eps(base, *asked, most)), slots)

    return set_for_crowd


def _views(*, bits: int, slots: int, eps_report: float, width: int = 1) -> Dealt:
    """A deck of reports about prefixes of an ordered value."""
    return Dealt(Views.prefixes(bits=bits, eps=eps_report, width=width), slots)


def _mean(*, values: int, slots: int, eps_report: float) -> Dealt:
    """A deck of single noisy bits of a number."""
    return Dealt(OneBitMean(values=values, eps=eps_report), slots)


def _entry(name: str, make: Callable[..., Mechanism], base_of: Callable[[Budget], Any], most: int) -> Entry:
    return Entry(
        name,
        make,
        _alone(base_of),
        "constant",
        set_for_report=_of_report(base_of),
        set_for_crowd=_in_crowd(base_of),
        widest=1,
        most_values=most,
        tuned=True,
        quick=True,
        reference=True,
    )


ORDERED: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        _entry("views", _views, _prefixes, 1 << LARGEST_VIEW),
        _entry("one-bit", _mean, _one_bit, MOST_VALUES),
    )
}
"""The mechanisms that plans offer beside the catalogue where a mean or quantiles are wanted."""


def offered(want: Want) -> dict[str, Entry]:
    """All mechanisms that plans offer for what is wanted."""
    return CATALOGUE if want == "frequencies" else {**ORDERED, **CATALOGUE}
