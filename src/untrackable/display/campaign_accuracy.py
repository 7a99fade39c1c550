"""How accurate one round of a campaign will be for a number of people, and what it takes if the error is large."""

from dataclasses import dataclass

from untrackable.display.numbers import number, upper
from untrackable.estimation.sampling import with_sampling
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import FOREVER, USABLE_ERROR, Goals
from untrackable.planning.rounding import counted
from untrackable.protocol.campaign import Campaign


@dataclass(frozen=True, slots=True)
class CampaignAccuracy:
    """The error of one round (upper, or predicted for discovered strings), and how many people a usable one takes.

    The error is for all answers at once, except with probability `beta`. It is of the last round, or the first if
    there is no last one. If only a mean can be told (`of_mean`), it is a share of the range of numbers.
    """

    people: int
    error_upper: float
    beta: float
    people_needed: int | None
    predicted: bool
    reports: int = 0
    """The number of reports in an average round."""
    standard_error: float | None = None
    """That of an answer that nobody gives (exact); None if it is not known."""
    standard_error_of_tenth: float | None = None
    """That of an answer that a tenth of people give (exact); None if it is not known."""
    of_mean: bool = False

    @property
    def usable(self) -> bool:
        """Whether a figure of one round says anything."""
        return self.error_upper <= USABLE_ERROR


def campaign_accuracy(campaign: Campaign, people: int) -> CampaignAccuracy:
    """The accuracy of one round in which this number of people take part, of whom some answer."""
    rounds = FOREVER if campaign.rounds is None else campaign.rounds
    goals = Goals(
        people=people,
        encoding=campaign.encoding,
        rounds=rounds,
        error=USABLE_ERROR,
        participation=campaign.participation,
        want="frequencies" if campaign.mechanism.tells_shares else "mean",
    )
    error = errors(campaign.mechanism, goals, people).one_round
    try:
        needed = people_needed(campaign.mechanism, goals)
    except ValueError:  # No number of people is enough.
        needed = None
    return CampaignAccuracy(
        people,
        error,
        goals.beta,
        needed,
        goals.discovered is not None,
        reports := max(1, round(people * campaign.participation)),
        _standard_error(campaign, reports, 0.0),
        _standard_error(campaign, reports, 0.1),
        of_mean=not campaign.mechanism.tells_shares,
    )


def _standard_error(campaign: Campaign, reports: int, share: float) -> float | None:
    """The standard error of a share of all people, of whom so many answer by chance; None if it is not known."""
    found = campaign.mechanism.held_error(reports, share=share)
    return None if found is None else float(with_sampling(found, share, reports, campaign.participation))


def spread_words(found: CampaignAccuracy) -> str:
    """The two standard errors in a sentence; nothing if they are not known."""
    if found.standard_error is None or found.standard_error_of_tenth is None:
        return ""
    return (
        f"the standard error of a round is {found.standard_error:.2g} for an answer that nobody gives, and "
        f"{found.standard_error_of_tenth:.2g} for one that 10 % give (exact, with {found.reports:,} "
        f"report{'s' * (found.reports > 1)})"
    )


def accuracy_words(found: CampaignAccuracy) -> str:
    """The same in a sentence."""
    people = f"with {found.people:,} {'people' if found.people > 1 else 'person'} in a round"
    if found.predicted:
        told = f"{people}, strings of a share above {number(found.error_upper)} are found (predicted)"
    elif found.of_mean:
        told = (
            f"{people}, the mean is off by at most ±{upper(found.error_upper)} of the range of numbers (upper; "
            f"except with probability {found.beta:g})"
        )
    else:
        told = (
            f"{people}, shares are off by at most ±{upper(found.error_upper)} "
            f"(upper; all answers at once, except with probability {found.beta:g})"
        )
    if found.usable:
        return told
    needed = "no number of people is enough" if found.people_needed is None else counted(found.people_needed)
    more = needed if found.people_needed is None else f"±{USABLE_ERROR:g} takes {needed} people"
    return f"NOT USABLE for one round: {told}; {more}, or several rounds pooled"
