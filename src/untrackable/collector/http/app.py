"""The HTTP service as a Starlette application, made from a store, a clock and settings."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untrackable.collector.dashboard.dashboard_routes import dashboard_routes
from untrackable.collector.dashboard.error_pages import error_page, wants_page
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.http import browser_client, problems
from untrackable.collector.http.cross_origin import CrossOrigin
from untrackable.collector.http.management import ManagementApi
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.public_api import NO_STORE, PublicApi
from untrackable.collector.http.report_upload import GATEWAY, REPORTS, Disconnected, ReportUpload
from untrackable.collector.http.service import Service
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable
from untrackable.serving.error_location import error_location
from untrackable.serving.problem_types import NO_SNIFFING

if TYPE_CHECKING:
    from untrackable.collector.http.gateway import Gateway

_log = logging.getLogger("untrackable.collector")


class _RoundConvertor(IntegerConvertor):
    """A number of at most ten digits in an address. Python refuses to convert thousands of digits."""

    regex = "[0-9]{1,10}"


register_url_convertor("round", _RoundConvertor())


def create_app(
    store: Store,
    *,
    clock: Callable[[], float] = time.time,
    settings: Settings | None = None,
    metrics: Metrics | None = None,
    give_up: Callable[[], None] | None = None,
) -> Starlette:
    """Make the application. It closes the store when it ends.

    If accepted reports cannot be stored within `settings.ending_seconds` at the end, `give_up` is called.
    """
    service = Service(store, clock, settings or Settings(), metrics)
    gateway = _gateway(service)
    upload = ReportUpload(service, None if gateway is None else gateway.store)
    public, management = PublicApi(service), ManagementApi(service)
    work, audits = HeavyWork(), HeavyWork()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        running = service.running()
        await running.__aenter__()
        try:
            yield
        finally:
            for process in (work, audits):
                await run_in_threadpool(process.stop)
            ending = asyncio.create_task(_end(running))
            if not (await asyncio.wait({ending}, timeout=service.settings.ending_seconds))[0]:
                _log.error(
                    "The collector ends without storing %d reports. None of them was acknowledged.",
                    service.writer.unstored(),
                )
                if give_up is not None:
                    give_up()
            await ending

    def openapi(request: Request) -> Response:
        from untrackable.collector.http.openapi import document

        return JSONResponse(document(service.settings), headers=NO_STORE)

    one = "/campaigns/{campaign}"
    routes = [
        Route(f"{one}/reports", upload, methods=["POST"]),
        Route(GATEWAY, gateway or _no_gateway, methods=["GET", "POST"]),
        Route("/campaigns", public.campaigns, methods=["GET"]),
        Route("/campaigns", management.create, methods=["POST"]),
        Route(one, public.campaign, methods=["GET"]),
        Route(f"{one}/guarantee", public.guarantee, methods=["GET"]),
        Route(f"{one}/published", management.publish, methods=["PUT"]),
        Route(f"{one}/published", management.unpublish, methods=["DELETE"]),
        Route(f"{one}/end", management.end, methods=["POST"]),
        Route(f"{one}/estimate", public.pooled_estimate, methods=["GET"]),
        Route(f"{one}/rounds", public.rounds, methods=["GET"]),
        Route(f"{one}/rounds/{{round:round}}/estimate", public.round_estimate, methods=["GET"]),
        Route(f"{one}/rounds/{{round:round}}/close", management.close, methods=["POST"]),
        Route("/healthz", public.health, methods=["GET"]),
        Route("/ready", public.ready, methods=["GET"]),
        Route("/metrics", public.metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
        Route("/client/{name}", browser_client.serve, methods=["GET"]),
        *dashboard_routes(service, work, audits),
    ]

    def refusal(error: Exception, scope: Scope | None = None) -> Response:
        problem, detail = _problem(error)
        service.metrics.count_problem(problem)
        respond = error_page if scope is not None and wants_page(scope) else problems.response
        found = respond(problem, detail, retry_after=service.settings.retry_after)
        if isinstance(error, HTTPException):
            found.headers.update(error.headers or {})
        return found

    def refused(request: Request, error: Exception) -> Response:
        return refusal(error, request.scope)

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(_Guard, upload=upload, refusal=refusal),
            Middleware(CrossOrigin, origins=service.settings.origins, refusal=refusal),
        ],
        exception_handlers=dict.fromkeys((Refused, StoreUnavailable, HTTPException), refused),
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.upload = service, upload
    return app


def _gateway(service: Service) -> "Gateway | None":
    """What opens sealed reports, if this collector has keys for them."""
    if service.settings.gateway_keys is None:
        return None
    from untrackable.collector.http.gateway import Gateway
    from untrackable.collector.http.watched_keys import WatchedKeys

    return Gateway(service, WatchedKeys(service.settings.gateway_keys))


def _no_gateway(request: Request) -> Response:
    raise Refused(Problem.NOT_FOUND, "this collector takes no sealed reports")


async def _end(running: AbstractAsyncContextManager[None]) -> None:
    await running.__aexit__(None, None, None)


def _problem(error: Exception) -> tuple[Problem, str]:
    if isinstance(error, Refused):
        return error.problem, error.detail
    if isinstance(error, StoreUnavailable):
        return Problem.STORE_UNAVAILABLE, "the store is not available now"
    if isinstance(error, HTTPException):
        return {
            404: (Problem.NOT_FOUND, "there is nothing at this address"),
            405: (Problem.METHOD_NOT_ALLOWED, "this address does not allow this method"),
        }.get(error.status_code, (Problem.MALFORMED_REQUEST, "the request does not follow the documentation"))
    return Problem.INTERNAL, "this is a fault of the collector; the operator finds it in the log"


class _Guard:
    """Turns every error inside into a problem. The log shows where it happened, but not its private message.

    Nearly all requests are reports. They are answered right here, without the layers that only other requests need.
    Reports from web pages go through those layers, which add the headers that browsers want.
    """

    def __init__(self, app: ASGIApp, upload: ASGIApp, refusal: Callable[[Exception, Scope], Response]) -> None:
        self._app, self._upload, self._refusal = app, upload, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        match = REPORTS.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if match is not None and all(name != b"origin" for name, _ in scope["headers"]):
            scope["path_params"] = {"campaign": match[1]}
            await self._guarded(self._upload, scope, receive, send)
        else:
            await self._guarded(self._app, scope, receive, send)

    async def _guarded(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], NO_SNIFFING]}
            await send(message)

        try:
            await app(scope, receive, noted)
        except Disconnected:
            return
        except asyncio.CancelledError:  # The collector ends and does not wait for this request any longer.
            if not begun:
                ending = Refused(Problem.BUSY, "the collector is shutting down; it stored nothing of this request")
                await self._refusal(ending, scope)(scope, receive, noted)
        except Exception as error:
            if not isinstance(error, (Refused, StoreUnavailable)):
                _log.error("A request failed because of a fault: %s", error_location(error))
            if not begun:
                await self._refusal(error, scope)(scope, receive, noted)
