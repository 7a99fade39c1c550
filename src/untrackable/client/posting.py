"""One report over HTTP: a new connection, verified TLS, and the same headers from everyone."""

import contextlib
import http.client
import ssl
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from untrackable import checks
from untrackable.campaign import check_id

USER_AGENT = "untrackable"
TIMEOUT = 30.0
_MOST_READ = 1 << 16
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LATER = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a status, or None if nothing did; and for how many seconds the server wants to be spared."""

    status: int | None
    retry_after: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether the report is stored."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def later(self) -> bool:
        """Whether trying again may help; a refusal or a redirection is final."""
        return self.status is None or self.status in _LATER or self.status >= 500


Post = Callable[["Address", bytes], Reply]


@dataclass(frozen=True, slots=True)
class Address:
    """Where the reports of a campaign go: its id is in the path, and nothing else about anybody."""

    scheme: str
    host: str
    port: int
    path: str

    @staticmethod
    def of(server: str, campaign: str) -> "Address":
        """From a server's address, which must be https, or http on this machine."""
        try:
            parts = urllib.parse.urlsplit(server)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"server must be an address such as https://collect.example: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("server must be an address such as https://collect.example, without ? or #")
        if parts.username is not None:
            raise ValueError("server must have no user name: reports are sent by nobody in particular")
        if not parts.path.isascii() or not parts.path.isprintable() or " " in parts.path:
            raise ValueError("server must have a path of plain characters")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise ValueError("server must be https; http is only for this machine")
        path = f"{parts.path.rstrip('/')}/campaigns/{check_id(campaign)}/reports"
        return Address(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), path)

    @property
    def netloc(self) -> str:
        """Host and port, the port only if it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    def proxy(self) -> urllib.parse.SplitResult | None:
        """The one that the environment names for it (https_proxy, http_proxy, no_proxy)."""
        named = urllib.request.getproxies().get(self.scheme)
        if not named or urllib.request.proxy_bypass(self.netloc):
            return None
        return urllib.parse.urlsplit(named if "://" in named else f"http://{named}")

    def reached_by(self) -> tuple[str, int]:
        """The host and port that are connected to: its own, or a proxy's."""
        proxy = self.proxy()
        return (proxy.hostname or "", proxy.port or 80) if proxy else (self.host, self.port)


def post(address: Address, body: bytes, *, timeout: float = TIMEOUT) -> Reply:
    """Send a report: once, over a connection that is made for it and closed after it."""
    connection, target, extra = _connection(address, checks.positive("timeout", timeout))
    try:
        connection.putrequest("POST", target, skip_host=True, skip_accept_encoding=True)
        for name, value in (
            ("Host", address.netloc),
            ("User-Agent", USER_AGENT),
            ("Content-Type", "application/octet-stream"),
            ("Content-Length", str(len(body))),
            *extra,
            ("Connection", "close"),
        ):
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        reply = Reply(response.status, _seconds(response.getheader("Retry-After")))
        with contextlib.suppress(OSError, http.client.HTTPException):
            response.read(_MOST_READ)
        return reply
    except (OSError, http.client.HTTPException):
        return Reply(None)
    finally:
        connection.close()


Headers = list[tuple[str, str]]


def _connection(address: Address, timeout: float) -> tuple[http.client.HTTPConnection, str, Headers]:
    """A connection that is not made yet, the request's target, and headers that only a proxy reads."""
    proxy = address.proxy()
    host, port = address.reached_by()
    authorization: Headers = []
    if proxy and proxy.username is not None:
        pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
        authorization = [("Proxy-Authorization", f"Basic {b64encode(pair.encode()).decode()}")]
    if address.scheme == "http":
        target = f"http://{address.netloc}{address.path}" if proxy else address.path
        return http.client.HTTPConnection(host, port, timeout=timeout), target, authorization
    context = ssl.create_default_context()  # made anew, so that no session is resumed
    context.options |= ssl.OP_NO_TICKET
    connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    if proxy:
        connection.set_tunnel(address.host, address.port, headers=dict(authorization))
    return connection, address.path, []


def _seconds(given: str | None) -> float | None:
    """Retry-After in seconds; a date is not looked at."""
    return float(given) if given is not None and given.isascii() and given.isdigit() and len(given) < 8 else None
