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
from untrackable.errors import NoPlan
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.separate_decks import SeparateDecks, separate_decks
from untrackable.planning.forecast import Predicted, reports_counted
from untrackable.planning.goals import Goals
from untrackable.planning.shared_attendance import answered_together


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
    """How often each campaign may be answered, so that all of them together keep the recognition."""
    if not isinstance(goals.rounds, int):
        raise Unsuitable("horizon", "Campaigns without a last round are not planned together.")
    try:
        return answered_together([goals] * campaigns)[0].answered
    except NoPlan:
        why = "If so many campaigns are answered, the rounds that people answer give them away."
        raise Unsuitable("attendance", why) from None
