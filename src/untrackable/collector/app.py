"""The collector as a Starlette application, made from a store, a clock and settings, and its server.

Every process makes an application of its own on the same store.
"""

import asyncio
import functools
import logging
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from untrackable import strict_json
from untrackable.collector import browser, problems
from untrackable.collector.api import ADDRESS as ESTIMATE_METRICS
from untrackable.collector.api import NO_STORE, ManagementApi, PublicApi
from untrackable.collector.dashboard.campaign_page import AnswerFiles, CampaignList, CampaignPage, FollowingPage
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.dashboard.new_campaign import NewCampaign
from untrackable.collector.dashboard.rendering import error_page, serve_static, wants_page
from untrackable.collector.dashboard.signed_in import CampaignActions, KeyPages, SignIn, managing, posted
from untrackable.collector.metrics import Metrics, SharedCounters
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Store
from untrackable.collector.uploads import GATEWAY, REPORTS, Disconnected, LimitedProtocol, ReportUpload
from untrackable.errors import StoreUnavailable
from untrackable.serving import server
from untrackable.serving.problems import BrowserAccess, ErrorGuard, ProblemType, Refused, common_problem

if TYPE_CHECKING:
    from untrackable.collector.gateway import Gateway

_log = logging.getLogger("untrackable.collector")


_SHARED = re.compile("/campaigns/[^/]+(/guarantee|/reports|/rounds|(/rounds/[0-9]+)?/estimate)?")
"""The addresses for pages of other origins: campaigns, their reports and their estimates."""
_OTHER_PAGE = Refused(Problem.MALFORMED_REQUEST, "pages of this origin may not send this request")


def document(settings: Settings) -> dict[str, Any]:
    """The document of a collector with these settings, which choose how large a body may be."""
    text = resources.files("untrackable.collector").joinpath("openapi.json").read_text(encoding="utf-8")
    described: dict[str, Any] = strict_json.parse(text)
    for path in ("/campaigns/{campaign}/reports", "/.well-known/ohttp-gateway"):
        (body,) = described["paths"][path]["post"]["requestBody"]["content"].values()
        body["schema"]["maxLength"] = settings.largest_body
    return described


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
            ending = asyncio.ensure_future(running.__aexit__(None, None, None))
            if not (await asyncio.wait({ending}, timeout=service.settings.ending_seconds))[0]:
                _log.error(
                    "The collector ends without storing %d reports. None of them was acknowledged.",
                    service.writer.unstored(),
                )
                if give_up is not None:
                    give_up()
            await ending

    def openapi(request: Request) -> Response:
        return JSONResponse(document(service.settings), headers=NO_STORE)

    one = "/campaigns/{campaign}"
    routes = [
        Route(f"{one}/reports", upload, methods=["POST"]),
        Route(GATEWAY, gateway or _no_gateway, methods=["GET", "POST"]),
        Route("/campaigns", public.campaigns, methods=["GET"]),
        Route("/campaigns", management.create, methods=["POST"]),
        Route(one, public.campaign, methods=["GET"]),
        Route(f"{one}/guarantee", public.guarantee, methods=["GET"]),
        Route(f"{one}/published", management.publish, methods=["PUT", "DELETE"]),
        Route(f"{one}/end", management.end, methods=["POST"]),
        Route(f"{one}/estimate", public.pooled_estimate, methods=["GET"]),
        Route(f"{one}/rounds", public.rounds, methods=["GET"]),
        Route(f"{one}/rounds/{{round:round}}/estimate", public.round_estimate, methods=["GET"]),
        Route(f"{one}/rounds/{{round:round}}/close", management.close, methods=["POST"]),
        Route("/healthz", public.health, methods=["GET"]),
        Route("/ready", public.ready, methods=["GET"]),
        Route("/metrics", public.metrics, methods=["GET"]),
        Route(ESTIMATE_METRICS, public.estimate_metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
        Route("/client/{name}", browser.serve, methods=["GET"]),
        *dashboard_routes(service, work, audits),
    ]

    def refusal(error: Exception, scope: Scope | None = None) -> Response:
        problem, detail = _problem(error)
        service.metrics.count_problem(problem)
        respond = error_page if scope is not None and wants_page(scope) else problems.response
        answer = respond(problem, detail, retry_after=service.settings.retry_after)
        if isinstance(error, HTTPException):
            answer.headers.update(error.headers or {})
        return answer

    def refused(request: Request, error: Exception) -> Response:
        return refusal(error, request.scope)

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(_Guard, upload=upload, refusal=refusal),
            Middleware(
                BrowserAccess,
                addresses=_SHARED,
                origins=service.settings.origins,
                methods=["GET", "POST"],
                refused=lambda: refusal(_OTHER_PAGE),
            ),
        ],
        exception_handlers=dict.fromkeys((Refused, StoreUnavailable, HTTPException), refused),
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.upload = service, upload
    return app


