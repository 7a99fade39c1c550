"""Noisy inner products set for a budget: dealt as a deck, stored, fading, or one of them sent for ever."""

from collections.abc import Callable

from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.budget import QUIET, best_base
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.dealt import Dealt
from untrackable.mechanisms.wrappers.local_wrapper import LARGEST_SLOTS
from untrackable.mechanisms.wrappers.stored import Memoized, Stored
from untrackable.theory.collisions import fewest_slots

_NO_LIMIT = 1e6
"""An eps that no first round of `Fading` spends, where the budget is not known yet."""
_LAST_CARD = "A deck holds one card for each round, so it needs a last round."


def deck(budget: Budget) -> Mechanism:
    """One card for each round, which together spend the budget."""
    slots = budget.last_round(_LAST_CARD)
    return _dealt(_spending(budget, slots, published=None), slots, budget)


def deck_of_report(budget: Budget, eps_report: float, width: int) -> Mechanism:
    """One card of this eps and width for each round."""
    slots = budget.last_round(_LAST_CARD)
    return _dealt(NoisyInnerProduct(bits=budget.bits, eps=eps_report, width=width), slots, budget)


def _dealt(base: NoisyInnerProduct, slots: int, budget: Budget) -> Mechanism:
    if budget.levels is not None:
        return Dealt(Levelled(base, budget.levels), slots)
    return Deck(bits=base.bits, slots=slots, eps_report=base.eps, width=base.width)


def rnip(budget: Budget) -> Mechanism:
    """Stored reports which together spend the budget, with the fewest slots whose tracking is tolerable."""
    slots = _tolerable_slots(budget)
    return _stored(_spending(budget, slots, published=1), slots, budget)


def rnip_of_report(budget: Budget, eps_report: float, width: int) -> Mechanism:
    """Stored reports of this eps and width, with the fewest slots whose tracking is tolerable."""
    base = NoisyInnerProduct(bits=budget.bits, eps=eps_report, width=width)
    return _stored(base, _tolerable_slots(budget), budget)


def _stored(base: NoisyInnerProduct, slots: int, budget: Budget) -> Mechanism:
    if budget.levels is not None:
        return Stored(Levelled(base, budget.levels), slots)
    return InnerProduct(bits=base.bits, slots=slots, eps_report=base.eps, width=base.width)


def _tolerable_slots(budget: Budget) -> int:
    """The fewest slots for which a slot shows up twice as rarely as is tolerable."""
    if budget.tolerance is None:
        # Enough for an advantage of a few percent.
        return 4 * budget.last_round("The number of its slots follows from the number of rounds.") ** 2
    reports, advantage = budget.tolerance.reports, budget.tolerance.advantage_limit
    if reports is None:
        raise Unsuitable(
            "tracking", "An observer who may hold any number of reports sees stored reports again and again."
        )
    if reports < 2 or advantage >= 1:
        return 1
    if advantage == 0:
        raise Unsuitable("tracking", "A stored report may be sent twice, however many slots there are.")
    try:
        return fewest_slots(reports, advantage, LARGEST_SLOTS)
    except ValueError:
        raise Unsuitable("tracking", f"It would need more than {LARGEST_SLOTS:.0e} slots.") from None


def fading(budget: Budget) -> Fading:
    """All rounds, without end, spend the budget."""
    return Fading(bits=budget.bits, eps=budget.eps, delta=budget.delta)


def fading_of_report(budget: Budget, eps_report: float, width: int) -> Fading:
    """A first round of this eps; while the budget is not known yet, one that is never spent."""
    eps = min(budget.eps, _NO_LIMIT)
    return Fading(bits=budget.bits, eps=eps, delta=budget.delta, scale=eps_report, width=width)


def memoized(budget: Budget) -> Memoized:
    """One report, which spends the budget alone."""

    def made(width: int) -> NoisyInnerProduct:
        return NoisyInnerProduct(bits=budget.bits, eps=budget.eps, width=width)

    base = made(1) if budget.beta is None else _smallest_radius(made, budget.bits, budget.beta)
    return Memoized(base if budget.levels is None else Levelled(base, budget.levels))


def _spending(budget: Budget, slots: int, published: int | None) -> NoisyInnerProduct:
    """The report of which so many spend the budget; as wide as published, or as beta asks for."""

    def made(width: int | None) -> NoisyInnerProduct:
        return best_base(
            bits=budget.bits, slots=slots, eps=budget.eps, delta=budget.delta, accounting="exact", width=width
        )

    return made(published) if budget.beta is None else _smallest_radius(made, budget.bits, budget.beta)


def _smallest_radius(made: Callable[[int], NoisyInnerProduct], bits: int, beta: float) -> NoisyInnerProduct:
    """The width of the smallest error radius: that of the smallest standard error may promise less."""

    def radius(base: NoisyInnerProduct) -> float:
        return base.accuracy(1, beta).radius

    narrow, widest = made(1), min(bits, LARGEST_WIDTH)
    wide = made(widest) if widest > 1 else narrow
    if narrow.eps <= QUIET and radius(narrow) <= radius(wide):
        return narrow
    return min([narrow, *map(made, range(2, widest)), wide], key=radius)
