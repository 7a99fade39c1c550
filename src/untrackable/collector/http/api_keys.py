"""API keys of the people who run campaigns. A key is shown once, when it is made. The store only has its digest."""

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime
from typing import Final

from untrackable import checks
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.stores.records import StoredKey
from untrackable.collector.stores.store import Store

ROLES: Final = {
    "admin": "creates, publishes and closes campaigns, and reads all estimates",
    "reader": "reads campaigns that are not published",
}
"""The roles of keys, and what each role may do."""
_PREFIX = "ut"
"""The beginning of every key."""
_ID_BYTES = 6
"""The number of random bytes of a key's id."""
_SECRET_BYTES = 32
"""The number of random bytes of a key's secret."""
_KEY = re.compile(f"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_[A-Za-z0-9_-]{{1,200}}")
"""How a key is written."""


def new_key(store: Store, role: str) -> tuple[str, str]:
    """Make a key. Returns its id and the key itself, which cannot be shown again."""
    checks.choice("role", role, ROLES)
    id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    token = f"{_PREFIX}_{id}_{secret}"
    today = datetime.now(UTC).date().isoformat()
    store.add_key(StoredKey(id, role, _digest(token.encode()), today, revoked=False))
    return id, token


def valid_key(store: Store, token: str) -> StoredKey | None:
    """What the store has of a key, or None if the key is wrong or revoked.

    The secret has 256 random bits, so its digest needs no salt and no stretching.
    """
    id = key_id(token)
    if id is None:
        return None
    found = store.key(id)
    return found if is_key(token.encode(), found) and found is not None and not found.revoked else None


def is_key(token: bytes, stored: StoredKey | None) -> bool:
    """Whether a token is the key of which the store has this. It takes as long if the store has no such key."""
    expected = bytes(hashlib.sha256().digest_size) if stored is None else stored.digest
    return hmac.compare_digest(_digest(token), expected) and stored is not None


def key_id(token: str) -> str | None:
    """The id in a key, whether or not there is such a key; None if it does not look like a key."""
    found = _KEY.fullmatch(token)
    return None if found is None else found[1]


def role_of(store: Store, token: str) -> str | None:
    """The role of a key, or None if the key is wrong or revoked."""
    found = valid_key(store, token)
    return None if found is None else found.role


def require_key(store: Store, authorization: str | None, roles: tuple[str, ...]) -> None:
    """Refuse a request that has no valid key of one of these roles."""
    scheme, _, token = (authorization or "").partition(" ")
    role = role_of(store, token.strip()) if scheme.lower() == "bearer" else None
    if role is None:
        raise Refused(Problem.KEY_NEEDED, "send a valid key in the header `Authorization: Bearer …`")
    if role not in roles:
        raise Refused(Problem.KEY_INSUFFICIENT, f"this needs a key with the role {' or '.join(roles)}")


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
