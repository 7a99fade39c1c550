"""Ways to ask for several answers at once, compared at one budget: in one campaign, or in one for each table."""

from typing import NamedTuple

from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.tables_catalogue import DECKS, TABLES
from untrackable.planning.forecast import errors
from untrackable.planning.goals import FOREVER, USABLE_ERROR, Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.separate_campaigns import SeparateCampaigns, separate_campaigns
from untrackable.planning.suitability import meeting

SEPARATE = "separate"
"""The name of the way with one campaign for each table."""
_CLEARLY = 0.98
"""Several campaigns are recommended if their error is at most this share of that of the best one alone."""


class WayToAsk(NamedTuple):
    """The error of a published figure if one asks in this way (upper), or why that is not possible.

    `campaigns` is how many campaigns it takes, and so how many reports a person sends in a round at most.
    """

    name: str
    campaigns: int
    error_upper: float | None
    why: str = ""


class Compared(NamedTuple):
    """All ways to ask, best first, at the budget, rounds and people of `goals`.

    `separate` are the campaigns of single tables, if they are possible; they are `recommended` if they are clearly
    better than the best single campaign.
    """

    goals: Goals
    ways: tuple[WayToAsk, ...]
    separate: SeparateCampaigns | None
    recommended: bool


def ways_to_ask(goals: Goals) -> Compared | None:
    """Compare the ways to ask; None if there is one table, or the goals lack the people, rounds or budget."""
    limited = goals.eps is not None or goals.crowd_eps is not None
    if goals.asked is None or len(goals.asked.views) == 1:
        return None
    if goals.people is None or goals.rounds in (None, FOREVER) or not limited:
        return None
    ways = [_in_one_campaign(name, goals) for name in DECKS]
    separate, apart = None, len(goals.asked.views)
    try:
        separate = separate_campaigns(goals)
        ways.append(WayToAsk(SEPARATE, apart, separate.errors.figure))
    except Unsuitable as reason:
        ways.append(WayToAsk(SEPARATE, apart, None, reason.why))
    ways.sort(key=lambda way: (way.error_upper is None, way.error_upper or 0.0))
    alone = min(
        (way.error_upper for way in ways if way.campaigns == 1 and way.error_upper is not None), default=1.0
    )
    found = 1.0 if separate is None else separate.errors.figure
    better = found <= _CLEARLY * alone and found <= (goals.error or USABLE_ERROR)
    return Compared(goals, tuple(ways), separate, better)


def _in_one_campaign(name: str, goals: Goals) -> WayToAsk:
    entry = TABLES[name]
    try:
        asked = with_participation(entry, goals)
        mechanism, _ = meeting(entry, asked)
        return WayToAsk(name, 1, errors(mechanism, asked, goals.people or 1).figure)
    except Unsuitable as reason:
        return WayToAsk(name, 1, None, reason.why)