def dashboard_routes(service: Service, work: HeavyWork, audits: HeavyWork) -> list[Route]:
    """All pages and their files. An endpoint that is no coroutine runs in a thread, apart from reports.

    Audits take long, so they have a process of their own: other work does not wait for them.
    """
    files, entry, new = AnswerFiles(service, work), SignIn(service), NewCampaign(service, work)
    actions, keys, one = CampaignActions(service), KeyPages(service), "/view/{campaign}"
    return [
        Route("/static/{name}", serve_static, methods=["GET"]),
        Route(one, CampaignPage(service, work).show, methods=["GET"]),
        Route(f"{one}/following", FollowingPage(service, audits).show, methods=["GET"]),
        Route(f"{one}/download.{{kind}}", files.download, methods=["GET"]),
        Route(f"{one}/picture.{{kind}}", files.picture, methods=["GET"]),
        Route("/", CampaignList(service).show, methods=["GET"]),
        Route("/sign-in", entry.show, methods=["GET"]),
        Route("/sign-in", posted(entry.sign_in), methods=["POST"]),
        Route("/sign-out", posted(entry.sign_out), methods=["POST"]),
        Route("/new", new.show, methods=["GET"]),
        Route("/new", new.plan, methods=["POST"]),
        Route("/new/results", new.results, methods=["POST"]),
        Route("/new/preview", new.preview, methods=["POST"]),
        Route("/new/create", new.create, methods=["POST"]),
        Route(f"{one}/rounds/{{round:round}}/close", managing(actions.close), methods=["POST"]),
        Route(f"{one}/publish", managing(actions.publish), methods=["POST"]),
        Route(f"{one}/unpublish", managing(functools.partial(actions.publish, published=False)), methods=["POST"]),
        Route(f"{one}/end", managing(actions.end), methods=["POST"]),
        Route("/keys", keys.show, methods=["GET"]),
        Route("/keys", managing(keys.make), methods=["POST"]),
        Route("/keys/{key}/revoke", managing(keys.revoke), methods=["POST"]),
    ]


def _gateway(service: Service) -> "Gateway | None":
    """What opens sealed reports, if this collector has keys for them."""
    if service.settings.gateway_keys is None:
        return None
    from untrackable.collector.gateway import Gateway, WatchedKeys

    return Gateway(service, WatchedKeys(service.settings.gateway_keys))


def _no_gateway(request: Request) -> Response:
    raise Refused(Problem.NOT_FOUND, "this collector takes no sealed reports")


def _problem(error: Exception) -> tuple[ProblemType, str]:
    if isinstance(error, Refused):
        return error.problem, error.detail
    if isinstance(error, StoreUnavailable):
        return Problem.STORE_UNAVAILABLE, "the store is not available now"
    return common_problem(Problem, error, "collector")


class _Guard(ErrorGuard):
    """Answers reports right here, without the layers that only other requests need.

    Nearly all requests are reports. Those from web pages go through the layers, which add the headers that
    browsers want.
    """

    log = _log
    ending = Refused(Problem.BUSY, "the collector is shutting down; it stored nothing of this request")
    expected = (Refused, StoreUnavailable)
    disconnected = Disconnected

    def __init__(self, app: ASGIApp, upload: ASGIApp, refusal: Callable[[Exception, Scope], Response]) -> None:
        super().__init__(app, refusal)
        self._upload = upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        post = scope["type"] == "http" and scope["method"] == "POST"
        match = REPORTS.fullmatch(scope["path"]) if post else None
        if match is not None and all(name != b"origin" for name, _ in scope["headers"]):
            scope["path_params"] = {"campaign": match[1]}
            await self.guarded(self._upload, scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def serve(store: str, bound: socket.socket, settings: Settings, *, workers: int = 1) -> None:
    """Serve until the process is told to end. Several processes share the socket, and each has its own writer."""
    counts = SharedCounters() if workers > 1 else None
    factory = functools.partial(application, store, settings, counts)
    server.run(factory, bound, http=LimitedProtocol, workers=workers)


def application(store: str, settings: Settings, counts: SharedCounters | None = None) -> Starlette:
    """Make the application of one process."""
    settings = replace(settings, connections=server.affordable_connections(settings.connections))
    metrics = Metrics(counts)
    LimitedProtocol.settings, LimitedProtocol.metrics = settings, metrics
    server.end_with_parent()
    app = create_app(
        open_store(store, check=False), clock=time.time, settings=settings, metrics=metrics, give_up=_give_up
    )
    LimitedProtocol.upload = app.state.upload
    return app


def _give_up() -> None:
    """End the process at once, even if a thread hangs."""
    logging.shutdown()
    os._exit(server.GAVE_UP)
