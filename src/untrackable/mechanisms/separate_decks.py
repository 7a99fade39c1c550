"""One deck for each of several tables, all with one privacy budget: what asking for each by itself takes."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from untrackable.estimation.spread import Spread
from untrackable.mechanisms.crowd_privacy import crowd_parts
from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.inner_product.budget_solver import QUIET
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.inner_product_settings import LAST_CARD
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.view_characters import View
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.loudest_in_crowd import loudest_in_crowd
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import LARGEST_CROWD_EPS, LARGEST_EPS, guessed_loudness
from untrackable.theory.chance_of_answering import thinned_factor
from untrackable.theory.crowd_counts import CrowdParts
from untrackable.theory.crowd_rounds import Rounds
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift, largest_parameter
from untrackable.theory.integer_losses import STEPS, LossLaw, composed

_COUNTED_CLOSE = 1e-3
"""The relative precision of eps as a client counts. Its sums are coarse."""
_KEPT_BACK = 0.02
"""The part of the crowd's eps that is not spent, so that a client can confirm the rest with coarser sums."""
_BETA = 0.05


@dataclass(frozen=True, slots=True)
class SeparateDecks:
    """A deck for each of the `views`. One report has the same `eps` in all, and answers have up to `width` bits."""

    views: tuple[View, ...]
    slots: int
    eps: float
    width: int

    def decks(self, plain: Sequence[bool]) -> tuple[Mechanism, ...]:
        """The deck of each view: a plain one, or one of reports about a single view of everything."""
        return tuple(
            Deck(bits=base.bits, slots=self.slots, eps_report=base.eps, width=base.width)
            if alone
            else Dealt(base, self.slots)
            for base, alone in zip(map(self._base, self.views), plain, strict=True)
        )

    def _base(self, view: View) -> Views:
        """The reports about all bits of a view, which are the only ones."""
        bits = len(view)
        return Views(bits=bits, views=(tuple(range(bits)),), eps=self.eps, width=min(self.width, bits))

    def privacy(self, participation: Fraction) -> Experiment:
        """What all cards of all decks together reveal to somebody who knows whose they are."""
        return _composed(self.views, self.width, self.eps, self.slots, participation)

    def cell_spreads(self, shown: tuple[View, ...]) -> list[Spread]:
        """How far a cell of each table of these bits may be off, with a report about every view by each person.

        If several decks tell the same table, the mean of what they tell is taken, weighted by one over their
        variance.
        """
        return [self._cell(bits) for bits in shown]

    def _cell(self, bits: View) -> Spread:
        found = [self._by_one(view, bits) for view in self.views if set(bits) <= set(view)]
        precision = np.array([1 / float(spread.variance) for spread in found])
        weights = precision / precision.sum()
        spans = weights * np.array([float(spread.span) for spread in found])
        variance = float(1 / precision.sum())
        return Spread(variance, float(np.hypot.reduce(spans)), float(spans.max()))

    def _by_one(self, view: View, bits: View) -> Spread:
        """The spread of a cell by the deck of one view, of everybody's shares."""
        return _spread_of_part(self._base(view), tuple(view.index(bit) for bit in bits))


@lru_cache(maxsize=1024)
def _spread_of_part(base: Views, bits: View) -> Spread:
    """The spread of a cell of the table of these bits. Many views are alike, so it is kept."""
    (law,) = base.entry_laws((bits,))
    return law.spread.of_sample(1.0)


def separate_decks(budget: Budget) -> SeparateDecks:
    """The decks with the smallest error of a cell that keep the budget together: all their cards are composed."""
    slots = budget.last_round(LAST_CARD)
    widest = min(LARGEST_WIDTH, max(map(len, budget.views)))

    def solved(width: int) -> SeparateDecks:
        return SeparateDecks(budget.views, slots, _largest_eps(budget, slots, width), width)

    def guessed(width: int) -> SeparateDecks:
        found = _guessed_crowd_eps(budget, slots, width)
        alone = LARGEST_EPS if budget.eps == math.inf else _eps_alone(budget, slots, width)
        return SeparateDecks(budget.views, slots, min(found, alone), width)

    def radius(found: SeparateDecks) -> float:
        reports = max(1, math.floor(budget.people * budget.participation))
        beta = budget.beta or _BETA
        return max(float(spread.radius(reports, beta)) for spread in found.cell_spreads(budget.shown))

    widths = range(1, widest + 1)
    if budget.crowd is not None:  # One answer takes seconds, so the width is chosen roughly.
        return solved(min(map(guessed, widths), key=radius).width)
    narrow = solved(1)
    return narrow if narrow.eps <= QUIET else min((narrow, *map(solved, widths[1:])), key=radius)


