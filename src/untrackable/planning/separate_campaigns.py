"""One campaign for each table that is asked for, with one budget and one attendance for all of them together.

A client's ledger composes all campaigns that it answers. So they are set here as it composes them: all reports of
all campaigns together keep the budget, and all rounds of all campaigns together keep the recognition.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from untrackable.brackets import Bracket
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.separate_decks import SeparateDecks, separate_decks
from untrackable.planning.forecast import Predicted, reports_counted
from untrackable.planning.goals import FOREVER, Goals
from untrackable.theory.attendance import AMONG, answering_once, seen_factor
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.experiment import Experiment
from untrackable.theory.monotone_search import smallest_integer

_FORGIVEN = 1 + 1e-6
"""The share by which a bracket may be above the limit: the engine resolves no less."""
_SELDOM = 10**6
"""Nobody is asked to answer less than one round out of this many."""


@dataclass(frozen=True, slots=True, eq=False)
class SeparateCampaigns:
    """A deck for the campaign of each table, how often clients answer each of them, and the errors (upper)."""

    settings: SeparateDecks
    participation: Fraction
    errors: Predicted
    alone: Bracket
    """The eps of all reports of all campaigns at the goals' delta, if somebody knows whose they are."""

    def decks(self, plain: Sequence[bool]) -> tuple[Mechanism, ...]:
        """The deck of each campaign: a plain one where whole values are asked for, or else one of views."""
        return self.settings.decks(plain)


def separate_campaigns(goals: Goals) -> SeparateCampaigns:
    """The campaigns of the tables that are asked for, at the goals' budget; or `Unsuitable`.

    The goals must say how many people there are, how many rounds, and which budget. The error is that of all cells
    of all tables at once, as in a plan.
    """
    asked, people = goals.asked, goals.people
    if asked is None or people is None:
        raise TypeError("goals must have several answers at once, and a number of people")
    attending = goals.replace(participation=_participation(goals, len(asked.views)))
    try:
        found = separate_decks(attending.budget)
    except ValueError as reason:
        why = str(reason)
        raise Unsuitable("crowd", f"{why[:1].upper()}{why[1:]}.") from None
    beta = goals.beta / (asked.cells if goals.simultaneous else 1)
    spreads = found.cell_spreads(asked.shown)

    def error(rounds: int) -> float:
        reports = reports_counted(people * rounds, attending.answered, beta)
        return max(float(np.max(spread.radius(reports, beta))) for spread in spreads) if reports else math.inf

    alone = found.privacy(attending.answered).gamma(goals.delta)
    return SeparateCampaigns(found, attending.answered, Predicted(error(1), error(goals.pooled)), alone)


def _participation(goals: Goals, campaigns: int) -> Fraction:
    """The largest participation 1/n in each campaign that keeps the recognition by all of them together."""
    if goals.rounds == FOREVER or not isinstance(goals.rounds, int):
        raise Unsuitable("horizon", "Campaigns without a last round are not planned together.")
    if not goals.attendance_counts:
        return EVERY_ROUND if goals.participation is None else goals.answered
    rounds, limit = goals.rounds, goals.recognition * _FORGIVEN

    def excess(number: int) -> float:
        return math.log(_recognition(goals, Fraction(1, number), rounds, campaigns) / limit)

    if goals.participation is not None:
        if _recognition(goals, goals.answered, rounds, campaigns) > limit:
            why = "If so many campaigns are answered so often, the rounds that people answer give them away."
            raise Unsuitable("attendance", why)
        return goals.answered
    try:
        return Fraction(1, smallest_integer(excess, campaigns, low=1, high=_SELDOM))
    except ValueError:
        raise Unsuitable("attendance", "However seldom they are answered, attendance gives people away.") from None


def _recognition(goals: Goals, share: Fraction, rounds: int, campaigns: int) -> float:
    """How often people are recognised by the rounds of all campaigns (upper), as a client's ledger counts it.

    Campaigns with the same rounds are like one that is answered more often. Campaigns one after the other are like
    one with more rounds. The larger figure counts.
    """
    attending = goals.attendance
    stays = [(attending.persistence, rounds // attending.persistence), (rounds % attending.persistence, 1)]
    stays = [(length, count) for length, count in stays if length and count]

    def recognised(times: int, again: int) -> float:
        factors = [
            (seen_factor(answering_once(share, length * times), attending.places), count * again)
            for length, count in stays
        ]
        return Experiment(factors).power(1 / AMONG).upper

    return max(recognised(campaigns, 1), recognised(1, campaigns))
