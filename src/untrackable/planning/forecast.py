"""What a mechanism will deliver: the error of a published figure, and what is sent and kept."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.others.one_change import OneChange
from untrackable.mechanisms.wrappers.dealt import Dealt
from untrackable.mechanisms.wrappers.stored import Stored
from untrackable.planning.goals import FOREVER, LARGEST_PEOPLE, Goals
from untrackable.planning.monotone_search import smallest_integer
from untrackable.theory.accuracy import Accuracy

_FRAME = 16
"""Bytes around a saved state: version, mechanism, checksum."""
_MOST_ROUNDS = 4096
"""Rounds of unlike error that are looked at one by one."""


class Predicted(NamedTuple):
    """Errors of one value or of all at once, as the goals ask: upper bounds that fail with probability beta.

    `one_round` is of one round alone, `figure` of the pooled rounds that are published together, both where they
    are largest: at the last rounds, or with no horizon at the first.
    """

    one_round: float
    figure: float


def errors(mechanism: Mechanism, goals: Goals, people: int) -> Predicted:
    """The errors that can be promised for so many people a round."""
    if goals.discovered is not None:
        return _thresholds(mechanism, goals, people)
    beta = goals.beta / statistics(mechanism, goals)
    if not _alike(mechanism):
        rounds = goals.figure if mechanism.independent else _rounds(goals)
        radii = [_accuracy(mechanism, goals, people, beta, r) for r in rounds]
        one = max(found.radius for found in radii)
        return Predicted(one, pooled(radii) if mechanism.independent else one)
    found = _accuracy(mechanism, goals, people, beta, 1)
    return Predicted(found.radius, pooled([found] * goals.pooled) if mechanism.independent else found.radius)


def _thresholds(mechanism: Mechanism, goals: Goals, people: int) -> Predicted:
    """The frequency from which on a string is found: what stands out of all buckets of one level, and some more.

    A level has a share of one in so many of the reports. A bucket stands out of all by the simultaneous radius;
    three standard errors more, and it nearly always does. (The search weighs all levels together: it does better.)
    """
    base = mechanism.base.base  # type: ignore[attr-defined]
    rounds = goals.pooled if mechanism.independent else 1
    found = [
        base.accuracy(max(1, people * number // goals.levels), goals.beta / base.values) for number in (1, rounds)
    ]
    one, figure = (accuracy.radius + 3 * accuracy.standard_error for accuracy in found)
    return Predicted(one, figure)


def pooled(rounds: list[Accuracy]) -> float:
    """The radius of independent rounds, weighted by one over the variance where nobody holds the value.

    As `Rounds.pooled` does it: √(Σ w²·radius²), Σ w = 1.
    """
    weights = [found.standard_error**-2 for found in rounds]
    spread = math.fsum((w * found.radius) ** 2 for w, found in zip(weights, rounds, strict=True))
    return math.sqrt(spread) / math.fsum(weights)


def statistics(mechanism: Mechanism, goals: Goals) -> int:
    """How many errors the promise bounds at once: those that its estimates' `simultaneous_radius` does."""
    if not goals.simultaneous:
        return 1
    base = getattr(mechanism, "base", None)
    base = base(1) if callable(base) else base
    if isinstance(mechanism, (Bitwise, OneChange)) or (isinstance(base, NoisyInnerProduct) and base.bits == 1):
        return 1  # of a bit, the two errors are one and the same
    return goals.size if base is None else min(int(base.values), 1 << goals.width)


def people_needed(mechanism: Mechanism, goals: Goals, *, most: int = LARGEST_PEOPLE) -> int:
    """The fewest people with whom the figure's error is as small as the goal asks.

    Raises ValueError where even the most people do not suffice.
    """
    error = goals.error or 1.0
    guess = errors(mechanism, goals, 10**6).figure

    def excess(people: int) -> float:
        return math.log(errors(mechanism, goals, people).figure / error)

    start = max(1, math.ceil(10**6 * (guess / error) ** 2))  # errors fall as one over the root
    return smallest_integer(excess, start, low=1, high=most)


def report_bytes(mechanism: Mechanism) -> int:
    """Payload of one report."""
    return (mechanism.report_bits + 7) // 8


def state_bytes(mechanism: Mechanism) -> int:
    """What one client keeps, as it is saved."""
    if isinstance(mechanism, Dealt):
        return _FRAME + (mechanism.slots + 7) // 8 + mechanism.slots * report_bytes(mechanism)
    if isinstance(mechanism, Stored):
        return _FRAME + mechanism.slots * report_bytes(mechanism)
    return len(mechanism.client(0 if not isinstance(mechanism, Rappor) else "0").to_bytes())


def _alike(mechanism: Mechanism) -> bool:
    """Whether all rounds have the same error."""
    return mechanism.pools or isinstance(mechanism, Stored) or not _depends(mechanism)


def _depends(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, Fading) or "rounds" in getattr(type(mechanism), "__dataclass_fields__", {})


def _rounds(goals: Goals) -> Iterable[int]:
    if goals.rounds == FOREVER or goals.rounds is None:
        return range(1, 2)
    return range(1, min(goals.rounds, _MOST_ROUNDS) + 1)


def _accuracy(mechanism: Mechanism, goals: Goals, people: int, beta: float, round: int) -> Accuracy:
    if isinstance(mechanism, Rappor):
        return mechanism.accuracy(people, beta=beta, round=round, candidates=range(goals.size))
    return mechanism.accuracy(people, beta=beta, round=round)
