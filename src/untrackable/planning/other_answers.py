"""How well an observer can tell people with different answers apart: one person against two of different values."""

import math
from functools import lru_cache
from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.mechanisms.tolerance import Tolerance

_SEARCHED = 6
"""Reports up to which the engine is asked. Beyond, its search over all splits takes longer than a plan may."""
_NARROW = 64
"""Bits of a report up to which the engine is asked about more than two."""


class ToldApart(NamedTuple):
    """The observer's advantage over guessing, and the probability of picking a person out of the crowd."""

    advantage: Bracket
    matched: Bracket


def told_apart(
    mechanism: Mechanism, privacy: Pair, tolerance: Tolerance, tracked: Bracket, *, limit: float = 0.0
) -> ToldApart:
    """One person against reports from two people with different values, for the worst split.

    `privacy` is of one value against another, for all reports that the observer may hold. If reports are
    independent given the value, this is all there is to see (exact). If not, the engine is asked about few reports,
    and beyond there is a bound. The bound also does if it keeps `matched` within the limit. Let P' be two people of
    the same value. P against P' is tracking, and `tracked` in the tolerance's measure. P' against people of
    different values is the privacy of the second person's reports.
    """
    crowd = tolerance.crowd
    apart, picked = privacy.delta(0.0), privacy.power(1 / crowd)
    if mechanism.independent:
        return ToldApart(apart, picked)
    bound = ToldApart(
        Bracket(0.0, min(1.0, apart.upper + _tracking_advantage(mechanism, tolerance, tracked))),
        Bracket(0.0, _matched_upper(mechanism, picked.upper, tolerance, tracked)),
    )
    reports = mechanism.enough_reports or tolerance.reports
    if (
        bound.matched.upper <= limit
        or reports is None
        or reports > (_SEARCHED if mechanism.report_bits <= _NARROW else 2)
    ):
        return bound
    try:
        found = _by_engine(mechanism, reports, crowd)
    except ValueError:  # The engine takes no such search.
        return bound
    return ToldApart(*(_sharper(*pair) for pair in zip(found, bound, strict=True)))


def _sharper(found: Bracket, bound: Bracket) -> Bracket:
    return found if found.upper <= bound.upper else Bracket(min(found.lower, bound.upper), bound.upper)


def _tracking_advantage(mechanism: Mechanism, tolerance: Tolerance, tracked: Bracket) -> float:
    """A bound on the advantage of one person against two of the same value."""
    closed = mechanism.tracking_advantage_upper(tolerance.reports)
    if tolerance.advantage is not None:
        return min(closed, tracked.upper)
    if tolerance.untrackable is not None:
        gamma = tolerance.untrackable[0]
        return min(closed, math.tanh(gamma / 2) + 2 * tracked.upper / (1 + math.exp(min(gamma, 700.0))))
    return closed


def _matched_upper(mechanism: Mechanism, share: float, tolerance: Tolerance, tracked: Bracket) -> float:
    """A bound on P(T) where P'(T) is at most `share`, for any test T."""
    found = [1.0, share + _tracking_advantage(mechanism, tolerance, tracked)]
    if tolerance.matched is not None:  # The power over the false positive rate falls with that rate.
        found.append(share * tolerance.crowd * tracked.upper)
    if tolerance.untrackable is not None and tolerance.untrackable[0] < 700.0:
        found.append(share * math.exp(tolerance.untrackable[0]) + tracked.upper)
    return min(found)


@lru_cache(maxsize=256)
def _by_engine(mechanism: Mechanism, reports: int, crowd: int) -> ToldApart:
    pair = mechanism.detection(rounds=range(1, reports + 1), after="fresh")
    return ToldApart(pair.delta(0.0), pair.power(1 / crowd))
