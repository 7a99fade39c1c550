"""Ends a campaign before its time, or deletes it with all that it has collected."""

from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round
from untrackable.collector.stores.store import Store
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND


def end_campaign(store: Store, campaign: Campaign, now: float, settings: Settings) -> int | None:
    """Let the latest round that takes reports now be the last one. Returns it, or None without such a campaign.

    The document of a campaign never changes, so the store has the end. It is 0 if no round takes reports yet.
    """
    now += settings.early
    latest = campaign.round_at(now)
    if latest is None:  # The first round has not begun, or the last one is over.
        latest = 0 if now < campaign.first_round else campaign.rounds or LAST_ROUND
    return store.end_campaign(campaign.id, latest)


def delete_campaign(store: Store, campaign: Campaign) -> None:
    """Delete a campaign, its reports and its sums. If it is interrupted, it can be run again.

    First no new round may begin. Then each round is closed without its reports. Then the rest is deleted.
    """
    if store.end_campaign(campaign.id, 0) is None:
        return
    for each in store.rounds(campaign.id):
        round = Round(campaign.id, each.number)
        if store.stop(round) == "closing":
            empty = campaign.mechanism.aggregator(each.number)
            store.finish(round, empty.n, empty.to_bytes())
    store.delete_campaign(campaign.id)
    store.tidy()
