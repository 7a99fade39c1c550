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
import secrets
import socket
import ssl
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

from untrackable import checks, strict_json
from untrackable.client.policy import Policy
from untrackable.errors import CampaignRefused, FolderBusy, SealingError
from untrackable.oblivious.binary_http import BinaryResponse, reports_request
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol.campaign import Campaign, check_id
from untrackable.protocol.wire import round_of
from untrackable.web_address import WebAddress, is_host, is_this_machine

USER_AGENT = "untrackable"
TIMEOUT = 60.0
"""The time limit in seconds for an attempt, from connecting to the last byte of the answer's head."""
WINDOW = 300.0
"""Further attempts may follow within this many seconds after the first one."""
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0
_FINAL = 200
_LATER = (408, 425, 429)
_HELD = 202
"""What a relay that holds reports answers."""

UNKNOWN_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""The problem type of a gateway that does not have the key (RFC 9458, section 5.3)."""
_LARGEST_ANSWER = 1 << 17
"""The most bytes of an answer that are received, with everything before it."""
_LARGEST_CONTENT = 1 << 14
_ASKED_TO_RETRY = (429, 503)

_ROUTES, _NEIGHBOURS = Path("/proc/net/route"), Path("/proc/net/arp")
_UP_BY_A_ROUTER = 0x3
_ELSEWHERE = (("203.0.113.1", 9), ("2001:db8::1", 9))
"""Addresses for documentation, which belong to nobody. The route to them is the default route."""


class Outcome(StrEnum):
    """The result of sending."""

    NOTHING = "nothing to send"
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
    def accepted(self) -> bool:
        """Whether the report is stored."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def later(self) -> bool:
        """Whether a later attempt may help. A refusal or a redirection is final."""
        return self.status is None or self.status in _LATER or self.status >= 500


class Proxy(NamedTuple):
    """A proxy that is asked for a tunnel over plain HTTP. The data in the tunnel is under TLS."""

    host: str
    port: int
    credentials: str | None


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

    def proxy(self) -> Proxy | None:
        """The proxy that the environment names (https_proxy, all_proxy, no_proxy). There is none for http.

        Errors name the variable only, because it may hold a password.
        """
        named = {} if self.scheme == "http" else urllib.request.getproxies()
        variable = "https" if named.get("https") else "all"
        if not named.get(variable) or urllib.request.proxy_bypass(self.netloc):
            return None
        scheme, _, rest = named[variable].rpartition("://")
        pair = None
        try:
            parts = urllib.parse.urlsplit(f"http://{rest}")
            host, port = parts.hostname or "", parts.port
            if parts.username is not None:
                pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        except ValueError:
            host, port = "", 0
        if scheme.lower() not in ("", "http") or not is_host(host) or port == 0:
            raise ValueError(
                f"{variable}_proxy (in the environment) must be a proxy such as http://proxy.example:3128; "
                "other kinds (https, socks) are not supported, and nothing is sent without the proxy"
            )
        return Proxy(host, port or 80, None if pair is None else b64encode(pair.encode()).decode())

    def reached_by(self) -> tuple[str, int]:
        """The host and port to connect to: the server's or a proxy's."""
        return (self.proxy() or (self.host, self.port))[:2]


Ready = Callable[[str, str], bool]
"""A function that says whether a report may go out now, given the local and the remote address."""
Post = Callable[[Address, bytes, Ready], Reply]
"""A function that sends a report once. It asks `Ready` right before the report goes out."""
Look = Callable[[str, int], str]
"""A function that describes the network that this machine is attached to; "" if a host cannot be reached."""
Attempt = Callable[[bytes | None], AbstractContextManager[bytes | None]]
"""An attempt, given the report that was tried before: it yields the report that may be sent now, or None."""


