"""A plan as the beginning of a campaign: encoding, mechanism, rounds, declared guarantee, as JSON."""

import dataclasses
import math
from typing import Any

from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import LARGEST_COUNT, IntegerRange
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.planning.goals import FOREVER, Goals

_ENDLESS = (1 << 32) - 1
"""Reports that a campaign without a last round is verified for."""


def fragment(goals: Goals, mechanism: Mechanism, salt: bytes) -> dict[str, Any]:
    """What a campaign is made from, in its own fields; strings to be discovered are hashed with `salt`.

    `encoding` is null where the goals say no more than how wide values are.
    """
    encoding = chosen_encoding(goals, salt)
    return {
        "encoding": None if encoding is None else encoding.to_json(),
        "mechanism": mechanism.to_json(),
        "rounds": None if goals.rounds == FOREVER else goals.rounds,
        "guarantee": {
            "eps": goals.eps,
            "delta": goals.delta,
            "values": goals.secret,
            **_untrackable(goals, mechanism),
        },
    }


def _untrackable(goals: Goals, mechanism: Mechanism) -> dict[str, float]:
    """Of all rounds together, whatever the goals' measure and observer; rounded up, so that it holds anywhere."""
    gamma = goals.untrackable[0] if goals.untrackable else 0.0
    reports = max(2, goals.rounds) if isinstance(goals.rounds, int) else _ENDLESS
    try:
        if isinstance(mechanism, Bitwise) and gamma == 0 and not goals.changes:
            delta = mechanism.tracking_advantage_upper(reports)
        else:
            values = goals.size if goals.changes else 1
            delta = mechanism.tracking_upper(reports, values=values).delta(gamma).upper
    except ValueError:  # too many reports to say anything
        delta = 1.0
    return {"gamma": gamma, "tracking_delta": min(1.0, rounded_up(delta))}


def rounded_up(number: float) -> float:
    """Four digits, so that what is said suffices."""
    if number <= 0:
        return 0.0
    size = math.pow(10, 3 - math.floor(math.log10(number)))
    return math.ceil(number * size) / size


def chosen_encoding(goals: Goals, salt: bytes) -> Encoding | None:
    """The one given, or the plainest that has so many values."""
    if goals.encoding is not None:
        return goals.encoding
    if goals.discovered is not None:
        return dataclasses.replace(goals.discovered, salt=salt)
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None
