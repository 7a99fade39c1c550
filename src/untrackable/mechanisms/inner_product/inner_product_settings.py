"""Parameters for mechanisms over noisy inner products: `Deck`, RNIP, `Fading` and `Memoized`, given a budget."""

from collections.abc import Callable
from fractions import Fraction

from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.budget_solver import QUIET, best_base
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.inner_product.width_error import width_error
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.local_wrapper import LARGEST_SLOTS
from untrackable.mechanisms.wrappers.stored import Memoized, Stored
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.collisions import fewest_slots

_NO_LIMIT = 1e6
"""An eps that `Fading` never spends. It stands for the budget while that is not known yet."""
LAST_CARD = "A deck holds one card for each round, so it needs a last round."


def deck(budget: Budget) -> Mechanism:
    """A deck with one card for each round. All cards together spend the budget."""
    slots = budget.last_round(LAST_CARD)
    return dealt(_spending(budget, slots, published=None, participation=budget.participation), slots, budget)


def deck_of_report(budget: Budget, eps_report: float, width: int) -> Mechanism:
    """A deck with one card of this eps and width for each round."""
    slots = budget.last_round(LAST_CARD)
    return dealt(NoisyInnerProduct(bits=budget.bits, eps=eps_report, width=width), slots, budget)


def dealt(base: NoisyInnerProduct, slots: int, budget: Budget) -> Mechanism:
    """A deck of this base, which asks about prefixes if strings are discovered."""
    if budget.levels is not None:
        return Dealt(Levelled(base, budget.levels), slots)
    return Deck(bits=base.bits, slots=slots, eps_report=base.eps, width=base.width)


def rnip(budget: Budget) -> Mechanism:
    """Stored reports that together spend the budget, with the fewest slots for which tracking is tolerable."""
    slots = _tolerable_slots(budget)
    return _stored(_spending(budget, slots, published=1), slots, budget)


def rnip_of_report(budget: Budget, eps_report: float, width: int) -> Mechanism:
    """Stored reports of this eps and width, with the fewest slots for which tracking is tolerable."""
    base = NoisyInnerProduct(bits=budget.bits, eps=eps_report, width=width)
    return _stored(base, _tolerable_slots(budget), budget)


def _stored(base: NoisyInnerProduct, slots: int, budget: Budget) -> Mechanism:
    if budget.levels is not None:
        return Stored(Levelled(base, budget.levels), slots)
    return InnerProduct(bits=base.bits, slots=slots, eps_report=base.eps, width=base.width)


def _tolerable_slots(budget: Budget) -> int:
    """The fewest slots with which no slot is sent twice, except with a tolerable probability."""
    if budget.tolerance is None:
        # This many slots keep the observer's advantage to a few percent.
        return 4 * budget.last_round("The number of its slots follows from the number of rounds.") ** 2
    reports, advantage = budget.tolerance.reports, budget.tolerance.advantage_limit
    if reports is None:
        raise Unsuitable(
            "tracking", "An observer who may hold any number of reports sees stored reports again and again."
        )
    if reports < 2 or advantage >= 1:
        return 1
    if advantage == 0:
        raise Unsuitable("tracking", "A stored report may be sent twice, even with very many slots.")
    try:
        return fewest_slots(reports, advantage, LARGEST_SLOTS)
    except ValueError:
        raise Unsuitable("tracking", f"It would need more than {LARGEST_SLOTS:.0e} slots.") from None


def fading(budget: Budget) -> Fading:
    """Reports for ever, all of which together spend the budget."""
    return Fading.for_budget(
        bits=budget.bits, eps=budget.eps, delta=budget.delta, participation=budget.participation
    )


def fading_of_report(budget: Budget, eps_report: float, width: int) -> Fading:
    """Reports for ever, with a first round of this eps. An unknown budget becomes one that is never spent.

    If clients do not answer every round, all rounds together may spend more than the budget.
    """
    eps = min(budget.eps, _NO_LIMIT)
    if budget.participation < 1 and eps < _NO_LIMIT:
        unlimited = Fading(bits=budget.bits, eps=_NO_LIMIT, delta=budget.delta, scale=eps_report, width=width)
        eps = max(eps, unlimited.privacy().gamma(budget.delta).upper * (1 + 1e-6))
    return Fading(bits=budget.bits, eps=eps, delta=budget.delta, scale=eps_report, width=width)


def memoized(budget: Budget) -> Memoized:
    """One report, sent for ever, that spends the budget alone."""

    def with_width(width: int) -> NoisyInnerProduct:
        return NoisyInnerProduct(bits=budget.bits, eps=budget.eps, width=width)

    base = with_width(1) if budget.beta is None else _most_accurate(with_width, budget)
    return Memoized(base if budget.levels is None else Levelled(base, budget.levels))


def _spending(
    budget: Budget, slots: int, published: int | None, participation: Fraction = EVERY_ROUND
) -> NoisyInnerProduct:
    """The base of which `slots` reports spend the budget, if each is sent with the probability `participation`.

    The width is as published, or best at beta.
    """

    def with_width(width: int | None) -> NoisyInnerProduct:
        return best_base(
            bits=budget.bits,
            slots=slots,
            eps=budget.eps,
            delta=budget.delta,
            accounting="exact",
            width=width,
            participation=participation,
        )

    if budget.beta is None:
        return with_width(published)
    return _most_accurate(with_width, budget)


def _most_accurate(with_width: Callable[[int], NoisyInnerProduct], budget: Budget) -> NoisyInnerProduct:
    """The base with the smallest error radius of the wanted figure. Its standard error need not be the smallest."""

    def error(base: NoisyInnerProduct) -> float:
        return width_error(base, budget)

    narrow, widest = with_width(1), min(budget.bits, LARGEST_WIDTH)
    wide = with_width(widest) if widest > 1 else narrow
    if narrow.eps <= QUIET and error(narrow) <= error(wide):
        return narrow
    return min([narrow, *map(with_width, range(2, widest)), wide], key=error)
