"""The floor of tracking, and how far above it mechanisms are: tracking against the people that an answer needs.

Everybody is asked a yes/no question in every round. All mechanisms have the same eps for ever. Each has a parameter
that trades accuracy for tracking: it is varied, and both are computed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import Bitwise, Unary
from untrackable.mechanisms.local import RandomizedResponse
from untrackable.mechanisms.loloha import Loloha
from untrackable.mechanisms.rarely import Rarely
from untrackable.mechanisms.stored import InnerProduct, Memoized
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.theory.floor import le_cam_upper, tracking_lower, variance_lower
from untrackable.theory.turns import Turns

ERROR = 0.01
"""The standard error of a round's share that is asked for."""
ROUNDS: tuple[int | None, ...] = (20, 365, None)
"""The numbers of rounds that are looked at; None is for ever."""
_MOST = 1e5
"""The largest variance of a report that is looked at."""
_MOST_SLOTS = 1200
"""The largest number of stored reports that is looked at."""
_POINTS, _FEW = 26, 7
"""The numbers of variances of floors, and of parameters of a mechanism."""
FLOOR, RARELY, TURN, DECK = "floor", "Rarely", "one turn", "Deck"
_FEWEST = 2
"""The smallest number of rounds that come from two places."""
_RARE, _ROUNDED = 1e-16, 1e-12
"""The probability of numbers of ones that are left out, and a rounding error."""


@dataclass(frozen=True, slots=True)
class FloorPoint:
    """One mechanism with one parameter: the people needed (exact), and tracking by all reports of the rounds.

    `rounds` is None for ever. Tracking is the advantage of an observer of two places with half of the rounds each.
    The floor's is a lower end for any mechanism, for the worst division of the rounds.
    """

    name: str
    rounds: int | None
    people: float
    tracking: Bracket
    mechanism: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FloorComparison(NotebookTable):
    """The floor and mechanisms at the same privacy for ever. `error` is the standard error that people are for."""

    eps: float
    delta: float
    error: float
    rounds: tuple[int | None, ...]
    points: tuple[FloorPoint, ...]

    def least(self, name: str, rounds: int | None, people: float) -> Bracket | None:
        """The least tracking by a mechanism that needs at most this many people; None if it needs more.

        Of the parameters that were looked at. The floor and Rarely are computed for this many people.
        """
        fitting = [p for p in self.points if (p.name, p.rounds) == (name, rounds) and p.people <= people]
        variance = people * self.error**2
        if name == FLOOR and fitting:
            return Bracket(tracking_lower(variance, eps=self.eps, delta=self.delta, reports=rounds), math.inf)
        if name == RARELY and fitting:
            return _halves(Rarely.for_variance(eps=self.eps, variance=variance), rounds)
        return min((p.tracking for p in fitting), key=lambda tracking: tracking.upper, default=None)


def compare_with_floor(
    *,
    eps: float = 1.0,
    delta: float = 1e-6,
    rounds: Sequence[int | None] = ROUNDS,
    progress: Progress = no_progress,
) -> FloorComparison:
    """Compute the floor and mechanisms for yes/no questions of these numbers of rounds; None is for ever."""
    eps, delta = checks.epsilon("eps", eps), checks.open_probability("delta", delta)
    asked = tuple(
        None if number is None else checks.integer("rounds", number, low=_FEWEST, high=checks.MOST_ROUNDS)
        for number in rounds
    )
    found: list[FloorPoint] = []
    for place, number in enumerate(asked):
        progress("for ever" if number is None else f"{number:,} rounds", place / len(asked))
        found += _floor(eps, delta, number)
        found += (_point(*made, number) for made in _mechanisms(eps, delta, number))
        found += _answered_once(eps, number)
    return FloorComparison(eps, delta, ERROR, asked, tuple(found))


def _floor(eps: float, delta: float, rounds: int | None) -> Iterator[FloorPoint]:
    for variance in _variances(eps):
        least = tracking_lower(variance, eps=eps, delta=delta, reports=rounds)
        yield FloorPoint(FLOOR, rounds, variance / ERROR**2, Bracket(least, math.inf), "any mechanism")


def _variances(eps: float) -> list[float]:
    """From the smallest variance that eps allows to the largest that is looked at."""
    least = variance_lower(le_cam_upper(eps))
    found: list[float] = np.geomspace(least * (1 + 1e-9), max(_MOST, 10 * least), _POINTS).tolist()
    return found


