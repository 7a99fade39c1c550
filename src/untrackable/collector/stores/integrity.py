"""Checks that campaigns and sums in a store are unchanged. A database only checks its own structure."""

from untrackable import strict_json
from untrackable.collector.stores.records import Round, StoredCampaign
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError, StoreError, StoreUnavailable, SumsError
from untrackable.protocol.campaign import Campaign, identify


def check_integrity(store: Store, name: str) -> None:
    """Refuse a store if a campaign does not match its id, or if sums do not match their checksum."""
    for stored in store.campaigns():
        try:
            _check_campaign(store, stored)
        except StoreUnavailable:
            raise
        except (CampaignError, StoreError, SumsError, ValueError) as error:
            raise StoreError(f"{name} is damaged: campaign {stored.id[:8]}…: {error}. Restore a backup.") from None


def _check_campaign(store: Store, stored: StoredCampaign) -> None:
    if identify(stored.document) != stored.id:
        raise StoreError("the document does not match the campaign's id")
    mechanism = Campaign.from_bytes(stored.document).mechanism
    try:
        readable = isinstance(strict_json.parse(stored.verdict), dict)
    except ValueError:
        readable = False
    if not readable:
        raise StoreError("the result of its verification cannot be read")
    for round in store.rounds(stored.id):
        if round.state != "closed":
            continue
        sums = store.sums(Round(stored.id, round.number))
        if sums is None and round.reports is None:  # They were deleted.
            continue
        if sums is None:
            raise StoreError(f"round {round.number} has no sums")
        if mechanism.restore_sums(sums, round.number).n != round.reports:
            raise StoreError(f"the sums of round {round.number} do not have as many reports as the round had")
