"""Parameters for mechanisms that a crowd hides, given a budget for the crowd and one for each person alone."""

import math

from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.inner_product.budget_solver import largest_eps_report
from untrackable.mechanisms.inner_product.crowd_solver import (
    LARGEST_EPS_REPORT,
    guessed_eps_report,
    largest_crowd_eps_report,
)
from untrackable.mechanisms.inner_product.inner_product_settings import LAST_CARD, dealt
from untrackable.mechanisms.inner_product.width_error import width_error
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.loudest_in_crowd import best_in_crowd
from untrackable.mechanisms.wrappers.dealt_budget import counted_by_clients

_KEPT_BACK = 0.01
"""The part of the crowd's eps that is not spent, so that a client can confirm the rest with coarser sums."""
NO_FADING = (
    "Its reports get noisier with every round, and planning that for a crowd would take too long. For a known "
    "number of rounds, `Deck` is the better choice: all its rounds are as accurate as the last one."
)


def deck(budget: Budget) -> Mechanism:
    """The deck that a crowd hides within its budget, with the width that suits the wanted figure best.

    If eps is finite, all cards together also stay within it if somebody knows whose they are.
    """
    slots, crowd = budget.last_round(LAST_CARD), budget.crowd
    if crowd is None:
        raise TypeError("the budget must have a crowd")
    asked = (slots, crowd.people, crowd.eps * (1 - _KEPT_BACK), crowd.delta, budget.participation)

    def alone(width: int) -> float:
        if budget.eps == math.inf:
            return LARGEST_EPS_REPORT
        found = largest_eps_report(
            bits=budget.bits,
            slots=slots,
            eps=budget.eps,
            delta=budget.delta,
            accounting="exact",
            width=width,
            participation=budget.participation,
        )
        return min(found, LARGEST_EPS_REPORT)

    def error(base: NoisyInnerProduct) -> float:
        return width_error(base, budget)

    def with_eps(width: int, eps_report: float) -> NoisyInnerProduct:
        return NoisyInnerProduct(bits=budget.bits, eps=eps_report, width=width)

    widths = range(1, min(budget.bits, LARGEST_WIDTH) + 1)
    most = {width: alone(width) for width in widths}
    guessed = [with_eps(w, min(most[w], guessed_eps_report(budget.bits, w, *asked))) for w in widths]
    if crowd.roughly:
        return dealt(min(guessed, key=error), slots, budget)

    def solved(base: NoisyInnerProduct) -> NoisyInnerProduct:
        found = largest_crowd_eps_report(budget.bits, base.width, *asked, most[base.width])
        return with_eps(base.width, found)

    best = best_in_crowd(guessed, solved, error)
    counted = counted_by_clients(best, slots, crowd.people, crowd.eps, crowd.delta, budget.participation)
    return dealt(counted, slots, budget)
