"""Mechanisms for ordered questions of which a mean or quantiles are wanted, and how to set them for a budget."""

from collections.abc import Callable
from typing import Any

from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.dealt_entry import dealt_entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.one_bit_mean import MOST_VALUES, OneBitMean
from untrackable.mechanisms.local.views import LARGEST_VIEW, Views
from untrackable.mechanisms.wanted_figure import Want
from untrackable.mechanisms.wrappers.card_dealing import Dealt


def _prefixes(budget: Budget) -> Views:
    """Views of the highest 1, 2, … bits of a value, all equally likely."""
    return Views.prefixes(bits=budget.bits, eps=1.0)


def _one_bit(budget: Budget) -> OneBitMean:
    """One noisy bit of the number."""
    if budget.want != "mean":
        raise Unsuitable("values", "One noisy bit of each number tells the mean only.")
    return OneBitMean(values=budget.values, eps=1.0)


def _views(*, bits: int, slots: int, eps_report: float, width: int = 1) -> Dealt:
    """A deck of reports about prefixes of an ordered value."""
    return Dealt(Views.prefixes(bits=bits, eps=eps_report, width=width), slots)


def _mean(*, values: int, slots: int, eps_report: float) -> Dealt:
    """A deck of single noisy bits of a number."""
    return Dealt(OneBitMean(values=values, eps=eps_report), slots)


def _no_choice(base: Any, budget: Budget) -> float:
    """Each of these mechanisms has one kind of reports, so there is nothing to compare."""
    return 0.0


def _entry(name: str, make: Callable[..., Mechanism], base_of: Callable[[Budget], Any], most: int) -> Entry:
    return dealt_entry(
        name, make, lambda budget: [[base_of(budget)]], _no_choice, widest=1, most_values=most, quick=True
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
