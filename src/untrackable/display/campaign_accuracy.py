"""How accurate one round of a campaign will be for a number of people, and what it takes if the error is large."""

from dataclasses import dataclass

from untrackable.display.numbers import number
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import FOREVER, LARGEST_ROUNDS, USABLE_ERROR, Goals
from untrackable.planning.rounding import counted
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class CampaignAccuracy:
    """The error of one round (upper, or predicted for discovered strings), and how many people a usable one takes.

    The error is for all answers at once, except with probability `beta`. It is of the last round, or the first if
    there is no last one.
    """

    people: int
    error_upper: float
    beta: float
    people_needed: int | None
    predicted: bool

    @property
    def usable(self) -> bool:
        """Whether a figure of one round says anything."""
        return self.error_upper <= USABLE_ERROR


def campaign_accuracy(campaign: Campaign, people: int) -> CampaignAccuracy:
    """The accuracy of one round in which this number of people take part, of whom some answer."""
    rounds = FOREVER if campaign.rounds is None else min(campaign.rounds, LARGEST_ROUNDS)
    goals = Goals(
        people=people,
        encoding=campaign.encoding,
        rounds=rounds,
        error=USABLE_ERROR,
        participation=campaign.participation,
    )
    error = errors(campaign.mechanism, goals, people).one_round
    try:
        needed = people_needed(campaign.mechanism, goals)
    except ValueError:  # No number of people is enough.
        needed = None
    return CampaignAccuracy(people, error, goals.beta, needed, goals.discovered is not None)


def accuracy_words(found: CampaignAccuracy) -> str:
    """The same in a sentence."""
    people = f"with {found.people:,} {'people' if found.people > 1 else 'person'} in a round"
    if found.predicted:
        told = f"{people}, strings of a share above {number(found.error_upper)} are found (predicted)"
    else:
        told = (
            f"{people}, shares are off by at most ±{number(found.error_upper)} "
            f"(upper; all answers at once, except with probability {found.beta:g})"
        )
    if found.usable:
        return told
    needed = "no number of people is enough" if found.people_needed is None else counted(found.people_needed)
    more = needed if found.people_needed is None else f"±{USABLE_ERROR:g} takes {needed} people"
    return f"NOT USABLE for one round: {told}; {more}, or several rounds pooled"