def _mechanisms(eps: float, delta: float, rounds: int | None) -> Iterator[tuple[str, Mechanism, Bracket]]:
    """All mechanisms for everybody in every round, with the parameters that are looked at, and their tracking."""
    for variance in _variances(eps):
        rarely = Rarely.for_variance(eps=eps, variance=variance)
        yield RARELY, rarely, _halves(rarely, rounds)
    memoized = Memoized(RandomizedResponse(eps=eps))
    yield "memoised", memoized, _halves(memoized, rounds)
    for part in np.geomspace(0.02, 4.0, 2 * _FEW).tolist():
        kept = Bitwise(eps_state=eps, eps_report=part * eps)
        yield "Bitwise", kept, _halves(kept, rounds, kept.state_flip.probability)
    for part in np.geomspace(0.02, 0.95, _FEW).tolist():
        unary = Unary.for_budget("L-SUE", values=2, eps=eps, eps_report=part * eps)
        yield "RAPPOR", unary, _halves(unary, rounds, unary.keep, unary.add)
        hashed = Loloha.for_budget("BiLOLOHA", values=2, eps=eps, eps_report=part * eps, step="exact")
        seeds = _halves(hashed, rounds)
        yield "LOLOHA", hashed, Bracket(seeds.lower, 1.0) if rounds is None else seeds
    for slots in dict.fromkeys(np.rint(np.geomspace(1, _MOST_SLOTS, 2 * _FEW)).astype(int).tolist()):
        stored = InnerProduct.for_budget(bits=1, slots=slots, eps=eps, delta=delta, width=1)
        yield "RNIP", stored, _of_stored_bits(stored, rounds)
    if rounds is not None:
        deck = Deck.for_budget(bits=1, slots=rounds, eps=eps, delta=delta)
        yield DECK, deck, _halves(deck, rounds)
        fading = Fading.for_budget(bits=1, eps=eps, delta=delta)
        yield "Fading", fading, _halves(fading, rounds)


def _point(name: str, mechanism: Mechanism, tracking: Bracket, rounds: int | None) -> FloorPoint:
    """The people and the tracking of a mechanism; for one that fades, the people of the last round."""
    error = mechanism.accuracy(1, round=rounds or 1, candidates=range(2)).standard_error
    return FloorPoint(name, rounds, error**2 / ERROR**2, tracking, repr(mechanism))


def _halves(mechanism: Mechanism, rounds: int | None, *kept: float) -> Bracket:
    """The advantage by half of the reports at each of two places.

    For ever, each half shows all that is kept: bits that are 1 with these probabilities; or else two reports, which
    show a report that is kept in full.
    """
    if rounds is not None:
        return mechanism.tracking(rounds=range(1, rounds + 1), first=range(1, rounds // 2 + 1)).advantage()
    if kept:
        return Bracket.point(1 - math.prod(chance**2 + (1 - chance) ** 2 for chance in kept))
    return mechanism.tracking(reports=_FEWEST).advantage()


def _of_stored_bits(mechanism: InnerProduct, rounds: int | None) -> Bracket:
    """The advantage by stored bits (exact): those who have m ones among L slots report a 1 with probability m/L."""
    from scipy.stats import binom

    ones = np.arange(mechanism.slots + 1)
    people = binom.pmf(ones, mechanism.slots, mechanism.base.flip.probability)
    if rounds is None:
        return Bracket.point(1 - float(people @ people))
    keep = people > _RARE
    sides = [_counts(size, (ones / mechanism.slots)[keep]) for size in (rounds // 2, rounds - rounds // 2)]
    one = (sides[0] * people[keep]) @ sides[1].T
    apart = np.abs(one - np.outer(one.sum(axis=1), one.sum(axis=0))).sum() / 2
    slack = float(people[~keep].sum()) + _ROUNDED
    return Bracket(max(0.0, float(apart) - slack), min(1.0, float(apart) + slack))


def _counts(size: int, chances: FloatArray) -> FloatArray:
    """The probability of each number of ones among this many reports, a column for each of these chances."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(size + 1)[:, None], size, chances[None, :]))


def _answered_once(eps: float, rounds: int | None) -> Iterator[FloorPoint]:
    """One turn for each person. The noise and the sample count; two people are told from one by silence alone."""
    if rounds is None:
        return
    base, whole = RandomizedResponse(eps=eps), Turns(rounds=rounds)
    noise = base.accuracy(1, 0.05).standard_error ** 2
    heard = (noise + 0.25 * (1 - 1 / rounds)) / ERROR**2
    half = Fraction(rounds // 2, rounds)
    silence = whole.exclusion(half, 1 - half).advantage()
    yield FloorPoint(TURN, rounds, heard * rounds, silence, repr(base))
