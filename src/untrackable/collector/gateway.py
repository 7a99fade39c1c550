"""`/.well-known/ohttp-gateway`: opens sealed reports, stores them, and seals the answers (RFC 9458).

A sealed report is accepted, stored and acknowledged as one that is sent directly. Its answer is sealed and always
of one length, and it waits for a sync of the store even if nothing is stored. So neither the answer nor the wait
for the disk tells a relay what became of the report.

Two answers are in the clear. A request that can never be opened has status 400. If nothing can be stored now, that
has a status of 500 or more, so that a relay that holds reports tries again. A sealed answer says that the collector
is done with the report. The private keys are read again whenever their file is replaced.
"""

import asyncio
import functools
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from untrackable.collector.problems import Problem, response
from untrackable.collector.service import Service
from untrackable.collector.uploads import (
    MEDIA_TYPE,
    REPORTS,
    is_media_type,
    read_body,
    reserved_room,
)
from untrackable.collector.writer import CampaignAcceptance
from untrackable.errors import GatewayKeysError, GatewayKeyUnknown, SealingError, StoreUnavailable
from untrackable.oblivious import key_config
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.gateway_keys import read_keys
from untrackable.oblivious.key_config import configs_to_bytes
from untrackable.oblivious.sealing import (
    ANSWER_LENGTH,
    ANSWER_MEDIA_TYPE,
    REQUEST_MEDIA_TYPE,
    OpenedRequest,
    OpeningKey,
    open_request,
)
from untrackable.serving.group_commit import Outcome
from untrackable.serving.problems import Refused, error_location
from untrackable.serving.small_posts import Answer, AnswerSmall

_log = logging.getLogger("untrackable.collector")

_SECONDS = 1.0
"""The longest time for which the file is not looked at while requests come."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKeys:
    """The keys that open requests by their numbers, and the list of the public ones."""

    opening: Mapping[int, OpeningKey]
    published: bytes


class WatchedKeys:
    """The keys in a file. `GatewayKeysError` if they cannot be read at first; later, those of before stay."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._seen = self._mark()
        self._keys = self._read()
        self._looked = clock()

    def current(self) -> LoadedKeys:
        """The keys. The file is read again if it was replaced."""
        now = self._clock()
        if now - self._looked >= _SECONDS:
            self._looked = now
            mark = self._mark()
            if mark != self._seen:
                self._seen = mark
                try:
                    self._keys = self._read()
                except GatewayKeysError as error:
                    _log.error("The gateway's keys stay as they were: %s", error)
        return self._keys

    def _read(self) -> LoadedKeys:
        keys = read_keys(self._path)
        return LoadedKeys(keys.opening_keys(), configs_to_bytes(keys.published()))

    def _mark(self) -> tuple[int, ...] | None:
        """What changes when the file is replaced. None if there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


_HEADERS = {"cache-control": "no-store"}
_STORED = BinaryResponse(204, ((b"cache-control", b"no-store"),)).to_bytes()
_TOGETHER = 128
"""The largest number of bodies that are opened before anything else is done.

If each were stored at once, the writer would commit it alone while the next one is opened."""
_FAULT = 500
"""Problems with this status or a higher one are the collector's own."""
_KNOWN_HEADS = 16
"""The largest number of heads of opened requests that are kept."""


