"""Who is signed in. The server remembers no session: a cookie says it, and the store's keys say whether it is true.

Every process that shares the store agrees, and revoking the key ends its sessions at once.
"""

import hmac
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.session_cookie import new_cookie, read_cookie
from untrackable.collector.http.browser_client import is_local
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.stores.records import StoredKey

SECONDS = 12 * 3600
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
    """The session of whoever sent a request, or None. The store is asked once for a request."""
    if not hasattr(request.state, "session"):
        request.state.session = _session(request)
    found: Session | None = request.state.session
    return found


def require_session(request: Request) -> Session:
    """The session of whoever sent a request. Without one, or with a key that only reads, it is refused."""
    found = signed_in(request)
    if found is None:
        raise Refused(Problem.KEY_NEEDED, "you are not signed in, or your session is over: sign in again")
    if not found.manages:
        raise Refused(Problem.KEY_INSUFFICIENT, "you are signed in with a key that only reads")
    return found


def begin_session(request: Request, response: Response, access_key: str, stored: StoredKey) -> None:
    """Let the response sign the owner of a key in. Every session is new, whatever cookie the request has."""
    response.set_cookie(
        cookie_name(request),
        new_cookie(access_key, stored, int(_service(request).clock()) + SECONDS),
        max_age=SECONDS,
        path="/",
        secure=_is_secure(request) or _is_from_tls(request),
        httponly=True,
        samesite="strict",
    )


def end_session(request: Request, response: Response) -> None:
    """Let the response sign its reader out."""
    response.delete_cookie(
        cookie_name(request),
        path="/",
        secure=_is_secure(request) or _is_from_tls(request),
        httponly=True,
        samesite="strict",
    )


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


def _is_from_tls(request: Request) -> bool:
    """Whether a page with TLS sent a form, even if a proxy says that it was sent to this machine's own address."""
    return request.headers.get("origin", "").startswith("https:")


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found
