"""The relay as a Starlette application. It passes on nothing about senders, and keeps nothing about them.

**Two ways.** A report for a release is held on disk until then (`relay/holding.py`). Any other is passed on at
once, and its sender gets the gateway's sealed answer.

**Counts.** The relay limits what one address may send in a table of fixed size. A place in it is a hash of the
address with a random key, which is forgotten after a minute together with all counts. So the table tells nothing
about earlier minutes, and without the key nothing about addresses. Addresses that share a place share its limit.
That is rare among 65,536 places.

**Keys.** The key configurations of a gateway are handed on as the same bytes to everybody.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import secrets
import socket
import time
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import ClassVar

from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from untrackable import checks
from untrackable.relay.gateway import GatewayAddress, GatewayAnswer, GatewayConnections, RelayProblem
from untrackable.relay.held_reports import HeldReports, Release
from untrackable.relay.holding import Holding, HoldingSettings
from untrackable.serving import server
from untrackable.serving.clock_jumps import ClockJumpDetector
from untrackable.serving.problems import MEDIA_TYPE as PROBLEM
from untrackable.serving.problems import BrowserAccess, ErrorGuard, Refused, common_problem, problem_response
from untrackable.serving.small_posts import AnswerSmall, SmallPost, SmallPostProtocol, answer_head

_log = logging.getLogger("untrackable.relay")


SEALED_LENGTH = 1079
"""The number of bytes of every sealed report. A relay does not load the package that seals, which has it too."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_CLIENT_SECONDS = 55.0
"""Clients wait for a minute in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySettings:
    """Gateways, limits and delays. Times are in seconds, and sizes are in bytes."""

    gateways: tuple[GatewayAddress, ...]
    holding: HoldingSettings = field(default_factory=HoldingSettings)
    """The bounds of releases, if this relay holds reports."""
    per_minute: int = 60
    """The largest number of requests from one address in a minute."""
    sender_header: str | None = None
    """The header in which a proxy in front of the relay gives the sender's address. None if there is no proxy."""
    waiting: int = 2000
    """The largest number of requests that wait for the disk or for a gateway."""
    gateway_connections: int = 16
    """The largest number of connections to one gateway."""
    gateway_seconds: float = 30.0
    """How long a gateway may take to answer."""
    connections: int = 3000
    """The largest number of open connections. Further senders are asked to retry later."""
    request_seconds: float = 20.0
    """How long a request may take to arrive, and how long its sender may take to read the answer."""
    largest_head: int = 8 << 10
    """The largest address of a request, and the largest total of its headers."""
    retry_after: int = 5
    """The Retry-After delay for senders that are asked to retry later."""

    def __post_init__(self) -> None:
        for name in ("per_minute", "waiting", "gateway_connections", "connections", "largest_head"):
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        for name in ("gateway_seconds", "request_seconds"):
            checks.settle(self, **{name: checks.positive(name, getattr(self, name))})
        checks.settle(self, retry_after=checks.integer("retry_after", self.retry_after, low=1))
        if self.sender_header is not None and not _HEADER.fullmatch(self.sender_header):
            raise ValueError("sender_header must be the name of a header, such as x-relay-sender")
        if not self.gateways:
            raise ValueError("gateways must name at least one gateway, such as study=https://collect.example")
        names = [gateway.name for gateway in self.gateways]
        if len(set(names)) < len(names):
            raise ValueError("gateways must have different names")
        if self.gateway_seconds > _CLIENT_SECONDS:
            raise ValueError(
                f"gateway_seconds must be at most {_CLIENT_SECONDS:g}, because clients wait for a minute; got "
                f"{self.gateway_seconds:g}"
            )

    @property
    def largest_body(self) -> int:
        """The largest body of a request."""
        return SEALED_LENGTH


def serve_relay(bound: socket.socket, settings: RelaySettings, held: HeldReports | None = None) -> None:
    """Relay until the process is told to end. `held` are the reports of a relay that holds."""
    settings = replace(settings, connections=server.affordable_connections(settings.connections))
    RelayProtocol.settings = settings
    server.run(functools.partial(_application, settings, held), bound, http=RelayProtocol)


def _application(settings: RelaySettings, held: HeldReports | None) -> Starlette:
    app = create_relay(settings, held)
    RelayProtocol.relay = app.state.relay
    return app


