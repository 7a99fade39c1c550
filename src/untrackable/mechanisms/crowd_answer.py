"""The privacy of a mechanism in a crowd, or the reason why a crowd does not hide its reports."""

from functools import lru_cache
from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.crowd_counts import LARGEST_CROWD

_NOBODY = "there is nobody to hide among"
_NOTHING = "reports have no content to hide"


class InCrowd(NamedTuple):
    """The eps at a delta, of all rounds in a crowd of this many people; if there is none, the reason."""

    people: int
    delta: float
    eps: Bracket | None
    why: str = ""


@lru_cache(maxsize=64)
def in_crowd(mechanism: Mechanism, people: int, rounds: int | None, delta: float) -> InCrowd:
    """What an observer learns who sees everybody's reports of these rounds, but not who sent which.

    Of more people than the engine counts, some are left out: they can only hide more.
    """
    counted = min(people, LARGEST_CROWD)
    if counted < 2:
        return InCrowd(people, delta, None, _NOBODY)
    if mechanism.loss_of_one_report == 0:
        return InCrowd(people, delta, None, _NOTHING)
    try:
        pair = mechanism.crowd(people=counted, reports=rounds)
    except ValueError as error:
        return InCrowd(counted, delta, None, str(error))
    return InCrowd(counted, delta, pair.gamma(delta))