def deliver(
    attempt: Attempt,
    address: Address,
    *,
    post: Post,
    look: Look,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> tuple[Outcome, bytes | None]:
    """Try until the server accepts or refuses the report, the time is up, or the network has changed.

    The result is the outcome and the report that was tried, or None.

    If the same bytes went out from two networks, an observer could link them. So once they may have gone out, they
    are sent again only by this process, from the same local address, and while the network looks the same.
    """
    (host, port), began, body = address.reached_by(), clock(), None
    used: tuple[str, str] | None = None

    def ready(local: str, peer: str) -> bool:
        nonlocal used
        here = (local, look(peer, port))
        if used is None and here[1]:
            used = here
        return here == used

    for tries in range(TRIES):
        if body is not None and abs(clock() - began) > WINDOW:
            break  # The machine slept meanwhile.
        network = look(host, port)
        if body is None and not network:
            return Outcome.OFFLINE, None
        if used is not None and network != used[1]:
            break
        try:
            with attempt(body) as given:
                if given is not None:
                    body, reply = given, post(address, given, ready)
        except FolderBusy:  # Another process is sending.
            given = None
        if given is None:
            return (Outcome.NOTHING if body is None else Outcome.GIVEN_UP), body
        if not reply.later:
            return (Outcome.ACCEPTED if reply.accepted else Outcome.REFUSED), body
        # Twice as long each time, times a random number between ½ and 1½.
        usual = min(LONGEST_WAIT, FIRST_WAIT * 2.0**tries) * (0.5 + secrets.randbits(53) / (1 << 53))
        wait = max(usual, reply.retry_after or 0.0)
        if tries + 1 == TRIES or abs(clock() - began) + wait > WINDOW:
            break
        sleep(wait)
    return Outcome.GIVEN_UP, body


def look(host: str, port: int) -> str:
    """The local addresses of the default routes, and the hardware addresses of the routers that are known.

    Two networks may use the same private addresses, but the hardware addresses of their routers differ. Nothing of
    this is ever sent or written.
    """
    if _local(host, port) is None:
        return ""
    return " ".join([*(_local(*elsewhere) or "-" for elsewhere in _ELSEWHERE), *_routers()])


def _local(host: str, port: int) -> str | None:
    """The address that connections to a host would come from."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
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


class Connection:
    """A new connection, which is closed at the end. `seconds` is the time limit for everything on it."""

    def __init__(self, host: str, port: int, *, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for tried, (*_, address) in enumerate(addresses):
            with contextlib.suppress(OSError):
                # The time is divided, so that an address that does not answer leaves some for the others.
                share = self._remaining() / (len(addresses) - tried)
                self._socket = socket.create_connection((str(address[0]), port), share)
                return
        raise ConnectionError("no address answers")

    def close(self) -> None:
        self._socket.close()

    def secure(self, host: str) -> None:
        """Use verified TLS from here on. The context is new, so that no session is resumed."""
        context = ssl.create_default_context()
        context.options |= ssl.OP_NO_TICKET
        self._socket = context.wrap_socket(self.in_time(), server_hostname=host)

    def certified_for(self, host: str) -> bool:
        """Whether the certificate of the other side is also valid for this host."""
        certificate: Any = self._socket.getpeercert() if isinstance(self._socket, ssl.SSLSocket) else None
        names = [value.lower() for _, value in (certificate or {}).get("subjectAltName", ())]
        return any(host == name or name == f"*.{host.partition('.')[2]}" for name in names)

    def addresses(self) -> tuple[str, str]:
        """The numeric addresses of this side and of the other side."""
        return str(self._socket.getsockname()[0]), str(self._socket.getpeername()[0])

    def ask(self, request: bytes) -> HTTPResponse:
        """Send a request and read the head of the answer. Interim answers (1xx) are skipped.

        Once there is a final status it counts, even if the lines after it do not come.
        """
        self.in_time().sendall(request)
        answer = HTTPResponse(_Incoming(self), method="POST")  # type: ignore[arg-type]
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

    def in_time(self) -> socket.socket:
        """The connection, which waits no longer than there is time left."""
        self._socket.settimeout(self._remaining())
        return self._socket

    def _remaining(self) -> float:
        """The seconds that are left. It is an error if there are none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("out of time")
        return left


class _Incoming(io.RawIOBase):
    """The data of a connection, for the standard library to read."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._left = connection, _LARGEST_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._connection.in_time().recv_into(buffer)
        self._left -= taken
        if self._left < 0:
            raise ConnectionError("too long")
        return taken

    def makefile(self, _: str) -> io.BufferedReader:
        """The file that answers are read from."""
        return io.BufferedReader(self)


def post(address: Address, body: bytes, ready: Ready, *, timeout: float = TIMEOUT) -> Reply:
    """Send a report once, over a connection of its own."""
    try:
        with _connected(address, timeout) as connection:
            if not ready(*connection.addresses()):
                return Reply(None)
            answer = connection.ask(_head(address, "application/octet-stream", len(body)) + body)
            return Reply(answer.status, _retry_seconds(answer.headers.get("retry-after")))
    except (OSError, HTTPException):
        return Reply(None)


@contextlib.contextmanager
def _connected(address: Address, timeout: float) -> Iterator[Connection]:
    """A new connection, through the proxy of the environment, if any. For https it is under verified TLS."""
    proxy = address.proxy()
    seconds = checks.positive("timeout", timeout)
    with contextlib.closing(Connection(*address.reached_by(), seconds=seconds)) as connection:
        if proxy is not None:
            to = f"{f'[{address.host}]' if ':' in address.host else address.host}:{address.port}"
            lines = [f"CONNECT {to} HTTP/1.1", f"Host: {to}"]
            if proxy.credentials is not None:
                lines.append(f"Proxy-Authorization: Basic {proxy.credentials}")
            if connection.ask("\r\n".join([*lines, "", ""]).encode()).status // 100 != 2:
                raise ConnectionError("the proxy makes no tunnel")
        if address.scheme == "https":
            connection.secure(address.host)
        yield connection


def _head(address: Address, media_type: str, length: int) -> bytes:
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


def _retry_seconds(given: str | None) -> float | None:
    """Retry-After in seconds. A date is ignored."""
    return float(given) if given is not None and given.isascii() and given.isdigit() and len(given) < 8 else None


class SealedPost:
    """The way of a campaign's reports through a relay. It is called as `post` is, with a relay's address.

    With `leaves`, the relay holds reports until the time that this gives for their round, and acknowledges them
    itself.

    `keys_from` gives the key configurations for a round: its own, and then those that the campaign lists after it.
    If the gateway does not have the key that a report was sealed with, the next attempt uses the next listed key.
    That is remembered for this report only, because later reports would otherwise be recognised by their key.
    """

    def __init__(
        self,
        campaign: str,
        keys_from: Callable[[int], Sequence[bytes]],
        *,
        collector: Address,
        leaves: Callable[[int], int] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        from untrackable.oblivious import sealing  # It needs an extra, and says so before a report is made.

        self._sealing: Any = sealing
        self._campaign = check_id(campaign)
        self._keys_from, self._collector, self._timeout = keys_from, collector, timeout
        self._leaves = leaves
        self._refused: tuple[bytes, int] = (b"", 0)
        """The last report for which a key was refused, and the number of its keys that were."""

    def __call__(self, relay: Address, body: bytes, ready: Ready) -> Reply:
        """Seal a report and send it to the relay once, over a connection of its own."""
        refusals = self._refused[1] if self._refused[0] == body else 0
        keys = self._keys_from(round_of(body))
        key = KeyConfig.from_bytes(keys[min(refusals, len(keys) - 1)])
        sealed = self._sealing.seal_request(key, reports_request(self._campaign, body))
        if self._leaves is not None:
            relay = replace(relay, path=f"{relay.path}/releases/{self._leaves(round_of(body))}")
        try:
            with _connected(relay, self._timeout) as connection:
                if connection.certified_for(self._collector.host):
                    raise CampaignRefused(
                        "the relay has a certificate for the collector's name, so it is the collector's: "
                        "nothing was sent; choose a relay that somebody else runs"
                    )
                if not ready(*connection.addresses()):
                    return Reply(None)
                head = _head(relay, self._sealing.REQUEST_MEDIA_TYPE, len(sealed.body))
                answer = connection.ask(head + sealed.body)
                content = answer.read(_LARGEST_CONTENT)
        except (OSError, HTTPException, ValueError):  # The length of a chunk may be no number.
            return Reply(None)
        media_type = answer.headers.get_content_type()
        if self._leaves is None and media_type == self._sealing.ANSWER_MEDIA_TYPE:
            return _opened(sealed, content)
        if self._leaves is not None:
            if answer.status == _HELD:
                return Reply(_HELD)
        # A relay could claim this, too. Nothing is lost by believing it, because every listed key is the gateway's.
        elif media_type == "application/problem+json" and _is_unknown_key(content):
            self._refused = (body, refusals + 1)
        # The relay may ask for a delay if it is busy. Anything else that it says by itself is ignored.
        busy = answer.status in _ASKED_TO_RETRY
        return Reply(None, _retry_seconds(answer.headers.get("retry-after")) if busy else None)


def _opened(sealed: Any, content: bytes) -> Reply:
    """The collector's reply, or none if this is not its answer to this request."""
    try:
        answer = BinaryResponse.from_bytes(sealed.open_answer(content))
    except SealingError:
        return Reply(None)
    given = dict(answer.fields).get(b"retry-after")
    return Reply(answer.status, _retry_seconds(None if given is None else given.decode("latin-1")))


def _is_unknown_key(content: bytes) -> bool:
    """Whether this is the problem of a gateway that does not have the key."""
    try:
        problem = strict_json.parse(content)
    except ValueError:
        return False
    return isinstance(problem, dict) and problem.get("type") == UNKNOWN_KEY


def through_relay(campaign: Campaign, policy: Policy | None, collector: Address) -> tuple[Address, Post]:
    """The address of the campaign's relay, or of the first that may be used, and how reports are sent to it.

    `CampaignRefused` if there is none: a report that relies on a crowd is never sent directly.
    """
    if policy is None or campaign.gateway is None:
        raise CampaignRefused("this campaign relies on a crowd, and no policy names a relay: nothing is sent")
    policy.check_relayed(campaign)
    gateway, reasons = campaign.gateway, []
    for relay in policy.relays if campaign.relay is None else (campaign.relay.address,):
        try:
            address = Address.of_relay(relay, collector)
        except ValueError as error:
            reasons.append(f"{relay}: {error}")
        else:
            return address, SealedPost(
                campaign.id,
                lambda round: [key.config for key in gateway.keys_from(round)],
                collector=collector,
                leaves=None if campaign.relay is None else campaign.leaves,
            )
    raise CampaignRefused(
        f"nothing is sent, because no relay of your policy can be used ({'; '.join(reasons)}). Name one that "
        "somebody else runs: `untrackable policy set --relay https://…`"
    )
