"""How accurate one round of a campaign will be for a number of people, and what it takes if the error is large."""

import math
from dataclasses import dataclass

from untrackable.display.numbers import number, upper
from untrackable.errors import UntrackableError
from untrackable.planning.forecast import ErrorLaw, fewest_reports, law_of, look_law
from untrackable.planning.goal_fields import LARGEST_PEOPLE
from untrackable.planning.goals import USABLE_ERROR, Goals, counted
from untrackable.protocol.campaign import Campaign
from untrackable.theory.search import smallest_integer


@dataclass(frozen=True, slots=True)
class CampaignAccuracy:
    """The error of one round (upper, or predicted for discovered strings), and how many people a usable one takes.

    The error is of answers that at most the `share` of people give, all of them at once, except with probability
    `beta`. If only a mean can be told (`of_mean`), it is a share of the range of numbers.
    """

    people: int
    reports: float
    """The number of reports of a round, on average."""
    error_upper: float
    standard_error: float
    """Of an answer of that share, by noise and by who answers: `certainty` says how well it is known."""
    certainty: str
    share: float
    beta: float
    people_needed: int | None
    of_mean: bool = False

    @property
    def predicted(self) -> bool:
        """Whether the error is the share from which on strings are found."""
        return self.certainty == "predicted"

    @property
    def usable(self) -> bool:
        """Whether a figure of one round says anything."""
        return self.error_upper <= USABLE_ERROR


def campaign_accuracy(campaign: Campaign, people: int) -> CampaignAccuracy:
    """The accuracy of one round, or of one look, if this number of people take part.

    If every round is answered, it is the last.
    """
    means = not campaign.mechanism.tells_shares
    goals = Goals(
        people=people,
        encoding=campaign.answers,
        rounds=1,
        eps=1.0,
        error=USABLE_ERROR,
        want="mean" if means else "frequencies",
    )
    if campaign.looks == 1:
        law = law_of(campaign.mechanism, goals, round=campaign.rounds or 1)
    else:
        law = look_law(campaign.mechanism, campaign.encoding, goals)
    error = _error(campaign, law, goals, people)
    average = float(people * campaign.chance)
    return CampaignAccuracy(
        people,
        average,
        error,
        law.standard_error(max(1.0, average), max(1, people)),
        law.certainty,
        law.share,
        goals.beta,
        _people_needed(campaign, law, goals),
        of_mean=means,
    )


def _error(campaign: Campaign, law: ErrorLaw, goals: Goals, people: int) -> float:
    few = fewest_reports(people, campaign.chance)
    return law.radius(few, goals.beta / law.statistics) if few else math.inf


def _people_needed(campaign: Campaign, law: ErrorLaw, goals: Goals) -> int | None:
    def excess(people: int) -> float:
        return math.log(_error(campaign, law, goals, people) / USABLE_ERROR)

    try:
        return smallest_integer(excess, math.ceil(1000 / campaign.chance), low=1, high=LARGEST_PEOPLE)
    except (ValueError, UntrackableError):  # No number of people is enough.
        return None


def spread_words(found: CampaignAccuracy) -> str:
    """The standard error in a sentence; nothing for strings."""
    if found.predicted:
        return ""
    of = "the mean" if found.of_mean else f"an answer that {100 * found.share:g} % give"
    return (
        f"the standard error of a round is {found.standard_error:.2g} for {of} ({found.certainty}; by noise and "
        f"sample, with about {found.reports:,.0f} reports)"
    )


def accuracy_words(found: CampaignAccuracy) -> str:
    """The error in a sentence."""
    people = f"with {found.people:,} {'people' if found.people > 1 else 'person'}"
    error = "cannot be told" if found.error_upper > 1 else f"are off by at most ±{upper(found.error_upper)}"
    if found.predicted:
        told = f"{people}, strings of a share above {number(found.error_upper)} are found in a round (predicted)"
    elif found.of_mean:
        told = (
            f"{people}, the mean of a round is off by at most ±{upper(found.error_upper)} of the range of numbers "
            f"(upper; except with probability {found.beta:g})"
        )
    else:
        told = (
            f"{people}, shares of a round {error} (upper; for answers that at most {100 * found.share:g} % give, "
            f"all at once, except with probability {found.beta:g})"
        )
    if found.usable:
        return told
    needed = "no number of people is enough" if found.people_needed is None else counted(found.people_needed)
    more = needed if found.people_needed is None else f"±{USABLE_ERROR:g} takes {needed} people"
    return f"NOT USABLE for one round: {told}; {more}, or several rounds pooled"
