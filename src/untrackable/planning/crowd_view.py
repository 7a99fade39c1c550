"""What the collector learns without the relay: it sees everybody's reports, but not who sent which."""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import Goals


class InCrowd(NamedTuple):
    """eps at a delta, of all reports ever in a crowd of this many people; if there is none, the reason."""

    people: int
    delta: float
    eps: Bracket | None
    why: str = ""


def in_crowd(mechanism: Mechanism, goals: Goals) -> InCrowd:
    """The privacy in the crowd of the goals' people, for all their rounds."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    return _in_crowd(mechanism, goals.enrolled, rounds, goals.answered, goals.crowd_delta)


@lru_cache(maxsize=64)
def _in_crowd(
    mechanism: Mechanism, people: int, rounds: int | None, participation: Fraction, delta: float
) -> InCrowd:
    if people < 2:
        return InCrowd(people, delta, None, "there is nobody to hide among")
    try:
        pair = mechanism.crowd(people=people, reports=rounds, participation=participation)
    except ValueError as error:
        return InCrowd(people, delta, None, str(error))
    return InCrowd(people, delta, pair.gamma(delta))
