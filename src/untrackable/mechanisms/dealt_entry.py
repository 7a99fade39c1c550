"""Entries of catalogues for decks of local reports, and how to set them for a budget: alone, or in a crowd.

A deck has one card for each round. Of several kinds of reports that its cards could have, the one with the smallest
error is chosen.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.inner_product.budget_solver import QUIET
from untrackable.mechanisms.inner_product.inner_product_settings import LAST_CARD
from untrackable.mechanisms.interface import Mechanism
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

BasesOf = Callable[[Budget], list[list[Any]]]
"""The reports to choose from: a list for each width of answers, with the narrowest first."""
ErrorOf = Callable[[Any, Budget], float]
"""The error of a kind of reports, by which they are compared."""

_KEPT_BACK = 0.01
"""The part of the crowd's eps that is not spent, so that a client can confirm the rest with coarser sums."""


def dealt_entry(
    name: str, make: Callable[..., Mechanism], bases_of: BasesOf, error_of: ErrorOf, **more: Any
) -> Entry:
    """An entry for decks of these reports."""
    setters = _Setters(bases_of, error_of)
    return Entry(
        name,
        make,
        setters.alone,
        "constant",
        set_for_report=setters.of_report,
        set_for_crowd=setters.in_crowd,
        tuned=True,
        reference=True,
        **more,
    )


class _Setters:
    """Sets decks of these reports for budgets."""

    def __init__(self, bases_of: BasesOf, error_of: ErrorOf) -> None:
        self._bases_of, self._error_of = bases_of, error_of

    def alone(self, budget: Budget) -> Dealt:
        """A deck whose cards together spend the budget."""

        def loudest(base: Any) -> Any:
            return with_eps(base, _largest_eps(base, budget))

        narrow, *wider = self._bases_of(budget)
        (best, *_) = self._ranked(map(loudest, narrow), budget)
        # If one bit is very noisy already, no wider answer is better.
        others = [] if best.eps <= QUIET else [loudest(base) for bases in wider for base in bases]
        return _dealt(self._ranked([best, *others], budget)[0], budget)

    def of_report(self, budget: Budget, eps_report: float, width: int) -> Dealt:
        """A deck whose cards have this eps and about this width."""
        bases = self._bases_of(budget)
        found = (with_eps(base, eps_report) for base in bases[min(width, len(bases)) - 1])
        return _dealt(self._ranked(found, budget)[0], budget)

    def in_crowd(self, budget: Budget) -> Dealt:
        """The loudest deck that keeps both budgets, that of the crowd also as clients count it."""
        crowd = budget.crowd
        if crowd is None:
            raise TypeError("the budget must have a crowd")
        slots, share = budget.last_round(LAST_CARD), budget.participation
        asked = (slots, crowd.people, crowd.eps * (1 - _KEPT_BACK), crowd.delta, share)

        def most(base: Any) -> float:
            return (
                LARGEST_CROWD_EPS if budget.eps == math.inf else min(LARGEST_CROWD_EPS, _largest_eps(base, budget))
            )

        def solved(guess: Any) -> Any:
            base = with_eps(guess, 1.0)
            return with_eps(base, largest_crowd_eps(base, *asked, most(base)))

        bases = [base for of_width in self._bases_of(budget) for base in of_width]
        guessed = (with_eps(base, min(most(base), guessed_crowd_eps(base, *asked))) for base in bases)
        ranked = self._ranked(guessed, budget)
        if crowd.roughly:
            return _dealt(ranked[0], budget)
        best = best_in_crowd(ranked, solved, lambda base: self._error_of(base, budget))
        return _dealt(counted_by_clients(best, slots, crowd.people, crowd.eps, crowd.delta, share), budget)

    def _ranked(self, bases: Iterable[Any], budget: Budget) -> list[Any]:
        """The bases, those with the smallest error first."""
        found = list(bases)
        return found if len(found) == 1 else sorted(found, key=lambda base: self._error_of(base, budget))


def _largest_eps(base: Any, budget: Budget) -> float:
    """The largest eps of one card with which all together keep the budget of a person alone."""
    return largest_eps(base, budget.last_round(LAST_CARD), budget.eps, budget.delta, budget.participation)


def _dealt(base: Any, budget: Budget) -> Dealt:
    return Dealt(base, budget.last_round(LAST_CARD))
