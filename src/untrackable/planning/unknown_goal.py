"""Solves for the one demand that the goals leave open, for one mechanism: people, rounds, eps or error."""

import dataclasses
import math
from typing import Any

from untrackable.brackets import Bracket
from untrackable.checks import MOST_ROUNDS
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product.budget_solver import QUIET
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.crowd_goal import solve_in_crowd
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import (
    FOREVER,
    LARGEST_EPS,
    LARGEST_PEOPLE,
    USABLE_ERROR,
    Goals,
)
from untrackable.planning.participation import check_recognition, with_participation
from untrackable.planning.rounding import shown_up
from untrackable.planning.solved_goals import Solved, inaccurate
from untrackable.planning.suitability import checked, meeting, trackable
from untrackable.planning.tracking_check import tracking_lower
from untrackable.theory.monotone_search import largest_integer, smallest_real

_SMALLEST_EPS = 1e-6
_QUIETEST, _LOUDEST = 1e-9, 36.0
"""The range of eps of one report."""
_SPENT_WHOLLY = 10_000
"""Rounds up to which what is left of the budget is spent as well. Beyond, one more round would spend it."""
_SETTLED = 4
"""The number of times that eps and participation are adapted to each other."""
_FEW_ROUNDS = 40
"""Rounds up to which the engine is asked about a mechanism whose parameters do not follow the tolerance."""


def solve(entry: Entry, goals: Goals) -> Solved:
    """Set a mechanism for the goals and solve for the demand that they leave open; or `Unsuitable`.

    The participation is chosen as well, unless the goals fix it.
    """
    if goals.crowd_eps is not None:
        return solve_in_crowd(entry, goals)
    if goals.unknown == "eps":
        return _eps(entry, goals)
    if goals.unknown == "rounds":
        return _rounds(entry, goals)
    asked = with_participation(entry, goals)
    mechanism, tracked = meeting(entry, asked)
    if goals.unknown == "people":
        return Solved(asked.replace(people=_people(mechanism, asked)), mechanism, tracked)
    error, wanted = errors(mechanism, asked, asked.people or 1).figure, goals.error or USABLE_ERROR
    if error > wanted:
        raise inaccurate(error, wanted, mechanism)
    return Solved(asked.replace(error=goals.error or error), mechanism, tracked)


def _people(mechanism: Mechanism, goals: Goals) -> int:
    try:
        return people_needed(mechanism, goals)
    except ValueError:
        why = f"Not accurate enough: it would need more than {LARGEST_PEOPLE:.0e} people."
        raise Unsuitable("accuracy", why, mechanism=mechanism) from None


def _eps(entry: Entry, goals: Goals) -> Solved:
    """The smallest eps with which the error is reached."""
    wanted, people = goals.error or 1.0, goals.people or 1
    if not entry.tuned:
        # At a large eps only what a client sends in the clear is left to follow it by, and no eps removes that.
        loud, tolerance = with_participation(entry, goals.replace(eps=LARGEST_EPS / 2)), goals.tolerance
        mechanism = entry.for_budget(loud.budget)
        if tolerance.comparable and (lower := tracking_lower(mechanism, tolerance)) > tolerance.limit:
            raise trackable(mechanism, Bracket(lower, 1.0), goals)

    if entry.set_for_report is not None:
        return _by_report(entry, goals)

    # Loud reports may ask for a smaller participation, and that for a larger eps. A few steps settle both.
    eps, share = 1.0, with_participation(entry, goals.replace(eps=1.0)).participation
    for _ in range(_SETTLED):
        eps = _smallest_eps(entry, goals.replace(participation=share), eps)
        found = with_participation(entry, goals.replace(eps=eps)).participation
        if found == share:
            break
        share = found
    solved = _allowed(goals, eps).replace(participation=share)
    mechanism, tracked = meeting(entry, solved)
    if (error := errors(mechanism, solved, people).figure) > wanted:
        raise inaccurate(error, wanted, mechanism)
    return Solved(solved, mechanism, tracked)


def _smallest_eps(entry: Entry, goals: Goals, start: float) -> float:
    wanted, people = goals.error or 1.0, goals.people or 1

    def excess(eps: float) -> float:
        return math.log(errors(entry.for_budget(goals.replace(eps=eps).budget), goals, people).figure / wanted)

    try:
        return smallest_real(excess, start, low=_SMALLEST_EPS, high=LARGEST_EPS, close=1e-4)
    except ValueError:
        raise _out_of_reach(wanted) from None


