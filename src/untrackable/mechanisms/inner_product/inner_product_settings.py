"""Parameters for mechanisms over noisy inner products: `Deck`, RNIP, `Fading` and `Memoized`, given a budget."""

from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.stored import Memoized

_SLOTS = 4
"""RNIP has this many times k² slots: that keeps the advantage of an observer of k reports to a few percent."""


def deck(budget: Budget) -> Deck:
    """A deck with one card for each round. All cards together spend the budget."""
    slots = budget.last_round("A deck holds one card for each round, so it needs a last round.")
    return Deck.for_budget(bits=budget.bits, slots=slots, eps=budget.eps, delta=budget.delta)


def rnip(budget: Budget) -> InnerProduct:
    """Stored reports that together spend the budget, with answers of one bit as published."""
    slots = _SLOTS * budget.last_round("The number of its slots follows from the number of rounds.") ** 2
    return InnerProduct.for_budget(bits=budget.bits, slots=slots, eps=budget.eps, delta=budget.delta, width=1)


def fading(budget: Budget) -> Fading:
    """Reports for ever, all of which together spend the budget."""
    return Fading.for_budget(bits=budget.bits, eps=budget.eps, delta=budget.delta)


def memoized(budget: Budget) -> Memoized:
    """One report, sent for ever, that spends the budget alone."""
    return Memoized(NoisyInnerProduct(bits=budget.bits, eps=budget.eps, width=1))
