"""Ways to ask for several answers at once with one turn: draw one, ask about some or all jointly, or divide.

To divide is to send one report about each table, with an equal part of eps. No mechanism does that: it never
wins up to eps 4, the largest that plans choose, for 2 to 6 questions of 2 to 64 answers, alike or not, and 2 to 365
rounds, which the tests enumerate. (At eps 6, for a yes/no question beside one with 64 answers, it is better by
a sixth.) So it is computed for comparison only.
"""

from typing import NamedTuple

from untrackable.mechanisms.count_chances import base_chances
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.planning.forecast import CountLaw
from untrackable.planning.goals import Goals
from untrackable.planning.report_choice import WAYS, best_report, widths

DIVIDE = "divide"
"""The way that is computed for comparison only."""


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
    found = [*(_asked(way, goals) for way in WAYS), _divided(goals)]
    return tuple(sorted(found, key=lambda way: (way.standard_error is None, way.standard_error or 0.0)))


def _asked(way: str, goals: Goals) -> Way:
    try:
        law = best_report(goals, ways=[way]).law
    except Unsuitable:
        return Way(way, None, None, _WHY[way])
    return Way(way, law.promise(goals, 1).standard_error, law.promise(goals, goals.pooled).radius_upper)


_WHY = {
    "draw": "there is no report for these tables",
    "groups": "tables have answers in common, or there are too few or too many of them",
    "joint": "there are too many answers together",
}


def _divided(goals: Goals) -> Way:
    """One report about each table, each with its part of eps."""
    asked = goals.asked
    if asked is None:
        raise TypeError("the goals must ask for tables")
    eps = goals.eps_report / len(asked.views)
    statistics = asked.cells if goals.simultaneous else 1
    found = [_one_table(goals, bits, eps, statistics) for bits in {len(view) for view in asked.views}]
    errors = [law.promise(goals, goals.pooled).radius_upper for law in found]
    return Way(DIVIDE, max(law.promise(goals, 1).standard_error for law in found), max(errors))


def _one_table(goals: Goals, bits: int, eps: float, statistics: int) -> CountLaw:
    """The law of a cell of a table of so many bits, by a report of its own of the best width."""
    share, bases = (
        goals.typical_share(1 << bits),
        [NoisyInnerProduct(bits=bits, eps=eps, width=width) for width in widths(bits, eps)],
    )
    laws = [CountLaw(found, share, statistics) for base in bases if (found := base_chances(base)) is not None]
    return min(laws, key=lambda law: law.figure_radius(goals))
