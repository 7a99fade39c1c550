"""One deck for each of several tables, all with one privacy budget: what asking for each by itself takes.

Small tables are better known by reports of the same eps, so their reports have a smaller one.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
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
_HAIR = 1e-12
"""The share by which a pure eps is smaller, to make up for rounding."""


@dataclass(frozen=True, slots=True)
class SeparateDecks:
    """A deck for each of the `views`, with the `eps` of one report of each. Answers have up to `width` bits."""

    views: tuple[View, ...]
    slots: int
    eps: tuple[float, ...]
    width: int

    def decks(self, plain: Sequence[bool]) -> tuple[Mechanism, ...]:
        """The deck of each view: a plain one, or one of reports about a single view of everything."""
        return tuple(
            Deck(bits=base.bits, slots=self.slots, eps_report=base.eps, width=base.width)
            if alone
            else Dealt(base, self.slots)
            for base, alone in zip(self._bases(), plain, strict=True)
        )

    def _bases(self) -> list[Views]:
        """The reports about all bits of each view, which are the only ones of its deck."""
        return [
            Views(bits=len(view), views=(tuple(range(len(view))),), eps=eps, width=min(self.width, len(view)))
            for view, eps in zip(self.views, self.eps, strict=True)
        ]

    def privacy(self, participation: Fraction) -> Experiment:
        """What all cards of all decks together reveal to somebody who knows whose they are."""
        return _composed(_reports(self.views, self.width, self.eps), self.slots, participation)

    def cell_spreads(self, shown: tuple[View, ...]) -> list[Spread]:
        """How far a cell of each table of these bits may be off, with a report about every view by each person.

        If several decks tell the same table, the mean of what they tell is taken, weighted by one over their
        variance.
        """
        return [self._cell(bits) for bits in shown]

    def _cell(self, bits: View) -> Spread:
        found = [
            _spread_of_part(base, tuple(map(view.index, bits)))
            for view, base in zip(self.views, self._bases(), strict=True)
            if set(bits) <= set(view)
        ]
        precision = np.array([1 / float(spread.variance) for spread in found])
        weights = precision / precision.sum()
        spans = weights * np.array([float(spread.span) for spread in found])
        variance = float(1 / precision.sum())
        return Spread(variance, float(np.hypot.reduce(spans)), float(spans.max()), independent=True)


@lru_cache(maxsize=1024)
def _spread_of_part(base: Views, bits: View) -> Spread:
    """The spread of a cell of the table of these bits. Many views are alike, so it is kept."""
    (law,) = base.entry_laws((bits,))
    return law.spread.of_sample(1.0)


def separate_decks(budget: Budget) -> SeparateDecks:
    """The decks with the smallest error of a cell that keep the budget together: all their cards are composed."""
    slots = budget.last_round(LAST_CARD)
    widest = min(LARGEST_WIDTH, max(map(len, budget.views)))

    def decks(eps: float, width: int) -> SeparateDecks:
        return SeparateDecks(budget.views, slots, _each_eps(budget, eps), width)

    def solved(width: int) -> SeparateDecks:
        return decks(_largest_eps(budget, slots, width), width)

    def guessed(width: int) -> SeparateDecks:
        found = _guessed_crowd_eps(budget, slots, width)
        alone = LARGEST_EPS if budget.eps == math.inf else _eps_alone(budget, slots, width)
        return decks(min(found, alone), width)

    def radius(found: SeparateDecks) -> float:
        reports = max(1, math.floor(budget.people * budget.participation))
        beta = budget.beta or _BETA
        return max(float(spread.radius(reports, beta)) for spread in found.cell_spreads(budget.shown))

    widths = range(1, widest + 1)
    if budget.crowd is not None:  # One answer takes seconds, so the width is chosen roughly.
        return solved(min(map(guessed, widths), key=radius).width)
    narrow = solved(1)
    return narrow if max(narrow.eps) <= QUIET else min((narrow, *map(solved, widths[1:])), key=radius)


def shares_of_eps(views: tuple[View, ...], shown: tuple[View, ...]) -> tuple[float, ...]:
    """The eps of one report about each view, as a share of the largest, so that tables are equally well known.

    The error of a cell of s bits, by quiet reports about k bits, is in proportion to √((2^k-1)(2^s-1))/2^s/eps. For
    s = k this is (1-2^-k)/eps, so single bits are known twice as well as large tables. A table counts for the
    smallest views that tell it. If there are m of them, its error is √m times smaller.
    """
    errors = [0.0] * len(views)
    for bits in shown:
        telling = [i for i, view in enumerate(views) if set(bits) <= set(view)]
        size = min(len(views[i]) for i in telling)
        best = [i for i in telling if len(views[i]) == size]
        error = math.sqrt((2.0**size - 1) * (2.0 ** len(bits) - 1) / len(best)) / 2.0 ** len(bits)
        for i in best:
            errors[i] = max(errors[i], error)
    least = min(error for error in errors if error)
    return tuple((error or least) / max(errors) for error in errors)


def _each_eps(budget: Budget, eps: float) -> tuple[float, ...]:
    """The eps of one report about each view, if it is at most this."""
    return tuple(eps * share for share in shares_of_eps(budget.views, budget.shown))


def _composed(reports: list[tuple[NoisyInnerProduct, int]], slots: int, participation: Fraction) -> Experiment:
    """So many cards of each kind of report, each of which is sent with the probability `participation`."""
    return Experiment(
        [(thinned_factor(base.privacy_factor(), participation), slots * count) for base, count in reports]
    )


def _reports(views: tuple[View, ...], width: int, eps: tuple[float, ...]) -> list[tuple[NoisyInnerProduct, int]]:
    """The reports about tables of each size and eps, and how many tables have these."""
    kinds = Counter(zip(map(len, views), eps, strict=True))
    return [
        (NoisyInnerProduct(bits=bits, eps=each, width=min(width, bits)), count)
        for (bits, each), count in kinds.items()
    ]


def _largest_eps(budget: Budget, slots: int, width: int) -> float:
    """The largest eps of one report with which all cards of all decks keep the budget, alone and in a crowd."""
    most = LARGEST_EPS if budget.eps == math.inf else _eps_alone(budget, slots, width)
    return most if budget.crowd is None else _crowd_eps(budget, slots, width, min(most, LARGEST_CROWD_EPS))


def _eps_alone(budget: Budget, slots: int, width: int) -> float:
    def spent(eps: float) -> float:
        reports = _reports(budget.views, width, _each_eps(budget, eps))
        return _composed(reports, slots, budget.participation).delta(budget.eps).upper

    shares = _each_eps(budget, 1.0)
    pure = min(budget.eps / (slots * math.fsum(shares)) * (1 - _HAIR), LARGEST_EPS)
    cards = slots * math.fsum(share**2 for share in shares)
    guess = gaussian_shift(budget.delta, budget.eps) / math.sqrt(cards * float(budget.participation))
    start = min(max(pure, guess), LARGEST_EPS)
    found = largest_parameter(spent, start, eps=budget.eps, delta=budget.delta, high=LARGEST_EPS)

    def law(deck: Dealt) -> LossLaw | None:
        step = budget.eps / STEPS
        return deck.integer_privacy(slots, values="any", step=step, participation=budget.participation)

    return max(pure, _counted_by_clients(budget, slots, width, found, law, budget)) if found > pure else pure


def _crowd_eps(budget: Budget, slots: int, width: int, most: float) -> float:
    crowd = _crowd(budget)

    def rounds_of(eps: float) -> Rounds:
        return {(parts, crowd.people): slots * count for parts, count in _crowd_parts(budget, width, eps)}

    found = loudest_in_crowd(
        rounds_of,
        _guessed_crowd_eps(budget, slots, width),
        eps=crowd.eps,
        delta=crowd.delta,
        participation=budget.participation,
        most=most,
    )

    def law(deck: Dealt) -> LossLaw | None:
        return deck.integer_crowd(people=crowd.people, participation=budget.participation)

    if found and budget.crowd is not None:
        found = _counted_by_clients(budget, slots, width, found, law, budget.crowd)
    if found == 0:
        raise ValueError(f"people must be more than {crowd.people:,}: so small a crowd does not keep this budget")
    return found


def _counted_by_clients(
    budget: Budget,
    slots: int,
    width: int,
    most: float,
    law_of: Callable[[Dealt], LossLaw | None],
    limit: Budget | CrowdBudget,
) -> float:
    """The largest eps of one report up to `most` with which a client's ledger accepts all decks; 0 if none is.

    It composes coarser laws of all decks, each of which is an upper bound, and compares them with the `limit`.
    """

    def spent(eps: float) -> float:
        laws: list[LossLaw] = []
        for base, count in _reports(budget.views, width, _each_eps(budget, eps)):
            law = law_of(Dealt(base, slots))
            laws += [LossLaw.everything() if law is None else law] * count
        return composed(laws, limit.eps / STEPS).delta(limit.eps)

    if spent(most) <= limit.delta:
        return most
    return largest_parameter(
        spent, 0.95 * most, eps=limit.eps, delta=limit.delta, high=most, tolerance=_COUNTED_CLOSE
    )


def _crowd(budget: Budget) -> CrowdBudget:
    """The budget in the crowd, less what is kept back."""
    if budget.crowd is None:
        raise TypeError("the budget must have a crowd")
    return replace(budget.crowd, eps=budget.crowd.eps * (1 - _KEPT_BACK))


def _crowd_parts(budget: Budget, width: int, eps: float) -> list[tuple[CrowdParts, int]]:
    """How the reports of two values differ, for tables of each kind, and how many tables are of that kind."""
    reports = _reports(budget.views, width, _each_eps(budget, eps))
    return [(crowd_parts(base), count) for base, count in reports]


def _guessed_crowd_eps(budget: Budget, slots: int, width: int) -> float:
    """The eps at which all rounds look like a Gaussian that spends the budget, to first order in 1/people."""
    crowd = _crowd(budget)
    cards = float(budget.participation) * slots
    target = gaussian_shift(crowd.delta, crowd.eps) ** 2 * crowd.people / (2 * cards)

    def loudness(eps: float) -> float:
        return math.fsum(count * p.distance * (p.ratio - 1) for p, count in _crowd_parts(budget, width, eps))

    return guessed_loudness(loudness, target)
