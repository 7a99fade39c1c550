"""What happens with fewer people than planned: the privacy in crowds of other sizes."""

from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms.crowd_curve import crowd_curve
from untrackable.planning.plans import Option
from untrackable.theory.crowd_counts import LARGEST_CROWD

_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Sizes of the crowd, as multiples of the planned one."""


class CrowdPoint(NamedTuple):
    """A number of people, and eps in the crowd that they are."""

    people: int
    eps: Bracket


def other_crowds(option: Option) -> list[CrowdPoint]:
    """The option's mechanism in crowds of other sizes; nothing if a crowd does not hide its reports."""
    goals = option.goals
    if option.in_crowd.eps is None or not isinstance(goals.rounds, int):
        return []
    sizes = [min(LARGEST_CROWD, max(2, round(share * goals.enrolled))) for share in _SHARES]
    curve = crowd_curve(
        option.mechanism, sizes, reports=goals.rounds, delta=goals.crowd_delta, participation=goals.answered
    )
    return [CrowdPoint(people, eps) for people, eps in curve.items()]
