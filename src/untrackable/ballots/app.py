"""The issuer over HTTP: it signs blinded requests of people who are entitled. It logs nothing about anybody.

    GET  /ballots/KEY    what is public: the key, who is entitled, and until when
    POST /ballots/KEY    {"blinded": "…", "enrolment": "…"} gives {"signature": "…"}, in hexadecimal

KEY is the id of the public key. `enrolment` is an invitation code, a token of an account, or empty. Each register
has one key, and an issuer may serve several registers. It can stand alone, or its addresses can be a collector's.
"""

import functools
import logging
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from untrackable import checks, strict_json
from untrackable.ballots.enrolment import Entitled, NotEntitled
from untrackable.ballots.register import AlreadyIssued, NoMoreBallots, Register
from untrackable.errors import BallotError, StoreUnavailable
from untrackable.protocol.ballots import KEY
from untrackable.serving import server
from untrackable.serving.connections import BoundedProtocol
from untrackable.serving.problems import (
    BrowserAccess,
    ErrorGuard,
    ProblemType,
    Refused,
    common_problem,
    problem_response,
)
from untrackable.serving.sender_counts import SenderCounts, sender_address

_log = logging.getLogger("untrackable.ballots")

ADDRESS = "/ballots/{key}"
SHARED = re.compile("/ballots/[^/]+")
"""The addresses that pages of every origin may use."""
_LARGEST_BODY = 2 << 10
_BLINDED = re.compile(f"[0-9a-f]{{{2 * KEY}}}")
_LONGEST_ENROLMENT = 512
_HOUR = 3600.0
_NO_STORE = {"cache-control": "no-store"}


class IssuerProblem(ProblemType):
    """A type of problem: its name, HTTP status and title."""

    MALFORMED_REQUEST = ("malformed-request", 400, "The request does not follow the documentation")
    NOT_ENTITLED = ("not-entitled", 403, "This does not entitle to a ballot")
    NOT_FOUND = ("not-found", 404, "There is nothing at this address")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This address does not allow the method")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time")
    ALREADY_ISSUED = ("already-issued", 409, "This person's ballot was issued before")
    NO_MORE_BALLOTS = ("no-more-ballots", 410, "No more ballots are issued for this campaign")
    TOO_LARGE = ("too-large", 413, "The request is too large")
    MEDIA_TYPE = ("media-type", 415, "The body has the wrong media type")
    TOO_MANY = ("too-many", 429, "Too many ballots went to one network address")
    HEAD_TOO_LARGE = ("head-too-large", 431, "The address or the headers are too large")
    INTERNAL = ("internal", 500, "The issuer has a fault")
    BUSY = ("busy", 503, "The issuer is busy; try again later")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerSettings:
    """Limits. Times are in seconds, and sizes are in bytes."""

    per_hour: int = 5
    """The largest number of requests from one address in an hour, if ballots are for anybody."""
    sender_header: str | None = None
    """The header in which a proxy in front of the issuer gives the sender's address. None if there is no proxy."""
    connections: int = 1000
    """The largest number of open connections. Further senders are asked to retry later."""
    request_seconds: float = 20.0
    """How long a request may take to arrive, and how long its sender may take to read the answer."""
    largest_head: int = 8 << 10
    """The largest address of a request, and the largest total of its headers."""
    retry_after: int = 5
    """The Retry-After delay for senders that are asked to retry later."""

    def __post_init__(self) -> None:
        for name in ("per_hour", "connections", "largest_head", "retry_after"):
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        checks.settle(self, request_seconds=checks.positive("request_seconds", self.request_seconds))

    @property
    def largest_body(self) -> int:
        """The largest body of a request."""
        return _LARGEST_BODY


