"""What the collector learns without the relay: it sees everybody's reports, but not who sent which."""

from untrackable.mechanisms import crowd_answer
from untrackable.mechanisms.crowd_answer import InCrowd
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import Goals

_MOST_UNLIKE = 20
"""The most rounds of different noise that are composed for a plan: more take seconds."""
_LONG = "with a different noise in each of so many rounds, the privacy in a crowd is not computed here"


def in_crowd(mechanism: Mechanism, goals: Goals) -> InCrowd:
    """The privacy in the crowd of the goals' people, for all their rounds."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    if not mechanism.rounds_alike and (rounds is None or rounds > _MOST_UNLIKE):
        return InCrowd(goals.enrolled, goals.crowd_delta, None, _LONG)
    return crowd_answer.in_crowd(mechanism, goals.enrolled, rounds, goals.answered, goals.crowd_delta)


def surely_hidden(mechanism: Mechanism, goals: Goals, eps: float) -> bool:
    """Whether a coarse bound shows that the crowd keeps all rounds private at this eps."""
    if not mechanism.rounds_alike or not isinstance(goals.rounds, int) or goals.enrolled < 2:
        return False
    delta = mechanism.crowd_delta_upper(
        eps, people=goals.enrolled, reports=goals.rounds, participation=goals.answered
    )
    return delta <= goals.crowd_delta
