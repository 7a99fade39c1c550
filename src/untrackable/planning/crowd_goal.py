"""Solves for the demand that goals for a crowd leave open: people, rounds or error.

A mechanism is set for the number of people, because more people hide louder reports. So people and rounds are
searched for, at first with a normal approximation, and then with the engine.
"""

import dataclasses
import math
from collections.abc import Callable

from untrackable.checks import MOST_ROUNDS
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.planning.forecast import errors
from untrackable.planning.goals import LARGEST_PEOPLE, USABLE_ERROR, Goals
from untrackable.planning.participation import check_recognition, with_participation
from untrackable.planning.rounding import rounded_up
from untrackable.planning.solved_goals import Solved, inaccurate
from untrackable.planning.suitability import meeting
from untrackable.theory.monotone_search import largest_integer, smallest_real

_CLOSE = 5e-3
"""The relative precision of a number of people. It is rounded up to three digits."""
_DIGITS = 3
_FEWEST = 2


def solve_in_crowd(entry: Entry, goals: Goals) -> Solved:
    """Set a mechanism for the goals and solve for the demand that they leave open; or `Unsuitable`."""
    if goals.unknown == "people":
        return _fewest_people(entry, goals)
    if goals.unknown == "rounds":
        return _most_rounds(entry, goals)
    return _solved(entry, with_participation(entry, goals))


def _solved(entry: Entry, asked: Goals) -> Solved:
    mechanism, tracked = meeting(entry, asked)
    error, wanted = errors(mechanism, asked, asked.people or _FEWEST).figure, asked.error or USABLE_ERROR
    if error > wanted:
        raise inaccurate(error, wanted, mechanism)
    return Solved(asked.replace(error=asked.error or error), mechanism, tracked)


def _fewest_people(entry: Entry, goals: Goals) -> Solved:
    """The smallest number of people, of three digits, with whom the error is reached."""
    asked, wanted = with_participation(entry, goals), goals.error or USABLE_ERROR
    meeting(entry, asked)  # If nobody's reports suit, no number of people helps.

    def excess(budget_of: Callable[[Goals], Budget]) -> Callable[[float], float]:
        def above(people: float) -> float:
            here = asked.replace(people=math.ceil(people))
            return _excess(entry, here, budget_of(here), wanted)

        return above

    try:
        near = smallest_real(excess(_roughly), 1e6, low=_FEWEST, high=LARGEST_PEOPLE, close=_CLOSE)
        found = smallest_real(excess(_exactly), near, low=_FEWEST, high=LARGEST_PEOPLE, close=_CLOSE)
    except ValueError:
        why = f"Not accurate enough: it would need more than {LARGEST_PEOPLE:.0e} people."
        raise Unsuitable("accuracy", why) from None
    return _solved(entry, asked.replace(people=math.ceil(rounded_up(found, _DIGITS))))


def _most_rounds(entry: Entry, goals: Goals) -> Solved:
    """The largest number of rounds at which the error is still reached."""
    wanted, lowest = goals.error or USABLE_ERROR, goals.pooled
    _solved(entry, _at(entry, goals, lowest))

    def excess(budget_of: Callable[[Goals], Budget]) -> Callable[[int], float]:
        def above(rounds: int) -> float:
            here = _at(entry, goals, rounds)
            return _excess(entry, here, budget_of(here), wanted)

        return above

    near = largest_integer(excess(_roughly), lowest, low=lowest, high=MOST_ROUNDS)
    return _solved(entry, _at(entry, goals, largest_integer(excess(_exactly), near, low=lowest, high=MOST_ROUNDS)))


def _at(entry: Entry, goals: Goals, rounds: int) -> Goals:
    held = None if goals.reports is None else min(goals.reports, rounds)
    return with_participation(entry, goals.replace(rounds=rounds, reports=held))


def _excess(entry: Entry, goals: Goals, budget: Budget, wanted: float) -> float:
    """ln(error/wanted) of the mechanism that the budget sets; infinite if there is none."""
    try:
        mechanism = entry.for_budget(budget)
        check_recognition(mechanism, goals)
    except Unsuitable:
        return math.inf
    return math.log(errors(mechanism, goals, goals.people or _FEWEST).figure / wanted)


def _exactly(goals: Goals) -> Budget:
    return goals.budget


def _roughly(goals: Goals) -> Budget:
    """The same budget, for which a normal approximation sets the mechanism."""
    budget = goals.budget
    crowd = budget.crowd
    return budget if crowd is None else dataclasses.replace(budget, crowd=dataclasses.replace(crowd, roughly=True))
