"""A plan as the beginning of a campaign: encoding, mechanism, rounds, declared guarantee, as JSON."""

import inspect
from typing import Any

from untrackable.encodings.base import Encoding
from untrackable.encodings.bit import Bit
from untrackable.encodings.numbers import LARGEST_COUNT, IntegerRange
from untrackable.mechanisms.base import Mechanism
from untrackable.planning.goals import FOREVER, Goals
from untrackable.planning.solving import Solved

_NAMES = {"InnerProduct": "rnip", "DBitFlip": "dbitflip", "FixedVector": "fixed-vector", "OneChange": "one-change"}


def fragment(solved: Solved) -> dict[str, Any]:
    """What a campaign is made from; `encoding` is null where the goals say no more than how wide values are."""
    goals = solved.goals
    encoding = chosen_encoding(goals)
    return {
        "encoding": None if encoding is None else encoding.to_json(),
        "mechanism": described(solved.mechanism),
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
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None


def described(part: object) -> Any:
    """A mechanism by its name and the parameters that make it."""
    if not (isinstance(part, Mechanism) or hasattr(part, "privacy_factor")):
        return part
    kind = type(part).__name__
    name = _NAMES.get(kind, "".join(f"-{c.lower()}" if c.isupper() else c for c in kind).strip("-"))
    parameters = inspect.signature(type(part)).parameters
    return {"mechanism": name, **{key: described(getattr(part, key)) for key in parameters}}
