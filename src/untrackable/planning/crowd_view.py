"""What the collector learns without the relay: it sees everybody's reports, but not who sent which."""

from untrackable.mechanisms import crowd_answer
from untrackable.mechanisms.crowd_answer import InCrowd
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import Goals


def in_crowd(mechanism: Mechanism, goals: Goals) -> InCrowd:
    """The privacy in the crowd of the goals' people, for all their rounds."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    return crowd_answer.in_crowd(mechanism, goals.enrolled, rounds, goals.answered, goals.crowd_delta)