class Gateway:
    """The endpoint that takes sealed reports, and shows the public keys that they may be sealed for."""

    def __init__(self, service: Service, keys: WatchedKeys) -> None:
        self._service, self._keys = service, keys
        self._arrived: deque[tuple[bytes, AnswerSmall]] = deque()
        """Small sealed bodies that wait to be opened, and what answers them."""
        self._known: dict[bytes, tuple[int, CampaignAcceptance]] = {}
        """For heads of opened requests: the size of the content that follows, and who accepts it.

        Clients repeat the same head byte by byte. Reading it again would find the same."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as an ASGI application."""
        if scope["method"] != "POST":
            shown = Response(self._keys.current().published, headers=_HEADERS, media_type=key_config.MEDIA_TYPE)
            await shown(scope, receive, send)
            return
        service = self._service
        with reserved_room(service.writer) as hold:
            largest = service.settings.largest_body
            opened = self._open(await read_body(scope, receive, REQUEST_MEDIA_TYPE.encode(), largest, hold))
            outcome = await self._stored(opened)
        sealed = self._sealed(opened, outcome)
        if isinstance(sealed, Refused):
            raise sealed
        await Response(sealed, headers=_HEADERS, media_type=ANSWER_MEDIA_TYPE)(scope, receive, send)

    def store(self, body: bytes, answer: AnswerSmall) -> None:
        """Queue a small sealed body. Its answer is sealed, or a refusal in the clear.

        Bodies that arrive together are opened one after another and stored together.
        """
        if not self._arrived:
            asyncio.get_running_loop().call_soon(self._open_arrived)
        self._arrived.append((body, answer))

    def _open_arrived(self) -> None:
        opened = []
        for _ in range(min(_TOGETHER, len(self._arrived))):
            body, answer = self._arrived.popleft()
            try:
                opened.append((self._open(body), answer))
            except Refused as refused:
                answer(refused)
            except Exception as error:
                answer(_fault(error))
        for each, answer in opened:
            self._store_opened(each, answer)
        if self._arrived:
            asyncio.get_running_loop().call_soon(self._open_arrived)

    def _store_opened(self, opened: OpenedRequest, answer: AnswerSmall) -> None:
        """Queue the reports of an opened request: at once if its head is known, and otherwise in a task."""
        content = opened.content
        for head, (size, acceptance) in self._known.items():
            if content.startswith(head):
                end = len(head) + size
                padded = content[end:] == bytes(len(content) - end)
                answered = functools.partial(self._answer, opened, answer)
                if padded and self._service.writer.try_write(
                    acceptance, content[len(head) : end], answered, sealed=True
                ):
                    return
        task = asyncio.create_task(self._store_in_task(opened, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_in_task(self, opened: OpenedRequest, answer: AnswerSmall) -> None:
        try:
            with reserved_room(self._service.writer) as hold:
                hold(len(opened.content))
                outcome: Answer = self._sealed(opened, await self._stored(opened))
        except Refused as refused:
            outcome = refused
        except Exception as error:
            outcome = _fault(error)
        answer(outcome)

    def _answer(self, opened: OpenedRequest, answer: AnswerSmall, outcome: Outcome) -> None:
        answer(self._sealed(opened, outcome))

    def _open(self, body: bytes) -> OpenedRequest:
        try:
            return open_request(self._keys.current().opening, body)
        except GatewayKeyUnknown as error:
            raise Refused(Problem.GATEWAY_KEY, str(error)) from None
        except SealingError as error:
            raise Refused(Problem.MALFORMED_SEALED_REQUEST, str(error)) from None

    async def _stored(self, opened: OpenedRequest) -> Outcome:
        """Store the reports of an opened request. The refusal is for its sender alone, and takes as long."""
        service = self._service
        try:
            request = BinaryRequest.from_bytes(opened.content)
            id = _campaign_id(request)
            acceptance = service.cached_acceptance(id)
            if acceptance is None:
                acceptance = await run_in_threadpool(service.acceptance, id)
            self._remember(opened.content, request, acceptance)
            return await service.writer.write(acceptance, request.content, sealed=True)
        except Refused as error:
            refused = error
        except SealingError as error:
            refused = Refused(Problem.MALFORMED_REQUEST, str(error))
        except StoreUnavailable:
            refused = Refused(Problem.STORE_UNAVAILABLE, "the store is not available now")
        return await service.writer.refuse(refused)

    def _remember(self, content: bytes, request: BinaryRequest, acceptance: CampaignAcceptance) -> None:
        """Keep the head of a request that is written in the usual way."""
        usual, size = request.to_bytes(), len(request.content)
        if content.startswith(usual):
            if len(self._known) >= _KNOWN_HEADS:
                self._known.clear()
            self._known[usual[: len(usual) - 1 - size]] = size, acceptance

    def _sealed(self, opened: OpenedRequest, outcome: Outcome) -> bytes | Refused:
        """The sealed answer, or the refusal itself if the same report may be stored later."""
        if outcome is None:
            return opened.seal_answer(_STORED)
        if outcome.problem.status >= _FAULT:
            return outcome
        self._service.metrics.count_problem(outcome.problem)
        refusal = response(outcome.problem, outcome.detail, retry_after=self._service.settings.retry_after)
        fields = tuple(field for field in refusal.raw_headers if field[0] != b"content-length")
        answer = BinaryResponse(refusal.status_code, fields, bytes(refusal.body)).to_bytes()
        if len(answer) > ANSWER_LENGTH:
            answer = BinaryResponse(refusal.status_code).to_bytes()
        return opened.seal_answer(answer)


def _campaign_id(request: BinaryRequest) -> str:
    """The campaign for which an opened request has reports. Sealed requests can do nothing else."""
    match = REPORTS.fullmatch(request.path.decode("ascii"))
    if match is None:
        raise Refused(Problem.NOT_FOUND, "sealed requests can only send reports to a campaign")
    if request.method != b"POST":
        raise Refused(Problem.METHOD_NOT_ALLOWED, "this address does not allow this method")
    if not any(name == b"content-type" and is_media_type(value, MEDIA_TYPE) for name, value in request.fields):
        raise Refused(Problem.MEDIA_TYPE, f"the body must have the media type {MEDIA_TYPE.decode()}")
    return match[1]


def _fault(error: Exception) -> Refused:
    _log.error("A sealed request failed because of a fault: %s", error_location(error))
    return Refused(Problem.INTERNAL, "this is a fault of the collector; the operator finds it in the log")
