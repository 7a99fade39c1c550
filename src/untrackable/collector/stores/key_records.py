"""The keys in a store, of people who run campaigns or read unpublished estimates."""

from typing import Any

from untrackable.collector.stores.records import StoredKey
from untrackable.collector.stores.transactions import Transactions


class KeyRecords(Transactions):
    """The part of a store that has the keys."""

    def add_key(self, key: StoredKey) -> None:
        """Store a new key."""
        with self._transaction(write=True) as run:
            run(
                "INSERT INTO keys (id, role, digest, created, revoked) VALUES (?, ?, ?, ?, ?)",
                (key.id, key.role, key.digest, key.created, int(key.revoked)),
            )

    def keys(self) -> list[StoredKey]:
        """All keys, sorted by day and id."""
        with self._transaction(write=False) as run:
            rows = run("SELECT id, role, digest, created, revoked FROM keys ORDER BY created, id").fetchall()
        return [_stored_key(row) for row in rows]

    def key(self, id: str) -> StoredKey | None:
        """One key, or None."""
        with self._transaction(write=False) as run:
            row = run("SELECT id, role, digest, created, revoked FROM keys WHERE id = ?", (id,)).fetchone()
        return None if row is None else _stored_key(row)

    def revoke(self, id: str) -> bool:
        """Revoke a key. False if there is no such key."""
        with self._transaction(write=True) as run:
            found = run("UPDATE keys SET revoked = 1 WHERE id = ? RETURNING id", (id,)).fetchone()
        return found is not None


def _stored_key(row: Any) -> StoredKey:
    return StoredKey(row[0], row[1], bytes(row[2]), row[3], bool(row[4]))
