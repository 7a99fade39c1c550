"""The smallest changes of goals that are not met, each of which would be enough alone."""

import contextlib
import math
from collections.abc import Iterator
from typing import NamedTuple

from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.goals import LARGEST_EPS, Goals
from untrackable.planning.rounding import counted, shown_up
from untrackable.planning.unknown_goal import eps_needed, error_of, people_needed, rounds_possible
from untrackable.theory.monotone_search import largest_integer, smallest_integer


class Change(NamedTuple):
    """A demand, the value with which the goals would be met, and the same in words."""

    goal: str
    value: float
    text: str


def nearest(goals: Goals, error: float) -> tuple[Change, ...]:
    """Longer rounds, more rounds pooled, fewer answers, more eps, more people: in this order, if they help.

    A relay is not among them, because it changes no error.
    """
    found: list[Change] = []
    for change in (_longer_rounds, _more_pooled, _fewer_answers, _more_eps, _more_people):
        with contextlib.suppress(ValueError, Unsuitable):  # This change alone is never enough.
            found += change(goals, error)
    return tuple(found)


def _longer_rounds(goals: Goals, error: float) -> Iterator[Change]:
    rounds = goals.rounds or goals.pooled
    fewer = rounds_possible(goals, error)
    if fewer < rounds:
        times = shown_up(rounds / fewer)
        yield Change(
            "rounds", fewer, f"rounds {times:g} times as long: {fewer:,} instead of {rounds:,} in the same time"
        )


def _more_pooled(goals: Goals, error: float) -> Iterator[Change]:
    def excess(pooled: int) -> float:
        return math.log(error_of(goals.replace(pooled=pooled)) / error)

    pooled = smallest_integer(excess, goals.pooled, low=goals.pooled, high=goals.rounds or goals.pooled)
    if pooled > goals.pooled:
        yield Change("pooled", pooled, f"{pooled:,} rounds pooled for one figure")


def _fewer_answers(goals: Goals, error: float) -> Iterator[Change]:
    if goals.asked is not None or goals.discovered is not None or goals.size == 2:
        return

    def excess(values: int) -> float:
        return math.log(error_of(goals.with_values(values)) / error)

    fewer = largest_integer(excess, 3, low=3, high=goals.size - 1)
    yield Change("values", fewer, f"at most {fewer:,} answers")


def _more_eps(goals: Goals, error: float) -> Iterator[Change]:
    eps = eps_needed(goals, error)
    if (goals.eps or 0.0) < eps <= LARGEST_EPS:
        shown = shown_up(eps * (1 + 1e-6))
        yield Change("eps", shown, f"eps {shown:.3g}")


def _more_people(goals: Goals, error: float) -> Iterator[Change]:
    people = people_needed(goals, error)
    if people > (goals.people or 0):
        yield Change("people", people, f"{counted(people)} people")
