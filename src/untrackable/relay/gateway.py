"""The gateways that a relay forwards to, and the connections to them. It forwards to nothing else.

Connections are kept open, bounded in number, time and size, over verified TLS. They are written for this alone: a
request through `httpx` takes forty times the processor time (1 ms), which would be most of the relay's work.
"""

import asyncio
import contextlib
import ipaddress
import re
import socket
import ssl
import time
from dataclasses import dataclass

import httptools

from untrackable.serving.problems import ProblemType, Refused
from untrackable.web_address import WebAddress

WELL_KNOWN = "/.well-known/ohttp-gateway"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """A gateway: the name that the relay has for it, and where it is."""

    name: str
    server: WebAddress

    @staticmethod
    def parse(given: str) -> "GatewayAddress":
        """The gateway in a text such as `study=https://collect.example`."""
        name, equals, url = given.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ValueError(
                "gateway must be a name of small letters, digits and dashes, and an address: "
                "study=https://collect.example"
            )
        return GatewayAddress(name, WebAddress.parse(f"gateway {name}", url))

    @property
    def path(self) -> str:
        """The path at which the gateway takes sealed reports, and has its keys."""
        return f"{self.server.path}{WELL_KNOWN}"


def check_not_itself(gateways: tuple[GatewayAddress, ...], bound: socket.socket) -> None:
    """Refuse a gateway that is the relay itself, which listens at a socket."""
    host, port = bound.getsockname()[:2]
    for gateway in gateways:
        if gateway.server.port == port and any(_is_here(address, host) for address in _addresses(gateway.server)):
            raise ValueError(f"gateway {gateway.name} is this relay itself; name the collector's address")


def _addresses(server: WebAddress) -> set[str]:
    with contextlib.suppress(OSError, UnicodeError):
        return {str(info[4][0]) for info in socket.getaddrinfo(server.host, server.port)}
    return set()  # The name may be known later, when the first request comes.


def _is_here(address: str, bound: str) -> bool:
    """Whether connections to an address come to a socket that is bound to another one, or to all."""
    if not ipaddress.ip_address(bound).is_unspecified:
        return address == bound
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as trial, contextlib.suppress(OSError):
        trial.bind((address, 0))  # That works for an address of this machine only.
        return True
    return False


class RelayProblem(ProblemType):
    """A type of problem: its name, HTTP status and title."""

    MALFORMED_REQUEST = ("malformed-request", 400, "The request does not follow the documentation")
    OTHER_LENGTH = ("other-length", 400, "The body does not have the length of a sealed report")
    OTHER_RELEASE = ("other-release", 400, "The relay has no release at this time")
    NOT_FOUND = ("not-found", 404, "There is nothing at this address")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This address does not allow the method")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time")
    RELEASED = ("released", 410, "The release has begun and takes no more reports")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    MEDIA_TYPE = ("media-type", 415, "The body has the wrong media type")
    TOO_MANY = ("too-many", 429, "Too many requests came from one address")
    HEAD_TOO_LARGE = ("head-too-large", 431, "The address or the headers are too large")
    INTERNAL = ("internal", 500, "The relay has a fault")
    GATEWAY_UNREACHABLE = ("gateway-unreachable", 502, "The gateway cannot be reached")
    GATEWAY_ANSWER = ("gateway-answer", 502, "The gateway's answer cannot be passed on")
    BUSY = ("busy", 503, "The relay is busy; try again later")
    NOT_STORED = ("not-stored", 503, "The relay cannot store the report; try again later")
    GATEWAY_TOO_SLOW = ("gateway-too-slow", 504, "The gateway did not answer in time")
    FULL = ("full", 507, "The relay has no room for the report; try again later")


_IDLE_SECONDS = 4.0
"""An idle connection is not used again after this time. Many servers close it after 5 seconds."""
_LARGEST_HEAD = 16 << 10
_PIECE = 1 << 14
_FINAL = 200


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """A gateway's answer: its status, its media type, and its content. The relay takes nothing else from it."""

    status: int
    media_type: bytes
    content: bytes