class Issuer:
    """The endpoints, for these registers."""

    def __init__(self, registers: Sequence[Register], settings: IssuerSettings) -> None:
        self._registers: Mapping[str, Register] = {register.key.id: register for register in registers}
        self._counts = SenderCounts(settings.per_hour, seconds=_HOUR)
        self._settings = settings

    @property
    def routes(self) -> list[Route]:
        """Where ballots are issued."""
        return [Route(ADDRESS, self.show, methods=["GET"]), Route(ADDRESS, self.issue, methods=["POST"])]

    def close(self) -> None:
        """Close the registers."""
        for register in self._registers.values():
            register.close_file()

    async def show(self, request: Request) -> Response:
        """The key, who is entitled, and until when: the same for everybody."""
        register = self._register(request)
        public = {"key": register.key.to_bytes().hex(), "expires": register.expires}
        return JSONResponse({**public, "entitled": register.entitled.value}, headers=_NO_STORE)

    async def issue(self, request: Request) -> Response:
        """The signature of a blinded request."""
        register = self._register(request)
        enrolment, blinded = _asked(await _body(request))
        counted = register.entitled is Entitled.ANYBODY
        if counted and not self._counts.allows(sender_address(request, self._settings.sender_header)):
            raise Refused(IssuerProblem.TOO_MANY, f"at most {self._settings.per_hour} in an hour; try again later")
        try:
            signature = await run_in_threadpool(register.issue, enrolment, blinded)
        except NotEntitled as error:
            raise Refused(IssuerProblem.NOT_ENTITLED, str(error)) from None
        except AlreadyIssued as error:
            raise Refused(IssuerProblem.ALREADY_ISSUED, str(error)) from None
        except NoMoreBallots as error:
            raise Refused(IssuerProblem.NO_MORE_BALLOTS, str(error)) from None
        except StoreUnavailable:
            raise Refused(IssuerProblem.BUSY, "the issuer's register cannot be used now") from None
        except BallotError as error:
            raise Refused(IssuerProblem.MALFORMED_REQUEST, str(error)) from None
        return JSONResponse({"signature": signature.hex()}, headers=_NO_STORE)

    def _register(self, request: Request) -> Register:
        register = self._registers.get(request.path_params["key"])
        if register is None:
            raise Refused(IssuerProblem.NOT_FOUND, "this issuer has no such key")
        return register


async def _body(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(IssuerProblem.MEDIA_TYPE, "the body must have the media type application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            raise Refused(IssuerProblem.TOO_LARGE, f"a body must be at most {_LARGEST_BODY} bytes")
    return body


def _asked(body: bytes) -> tuple[str, bytes]:
    """The enrolment and the blinded request in a body."""
    try:
        given: Any = strict_json.parse(body)
    except ValueError:
        given = None
    if not isinstance(given, dict) or set(given) != {"blinded", "enrolment"}:
        raise _malformed("the body must be a JSON object with exactly the fields blinded and enrolment")
    blinded, enrolment = given["blinded"], given["enrolment"]
    if not isinstance(blinded, str) or not _BLINDED.fullmatch(blinded):
        raise _malformed(f"blinded must be {2 * KEY} lower-case hexadecimal digits")
    if not isinstance(enrolment, str) or len(enrolment) > _LONGEST_ENROLMENT:
        raise _malformed(f"enrolment must be a text of at most {_LONGEST_ENROLMENT} characters")
    return enrolment, bytes.fromhex(blinded)


def _malformed(detail: str) -> Refused:
    return Refused(IssuerProblem.MALFORMED_REQUEST, detail)


def create_issuer(registers: Sequence[Register], settings: IssuerSettings) -> Starlette:
    """Make the application of an issuer that stands alone. It closes the registers when it ends."""
    issuer = Issuer(registers, settings)

    def refusal(error: Exception, scope: Scope | None = None) -> Response:
        known = (error.problem, error.detail) if isinstance(error, Refused) else None
        problem, detail = known or common_problem(IssuerProblem, error, "issuer")
        answer = problem_response(problem, detail, retry_after=settings.retry_after)
        if isinstance(error, HTTPException):
            answer.headers.update(error.headers or {})
        return answer

    def refused(request: Request, error: Exception) -> Response:
        return refusal(error)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            issuer.close()

    other_page = _malformed("pages may ask for ballots, and nothing else")
    app = Starlette(
        routes=[*issuer.routes, Route("/healthz", health, methods=["GET"])],
        lifespan=running,
        middleware=[
            Middleware(_Guard, refusal=refusal),
            Middleware(
                BrowserAccess,
                addresses=SHARED,
                origins=["*"],
                methods=["GET", "POST"],
                refused=lambda: refusal(other_page),
            ),
        ],
        exception_handlers=dict.fromkeys((Refused, HTTPException), refused),
    )
    app.router.redirect_slashes = False
    return app


class _Guard(ErrorGuard):
    log = _log
    ending = Refused(IssuerProblem.BUSY, "the issuer is shutting down")
    disconnected = ClientDisconnect


class IssuerProtocol(BoundedProtocol):
    """An HTTP connection of an issuer."""

    problems = IssuerProblem


def serve_issuer(bound: socket.socket, registers: Sequence[Path], settings: IssuerSettings) -> None:
    """Issue ballots until the process is told to end."""
    settings = replace(settings, connections=server.affordable_connections(settings.connections))
    IssuerProtocol.settings = settings
    factory: Callable[[], Starlette] = functools.partial(_application, registers, settings)
    server.run(factory, bound, http=IssuerProtocol)


def _application(registers: Sequence[Path], settings: IssuerSettings) -> Starlette:
    return create_issuer([Register(path) for path in registers], settings)
