"""What commands and pages say after somebody changed something about a campaign."""

from untrackable.collector.stores.records import StoredRound
from untrackable.protocol.campaign import Campaign


def closed_words(campaign: Campaign, closed: StoredRound) -> str:
    """That a round is closed, and whether its campaign promises a larger crowd."""
    had = "and its sums are deleted" if closed.reports is None else f"with {counted(closed.reports)}"
    few = closed.reports is not None and closed.reports < campaign.fewest_reports
    hidden = f" It is not published: its campaign promises a crowd that sends {campaign.fewest_reports:,}."
    return f"Round {closed.number} is closed, {had}.{hidden if few else ''}"


def ending_words(last_round: int | None) -> str:
    """When a campaign ends that somebody has ended."""
    return f"ends after round {last_round:,}" if last_round else "ends before its first round"


def publishing_words(published: bool) -> str:
    """Whether everybody may read a campaign's estimates."""
    return f"is {'' if published else 'no longer '}published"


def counted(reports: int) -> str:
    """A number of reports in words."""
    return "1 report" if reports == 1 else f"{reports:,} reports"