class GatewayConnections:
    """The connections to one gateway. Requests of all senders share them, one after the other."""

    def __init__(self, gateway: GatewayAddress, *, most: int, seconds: float) -> None:
        self._gateway, self._seconds = gateway, seconds
        self._turns = asyncio.Semaphore(most)
        self._idle: list[_Connection] = []
        self._tls = ssl.create_default_context() if gateway.server.scheme == "https" else None

    async def post(self, body: bytes, media_type: str, largest: int) -> GatewayAnswer:
        """Post a body to the gateway. The answer has at most `largest` bytes."""
        head = f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
        return await self._answer(self._request("POST", head) + body, largest)

    async def get(self, largest: int) -> GatewayAnswer:
        """Get what the gateway publishes. The answer has at most `largest` bytes."""
        return await self._answer(self._request("GET", ""), largest)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, headers: str) -> bytes:
        gateway = self._gateway
        return f"{method} {gateway.path} HTTP/1.1\r\nHost: {gateway.server.netloc}\r\n{headers}\r\n".encode()

    async def _answer(self, request: bytes, largest: int) -> GatewayAnswer:
        try:
            async with asyncio.timeout(self._seconds), self._turns:
                return await self._exchange(request, largest)
        except TimeoutError:
            raise Refused(
                RelayProblem.GATEWAY_TOO_SLOW, f"the gateway did not answer within {self._seconds:g} seconds"
            ) from None
        except (OSError, _Closed):
            raise Refused(
                RelayProblem.GATEWAY_UNREACHABLE, "there is no connection to the gateway, or it broke off"
            ) from None

    async def _exchange(self, request: bytes, largest: int) -> GatewayAnswer:
        """Use an idle connection, or a new one if the gateway has closed the idle ones meanwhile."""
        while (kept := self._kept()) is not None:
            with contextlib.suppress(_Unused):
                return await self._ask(kept, request, largest)
        try:
            return await self._ask(await self._connect(), request, largest)
        except _Unused:
            raise _Closed from None

    async def _ask(self, connection: "_Connection", request: bytes, largest: int) -> GatewayAnswer:
        reusable = False
        try:
            answer, reusable = await connection.ask(request, largest)
        finally:
            if reusable:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    def _kept(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if time.monotonic() - connection.idle_since < _IDLE_SECONDS:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "_Connection":
        server = self._gateway.server
        name = server.host if self._tls is not None else None
        return _Connection(
            *await asyncio.open_connection(
                server.host, server.port, ssl=self._tls, server_hostname=name, limit=_LARGEST_HEAD
            )
        )


class _Closed(Exception):
    """The gateway closed the connection within an answer."""


class _Unused(Exception):
    """The gateway closed the connection before an answer began."""


class _Connection:
    """One connection, on which one request at a time is answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.idle_since = 0.0

    async def ask(self, request: bytes, largest: int) -> tuple[GatewayAnswer, bool]:
        """Send a request and read its answer. Also returns whether the connection can be used again."""
        answer = _ArrivingAnswer(largest)
        try:
            self._writer.write(request)
            await self._writer.drain()
            data = await self._reader.read(_PIECE)
        except OSError:
            raise _Unused from None
        if not data:
            raise _Unused
        while True:
            answer.feed(data)
            if answer.complete:
                return answer.found(), answer.keeps_alive
            data = await self._reader.read(_PIECE)
            if not data:
                raise _Closed

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()


class _ArrivingAnswer:
    """An answer that is parsed while it arrives. httptools calls the methods whose names begin with `on_`."""

    def __init__(self, largest: int) -> None:
        self._largest, self._read = largest, 0
        self._parser = httptools.HttpResponseParser(self)
        self._status, self._media_type, self._content = 0, b"", b""
        self.complete = self.keeps_alive = False

    def feed(self, data: bytes) -> None:
        """Parse more bytes."""
        self._read += len(data)
        if self._read > _LARGEST_HEAD + 2 * self._largest:
            raise _not_passed_on("it is too large")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            raise _not_passed_on("it is not HTTP") from None
        if len(self._content) > self._largest:
            raise _not_passed_on("it is too large")

    def found(self) -> GatewayAnswer:
        """The answer once it is complete."""
        return GatewayAnswer(self._status, self._media_type, self._content)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        if name.lower() == b"content-type":
            self._media_type = value.partition(b";")[0].strip().lower()

    def on_headers_complete(self) -> None:
        """Take the status."""
        self._status = self._parser.get_status_code()

    def on_body(self, part: bytes) -> None:
        """Take a part of the content."""
        if len(self._content) <= self._largest:
            self._content += part

    def on_message_complete(self) -> None:
        """Note that the answer is complete. Interim answers (1xx) are skipped."""
        if self._status >= _FINAL:
            self.complete, self.keeps_alive = True, self._parser.should_keep_alive()


def _not_passed_on(why: str) -> Refused:
    return Refused(RelayProblem.GATEWAY_ANSWER, f"the gateway's answer is not passed on: {why}")
