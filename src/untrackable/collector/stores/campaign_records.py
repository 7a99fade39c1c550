"""The campaigns in a store: their documents, and whether their estimates are published."""

from typing import Any

from untrackable.collector.stores.records import StoredCampaign
from untrackable.collector.stores.transactions import Transactions


class CampaignRecords(Transactions):
    """The part of a store that has the campaigns."""

    def add_campaign(self, campaign: StoredCampaign) -> bool:
        """Store a campaign. False if it is there already."""
        with self._transaction(write=True) as run:
            found = run(
                "INSERT INTO campaigns (id, document, verdict, published) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO NOTHING RETURNING id",
                (campaign.id, campaign.document, campaign.verdict, int(campaign.published)),
            ).fetchone()
        return found is not None

    def campaigns(self) -> list[StoredCampaign]:
        """All campaigns, sorted by id."""
        with self._transaction(write=False) as run:
            rows = run("SELECT id, document, verdict, published, last_round FROM campaigns ORDER BY id").fetchall()
        return [_campaign(row) for row in rows]

    def campaign(self, id: str) -> StoredCampaign | None:
        """One campaign, or None."""
        with self._transaction(write=False) as run:
            row = run(
                "SELECT id, document, verdict, published, last_round FROM campaigns WHERE id = ?", (id,)
            ).fetchone()
        return None if row is None else _campaign(row)

    def publish(self, id: str, published: bool) -> bool:
        """Set whether everyone may read the campaign's estimates. False if there is no such campaign."""
        with self._transaction(write=True) as run:
            found = run(
                "UPDATE campaigns SET published = ? WHERE id = ? RETURNING id", (int(published), id)
            ).fetchone()
        return found is not None


def _campaign(row: Any) -> StoredCampaign:
    return StoredCampaign(row[0], bytes(row[1]), row[2], bool(row[3]), row[4])
