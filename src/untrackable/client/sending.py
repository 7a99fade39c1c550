"""Sends one report: a few attempts within minutes, from one network, to the collector or sealed through a relay.

Each attempt is a new connection with verified TLS, and with the same headers for everyone. It ends when its time is
up, even if the other side sends slowly, repeats itself or sends nothing.

A relay cannot read the reports that it passes on, and the collector does not see who sent them. A report is sealed
again for every attempt, always to the same length, with a public key that the campaign lists. Only the collector's
gateway can open it, and only this client can open the answer: one that does not open counts as none.

A relay that holds reports answers by itself, once it has the report on disk. That is all that the client ever gets.
"""

import contextlib
import io
import math
import secrets
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import Any

from untrackable import strict_json
from untrackable.errors import CampaignRefused, SealingError
from untrackable.oblivious.binary_http import BinaryResponse, reports_request
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol.campaign import Campaign, Gateway, check_id
from untrackable.protocol.wire import round_of
from untrackable.web_address import WebAddress, is_host, is_this_machine

USER_AGENT = "untrackable"
TIMEOUT = 60.0
"""The time limit in seconds for an attempt, from connecting to the last byte of the answer's head."""
WINDOW = 300.0
"""Further attempts may follow within this many seconds after the first one."""
TRIES = 6
FIRST_WAIT = 2.0
_FINAL = 200
_LATER = (408, 425, 429)
_HELD = 202
"""What a relay that holds reports answers."""

UNKNOWN_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""The problem type of a gateway that does not have the key (RFC 9458, section 5.3)."""
_LARGEST_ANSWER = 1 << 17
"""The most bytes of an answer that are received, with everything before it."""
_ASKED_TO_RETRY = (429, 503)

_ROUTES, _NEIGHBOURS = Path("/proc/net/route"), Path("/proc/net/arp")
_UP_BY_A_ROUTER = 0x3
_ELSEWHERE = (("203.0.113.1", 9), ("2001:db8::1", 9))
"""Addresses for documentation, which belong to nobody. The route to them is the default route."""


class Outcome(StrEnum):
    """The result of sending."""

    NOTHING = "nothing to send"
    OFF = "switched off: nothing is stored, looked up or sent"
    HANDED_OVER = "handed to a sender of its own"
    OFFLINE = "no network; nothing was sent yet"
    ACCEPTED = "accepted"
    REFUSED = "refused by the server; this round is given up"
    GIVEN_UP = "not delivered; this round is given up"
    LATER = "not delivered; tried again in this round"


@dataclass(frozen=True, slots=True)
class Reply:
    """The server's answer: its status, or None if there was none, and the Retry-After delay in seconds."""

    status: int | None
    retry_after: float | None = None

    @property
    def outcome(self) -> Outcome | None:
        """What became of the report; None if a later attempt may help. A refusal or a redirection is final."""
        if self.status is None or self.status in _LATER or self.status >= 500:
            return None
        return Outcome.ACCEPTED if 200 <= self.status < 300 else Outcome.REFUSED


