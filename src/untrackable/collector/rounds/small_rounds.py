"""Rounds with too few reports: they are not published, and a campaign that relies on a crowd needs many."""

from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import StoredRound
from untrackable.protocol.campaign import Campaign


def fewest_reports(campaign: Campaign, settings: Settings) -> int:
    """The smallest number of reports of a round that is published."""
    return max(settings.minimum_reports, campaign.fewest_reports)


def is_small(campaign: Campaign, round: StoredRound, settings: Settings) -> bool:
    """Whether a closed round has too few reports to be published."""
    return round.reports is not None and round.reports < fewest_reports(campaign, settings)


def reports_missing(campaign: Campaign, round: StoredRound, now: float) -> int | None:
    """How many more reports it would have taken for the declared crowd; None if there were enough of them.

    It is None too if the round is not over. It gives the size of a withheld round away, so it is for those alone
    who run the campaign or have a key.
    """
    if round.reports is None or round.reports >= campaign.fewest_reports or now < campaign.begins(round.number + 1):
        return None
    return campaign.fewest_reports - round.reports


def small_words(campaign: Campaign, round: StoredRound, settings: Settings) -> str:
    """Why a round is not published. That says nothing about how many reports it has."""
    return f"round {round.number} has fewer than {fewest_reports(campaign, settings)} reports"
