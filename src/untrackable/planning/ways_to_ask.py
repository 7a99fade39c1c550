"""Ways to ask for several answers at once with one turn: draw one, ask about some or all jointly, or divide eps."""

from typing import NamedTuple

from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.goals import Goals
from untrackable.planning.report_choice import DIVIDE, DRAW, GROUPS, JOINT, WAYS, best_report


class Way(NamedTuple):
    """The errors of one round and of a published figure if one asks in this way, or why that is not possible.

    They are of the cell that is known least well: `standard_error` (upper) and `error_upper`.
    """

    name: str
    standard_error: float | None
    error_upper: float | None
    why: str = ""


def ways_to_ask(goals: Goals) -> tuple[Way, ...]:
    """All ways, the smallest standard error first; nothing if one table is asked for."""
    if goals.asked is None or len(goals.asked.views) == 1:
        return ()
    found = (_asked(way, goals) for way in WAYS)
    return tuple(sorted(found, key=lambda way: (way.standard_error is None, way.standard_error or 0.0)))


def _asked(way: str, goals: Goals) -> Way:
    try:
        law = best_report(goals, ways=[way]).law
    except Unsuitable:
        return Way(way, None, None, _WHY[way])
    return Way(way, law.promise(goals, 1).standard_error, law.promise(goals, goals.pooled).radius_upper)


_WHY = {
    DRAW: "there is no report for these tables",
    GROUPS: "tables have answers in common, or there are too few or too many of them",
    JOINT: "there are too many answers together",
    DIVIDE: "tables have answers in common or are not about all answers, or there are too many of them",
}