def _composed(views: tuple[View, ...], width: int, eps: float, slots: int, participation: Fraction) -> Experiment:
    """So many cards about each view, each of which is sent with the probability `participation`."""
    bases = _bases(views, width, eps)
    return Experiment(
        [(thinned_factor(base.privacy_factor(), participation), slots * count) for base, count in bases]
    )


def _bases(views: tuple[View, ...], width: int, eps: float) -> list[tuple[NoisyInnerProduct, int]]:
    """The report about a table of each size, and how many tables have that size."""
    sizes = Counter(map(len, views))
    return [(NoisyInnerProduct(bits=bits, eps=eps, width=min(width, bits)), count) for bits, count in sizes.items()]


def _largest_eps(budget: Budget, slots: int, width: int) -> float:
    """The largest eps of one report with which all cards of all decks keep the budget, alone and in a crowd."""
    most = LARGEST_EPS if budget.eps == math.inf else _eps_alone(budget, slots, width)
    return most if budget.crowd is None else _crowd_eps(budget, slots, width, min(most, LARGEST_CROWD_EPS))


def _eps_alone(budget: Budget, slots: int, width: int) -> float:
    def spent(eps: float) -> float:
        return _composed(budget.views, width, eps, slots, budget.participation).delta(budget.eps).upper

    cards = slots * len(budget.views)
    pure = min(math.nextafter(budget.eps / cards, 0), LARGEST_EPS)
    guess = gaussian_shift(budget.delta, budget.eps) / math.sqrt(cards * float(budget.participation))
    start = min(max(pure, guess), LARGEST_EPS)
    return max(pure, largest_parameter(spent, start, eps=budget.eps, delta=budget.delta, high=LARGEST_EPS))


def _crowd_eps(budget: Budget, slots: int, width: int, most: float) -> float:
    crowd = _crowd(budget)

    def rounds_of(eps: float) -> Rounds:
        return {(_loudest_parts(budget, width, eps), crowd.people): slots * len(budget.views)}

    found = loudest_in_crowd(
        rounds_of,
        _guessed_crowd_eps(budget, slots, width),
        eps=crowd.eps,
        delta=crowd.delta,
        participation=budget.participation,
        most=most,
    )
    if found:
        found = _counted_by_clients(budget, slots, width, found)
    if found == 0:
        raise ValueError(f"people must be more than {crowd.people:,}: so small a crowd does not keep this budget")
    return found


def _counted_by_clients(budget: Budget, slots: int, width: int, most: float) -> float:
    """The largest eps of one report up to `most` with which a client's ledger accepts all decks; 0 if none is.

    It composes coarser laws of all decks, each of which is an upper bound.
    """
    crowd = budget.crowd
    if crowd is None:
        raise TypeError("the budget must have a crowd")

    def spent(eps: float) -> float:
        laws: list[LossLaw] = []
        for base, count in _bases(budget.views, width, eps):
            law = Dealt(base, slots).integer_crowd(people=crowd.people, participation=budget.participation)
            laws += [LossLaw.everything() if law is None else law] * count
        return composed(laws, crowd.eps / STEPS).delta(crowd.eps)

    if spent(most) <= crowd.delta:
        return most
    return largest_parameter(
        spent, 0.95 * most, eps=crowd.eps, delta=crowd.delta, high=most, tolerance=_COUNTED_CLOSE
    )


def _crowd(budget: Budget) -> CrowdBudget:
    """The budget in the crowd, less what is kept back."""
    if budget.crowd is None:
        raise TypeError("the budget must have a crowd")
    return replace(budget.crowd, eps=budget.crowd.eps * (1 - _KEPT_BACK))


def _loudest_parts(budget: Budget, width: int, eps: float) -> CrowdParts:
    """How the reports of two values differ at most, whatever the table. What a crowd hides grows with each part."""
    parts = [crowd_parts(base).numbers for base, _ in _bases(budget.views, width, eps)]
    return CrowdParts(*(max(each) for each in zip(*parts, strict=True)))


def _guessed_crowd_eps(budget: Budget, slots: int, width: int) -> float:
    """The eps at which all rounds look like a Gaussian that spends the budget, to first order in 1/people."""
    crowd = _crowd(budget)
    cards = float(budget.participation) * slots * len(budget.views)
    target = gaussian_shift(crowd.delta, crowd.eps) ** 2 * crowd.people / (2 * cards)
    return guessed_loudness(lambda eps: _loudest_parts(budget, width, eps).distance, target)
