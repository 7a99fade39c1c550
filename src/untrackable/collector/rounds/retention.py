"""Deletes sums that the operator does not want to keep any longer."""

from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign

_DAY = 86_400.0


def drop_old_sums(store: Store, now: float, settings: Settings) -> int:
    """Delete the sums of rounds that ended more than `settings.keep_sums` days ago. Returns their number.

    The rounds stay closed, so that nobody can report to them again.
    """
    if settings.keep_sums is None:
        return 0
    dropped = 0
    for stored in store.campaigns():
        try:
            campaign = Campaign.from_bytes(stored.document)
        except CampaignError:  # It is damaged. Starting the collector again says so.
            continue
        for each in store.rounds(stored.id):
            over = campaign.begins(each.number + 1) + _DAY * settings.keep_sums <= now
            if over and each.state == "closed" and each.reports is not None:
                dropped += store.drop_sums(Round(stored.id, each.number))
    return dropped
