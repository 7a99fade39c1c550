"""The one thing that the goals leave open, for one mechanism: people, rounds, eps or error."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from untrackable.brackets import Bracket
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.planning.families import NOISY, QUIET, Family, followed, shown
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import FOREVER, LARGEST_EPS, LARGEST_PEOPLE, LARGEST_ROUNDS, Goals
from untrackable.planning.monotone_search import largest_integer, smallest_real
from untrackable.planning.refusal import Cannot, has_two

_SMALLEST_EPS = 1e-6
_QUIETEST, _LOUDEST = 1e-9, 36.0
"""eps of one report."""
_FEW_ROUNDS = 40
"""Rounds up to which the engine is asked how well a mechanism is followed that was not set for that."""


@dataclass(frozen=True, slots=True)
class Solved:
    """A mechanism that meets `goals`, which have no unknown left; how well it is followed."""

    goals: Goals
    mechanism: Mechanism
    tracked: Bracket


def solve(family: Family, goals: Goals) -> Solved:
    """Set a mechanism for the goals and solve for what they leave open; or `Cannot`."""
    match goals.unknown:
        case "eps":
            return _eps(family, goals)
        case "rounds":
            return _rounds(family, goals)
        case "people":
            mechanism, tracked = family.meeting(goals)
            return Solved(goals.replace(people=_people(mechanism, goals)), mechanism, tracked)
        case "error":
            mechanism, tracked = family.meeting(goals)
            error = errors(mechanism, goals, goals.people or 1).figure
            if error >= 1:
                raise _inaccurate(error, 1.0, goals, mechanism)
            return Solved(goals.replace(error=error), mechanism, tracked)
    mechanism, tracked = family.meeting(goals)
    error = errors(mechanism, goals, goals.people or 1).figure
    if error > (goals.error or 0.0):
        raise _inaccurate(error, goals.error or 0.0, goals, mechanism)
    return Solved(goals, mechanism, tracked)


def _inaccurate(error: float, wanted: float, goals: Goals, mechanism: Mechanism) -> Cannot:
    short = "says nothing" if error >= 1 else f"is {error:.3g}, where {wanted:.3g} is asked for"
    return Cannot("accuracy", f"its error {short}", mechanism=mechanism, error=error)


def _people(mechanism: Mechanism, goals: Goals) -> int:
    try:
        return people_needed(mechanism, goals)
    except ValueError:
        why = f"more than {LARGEST_PEOPLE:.0e} people would be needed"
        raise Cannot("accuracy", why, mechanism=mechanism) from None


def _eps(family: Family, goals: Goals) -> Solved:
    """The smallest eps with which the error is reached."""
    wanted, people = goals.error or 1.0, goals.people or 1
    by_noise = NOISY.get(family.name)
    if not family.tuned:
        # At a large eps all that is left to follow by is what persists in the clear, and no eps removes that.
        loud = goals.replace(eps=LARGEST_EPS / 2)
        mechanism = family.make(loud)
        if has_two(goals) and (lower := shown(mechanism, loud)) > goals.limit:
            raise followed(mechanism, Bracket(lower, 1.0), goals)

    if by_noise is not None:
        return _by_noise(family, goals, by_noise)

    def excess(eps: float) -> float:
        mechanism = family.make(goals.replace(eps=eps))
        return math.log(errors(mechanism, goals, people).figure / wanted)

    try:
        solved = goals.replace(eps=smallest_real(excess, 1.0, low=_SMALLEST_EPS, high=LARGEST_EPS, close=1e-4))
    except ValueError:
        raise _out_of_reach(wanted) from None
    return Solved(solved, *family.meeting(solved))


def _by_noise(family: Family, goals: Goals, made: Callable[[Goals, float, int], Mechanism]) -> Solved:
    """Accuracy gives the noise, and the engine what all reports with that noise spend: no nested search."""
    wanted, people = goals.error or 1.0, goals.people or 1
    widest = 1 if family.name == "fading" else min(goals.width, LARGEST_WIDTH)
    widths = [1, *range(widest, 1, -1)]
    found: list[tuple[float, float, int]] = []
    for width in widths:

        def excess(loudness: float, width: int = width) -> float:
            return math.log(errors(made(goals, loudness, width), goals, people).figure / wanted)

        try:
            loud = smallest_real(excess, 1.0, low=_QUIETEST, high=_LOUDEST)
        except ValueError:
            continue
        spent = made(goals, loud, width).privacy().gamma(goals.delta).upper * (1 + 1e-12)
        found.append((spent, loud, width))
        if len(found) == 2 and found[0][1] <= QUIET and found[0] < found[1]:
            break  # the widest answer is not worth it, so none is
    if not found or min(found)[0] > LARGEST_EPS:
        raise _out_of_reach(wanted)
    eps, loud, width = min(found)
    solved = goals.replace(eps=eps)
    mechanism = made(solved, loud, width)
    return Solved(solved, mechanism, family.checked(mechanism, solved))


def _out_of_reach(wanted: float) -> Cannot:
    return Cannot("accuracy", f"no eps up to {LARGEST_EPS:g} reaches an error of {wanted:.3g}")


def _rounds(family: Family, goals: Goals) -> Solved:
    """The most rounds at which the error is still reached; for ever, if it always is."""
    wanted, people = goals.error or 1.0, goals.people or 1
    endless = goals.replace(rounds=FOREVER)
    try:
        mechanism, tracked = family.meeting(endless)
    except Cannot as cannot:
        if cannot.binding not in ("horizon", "tracking"):
            raise
        if cannot.binding == "tracking" and not family.tuned:
            return _few_rounds(family, goals, cannot)
    else:
        error = errors(mechanism, endless, people).figure
        if error > wanted:
            raise _inaccurate(error, wanted, endless, mechanism)
        if not isinstance(mechanism, Fading):
            return Solved(endless, mechanism, tracked)

    return _most_rounds(family, goals, LARGEST_ROUNDS)


def _few_rounds(family: Family, goals: Goals, cannot: Cannot) -> Solved:
    """Of a mechanism that can be followed in the end: as many rounds as it cannot be, if those are few."""
    if goals.pooled >= _FEW_ROUNDS:
        raise cannot
    try:
        found = _most_rounds(family, goals, _FEW_ROUNDS)
    except Cannot as sooner:
        raise (cannot if sooner.binding == "tracking" else sooner) from None
    if found.goals.rounds == _FEW_ROUNDS:
        raise cannot
    return found


def _most_rounds(family: Family, goals: Goals, high: int) -> Solved:
    wanted, people, lowest = goals.error or 1.0, goals.people or 1, goals.pooled

    def excess(rounds: int) -> float:
        asked = at_rounds(goals, rounds)
        try:
            mechanism = family.make(asked) if family.tuned else family.meeting(asked)[0]
        except Cannot:
            return math.inf
        return math.log(errors(mechanism, asked, people).figure / wanted)

    first = at_rounds(goals, lowest)
    made, _ = family.meeting(first)
    error = errors(made, first, people).figure
    if error > wanted:
        raise _inaccurate(error, wanted, first, made)
    solved = at_rounds(goals, largest_integer(excess, lowest, low=lowest, high=high))
    return Solved(solved, *family.meeting(solved))


def at_rounds(goals: Goals, rounds: int) -> Goals:
    """With so many rounds; an observer holds no more reports than that."""
    held: dict[str, Any] = {} if goals.reports is None else {"reports": min(goals.reports, rounds)}
    return goals.replace(rounds=rounds, **held)