def _allowed(goals: Goals, eps: float) -> Goals:
    """The goals at the eps that was found, unless it is so large that somebody has to allow it."""
    if eps > goals.largest_eps:
        why = f"It would need eps = {shown_up(eps):.3g}, and a plan goes up to {goals.largest_eps:g} by itself."
        raise Unsuitable("privacy", why, needed=eps)
    return goals.replace(eps=eps)


def _by_report(entry: Entry, goals: Goals) -> Solved:
    """The error gives the eps of one report, and the engine what all such reports spend: no nested search."""
    goals = with_participation(entry, goals)
    wanted, people, budget = goals.error or 1.0, goals.people or 1, goals.budget
    found: list[tuple[float, float, int]] = []
    for width in _widths(entry, goals):
        loud = _loud_enough(entry, goals, budget, width, people, wanted)
        if loud is None:
            continue
        made = entry.for_report(budget, loud, width)
        spent = made.privacy(participation=goals.answered).gamma(goals.delta).upper * (1 + 1e-12)
        found.append((max(spent, _SMALLEST_EPS), loud, width))  # A large delta may cover all that is spent.
        if len(found) == 2 and found[0][1] <= QUIET and found[0] < found[1]:
            break  # If the widest answer is no better, no other is.
    if not found or min(found)[0] > LARGEST_EPS:
        raise _out_of_reach(wanted)
    eps, loud, width = min(found)
    solved = _allowed(goals, eps)
    mechanism = entry.for_report(solved.budget, loud, width)
    return Solved(solved, mechanism, checked(entry, mechanism, solved))


def _widths(entry: Entry, goals: Goals) -> list[int]:
    """The widths of an answer: one bit, and then the widest first."""
    return [1, *range(min(goals.width, entry.widest), 1, -1)]


def _loud_enough(
    entry: Entry, goals: Goals, budget: Budget, width: int, people: int, wanted: float
) -> float | None:
    """The smallest eps of one report that reaches the error; None if there is none."""

    def excess(loudness: float) -> float:
        return math.log(errors(entry.for_report(budget, loudness, width), goals, people).figure / wanted)

    try:
        return smallest_real(excess, 1.0, low=_QUIETEST, high=_LOUDEST)
    except ValueError:
        return None


def _out_of_reach(wanted: float) -> Unsuitable:
    why = f"Not accurate enough: no eps up to {LARGEST_EPS:g} reaches an error of {wanted:.3g}."
    return Unsuitable("accuracy", why)


def _rounds(entry: Entry, goals: Goals) -> Solved:
    """The largest number of rounds at which the error is still reached; for ever, if it always is."""
    wanted, people = goals.error or 1.0, goals.people or 1
    # If attendance counts, there is a last round. Until then, the reports themselves may need none.
    ends = goals.attendance_counts
    endless = goals.replace(rounds=FOREVER, recognition=1.0 if ends else goals.recognition)
    endless, mechanism = with_participation(entry, endless), None
    try:
        mechanism, tracked = meeting(entry, endless)
    except Unsuitable as reason:
        if reason.binding not in ("horizon", "tracking"):
            raise
        if reason.binding == "tracking" and not entry.tuned:
            return _few_rounds(entry, goals, reason)
    else:
        error = errors(mechanism, endless, people).figure
        if error > wanted:
            raise inaccurate(error, wanted, mechanism)
        if mechanism.rounds_alike and not ends:
            return Solved(endless, mechanism, tracked)

    if entry.set_for_report is None:
        return _most_rounds(entry, goals, MOST_ROUNDS)
    found = _rounds_by_report(entry, goals, None if mechanism is None else _rounds_of(mechanism, endless))
    if found is None or mechanism is not None:
        # Rounds that are not alike are set for the budget, which may take a little more noise.
        most = MOST_ROUNDS if found is None else found[0]
        return _most_rounds(entry, goals, most, None if found is None else most)
    rounds, loud, width = found
    solved = at_rounds(entry, goals, rounds)
    if rounds <= _SPENT_WHOLLY:
        mechanism, tracked = meeting(entry, solved)
        if errors(mechanism, solved, people).figure <= wanted:
            return Solved(solved, mechanism, tracked)
    mechanism = entry.for_report(solved.budget, loud, width)
    return Solved(solved, mechanism, checked(entry, mechanism, solved))


