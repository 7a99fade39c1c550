"""Error and recognition of a plan's best mechanism, by how often clients answer: what the choice trades."""

from dataclasses import dataclass
from fractions import Fraction

from untrackable.brackets import Bracket
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.forecast import errors
from untrackable.planning.offered_mechanisms import offered_for
from untrackable.planning.participation import recognised
from untrackable.planning.plans import Option

_NUMBERS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 57, 80, 100)
"""One round in so many is answered."""


@dataclass(frozen=True, slots=True)
class Point:
    """A participation, the error of a figure (upper), and recognition for stays as in the goals, of 7 and of 30."""

    participation: Fraction
    error_upper: float
    recognition: Bracket
    stays_of_7: Bracket
    stays_of_30: Bracket


def participation_curve(option: Option) -> list[Point]:
    """The option's mechanism set for each participation; nothing if attendance does not matter, or never ends."""
    goals = option.goals
    if goals.one_network or not isinstance(goals.rounds, int):
        return []
    chosen, entry, found = goals.answered, offered_for(goals)[option.name], []
    for share in sorted({chosen, *(Fraction(1, number) for number in _NUMBERS)}, reverse=True):
        asked = goals.replace(participation=share)
        try:
            mechanism = option.mechanism if share == chosen else entry.for_budget(asked.budget)
        except Unsuitable:
            continue
        seen = recognised(mechanism, asked)
        error = errors(mechanism, asked, goals.people or 1).figure
        found.append(Point(share, error, seen.recognition, seen.stays_of_7, seen.stays_of_30))
    return found
