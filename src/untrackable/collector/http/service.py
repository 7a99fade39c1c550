"""What the endpoints share: store, clock, settings, counts, and the campaigns that are known."""

import asyncio
import contextlib
import hashlib
import logging
import random
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import Accepting
from untrackable.collector.rounds.clock import Steady
from untrackable.collector.rounds.closing import close_overdue
from untrackable.collector.rounds.group_commit import Writer, place
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import StoredCampaign
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError, StoreUnavailable
from untrackable.protocol.campaign import Campaign, check_id

_log = logging.getLogger("untrackable.collector")
_REMEMBERED = 4 << 20
"""Bytes of answers that are kept."""
_WAITING = 8
"""Requests for estimates that may wait for each other."""


class Service:
    """A running collector, in one process."""

    writer: Writer

    def __init__(
        self, store: Store, clock: Callable[[], float], settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.store, self.clock, self.settings = store, clock, settings
        self.metrics = Metrics() if metrics is None else metrics
        self._accepting: dict[str, Accepting] = {}
        self._estimating = threading.Lock()
        self._queue = threading.BoundedSemaphore(_WAITING)
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._answered = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store and close rounds while it lasts; at its end, what was accepted is stored."""
        self.writer = Writer(self.store, self.clock, self.settings, self.metrics)
        ending = asyncio.Event()
        sweeping = asyncio.create_task(self._sweep(ending))
        try:
            yield
        finally:
            ending.set()
            try:
                await sweeping  # a round that is being closed is closed
            finally:
                try:
                    await run_in_threadpool(self.writer.stop)
                finally:
                    await run_in_threadpool(self._end)

    def _end(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            self.store.tidy()
        self.store.close()
        self.metrics.close()

    async def _sweep(self, ending: asyncio.Event) -> None:
        """Close rounds that are over, now and then; not all processes at the same time."""
        steady = Steady(self.clock)
        while not ending.is_set():
            try:
                if steady.agrees():
                    await run_in_threadpool(self.close_overdue)
            except StoreUnavailable as error:
                _log.warning("rounds were not closed: %s", error)
            except Exception as error:
                _log.error("rounds were not closed: %s", place(error))
            wait = self.settings.sweep * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), wait)

    def close_overdue(self) -> int:
        """Close every round whose time and grace are over."""
        closed = close_overdue(self.store, self.clock(), self.settings, self.metrics)
        if not closed:
            self.store.tidy()
        return closed

    def known(self, id: str) -> Accepting | None:
        """A campaign that has been asked for before."""
        return self._accepting.get(id)

    def accepting(self, id: str) -> Accepting:
        """A campaign that takes reports; refused if there is none."""
        found = self._accepting.get(id)
        if found is None:
            campaign = Campaign.from_bytes(self.stored(id).document)
            found = self._accepting.setdefault(id, Accepting(campaign, self.settings))
        return found

    def campaign(self, id: str) -> Campaign:
        """A campaign; refused if there is none."""
        return self.accepting(id).campaign

    def stored(self, id: str) -> StoredCampaign:
        """A campaign as it is stored; refused if there is none."""
        with contextlib.suppress(CampaignError):
            found = self.store.campaign(check_id(id))
            if found is not None:
                return found
        raise Refused(Problem.NOT_FOUND, "there is no campaign with this id")

    def remembered(self, asked: tuple[Any, ...], make: Callable[[], bytes]) -> bytes:
        """What was made for this, by one thread at a time: for what never changes, as sums of closed rounds."""
        key = hashlib.sha256(repr(asked).encode()).digest()
        found = self._answers.get(key)
        if found is not None:
            return found
        if not self._queue.acquire(blocking=False):  # or they would take all threads
            raise Refused(Problem.BUSY, "too many estimates are being made now")
        try:
            with self._estimating:
                found = self._answers.get(key)
                if found is None:
                    found = self._answers[key] = make()
                    self._answered += len(found)
                while self._answered > _REMEMBERED:
                    self._answered -= len(self._answers.popitem(last=False)[1])
                return found
        finally:
            self._queue.release()
