"""Rounds that should be closed: their time and grace are over."""

from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, StoredCampaign
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign


def overdue_rounds(store: Store, now: float, settings: Settings) -> list[Round]:
    """The rounds that are not closed although their time and grace are over."""
    found = []
    campaigns: dict[str, StoredCampaign | None] = {}
    for round in store.unclosed():
        if round.campaign not in campaigns:
            campaigns[round.campaign] = store.campaign(round.campaign)
        stored = campaigns[round.campaign]
        if stored is not None and _end(stored, round.number) + settings.grace <= now:
            found.append(round)
    return found


def _end(stored: StoredCampaign, number: int) -> float:
    """The end of a round. A damaged campaign cannot be closed, so its rounds are over."""
    try:
        return Campaign.from_bytes(stored.document).begins(number + 1)
    except CampaignError:
        return 0.0
