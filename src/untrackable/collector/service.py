"""The parts that all endpoints share: store, clock, settings, counters, and loaded campaigns."""

import asyncio
import contextlib
import hashlib
import logging
import pickle
import random
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

from untrackable.collector.closing import close_overdue, drop_old_sums, overdue_rounds
from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.store import Store, StoredCampaign
from untrackable.collector.writer import CampaignAcceptance, Writer
from untrackable.errors import CampaignError, StoreUnavailable
from untrackable.protocol.campaign import Campaign, check_id
from untrackable.serving.clock_jumps import ClockJumpDetector
from untrackable.serving.problems import Refused, error_location

_log = logging.getLogger("untrackable.collector")
_Answer = TypeVar("_Answer")
_REMEMBERED = 4 << 20
"""The largest size of all cached answers together, in bytes."""
_SIZE = 6
"""About how many bytes of memory an answer takes for each byte of its pickle."""
_WAITING = 8
"""The largest number of requests for estimates that are computed or wait at the same time."""

_WRITE_SECONDS = 5.0
"""For this time, the answer to the question whether the store can be written is kept."""


class Service:
    """One process of a running collector."""

    writer: Writer

    def __init__(
        self, store: Store, clock: Callable[[], float], settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.store, self.clock, self.settings = store, clock, settings
        self.metrics = Metrics() if metrics is None else metrics
        self._acceptances: dict[str, CampaignAcceptance] = {}
        self._estimating = threading.Lock()
        self._queue = threading.BoundedSemaphore(_WAITING)
        self._answers: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._answered = 0
        self._jumps = ClockJumpDetector(clock, log=_log, work="Closing of rounds")
        self._writing = threading.Lock()
        self._written: tuple[float, bool] = (-inf, True)
        """When writing to the store was last tried, and whether it worked."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store reports and close rounds within the block. At its end, all accepted reports are stored."""
        self.writer = Writer(self.store, self.clock, self.settings, self.metrics)
        ending = asyncio.Event()
        sweeping = asyncio.create_task(self._sweep(ending))
        try:
            yield
        finally:
            ending.set()
            try:
                await sweeping  # A closing that has begun is finished.
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
        """Close rounds that are over, at random intervals, so that processes do not all do it at the same time."""
        while not ending.is_set():
            try:
                now = self._jumps.trusted_time()
                self.metrics.set_gauge("clock_doubted", int(now is None))
                await run_in_threadpool(self.measure_store)
                if now is not None:
                    await run_in_threadpool(self.close_overdue, now)
                    await run_in_threadpool(self.measure_store)
            except StoreUnavailable as error:
                _log.warning("Rounds could not be closed now and will be tried again: %s", error)
            except Exception as error:
                _log.error("Rounds could not be closed because of a fault: %s", error_location(error))
            wait = self.settings.sweep * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), wait)

    def close_overdue(self, now: float | None = None) -> int:
        """Close every round whose reports had time to arrive, and return their number. Delete sums that are old."""
        now = self.clock() if now is None else now
        closed = close_overdue(self.store, now, self.settings, self.metrics)
        dropped = drop_old_sums(self.store, now, self.settings)
        if dropped or not closed:
            self.store.tidy()
        return closed

    def measure_store(self) -> None:
        """Set the gauges that describe the store."""
        self.metrics.set_gauge("store_bytes", self.store.size())
        overdue = overdue_rounds(self.store, self.clock(), self.settings)
        self.metrics.set_gauge("rounds_overdue", len(overdue))

    def check_ready(self) -> None:
        """Raise if reports should go elsewhere: the store cannot be read or written, or the clock is doubted."""
        self.writer.check()
        self.store.ping()
        if self._jumps.clock_is_doubted():
            raise Refused(Problem.BUSY, "the clock has jumped; an operator should check it")
        if not self._can_write():
            raise StoreUnavailable("nothing can be written to the store")

    def _can_write(self) -> bool:
        """Whether something could be written to the store within the last seconds. Everybody may ask this often."""
        with self._writing:
            now = time.monotonic()
            if now - self._written[0] > _WRITE_SECONDS:
                try:
                    self.store.try_writing()
                except StoreUnavailable:
                    self._written = (now, False)
                else:
                    self._written = (now, True)
            return self._written[1]

    def cached_acceptance(self, id: str) -> CampaignAcceptance | None:
        """The acceptance of a campaign that was used before, or None."""
        return self._acceptances.get(id)

    def acceptance(self, id: str) -> CampaignAcceptance:
        """The acceptance of a campaign. An unknown campaign is refused."""
        acceptance = self._acceptances.get(id)
        if acceptance is None:
            campaign = Campaign.from_bytes(self.stored_campaign(id).document)
            acceptance = self._acceptances.setdefault(id, CampaignAcceptance(campaign, self.settings))
        return acceptance

    def campaign(self, id: str) -> Campaign:
        """A campaign. An unknown one is refused."""
        return self.acceptance(id).campaign

    def stored_campaign(self, id: str) -> StoredCampaign:
        """A campaign's record in the store. An unknown one is refused."""
        with contextlib.suppress(CampaignError):
            stored = self.store.campaign(check_id(id))
            if stored is not None:
                return stored
        raise Refused(Problem.NOT_FOUND, "there is no campaign with this id")

    def cached_answer(self, asked: tuple[Any, ...], make: Callable[[], _Answer]) -> _Answer:
        """The cached answer to a question, or `make()`, which one thread at a time computes.

        Only for answers that never change, such as estimates of closed rounds. Nobody may change what they get.
        """
        key = hashlib.sha256(repr(asked).encode()).digest()
        known = self._answers.get(key)
        if known is not None:
            answer: _Answer = known[0]
            return answer
        if not self._queue.acquire(blocking=False):  # Otherwise waiting requests could take all threads.
            raise Refused(Problem.BUSY, "the collector is computing too many estimates now")
        try:
            with self._estimating:
                known = self._answers.get(key)
                if known is None:
                    answer = make()
                    known = self._answers[key] = (answer, _SIZE * len(pickle.dumps(answer)))
                    self._answered += known[1]
                while self._answered > _REMEMBERED:
                    self._answered -= self._answers.popitem(last=False)[1][1]
                return known[0]
        finally:
            self._queue.release()
