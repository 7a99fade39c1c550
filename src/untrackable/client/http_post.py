"""Sends one report over HTTP: on a new connection, with verified TLS, and with the same headers for everyone."""

import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from untrackable import checks
from untrackable.client.http_exchange import Exchange, ExchangeFailed
from untrackable.protocol.campaign import check_id
from untrackable.web_address import WebAddress, is_host

USER_AGENT = "untrackable"
TIMEOUT = 60.0
"""The time limit in seconds for everything, from connecting to the last byte of the answer's head."""
_LATER = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Reply:
    """The server's answer: its status, or None if there was none, and the Retry-After delay in seconds."""

    status: int | None
    retry_after: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether the report is stored."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def later(self) -> bool:
        """Whether a later attempt may help. A refusal or a redirection is final."""
        return self.status is None or self.status in _LATER or self.status >= 500


Ready = Callable[[str, str], bool]
"""A function that says whether a report may go out now, given the local and the remote address."""

Post = Callable[["Address", bytes, Ready], Reply]


@dataclass(frozen=True, slots=True)
class Address(WebAddress):
    """The address that reports are sent to. The path has nothing about a person."""

    @staticmethod
    def of(server: str, campaign: str) -> "Address":
        """The address at a server, which must use https, or http on this machine."""
        found = WebAddress.parse("server", server)
        path = f"{found.path}/campaigns/{check_id(campaign)}/reports"
        return Address(found.scheme, found.host, found.port, path)

    def proxy(self) -> "Proxy | None":
        """The proxy that the environment names (https_proxy, all_proxy, no_proxy). There is none for http."""
        if self.scheme == "http":
            return None
        named = urllib.request.getproxies()
        variable = "https" if named.get("https") else "all"
        if not named.get(variable) or urllib.request.proxy_bypass(self.netloc):
            return None
        return Proxy.of(f"{variable}_proxy", named[variable])

    def reached_by(self) -> tuple[str, int]:
        """The host and port to connect to: the server's or a proxy's."""
        proxy = self.proxy()
        return (proxy.host, proxy.port) if proxy else (self.host, self.port)


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """A proxy that is asked for a tunnel over plain HTTP. The data in the tunnel is under TLS."""

    host: str
    port: int
    credentials: str | None

    @staticmethod
    def of(variable: str, given: str) -> "Proxy":
        """The proxy in an environment variable. Errors name the variable only, because it may hold a password."""
        scheme, _, rest = given.rpartition("://")
        host, port, pair = "", None, None
        try:
            parts = urllib.parse.urlsplit(f"http://{rest}")
            host, port = parts.hostname or "", parts.port
            if parts.username is not None:
                pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        except ValueError:
            scheme = "?"
        if scheme.lower() not in ("", "http") or not is_host(host) or port == 0:
            raise ValueError(
                f"{variable} (in the environment) must be a proxy such as http://proxy.example:3128; "
                "other kinds (https, socks) are not supported, and nothing is sent without the proxy"
            )
        return Proxy(host, port or 80, None if pair is None else b64encode(pair.encode()).decode())

    def tunnel(self, address: Address) -> bytes:
        """The request for a tunnel to an address."""
        host = f"[{address.host}]" if ":" in address.host else address.host
        lines = [f"CONNECT {host}:{address.port} HTTP/1.1", f"Host: {host}:{address.port}"]
        if self.credentials is not None:
            lines.append(f"Proxy-Authorization: Basic {self.credentials}")
        return "\r\n".join([*lines, "", ""]).encode()


def post(address: Address, body: bytes, ready: Ready, *, timeout: float = TIMEOUT) -> Reply:
    """Send a report once, over a connection of its own.

    Connecting takes a while, so `ready` is called right before the report is sent.
    """
    try:
        with connected(address, timeout) as exchange:
            if not ready(*exchange.addresses()):
                return Reply(None)
            head = exchange.ask(request_head(address, "application/octet-stream", len(body)) + body)
            return Reply(head.status, retry_seconds(head.header("retry-after")))
    except ExchangeFailed:
        return Reply(None)


@contextmanager
def connected(address: Address, timeout: float) -> Iterator[Exchange]:
    """A new connection, through the proxy of the environment if there is one. For https it is under verified TLS.

    `timeout` is the time limit in seconds for everything on it.
    """
    proxy = address.proxy()
    with Exchange(*address.reached_by(), seconds=checks.positive("timeout", timeout)) as exchange:
        if proxy and exchange.ask(proxy.tunnel(address)).status // 100 != 2:
            raise ExchangeFailed("the proxy makes no tunnel")
        if address.scheme == "https":
            exchange.secure(address.host)
        yield exchange


def request_head(address: Address, media_type: str, length: int) -> bytes:
    """The head of a request, with the same lines in the same order for everyone."""
    lines = (
        f"POST {address.path} HTTP/1.1",
        f"Host: {address.netloc}",
        f"User-Agent: {USER_AGENT}",
        f"Content-Type: {media_type}",
        f"Content-Length: {length}",
        "Connection: close",
    )
    return "\r\n".join([*lines, "", ""]).encode()


def retry_seconds(given: str | None) -> float | None:
    """Retry-After in seconds. A date is ignored."""
    return float(given) if given is not None and given.isascii() and given.isdigit() and len(given) < 8 else None
