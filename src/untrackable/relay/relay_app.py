"""The relay as a Starlette application. It keeps nothing, and passes on nothing about senders."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untrackable.relay.gateway_address import GatewayAddress
from untrackable.relay.gateway_connections import GatewayAnswer, GatewayConnections
from untrackable.relay.page_access import PageAccess
from untrackable.relay.published_keys import MEDIA_TYPE as KEYS
from untrackable.relay.published_keys import PublishedKeys
from untrackable.relay.relay_problems import NotRelayed, RelayProblem
from untrackable.relay.relay_settings import SEALED_LENGTH, RelaySettings
from untrackable.relay.sender_counts import SenderCounts
from untrackable.relay.waiting_room import WaitingRoom
from untrackable.serving.error_location import error_location
from untrackable.serving.problem_types import MEDIA_TYPE as PROBLEM
from untrackable.serving.problem_types import NO_SNIFFING, problem_response

REQUEST, ANSWER = "message/ohttp-req", "message/ohttp-res"
_LARGEST_ANSWER = 4 << 10
_NO_STORE = {"cache-control": "no-store"}
_log = logging.getLogger("untrackable.relay")


class _Gateway:
    """One gateway: the connections to it, the requests that wait for it, and its keys."""

    def __init__(self, address: GatewayAddress, settings: RelaySettings) -> None:
        self.connections = GatewayConnections(
            address, most=settings.gateway_connections, seconds=settings.gateway_seconds
        )
        self.keys = PublishedKeys(self.connections)
        self.room: WaitingRoom[GatewayAnswer] = WaitingRoom(
            self._forward, hold_until=settings.hold_until, hold_at_most=settings.hold_at_most
        )

    async def _forward(self, body: bytes) -> GatewayAnswer:
        answer = await self.connections.post(body, REQUEST, _LARGEST_ANSWER)
        sealed = answer.status == 200 and answer.media_type == ANSWER.encode()
        problem = 400 <= answer.status <= 599 and answer.media_type == PROBLEM.encode()
        if not sealed and not problem:
            raise NotRelayed(RelayProblem.GATEWAY_ANSWER, "the gateway's answer is neither sealed nor a problem")
        return answer


class _Relay:
    """The endpoints."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._counts = SenderCounts(settings.per_minute)
        self._waiting = 0
        self.gateways: dict[str, _Gateway] = {}

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """Forward within the block."""
        self.gateways = {found.name: _Gateway(found, self._settings) for found in self._settings.gateways}
        try:
            yield
        finally:
            for gateway in self.gateways.values():
                gateway.connections.close()

    async def relay(self, request: Request) -> Response:
        """Pass a sealed report on, and its answer back. Nothing but bodies and media types is passed."""
        gateway, address = self._gateway(request), self._address(request)
        if not self._counts.allows(address):
            raise NotRelayed(RelayProblem.TOO_MANY, f"send at most {self._settings.per_minute} requests a minute")
        body = await _sealed_body(request)
        if self._waiting >= self._settings.waiting:
            raise NotRelayed(RelayProblem.BUSY, "too many requests wait to be passed on")
        self._waiting += 1
        try:
            answer = await gateway.room.pass_on(address, body)
        finally:
            self._waiting -= 1
        return Response(answer.content, answer.status, _NO_STORE, answer.media_type.decode("latin-1"))

    async def keys(self, request: Request) -> Response:
        """The gateway's key configurations, the same for everybody."""
        return Response(await self._gateway(request).keys.get(), 200, _NO_STORE, KEYS)

    async def health(self, request: Request) -> Response:
        """Answer "ok" if the process works."""
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    def _gateway(self, request: Request) -> _Gateway:
        found = self.gateways.get(request.path_params["gateway"])
        if found is None:
            raise NotRelayed(RelayProblem.NOT_FOUND, "this relay forwards to no gateway of this name")
        return found

    def _address(self, request: Request) -> str:
        """The sender's address, which is used to count and for nothing else.

        A proxy adds it as the last one, so addresses before it are of the sender's own making.
        """
        header = self._settings.sender_header
        given = "" if header is None else ",".join(request.headers.getlist(header)).rpartition(",")[2].strip()
        if given:
            return given
        return "" if request.client is None else request.client.host


async def _sealed_body(request: Request) -> bytes:
    """The body of a request, which has exactly the length of a sealed report."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != REQUEST:
        raise NotRelayed(RelayProblem.MEDIA_TYPE, f"the body must have the media type {REQUEST}")
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


def _other_length() -> NotRelayed:
    return NotRelayed(RelayProblem.OTHER_LENGTH, f"a sealed report has {SEALED_LENGTH} bytes")


def create_relay(settings: RelaySettings) -> Starlette:
    """Make the application of a relay."""
    relay = _Relay(settings)
    one = "/gateways/{gateway}"

    def refusal(error: Exception) -> Response:
        found = problem_response(*_problem(error), retry_after=settings.retry_after)
        if isinstance(error, HTTPException):
            found.headers.update(error.headers or {})
        return found

    def refused(request: Request, error: Exception) -> Response:
        return refusal(error)

    app = Starlette(
        routes=[
            Route(one, relay.relay, methods=["POST"]),
            Route(f"{one}/keys", relay.keys, methods=["GET"]),
            Route("/healthz", relay.health, methods=["GET"]),
        ],
        lifespan=relay.running,
        middleware=[Middleware(_Guard, refusal=refusal), Middleware(PageAccess, refusal=refusal)],
        exception_handlers=dict.fromkeys((NotRelayed, HTTPException), refused),
    )
    app.router.redirect_slashes = False
    return app


def _problem(error: Exception) -> tuple[RelayProblem, str]:
    if isinstance(error, NotRelayed):
        return error.problem, error.detail
    if isinstance(error, HTTPException):
        return {
            404: (RelayProblem.NOT_FOUND, "there is nothing at this address"),
            405: (RelayProblem.METHOD_NOT_ALLOWED, "this address does not allow this method"),
        }.get(error.status_code, (RelayProblem.MALFORMED_REQUEST, "the request does not follow the documentation"))
    return RelayProblem.INTERNAL, "this is a fault of the relay; the operator finds it in the log"


class _Guard:
    """Turns every error inside into a problem. The log shows where it happened, and nothing about the sender."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Exception], Response]) -> None:
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], NO_SNIFFING]}
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # The relay ends and does not wait for this request any longer.
            if not begun:
                ending = NotRelayed(RelayProblem.BUSY, "the relay is shutting down")
                await self._refusal(ending)(scope, receive, noted)
        except Exception as error:
            _log.error("A request failed because of a fault: %s", error_location(error))
            if not begun:
                await self._refusal(error)(scope, receive, noted)