class RelayProtocol(SmallPostProtocol):
    """An HTTP connection of a relay. Reports on it are held without a task."""

    problems = RelayProblem
    stored = answer_head(202, (b"content-length", b"0"))
    relay: ClassVar[_Relay | None] = None
    """Holds reports that have arrived whole. Other requests are answered by the application."""

    def store_small(self, post: SmallPost, answer: AnswerSmall) -> bool:
        return self.relay is not None and self.relay.hold_small(post, self.client, answer)


_TIME = "[0-9]{1,12}"


class _ReleaseConvertor(IntegerConvertor):
    """A time of at most twelve digits in an address. Python refuses to convert thousands of digits."""

    regex = _TIME


register_url_convertor("release", _ReleaseConvertor())


def create_relay(
    settings: RelaySettings, held: HeldReports | None = None, clock: Callable[[], float] | None = None
) -> Starlette:
    """Make the application of a relay. It holds reports if `held` has those that it holds already.

    Without a `clock` it is the machine's, which is doubted for a while after it has jumped.
    """
    relay = _Relay(settings, held, clock)
    one = "/gateways/{gateway}"

    def refusal(error: Exception, scope: Scope | None = None) -> Response:
        known = (error.problem, error.detail) if isinstance(error, Refused) else None
        problem, detail = known or common_problem(RelayProblem, error, "relay")
        answer = problem_response(problem, detail, retry_after=settings.retry_after)
        if isinstance(error, HTTPException):
            answer.headers.update(error.headers or {})
        return answer

    def refused(request: Request, error: Exception) -> Response:
        return refusal(error)

    app = Starlette(
        routes=[
            Route(one, relay.relay, methods=["POST"]),
            Route(f"{one}/keys", relay.keys, methods=["GET"]),
            Route(f"{one}/releases/{{time:release}}", relay.hold, methods=["POST"]),
            Route(f"{one}/releases/{{time:release}}", relay.released, methods=["GET"]),
            Route("/healthz", relay.health, methods=["GET"]),
        ],
        lifespan=relay.running,
        middleware=[Middleware(_Guard, refusal=refusal), Middleware(PageAccess, refusal=refusal)],
        exception_handlers=dict.fromkeys((Refused, HTTPException), refused),
    )
    app.router.redirect_slashes = False
    app.state.relay = relay
    return app


class _Guard(ErrorGuard):
    log = _log
    ending = Refused(RelayProblem.BUSY, "the relay is shutting down")
    disconnected = ClientDisconnect


_SHARED = re.compile(f"/gateways/[^/]+(/releases/{_TIME})?")
"""The addresses for pages: those that take sealed reports."""


