"""Who is signed in. A sealed cookie says it, and the keys in the store say whether it holds.

A cookie has the id of the access key that somebody signed in with, the second at which it ends, a nonce, and the
key itself, sealed (AES-GCM) together with the id and the end. The sealing key is derived from the digest that the
store has of the access key. So:

- Every process that shares the store can open it, and no process remembers anything. Revoking the key ends its
  sessions at once.
- Without the digest, the cookie shows nothing of the access key, and no byte of it can be changed.
- The digest alone is not enough to make one, because the access key must be inside.

Wrong keys are counted for each key that exists, without looking at addresses. Somebody who does not know the id of
a key, which is random too, can neither guess the key nor lock anybody out.
"""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.api import is_key
from untrackable.collector.browser import is_local
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.store import StoredKey
from untrackable.serving.problems import Refused

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
    parts = _COOKIE.fullmatch(text)
    return None if parts is None else SessionCookie(parts[1], int(parts[2]), text)


def _cookie(access_key: str, stored: StoredKey, ends: int, nonce: bytes) -> str:
    sealed = _cipher(stored.digest).encrypt(nonce, access_key.encode(), f"{stored.id}.{ends}".encode())
    return f"{stored.id}.{ends}.{nonce.hex()}.{sealed.hex()}"


def _cipher(digest: bytes) -> AESGCM:
    return AESGCM(hmac.digest(digest, _SEALING, hashlib.sha256))


_TRIES = 10
"""The largest number of wrong tries for one key in a period."""
_TRIES_SECONDS = 60.0
"""The length of a period. At its end all counts are forgotten."""


class WrongKeys:
    """The number of wrong tries for each key in the present period, in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counting = threading.Lock()
        self._since, self._counts = clock(), dict[str, int]()

    def allow(self, id: str) -> bool:
        """Whether another key with this id may be tried now."""
        with self._counting:
            if not 0 <= self._clock() - self._since < _TRIES_SECONDS:
                self._since, self._counts = self._clock(), {}
            return self._counts.get(id, 0) < _TRIES

    def count(self, id: str) -> None:
        """Count a wrong try for a key that exists."""
        with self._counting:
            self._counts[id] = self._counts.get(id, 0) + 1


SESSION_SECONDS = 12 * 3600
"""How long a session lasts. Then the key is asked for again."""


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in with a key: the key's id and role, and the token that each of their forms carries."""

    key: str
    role: str
    token: str = field(repr=False)

    @property
    def manages(self) -> bool:
        """Whether this person may change anything, and not only read."""
        return self.role == "admin"


def signed_in(request: Request) -> Session | None:
    """The session that a request was sent in, or None. The store is asked once for a request."""
    if not hasattr(request.state, "session"):
        request.state.session = _session(request)
    session: Session | None = request.state.session
    return session


def require_session(request: Request) -> Session:
    """The session that a request was sent in. Without one, or with a key that only reads, it is refused."""
    session = signed_in(request)
    if session is None:
        raise Refused(Problem.KEY_NEEDED, "you are not signed in, or your session is over: sign in again")
    if not session.manages:
        raise Refused(Problem.KEY_INSUFFICIENT, "you are signed in with a key that only reads")
    return session


def begin_session(request: Request, response: Response, access_key: str, stored: StoredKey) -> None:
    """Let the response sign the owner of a key in. Every session is new, whatever cookie the request has."""
    cookie = new_cookie(access_key, stored, int(_service(request).clock()) + SESSION_SECONDS)
    response.set_cookie(cookie_name(request), cookie, max_age=SESSION_SECONDS, **_cookie_settings(request))


def end_session(request: Request, response: Response) -> None:
    """Let the response sign its reader out."""
    response.delete_cookie(cookie_name(request), **_cookie_settings(request))


def _cookie_settings(request: Request) -> dict[str, Any]:
    # A page with TLS may have sent the form, even if a proxy says that it was sent to this machine's own address.
    secure = _is_secure(request) or request.headers.get("origin", "").startswith("https:")
    return {"path": "/", "secure": secure, "httponly": True, "samesite": "strict"}


def cookie_name(request: Request) -> str:
    """The name of the cookie. Browsers let no other host and no page without TLS set one that begins `__Host-`."""
    return "__Host-untrackable" if _is_secure(request) else "untrackable"


def check_same_origin(request: Request) -> None:
    """Refuse what a page of another origin sends. Browsers say in two headers where a request is from.

    The newer one compares origins itself. Browsers without it are asked for the other one, which names the origin.
    """
    site = request.headers.get("sec-fetch-site")
    if site is None:
        scheme, _, host = request.headers.get("origin", "").partition("://")
        same = scheme in ("http", "https") and host == request.headers.get("host")
    else:
        same = site == "same-origin"
    if not same:
        raise Refused(Problem.OTHER_ORIGIN, "this form was not sent by a page of this collector")


def is_sent_in_the_clear(request: Request) -> bool:
    """Whether a page sent a request without TLS over a network. Browsers would not keep the cookie either."""
    return request.headers.get("origin", "").startswith("http:") and not is_local(request)


def token_is_right(session: Session, given: str) -> bool:
    """Whether a form carries the token of this session."""
    return hmac.compare_digest(session.token.encode(), given.encode())


def _session(request: Request) -> Session | None:
    cookie, service = read_cookie(request.cookies.get(cookie_name(request), "")), _service(request)
    if cookie is None or cookie.ends <= service.clock():
        return None
    stored = service.store.key(cookie.key)
    token = cookie.form_token(stored)
    return None if stored is None or stored.revoked or token is None else Session(stored.id, stored.role, token)


def _is_secure(request: Request) -> bool:
    """Whether the cookie is for TLS only: everywhere but on this machine, because a proxy may talk http to it."""
    return request.url.scheme == "https" or not is_local(request)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
