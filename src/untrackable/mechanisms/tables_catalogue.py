"""Mechanisms for questions with several answers at once, of which tables are asked, and how to set them."""

import math
from collections.abc import Iterator

import numpy as np

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.dealt_entry import dealt_entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.faded import Faded
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.view_characters import View
from untrackable.mechanisms.local.view_weights import tuned_weights
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.card_dealing import Dealt

LARGEST_WHOLE = 16
"""The largest number of bits of a value that is asked about as a whole."""
_BETA = 0.05
"""The probability with which an error may exceed its radius, where the budget has none."""
_NOISIER = "Its reports get noisier with every round, and that is not planned for a crowd."
_MANY = 64
"""Beyond this many views, only answers of one bit are tried: wider ones would take too long."""


def _asked(budget: Budget) -> list[list[Views]]:
    """One view for each table that is asked for, equally likely or tuned, or for each table that is estimated."""
    tuned = [
        _of_every_width(budget, views, tuned_weights(views, budget.shown))
        for views in dict.fromkeys((budget.views, budget.shown))
    ]
    plain = _of_every_width(budget, budget.views)
    return [list(dict.fromkeys(bases)) for bases in zip(plain, *tuned, strict=False)]


def _grouped(budget: Budget) -> list[list[Views]]:
    """Views of two or more tables together, with answers as wide as they are.

    They are offered for tables that have no bits in common, such as single choices.
    """
    longest = max(map(len, budget.views))
    if len({bit for view in budget.views for bit in view}) < sum(map(len, budget.views)):
        raise Unsuitable("values", "It joins tables that have nothing in common, and these have.")
    sizes = range(2, min(LARGEST_WIDTH // longest, len(budget.views) - 1) + 1)
    if not sizes:
        raise Unsuitable(
            "values", "It joins some of the tables that are asked for, and there are too few for that."
        )
    found = []
    for size in sizes:
        views = tuple(tuple(sorted(bit for view in group for bit in view)) for group in _evenly(budget.views, size))
        found.append([Views(bits=budget.bits, views=views, eps=1.0, width=max(map(len, views)))])
    return found


def _evenly(views: tuple[View, ...], size: int) -> Iterator[tuple[View, ...]]:
    """Views in groups of at most this size, all as large as the others or one smaller."""
    groups = -(-len(views) // size)
    for i in range(groups):
        yield views[i * len(views) // groups : (i + 1) * len(views) // groups]


def _whole(budget: Budget) -> list[list[Views]]:
    """One view of the whole value, from which the tables are added up."""
    if budget.bits > LARGEST_WHOLE:
        raise Unsuitable(
            "values",
            f"It asks about all answers together, and there are 2^{budget.bits} sets of them; 2^{LARGEST_WHOLE} is "
            "the most.",
        )
    everything = tuple(range(budget.bits))
    if budget.views == (everything,):
        raise Unsuitable("values", "The only table that is asked for is of everything, as in `views`.")
    return [[base] for base in _of_every_width(budget, (everything,))]


def _of_every_width(budget: Budget, views: tuple[View, ...], weights: tuple[int, ...] = ()) -> list[Views]:
    """The reports about these views with answers of every width that fits."""
    widest = min(LARGEST_WIDTH, max(map(len, views))) if len(views) <= _MANY else 1
    return [
        Views(bits=budget.bits, views=views, eps=1.0, width=width, weights=weights)
        for width in range(1, widest + 1)
    ]


def _radius(base: Views, budget: Budget) -> float:
    """The largest error radius of a cell, for which widths are compared."""
    reports = max(1, math.floor(budget.people * budget.participation))
    laws = set(base.entry_laws(budget.shown))
    return max(float(np.max(law.spread.of_sample(1.0).radius(reports, budget.beta or _BETA))) for law in laws)


def _fading(budget: Budget) -> Mechanism:
    """Reports about the tables that are asked for, noisier with every round, so that there is no last one."""
    return Faded(local=_asked(budget)[0][-1], eps=budget.eps, delta=budget.delta)


def _deck(*, bits: int, views: tuple[View, ...], slots: int, eps_report: float, width: int = 1) -> Dealt:
    """A deck of reports about tables of some bits of a value."""
    return Dealt(Views(bits=bits, views=views, eps=eps_report, width=width), slots)


def best_deck(budget: Budget) -> Dealt:
    """The deck with the smallest error of a cell that keeps the budget, alone or in a crowd."""
    found = []
    for name in DECKS:
        try:
            found.append(TABLES[name].for_budget(budget))
        except Unsuitable as reason:
            if reason.binding != "values" or name == "views":
                raise
    decks = [deck for deck in found if isinstance(deck, Dealt)]
    return min(decks, key=lambda deck: _radius(deck.base, budget))  # type: ignore[arg-type]


DECKS = ("views", "groups", "whole")
"""The mechanisms for a known number of rounds, all of which have the same error."""

TABLES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        dealt_entry("views", _deck, _asked, _radius, most_values=None, quick=True),
        dealt_entry("groups", _deck, _grouped, _radius, most_values=None),
        dealt_entry("whole", _deck, _whole, _radius, most_values=None),
        Entry("fading-views", Faded, _fading, "constant", no_crowd=_NOISIER, most_values=None, tuned=True),
    )
}
"""The mechanisms that plans offer for questions with several answers at once.

A report of `views` is about one of the tables that are asked for, drawn anew, and a report of `groups` about some
of them together. A report of `whole` is about all answers together, as if every set of answers were one answer, and
the tables are added up from these.
"""
