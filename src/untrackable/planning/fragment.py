"""A plan as the beginning of a campaign: encoding, mechanism, rounds, declared guarantee, as JSON."""

import dataclasses
import secrets
from typing import Any

from untrackable.encodings.base import Encoding
from untrackable.encodings.bit import Bit
from untrackable.encodings.hashed import SHORTEST_SALT
from untrackable.encodings.numbers import LARGEST_COUNT, IntegerRange
from untrackable.planning.goals import FOREVER, Goals
from untrackable.planning.solving import Solved


def fragment(solved: Solved) -> dict[str, Any]:
    """What a campaign is made from; `encoding` is null where the goals say no more than how wide values are."""
    goals = solved.goals
    encoding = chosen_encoding(goals)
    return {
        "encoding": None if encoding is None else encoding.to_json(),
        "mechanism": solved.mechanism.to_json(),
        "rounds": None if goals.rounds == FOREVER else goals.rounds,
        "guarantee": {
            "eps": goals.eps,
            "delta": goals.delta,
            "values": goals.secret,
            "tracking": {"reports": goals.observed, goals.measure: solved.tracked.upper},
        },
    }


def chosen_encoding(goals: Goals) -> Encoding | None:
    """The one given, or the plainest that has so many values."""
    if goals.encoding is not None:
        return goals.encoding
    if goals.discovered is not None:  # with a salt of its own
        return dataclasses.replace(goals.discovered, salt=secrets.token_bytes(SHORTEST_SALT))
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None