@dataclass(frozen=True, slots=True)
class Address(WebAddress):
    """The address that reports are sent to. The path has nothing about a person."""

    @staticmethod
    def of(server: str, campaign: str) -> "Address":
        """The address at a server, which must use https, or http on this machine."""
        at = WebAddress.parse("server", server)
        return Address(at.scheme, at.host, at.port, f"{at.path}/campaigns/{check_id(campaign)}/reports")

    @staticmethod
    def of_relay(relay: str, collector: "Address") -> "Address":
        """The address of a relay, which must be https (http on this machine) and not at the collector's host."""
        at = WebAddress.parse("relay", relay)
        if at.host == collector.host and not (is_this_machine(at.host) and at.port != collector.port):
            raise ValueError("relay must not be the collector: whoever runs both knows who sent which report")
        return Address(at.scheme, at.host, at.port, at.path or "/")

    def reached_by(self) -> tuple[str, int, bytes]:
        """The host and port to connect to, and the request for a tunnel over plain HTTP if a proxy is there.

        The environment names the proxy (https_proxy, all_proxy, no_proxy). There is none for http. Errors name the
        variable only, because it may hold a password.
        """
        named = {} if self.scheme == "http" else urllib.request.getproxies()
        variable = "https" if named.get("https") else "all"
        if not named.get(variable) or urllib.request.proxy_bypass(self.netloc):
            return self.host, self.port, b""
        scheme, _, rest = named[variable].rpartition("://")
        try:
            parts = urllib.parse.urlsplit(f"http://{rest}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", 0
        if scheme.lower() not in ("", "http") or not is_host(host) or port == 0:
            raise ValueError(
                f"{variable}_proxy (in the environment) must be a proxy such as http://proxy.example:3128; "
                "other kinds (https, socks) are not supported, and nothing is sent without the proxy"
            )
        to = f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        lines = [f"CONNECT {to} HTTP/1.1", f"Host: {to}"]
        if parts.username is not None:
            pair = ":".join(urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
            lines.append(f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}")
        return host, port or 80, _head(lines)


Ready = Callable[[str, str], bool]
"""A function that says whether a report may go out now, given the local and the remote address."""
Post = Callable[[Address, bytes, Ready], Reply]
"""A function that sends a report once. It asks `Ready` right before the report goes out."""
Look = Callable[[str, int], str]
"""A function that describes the network that this machine is attached to; "" if a host cannot be reached."""
Attempt = Callable[[bytes | None, Callable[[bytes, Callable[[], bool]], Reply]], tuple[bytes | None, Reply]]
"""An attempt, given the report that was tried before and what sends one: the report that was tried now, or None.

What sends is also given what notes, right before the report goes out, that it does; if it cannot, nothing goes out.
"""


def deliver(
    attempt: Attempt,
    address: Address,
    *,
    post: Post,
    look: Look,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    window: float = WINDOW,
) -> tuple[Outcome, bytes | None]:
    """Try until the server accepts or refuses the report, the time is up, or the network has changed.

    The result is the outcome and the report that was tried, or None. If it certainly did not leave this machine,
    it is tried again later.

    If the same bytes went out from two networks, an observer could link them. So once they may have gone out, they
    are sent again only by this process, from the same local address, and while the network looks the same.
    """
    (host, port, _), began, body = address.reached_by(), clock(), None
    used: tuple[str, str] | None = None

    def ready(note: Callable[[], bool], local: str, peer: str) -> bool:
        nonlocal used
        here = (local, look(peer, port))
        if used is None and here[1] and note():
            used = here
        return here == used

    for tries in range(TRIES):
        if body is not None and abs(clock() - began) > min(window, WINDOW):
            break  # The machine slept meanwhile.
        network = look(host, port)
        if body is None and not network:
            return Outcome.OFFLINE, None
        if used is not None and network != used[1]:
            break
        sent, reply = attempt(body, lambda report, note: post(address, report, partial(ready, note)))
        if sent is None:
            # If it has not gone out from here, another process may be sending it.
            return (Outcome.NOTHING, None) if used is None else (Outcome.GIVEN_UP, body)
        body = sent
        if reply.outcome is not None:
            return reply.outcome, body
        # Twice as long each time, times a random number between ½ and 1½.
        usual = FIRST_WAIT * 2.0**tries * (0.5 + secrets.randbits(53) / (1 << 53))
        wait = max(usual, reply.retry_after or 0.0)
        if tries + 1 == TRIES or abs(clock() - began) + wait > min(window, WINDOW):
            break
        sleep(wait)
    return (Outcome.LATER if used is None else Outcome.GIVEN_UP), body


def look(host: str, port: int, *, until: float = math.inf) -> str:
    """The local addresses of the default routes, and the hardware addresses of the routers that are known.

    Two networks may use the same private addresses, but the hardware addresses of their routers differ. Nothing of
    this is ever sent or written.
    """
    if _local(host, port, until) is None:
        return ""
    return " ".join([*(_local(*elsewhere) or "-" for elsewhere in _ELSEWHERE), *_routers()])


def _resolved(host: str, port: int, kind: int, until: float) -> list[Any]:
    """The addresses of a host. Only a thread can give up waiting for a name server that does not answer."""
    found: list[Any] = []

    def resolve() -> None:
        with contextlib.suppress(OSError):
            found.extend(socket.getaddrinfo(host, port, type=kind))

    resolver = threading.Thread(target=resolve, daemon=True)
    resolver.start()
    resolver.join(_left(until))
    if not found:
        raise ConnectionError("no address")
    return found.copy()


def _left(until: float) -> float:
    """The seconds of an attempt that are left."""
    return max(0.001, min(TIMEOUT, until - time.monotonic()))


def _local(host: str, port: int, until: float = math.inf) -> str | None:
    """The address that connections to a host would come from."""
    try:
        family, _, _, _, address = _resolved(host, port, socket.SOCK_DGRAM, until)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # This sends nothing. It only looks up the route.
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _routers() -> list[str]:
    """Interface and hardware address of each router in use (Linux, IPv4)."""
    try:
        tables = [path.read_text(encoding="ascii").splitlines()[1:] for path in (_ROUTES, _NEIGHBOURS)]
        routes, neighbours = ([line.split() for line in table] for table in tables)
        routers = {
            (interface, socket.inet_ntoa(bytes.fromhex(router)[::-1]))
            for interface, _, router, flags, *_ in routes
            if int(flags, 16) & _UP_BY_A_ROUTER == _UP_BY_A_ROUTER
        }
        return sorted(f"{way} {hard}" for where, _, _, hard, _, way in neighbours if (way, where) in routers)
    except (OSError, ValueError):
        return []


class _Incoming(io.RawIOBase):
    """The data of a connection, for the standard library to read: this many bytes, and until a time is over."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection, self._until, self._left = connection, until, _LARGEST_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = _in_time(self._connection, self._until).recv_into(buffer)
        self._left -= taken
        if self._left < 0:
            raise ConnectionError("too long")
        return taken

    def makefile(self, _: str) -> io.BufferedReader:
        """The file that answers are read from."""
        return io.BufferedReader(self)


def _in_time(connection: socket.socket, until: float) -> socket.socket:
    """The connection, which waits no longer than there is time left. It is an error if there is none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("out of time")
    connection.settimeout(left)
    return connection


def _connected(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to the first address that answers. Each has its share of the time."""
    addresses = _resolved(host, port, socket.SOCK_STREAM, time.monotonic() + seconds)
    for *_, address in addresses:
        with contextlib.suppress(OSError):
            return socket.create_connection((str(address[0]), port), seconds / len(addresses))
    raise ConnectionError("no address answers")


def _head(lines: Sequence[str]) -> bytes:
    """The head of a request."""
    return "\r\n".join([*lines, "", ""]).encode()


def _answer(connection: socket.socket, request: bytes, until: float) -> HTTPResponse:
    """Send a request and read the head of the answer. Interim answers (1xx) are skipped.

    Once there is a final status it counts, even if the lines after it do not come.
    """
    _in_time(connection, until).sendall(request)
    answer = HTTPResponse(_Incoming(connection, until), method="POST")  # type: ignore[arg-type]
    try:
        answer.begin()
        while answer.status < _FINAL:
            answer.headers = None  # type: ignore[assignment]  # so that the next head is read
            answer.begin()
    except (OSError, HTTPException):
        if not isinstance(answer.status, int) or answer.status < _FINAL:
            raise
        answer.headers = HTTPMessage()
    return answer


@contextlib.contextmanager
def _posted(
    address: Address, media_type: str, body: bytes, ready: Ready, timeout: float, *, not_of: str = ""
) -> Iterator[HTTPResponse]:
    """The answer to a body that is sent over a new connection, if it is `ready` to go out.

    The connection goes through the proxy of the environment, if any. For https it is under verified TLS, in a new
    context, so that no session is resumed. The head has the same lines in the same order for everyone.

    `CampaignRefused` if the certificate is also valid for the host `not_of`.
    """
    host, port, tunnel = address.reached_by()
    until = time.monotonic() + timeout
    with contextlib.ExitStack() as opened:
        connection = opened.enter_context(_connected(host, port, timeout))
        if tunnel and _answer(connection, tunnel, until).status // 100 != 2:
            raise ConnectionError("the proxy makes no tunnel")
        if address.scheme == "https":
            context = ssl.create_default_context()
            context.options |= ssl.OP_NO_TICKET
            secure = context.wrap_socket(_in_time(connection, until), server_hostname=address.host)
            connection = opened.enter_context(secure)
            certificate: Any = secure.getpeercert()
            names = {value.lower() for _, value in certificate.get("subjectAltName", ())}
            if names & {not_of, f"*.{not_of.partition('.')[2]}"}:
                raise CampaignRefused(
                    "the relay has a certificate for the collector's name, so it is the collector's: "
                    "nothing was sent; choose a relay that somebody else runs"
                )
        if not ready(str(connection.getsockname()[0]), str(connection.getpeername()[0])):
            raise ConnectionError("the network has changed")
        head = (
            f"POST {address.path} HTTP/1.1",
            f"Host: {address.netloc}",
            f"User-Agent: {USER_AGENT}",
            f"Content-Type: {media_type}",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        yield _answer(connection, _head(head) + body, until)


def post(
    address: Address, body: bytes, ready: Ready, *, timeout: float = TIMEOUT, until: float = math.inf
) -> Reply:
    """Send a report once, over a connection of its own, within the timeout and before `until` (monotonic)."""
    try:
        with _posted(address, "application/octet-stream", body, ready, min(timeout, _left(until))) as answer:
            return _reply(answer.status, answer.headers.get("retry-after"))
    except (OSError, HTTPException):
        return Reply(None)


def _reply(status: int | None, retry_after: str | None) -> Reply:
    """A reply, with its Retry-After in seconds. A date is ignored."""
    given = retry_after or ""
    return Reply(status, float(given) if given.isascii() and given.isdigit() and len(given) < 8 else None)


def sealed_post(
    campaign: str,
    gateway: Gateway,
    *,
    collector: Address,
    leaves: Callable[[int], int] | None = None,
    timeout: float = TIMEOUT,
    until: float = math.inf,
) -> Post:
    """How one report of a campaign is sent through a relay, whose address is given instead of the collector's.

    With `leaves`, the relay holds reports until the time that this gives for their round, and acknowledges them
    itself.

    If the gateway does not have the key that the report was sealed with, the next attempt uses the next listed key.
    That is not remembered for another report, which would otherwise be recognised by its key.
    """
    from untrackable.oblivious import sealing  # It needs an extra, and says so before a report is made.

    refused = 0

    def post_sealed(relay: Address, body: bytes, ready: Ready) -> Reply:
        nonlocal refused
        keys, media_type = gateway.keys_from(round_of(body)), sealing.REQUEST_MEDIA_TYPE
        key = KeyConfig.from_bytes(keys[min(refused, len(keys) - 1)].config)
        sealed = sealing.seal_request(key, reports_request(campaign, body))
        if leaves is not None:
            relay = replace(relay, path=f"{relay.path.rstrip('/')}/releases/{leaves(round_of(body))}")
        try:
            left = min(timeout, _left(until))
            with _posted(relay, media_type, sealed.body, ready, left, not_of=collector.host) as answer:
                content = answer.read(_LARGEST_ANSWER)
        except (OSError, HTTPException, ValueError):  # The length of a chunk may be no number.
            return Reply(None)
        media_type, retry_after = answer.headers.get_content_type(), answer.headers.get("retry-after")
        if leaves is not None:
            if answer.status == _HELD:
                return Reply(_HELD)
        elif media_type == sealing.ANSWER_MEDIA_TYPE:
            try:
                opened = BinaryResponse.from_bytes(sealed.open_answer(content))
            except SealingError:  # It is not the collector's answer to this request.
                return Reply(None)
            return _reply(opened.status, dict(opened.fields).get(b"retry-after", b"").decode("latin-1"))
        elif media_type == "application/problem+json":
            with contextlib.suppress(ValueError):
                problem = strict_json.parse(content)
                # A relay could claim this, too. Nothing is lost by it: every listed key is the gateway's.
                refused += isinstance(problem, dict) and problem.get("type") == UNKNOWN_KEY
        # The relay may ask for a delay if it is busy. Anything else that it says by itself is ignored.
        return _reply(None, retry_after if answer.status in _ASKED_TO_RETRY else None)

    return post_sealed


def through_relay(
    campaign: Campaign, relays: Sequence[str], collector: Address, *, until: float = math.inf
) -> tuple[Address, Post]:
    """The address of the campaign's relay, or of the first that may be used, and how reports are sent to it.

    `CampaignRefused` if there is none: a report that relies on a crowd is never sent directly.
    """
    held, leaves = campaign.relay, None if campaign.relay is None else campaign.leaves
    for relay in relays:
        if campaign.gateway is not None and (held is None or relay == held.address):
            with contextlib.suppress(ValueError):  # It is the collector.
                address = Address.of_relay(relay, collector)
                return address, sealed_post(
                    campaign.id, campaign.gateway, collector=collector, leaves=leaves, until=until
                )
    why = (
        "names no relay, or none but the collector itself. Name one that somebody else runs"
        if held is None
        else f"does not name its relay {held.address}, or that is the collector itself. If you trust it, name it"
    )
    raise CampaignRefused(
        f"this campaign relies on a crowd, and nothing is sent, because your policy {why}: `untrackable policy set "
        "--relay https://…`"
    )
