"""What happens with fewer people than planned: the privacy in crowds of other sizes."""

from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms import crowd_answer
from untrackable.planning.plans import Option

_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Sizes of the crowd, as multiples of the planned one."""


class CrowdPoint(NamedTuple):
    """A number of people, and eps in the crowd that they are."""

    people: int
    eps: Bracket


def crowd_curve(option: Option) -> list[CrowdPoint]:
    """The option's mechanism in crowds of other sizes; nothing if a crowd does not hide its reports."""
    goals, found = option.goals, []
    if option.in_crowd.eps is None or not isinstance(goals.rounds, int):
        return []
    for share in _SHARES:
        people = max(2, round(share * goals.enrolled))
        seen = crowd_answer.in_crowd(option.mechanism, people, goals.rounds, goals.answered, goals.crowd_delta)
        if seen.eps is not None:
            found.append(CrowdPoint(seen.people, seen.eps))
    return found