class PageAccess(BrowserAccess):
    """Lets web pages of every origin send sealed reports, and nothing else."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Exception], Response]) -> None:
        refused = Refused(RelayProblem.MALFORMED_REQUEST, "pages may send sealed reports, and no other request")
        super().__init__(app, addresses=_SHARED, origins=["*"], methods=["POST"], refused=lambda: refusal(refused))


_RELEASE = re.compile(f"/gateways/([^/]+)/releases/({_TIME})")
REQUEST, ANSWER = "message/ohttp-req", "message/ohttp-res"
_LARGEST_ANSWER = 4 << 10
_NO_STORE = {"cache-control": "no-store"}


class _Relay:
    """The endpoints."""

    def __init__(
        self, settings: RelaySettings, held: HeldReports | None, clock: Callable[[], float] | None
    ) -> None:
        self._settings = settings
        self._counts = SenderCounts(settings.per_minute)
        self._waiting = 0
        name = settings.sender_header
        self._sender_header = None if name is None else re.compile(rb"(?im)^%s:(.*)\r$" % re.escape(name.encode()))
        self._held, self._clock = held, clock or time.time
        self._trusted = clock or ClockJumpDetector(time.time, log=_log, work="The next release").trusted_time
        self.gateways: dict[str, _Gateway] = {}
        self.holding: Holding | None = None

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """Forward within the block."""
        self.gateways = {address.name: _Gateway(address, self._settings) for address in self._settings.gateways}
        try:
            async with AsyncExitStack() as stack:
                if self._held is not None:
                    self.holding = Holding(
                        self._settings.holding, self._held, self.gateways, self._pass_on, self._clock, self._trusted
                    )
                    await stack.enter_async_context(self.holding.running())
                yield
        finally:
            for gateway in self.gateways.values():
                gateway.close()

    async def _pass_on(self, release: Release, body: bytes) -> bool:
        return await self.gateways[release.gateway].takes(body)

    async def relay(self, request: Request) -> Response:
        """Pass a sealed report on, and its answer back. Nothing but bodies and media types is passed."""
        gateway = self._gateway(request)
        async with self._admitted(request) as body:
            answer = await gateway.forward(body)
        return Response(answer.content, answer.status, _NO_STORE, answer.media_type.decode("latin-1"))

    async def hold(self, request: Request) -> Response:
        """Hold a sealed report for a release. Everybody gets the same answer, once the report is on disk."""
        holding, release = self._release(request)
        async with self._admitted(request) as body:
            pass
        await holding.hold(release, body)
        return Response(None, 202, _NO_STORE)

    def hold_small(self, post: SmallPost, client: tuple[str, int] | None, answer: AnswerSmall) -> bool:
        """Queue a report that has arrived whole. False if this is anything else, or refused before it is read."""
        release = _RELEASE.fullmatch(post.path)
        if release is None or self.holding is None or release[1] not in self.gateways:
            return False
        if post.media_type != REQUEST.encode() or len(post.body) != SEALED_LENGTH or self._full():
            return False
        if not self._counts.allows(self._address(post.head, client)):
            return False
        try:
            self.holding.hold_small(Release(release[1], int(release[2])), post.body, answer)
        except Refused as refused:
            asyncio.get_running_loop().call_soon(answer, refused)
        return True

    async def released(self, request: Request) -> Response:
        """How many reports a release had that has begun, so that everybody can compare."""
        holding, release = self._release(request)
        return JSONResponse(holding.released(release)._asdict(), headers=_NO_STORE)

    async def keys(self, request: Request) -> Response:
        """The gateway's key configurations, the same for everybody."""
        return Response(await self._gateway(request).keys.get(), 200, _NO_STORE, KEYS_MEDIA_TYPE)

    async def health(self, request: Request) -> Response:
        """Answer "ok" if the process works, and still stores reports if it holds any."""
        if self.holding is not None:
            self.holding.check_thread()
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    @asynccontextmanager
    async def _admitted(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, if its sender may send it and not too many requests wait."""
        head = b"".join(b"%s: %s\r\n" % pair for pair in request.headers.raw)
        if not self._counts.allows(self._address(head, request.client)):
            raise Refused(RelayProblem.TOO_MANY, f"send at most {self._settings.per_minute} requests a minute")
        body = await _sealed_body(request)
        if self._full():
            raise Refused(RelayProblem.BUSY, "too many requests wait")
        self._waiting += 1
        try:
            yield body
        finally:
            self._waiting -= 1

    def _full(self) -> bool:
        unanswered = 0 if self.holding is None else self.holding.unanswered
        return self._waiting + unanswered >= self._settings.waiting

    def _release(self, request: Request) -> tuple[Holding, Release]:
        self._gateway(request)
        if self.holding is None:
            raise Refused(RelayProblem.NOT_FOUND, "this relay holds no reports")
        return self.holding, Release(request.path_params["gateway"], request.path_params["time"])

    def _gateway(self, request: Request) -> _Gateway:
        gateway = self.gateways.get(request.path_params["gateway"])
        if gateway is None:
            raise Refused(RelayProblem.NOT_FOUND, "this relay forwards to no gateway of this name")
        return gateway

    def _address(self, head: bytes, client: tuple[str, int] | None) -> str:
        """The sender's address, which is used to count and for nothing else.

        A proxy adds it as the last one, so addresses before it are of the sender's own making.
        """
        found = () if self._sender_header is None else self._sender_header.findall(head)
        address = b",".join(found).rpartition(b",")[2].strip().decode("latin-1")
        return address or ("" if client is None else client[0])


async def _sealed_body(request: Request) -> bytes:
    """The body of a request, which has exactly the length of a sealed report."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != REQUEST:
        raise Refused(RelayProblem.MEDIA_TYPE, f"the body must have the media type {REQUEST}")
    if request.headers.get("content-length", str(SEALED_LENGTH)) != str(SEALED_LENGTH):
        raise _other_length()
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > SEALED_LENGTH:
            raise _other_length()
    if len(body) != SEALED_LENGTH:
        raise _other_length()
    return body


def _other_length() -> Refused:
    return Refused(RelayProblem.OTHER_LENGTH, f"a sealed report has {SEALED_LENGTH} bytes")


class _Gateway:
    """One gateway: the connections to it, and its keys. Releases have connections of their own."""

    def __init__(self, address: GatewayAddress, settings: RelaySettings) -> None:
        self._connections, self._releasing = (
            GatewayConnections(address, most=settings.gateway_connections, seconds=settings.gateway_seconds)
            for _ in range(2)
        )
        self.keys = PublishedKeys(self._connections)

    def close(self) -> None:
        """Close the idle connections."""
        self._connections.close()
        self._releasing.close()

    async def forward(self, body: bytes) -> GatewayAnswer:
        """The gateway's answer to a sealed report: sealed, or a problem."""
        answer = await self._connections.post(body, REQUEST, _LARGEST_ANSWER)
        problem = 400 <= answer.status <= 599 and answer.media_type == PROBLEM.encode()
        if not _is_sealed(answer) and not problem:
            raise Refused(RelayProblem.GATEWAY_ANSWER, "the gateway's answer is neither sealed nor a problem")
        return answer

    async def takes(self, body: bytes) -> bool:
        """Pass a held report on. True if the gateway answers that it has read it, or that it can never open it.

        What became of the report is in the sealed answer, for its sender alone. A gateway that could not store it
        answers in the clear, with another status.
        """
        try:
            answer = await self._releasing.post(body, REQUEST, _LARGEST_ANSWER)
        except Refused:
            return False
        return _is_sealed(answer) or (answer.status == 400 and answer.media_type == PROBLEM.encode())


def _is_sealed(answer: GatewayAnswer) -> bool:
    return answer.status == 200 and answer.media_type == ANSWER.encode()


KEYS_MEDIA_TYPE = "application/ohttp-keys"
_LARGEST_KEYS = 16 << 10
_FRESH_SECONDS = 300.0
"""The time for which keys are handed on without asking the gateway again."""
_FAILED_SECONDS = 5.0
"""The time after a failure in which the gateway is not asked again."""


class PublishedKeys:
    """The last key configurations that a gateway published. However many ask, the gateway is asked now and then."""

    def __init__(self, connections: GatewayConnections, clock: Callable[[], float] = time.monotonic) -> None:
        self._connections, self._clock = connections, clock
        self._asking = asyncio.Lock()
        self._keys: bytes | Refused = b""
        self._until = clock()

    async def get(self) -> bytes:
        """The key configurations, as `application/ohttp-keys`."""
        async with self._asking:
            if self._clock() >= self._until:
                await self._ask()
        if isinstance(self._keys, Refused):
            raise Refused(self._keys.problem, self._keys.detail)
        return self._keys

    async def _ask(self) -> None:
        try:
            answer = await self._connections.get(_LARGEST_KEYS)
            if answer.status != 200 or answer.media_type != KEYS_MEDIA_TYPE.encode() or not answer.content:
                raise Refused(RelayProblem.GATEWAY_ANSWER, "the gateway does not publish its keys")
        except Refused as error:
            self._keys, self._until = error, self._clock() + _FAILED_SECONDS
        else:
            self._keys, self._until = answer.content, self._clock() + _FRESH_SECONDS


_PLACES = 1 << 16
_SECONDS = 60.0
_KEY_BYTES = 16
_NETWORK_BITS = 64
_MAPPED = bytes(10) + b"\xff\xff"
"""What an IPv4 address begins with that is written as one of IPv6."""


class SenderCounts:
    """The number of requests from each address in the present minute."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._renew()

    def allows(self, address: str) -> bool:
        """Count a request, and say whether the address may send it."""
        if not 0 <= self._clock() - self._since < _SECONDS:
            self._renew()
        place = int.from_bytes(blake2b(sender(address), digest_size=2, key=self._key).digest(), "little")
        if self._counts[place] >= self._per_minute:
            return False
        self._counts[place] += 1
        return True

    def _renew(self) -> None:
        """Forget all counts and the key."""
        self._since, self._key = self._clock(), secrets.token_bytes(_KEY_BYTES)
        self._counts = array("L", bytes(array("L").itemsize * _PLACES))


def sender(address: str) -> bytes:
    """One sender: an IPv4 address, or the network of an IPv6 address, all of which one household has."""
    address = address.partition("%")[0]
    try:
        packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except (OSError, ValueError):
        return address.encode()
    return packed[len(_MAPPED) :] if packed.startswith(_MAPPED) else packed[: _NETWORK_BITS // 8]