def _rounds_of(mechanism: Mechanism, goals: Goals) -> int:
    """The most rounds in which a mechanism that is set already reaches the error."""
    wanted, people = goals.error or 1.0, goals.people or 1

    def excess(rounds: int) -> float:
        return math.log(errors(mechanism, goals.replace(rounds=rounds, reports=None), people).figure / wanted)

    return largest_integer(excess, goals.pooled, low=goals.pooled, high=MOST_ROUNDS)


def _rounds_by_report(entry: Entry, goals: Goals, start: int | None) -> tuple[int, float, int] | None:
    """The most rounds, with the eps and the width of a report; None if there are none.

    The error gives the eps of one report, and the engine how many rounds of such reports the budget allows. The
    search begins at `start`, if that is known to be near.
    """
    wanted, people, eps = goals.error or 1.0, goals.people or 1, goals.eps or 1.0
    _accurate_at_first(entry, goals)
    best: tuple[int, float, int] | None = None
    for width in _widths(entry, goals):
        first = at_rounds(entry, goals, goals.pooled)
        if (loudest := _loud_enough(entry, first, _unlimited(first), width, people, wanted)) is None:
            continue

        def loud_at(asked: Goals, width: int = width) -> float | None:
            return _loud_enough(entry, asked, _unlimited(asked), width, people, wanted)

        def excess(rounds: int, width: int = width) -> float:
            asked = at_rounds(entry, goals, rounds)
            loud = loud_at(asked)
            if loud is None:
                return math.inf
            made = entry.for_report(_unlimited(asked), loud, width)
            try:
                check_recognition(made, asked)
            except Unsuitable:
                return math.inf
            privacy = made.privacy(participation=asked.answered)
            return math.log(max(privacy.gamma(goals.delta).upper, _SMALLEST_EPS) / eps)

        guess = start or math.ceil((eps / loudest) ** 2 / (4 * math.log(1 / goals.delta)))
        try:
            rounds = largest_integer(excess, guess, low=goals.pooled, high=MOST_ROUNDS)
        except (ValueError, Unsuitable):
            continue
        loud = loud_at(at_rounds(entry, goals, rounds))
        found = (rounds, loud or loudest, width)
        if best is None or found[0] > best[0]:
            best = found
        elif width > 1 and best[1] <= QUIET:
            break  # If the widest answer is no better, no other is.
    return best


def _unlimited(goals: Goals) -> Budget:
    """The budget of goals whose eps is looked at afterwards."""
    return dataclasses.replace(goals.budget, eps=math.inf)


def _few_rounds(entry: Entry, goals: Goals, reason: Unsuitable) -> Solved:
    """The number of rounds after which a mechanism becomes too easy to follow, if that is small."""
    if goals.pooled >= _FEW_ROUNDS:
        raise reason
    try:
        found = _most_rounds(entry, goals, _FEW_ROUNDS)
    except Unsuitable as sooner:
        raise (reason if sooner.binding == "tracking" else sooner) from None
    if found.goals.rounds == _FEW_ROUNDS:
        raise reason
    return found


def _most_rounds(entry: Entry, goals: Goals, high: int, start: int | None = None) -> Solved:
    wanted, people, lowest = goals.error or 1.0, goals.people or 1, goals.pooled

    def excess(rounds: int) -> float:
        asked = at_rounds(entry, goals, rounds)
        try:
            mechanism = entry.for_budget(asked.budget) if entry.tuned else meeting(entry, asked)[0]
            check_recognition(mechanism, asked)
        except Unsuitable:
            return math.inf
        return math.log(errors(mechanism, asked, people).figure / wanted)

    _accurate_at_first(entry, goals)
    solved = at_rounds(entry, goals, largest_integer(excess, start or lowest, low=lowest, high=high))
    return Solved(solved, *meeting(entry, solved))


def _accurate_at_first(entry: Entry, goals: Goals) -> None:
    """Refuse a mechanism that does not reach the error at the smallest number of rounds."""
    wanted, first = goals.error or 1.0, at_rounds(entry, goals, goals.pooled)
    made, _ = meeting(entry, first)
    error = errors(made, first, goals.people or 1).figure
    if error > wanted:
        raise inaccurate(error, wanted, made)


def at_rounds(entry: Entry, goals: Goals, rounds: int) -> Goals:
    """The same goals with so many rounds and the participation for them; an observer holds no more reports."""
    held: dict[str, Any] = {} if goals.reports is None else {"reports": min(goals.reports, rounds)}
    return with_participation(entry, goals.replace(rounds=rounds, **held))
