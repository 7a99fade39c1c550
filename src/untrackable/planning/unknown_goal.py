"""Solves for the one demand that the goals leave open: people, rounds, eps or error."""

import contextlib
import math

from untrackable.checks import MOST_ROUNDS
from untrackable.planning.goals import LARGEST_EPS, LARGEST_PEOPLE, USABLE_ERROR, Goals
from untrackable.planning.longer_looks import best_look
from untrackable.planning.rounding import rounded_up
from untrackable.theory.monotone_search import largest_integer, smallest_integer, smallest_real

_SMALLEST_EPS = 1e-4
_CLOSE = 1e-4
"""Relative width at which a search for eps ends."""
_MANY = 10**6
"""Reports of a round for which a search begins."""


def error_of(goals: Goals) -> float:
    """The error of a published figure, for goals with people, rounds and eps."""
    found, chosen = best_look(goals)
    return chosen.law.figure_radius(found)


def people_needed(goals: Goals, error: float) -> int:
    """The fewest people with whom a figure's error is as small as this; ValueError if no number is enough."""

    def excess(people: int) -> float:
        return math.log(error_of(goals.replace(people=people)) / error)

    return smallest_integer(excess, _first_guess(goals, error), low=1, high=LARGEST_PEOPLE)


def _first_guess(goals: Goals, error: float) -> int:
    """Errors fall as one over the root of the number of people."""
    many = math.ceil(_MANY * (goals.rounds or goals.pooled) / goals.turns.share)
    return max(1, math.ceil(many * (error_of(goals.replace(people=many)) / error) ** 2))


def rounds_possible(goals: Goals, error: float) -> int:
    """The most rounds with which a figure's error is as small as this; ValueError if there are none.

    More rounds make larger errors for each number of looks alone, so each is tried.
    """
    found = []
    for each in goals.replace(rounds=None, error=error).with_looks():
        with contextlib.suppress(ValueError):
            found.append(_rounds_possible(each, error, goals.rounds or goals.pooled))
    if not found:
        raise ValueError("no number of rounds is small enough")
    return max(found)


def _rounds_possible(goals: Goals, error: float, start: int) -> int:
    """That for a given number of looks, looked for around `start`."""
    looks = goals.looks or 1
    fewest = max(1, goals.pooled // looks)

    def excess(stretches: int) -> float:
        return math.log(error_of(goals.replace(rounds=stretches * looks)) / error)

    return looks * largest_integer(excess, start // looks, low=fewest, high=MOST_ROUNDS // looks)


def eps_needed(goals: Goals, error: float) -> float:
    """The smallest eps with which a figure's error is as small as this; ValueError if there is none."""

    def excess(eps: float) -> float:
        return math.log(error_of(goals.replace(eps=eps)) / error)

    lowest = _SMALLEST_EPS * (goals.wipes + 1)
    return smallest_real(excess, 1.0, low=lowest, high=LARGEST_EPS, close=_CLOSE)


def solve(goals: Goals) -> tuple[Goals, str]:
    """The goals with nothing left open, and why they are not met; nothing if they are."""
    wanted = goals.error or USABLE_ERROR
    match goals.unknown:
        case "people":
            try:
                return goals.replace(people=people_needed(goals, wanted)), ""
            except ValueError:
                return goals.replace(people=LARGEST_PEOPLE), "No number of people is enough."
        case "rounds":
            try:
                return goals.replace(rounds=rounds_possible(goals, wanted)), ""
            except ValueError:
                fewest = goals.replace(rounds=goals.pooled)
                return fewest, _inaccurate(error_of(fewest), wanted, goals)
        case "eps":
            return _solved_eps(goals, wanted)
    error = error_of(goals)
    return goals.replace(error=goals.error or min(error, 1 - 1e-9)), _inaccurate(error, wanted, goals)


def _solved_eps(goals: Goals, wanted: float) -> tuple[Goals, str]:
    largest = goals.replace(eps=goals.largest_eps)
    try:
        eps = eps_needed(goals, wanted)
    except ValueError:
        return largest, f"No eps is enough: who answers by chance alone makes an error of more than ±{wanted:g}."
    if eps <= goals.largest_eps:
        return goals.replace(eps=eps), ""
    return (
        largest,
        f"It would need eps {rounded_up(eps, 3):g}, and a plan goes up to {goals.largest_eps:g} by itself.",
    )


def _inaccurate(error: float, wanted: float, goals: Goals) -> str:
    """That the error would be larger than is wanted; nothing if it is not."""
    if error <= wanted:
        return ""
    limit = f"{100 * wanted:.3g} points" + (" is asked for" if goals.error else " is the most that says anything")
    sign = "" if goals.discovered is not None else "±"
    if error >= 1:
        return f"Figures would tell nothing, and {sign}{limit}."
    return f"The error would be {sign}{100 * rounded_up(error, 3):.3g} points (upper), and {sign}{limit}."
