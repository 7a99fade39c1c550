"""Mechanisms for questions with several answers at once, of which tables are asked, and how to set them."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.budget_solver import QUIET
from untrackable.mechanisms.inner_product.faded import Faded
from untrackable.mechanisms.inner_product.inner_product_settings import LAST_CARD
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.view_characters import View
from untrackable.mechanisms.local.view_weights import tuned_weights
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.loudest_in_crowd import best_in_crowd
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import (
    LARGEST_CROWD_EPS,
    counted_by_clients,
    guessed_crowd_eps,
    largest_crowd_eps,
    largest_eps,
    with_eps,
)

LARGEST_WHOLE = 16
"""The largest number of bits of a value that is asked about as a whole."""
_BETA = 0.05
"""The probability with which an error may exceed its radius, where the budget has none."""
_KEPT_BACK = 0.01
"""The part of the crowd's eps that is not spent, so that a client can confirm the rest with coarser sums."""
_NOISIER = "Its reports get noisier with every round, and that is not planned for a crowd."
_MANY = 64
"""Beyond this many views, only answers of one bit are tried: wider ones would take too long."""

BasesOf = Callable[[Budget], list[list[Views]]]
"""The reports to choose from: a list for each width of answers, with the narrowest first."""


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


def _alone(bases_of: BasesOf) -> Callable[[Budget], Mechanism]:
    """A deck with one card for each round. All cards together spend the budget."""

    def set_for(budget: Budget) -> Dealt:
        slots = budget.last_round(LAST_CARD)

        def loudest(base: Views) -> Any:
            return with_eps(base, largest_eps(base, slots, budget.eps, budget.delta, budget.participation))

        narrow, *wider = bases_of(budget)
        best = _best(map(loudest, narrow), budget)
        # If one bit is very noisy already, no wider answer is better.
        others = [] if best.eps <= QUIET else [loudest(base) for bases in wider for base in bases]
        return Dealt(_best([best, *others], budget), slots)

    return set_for


def _best(bases: Iterable[Views], budget: Budget) -> Views:
    """The base with the smallest error."""
    return min(bases, key=lambda base: _radius(base, budget))


def _of_report(bases_of: BasesOf) -> Callable[[Budget, float, int], Mechanism]:
    def set_for_report(budget: Budget, eps_report: float, width: int) -> Dealt:
        bases = bases_of(budget)
        found = (with_eps(base, eps_report) for base in bases[min(width, len(bases)) - 1])
        return Dealt(_best(found, budget), budget.last_round(LAST_CARD))

    return set_for_report


def _in_crowd(bases_of: BasesOf) -> Callable[[Budget], Mechanism]:
    """The deck with the smallest error that a crowd hides within its budget, and that keeps the one alone."""

    def set_for_crowd(budget: Budget) -> Dealt:
        slots, crowd = budget.last_round(LAST_CARD), budget.crowd
        if crowd is None:
            raise TypeError("the budget must have a crowd")
        asked = (slots, crowd.people, crowd.eps * (1 - _KEPT_BACK), crowd.delta, budget.participation)

        def most(base: Views) -> float:
            if budget.eps == math.inf:
                return LARGEST_CROWD_EPS
            alone = largest_eps(base, slots, budget.eps, budget.delta, budget.participation)
            return min(LARGEST_CROWD_EPS, alone)

        def radius(base: Views) -> float:
            return _radius(base, budget)

        bases = [base for of_width in bases_of(budget) for base in of_width]
        guessed = [with_eps(base, min(most(base), guessed_crowd_eps(base, *asked))) for base in bases]
        if crowd.roughly:
            return Dealt(min(guessed, key=radius), slots)

        def solved(guess: Views) -> Views:
            base: Views = with_eps(guess, 1.0)
            found: Views = with_eps(base, largest_crowd_eps(base, *asked, most(base)))
            return found

        best = best_in_crowd(guessed, solved, radius)
        return Dealt(
            counted_by_clients(best, slots, crowd.people, crowd.eps, crowd.delta, budget.participation), slots
        )

    return set_for_crowd


def _fading(budget: Budget) -> Mechanism:
    """Reports about the tables that are asked for, noisier with every round, so that there is no last one."""
    return Faded(local=_asked(budget)[0][-1], eps=budget.eps, delta=budget.delta)


def _deck(*, bits: int, views: tuple[View, ...], slots: int, eps_report: float, width: int = 1) -> Dealt:
    """A deck of reports about tables of some bits of a value."""
    return Dealt(Views(bits=bits, views=views, eps=eps_report, width=width), slots)


def _entry(name: str, bases_of: BasesOf, *, quick: bool) -> Entry:
    return Entry(
        name,
        _deck,
        _alone(bases_of),
        "constant",
        set_for_report=_of_report(bases_of),
        set_for_crowd=_in_crowd(bases_of),
        most_values=None,
        tuned=True,
        quick=quick,
        reference=True,
    )


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
        _entry("views", _asked, quick=True),
        _entry("groups", _grouped, quick=False),
        _entry("whole", _whole, quick=False),
        Entry("fading-views", Faded, _fading, "constant", no_crowd=_NOISIER, most_values=None, tuned=True),
    )
}
"""The mechanisms that plans offer for questions with several answers at once.

A report of `views` is about one of the tables that are asked for, drawn anew, and a report of `groups` about some
of them together. A report of `whole` is about all answers together, as if every set of answers were one answer, and
the tables are added up from these.
"""
