"""Whether what a store keeps for good is still what was put there: a database sees only its own structure."""

from untrackable import strict_json
from untrackable.collector.stores.records import Round, StoredCampaign
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError, StoreError, StoreUnavailable, SumsError
from untrackable.protocol.campaign import Campaign, identify


def examine(store: Store, name: str) -> None:
    """Refuse a store with a campaign that is not the one of its id, or sums that do not fit their checksum."""
    for stored in store.campaigns():
        try:
            _examine(store, stored)
        except StoreUnavailable:
            raise
        except (CampaignError, StoreError, SumsError, ValueError) as error:
            raise StoreError(f"{name} is damaged (campaign {stored.id[:8]}…: {error}): restore a backup") from None


def _examine(store: Store, stored: StoredCampaign) -> None:
    if identify(stored.document) != stored.id:
        raise StoreError("its document is not the one that it is named after")
    mechanism = Campaign.from_bytes(stored.document).mechanism
    try:
        readable = isinstance(strict_json.parse(stored.verdict), dict)
    except ValueError:
        readable = False
    if not readable:
        raise StoreError("what its verification said cannot be read")
    for round in store.rounds(stored.id):
        if round.state != "closed":
            continue
        sums = store.sums(Round(stored.id, round.number))
        if sums is None:
            raise StoreError(f"round {round.number} has no sums")
        if mechanism.restore_sums(sums, round.number).n != round.reports:
            raise StoreError(f"the sums of round {round.number} are not of as many reports as it had")
