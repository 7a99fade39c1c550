"""The value of a session's cookie: the access key that somebody signed in with, sealed for the collector.

A cookie has the id of the key, the second at which it ends, a nonce, and the key itself, sealed (AES-GCM) together
with the id and the end. The sealing key is derived from the digest that the store has of the access key. So:

- Every process that shares the store can open it, and no process remembers anything.
- Without the digest, the cookie shows nothing of the access key, and no byte of it can be changed.
- The digest alone is not enough to make one, because the access key must be inside.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from untrackable.collector.http.api_keys import is_key
from untrackable.collector.stores.records import StoredKey

_NONCE_BYTES = 12
_COOKIE = re.compile(r"([0-9a-f]{12})\.([0-9]{1,12})\.([0-9a-f]{24})\.((?:[0-9a-f]{2}){17,256})")
"""A cookie: a key's id, the last second, the nonce, and the sealed key. Each cookie has one spelling only."""
_SEALING = b"untrackable dashboard, session 2"
"""What the sealing key is for, so that nothing else uses the same one."""
_FORMS = b"untrackable dashboard, forms of session 2 "
"""What the code in the forms of a session is for."""


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """A cookie as it was sent: the id of a key, the last second, and all of its text. It may be forged."""

    key: str
    ends: int
    text: str = field(repr=False)

    def form_token(self, stored: StoredKey | None) -> str | None:
        """The token that forms of this session carry, or None if the cookie is not one of this key.

        It is a code under the access key, so the digest is not enough to make a token either.
        """
        id, ends, nonce, sealed = self.text.split(".")
        digest = bytes(hashlib.sha256().digest_size) if stored is None else stored.digest
        try:
            access_key = _cipher(digest).decrypt(
                bytes.fromhex(nonce), bytes.fromhex(sealed), f"{id}.{ends}".encode()
            )
        except InvalidTag:
            return None
        if not is_key(access_key, stored):
            return None
        return hmac.digest(access_key, _FORMS + self.text.encode(), hashlib.sha256).hex()


def new_cookie(access_key: str, stored: StoredKey, ends: int) -> str:
    """A cookie for somebody with this access key, until the second `ends`. No two are the same."""
    return _cookie(access_key, stored, ends, secrets.token_bytes(_NONCE_BYTES))


def read_cookie(text: str) -> SessionCookie | None:
    """The cookie with this text, or None if it does not look like one."""
    found = _COOKIE.fullmatch(text)
    return None if found is None else SessionCookie(found[1], int(found[2]), text)


def _cookie(access_key: str, stored: StoredKey, ends: int, nonce: bytes) -> str:
    sealed = _cipher(stored.digest).encrypt(nonce, access_key.encode(), f"{stored.id}.{ends}".encode())
    return f"{stored.id}.{ends}.{nonce.hex()}.{sealed.hex()}"


def _cipher(digest: bytes) -> AESGCM:
    return AESGCM(hmac.digest(digest, _SEALING, hashlib.sha256))
