"""Group commit: one transaction stores the reports of many requests, which are answered once it is on disk."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from untrackable.collector.error_location import error_location
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import AcceptedReports, CampaignAcceptance, group_by_round
from untrackable.collector.rounds.failure_log import FailureLog
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, RoundsClosed, Rows
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable

_log = logging.getLogger("untrackable.collector")

Outcome = Refused | None
"""The result of storing a body: None if it is stored, or the reason why it is not."""
_SLOW_SECONDS = 15.0
"""If a body waits longer than this, the collector reports that the store hangs."""
_FAILED_SECONDS = 30.0
"""For this time after a failure, the collector reports that the store fails.

Afterwards it reports success again. Otherwise a proxy would keep all reports away, and nothing could succeed."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A body that waits to be stored, and the future that its request waits for."""

    acceptance: CampaignAcceptance
    body: bytes
    answer: "asyncio.Future[Outcome]"
    outcome: Outcome = None
    since: float = field(default_factory=time.monotonic)


class Writer:
    """A thread that stores together all bodies that arrived while it was storing the ones before.

    `reserve` reserves memory for a body while it arrives, and `write` stores it. Both must be called in the event
    loop's thread. All bodies together take at most `settings.room` bytes.
    """

    def __init__(self, store: Store, clock: Callable[[], float], settings: Settings, metrics: Metrics) -> None:
        self._store, self._clock, self._settings, self._metrics = store, clock, settings, metrics
        self._waiting: deque[_Waiting] = deque()
        self._storing: list[_Waiting] = []
        self._held = 0
        self._wake = threading.Event()
        self._idle = False
        self._ending = False
        self._failing = False
        self._failed_at = 0.0
        self._failures = FailureLog()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def reserve(self, size: int) -> None:
        """Reserve memory, or refuse. `release` gives it back."""
        if self._held + size > self._settings.room or self._ending:
            raise Refused(Problem.BUSY, "the collector cannot take more reports now")
        self._held += size
        self._metrics.set_gauge("waiting_bytes", self._held)

    def release(self, size: int) -> None:
        """Give reserved memory back."""
        self._held -= size
        self._metrics.set_gauge("waiting_bytes", self._held)

    def write(self, acceptance: CampaignAcceptance, body: bytes) -> "asyncio.Future[Outcome]":
        """Queue a body. The future is done when all its reports are stored, or when none is, with the reason."""
        answer: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append(_Waiting(acceptance, body, answer))
        if self._idle:
            self._wake.set()
        return answer

    def stop(self) -> None:
        """Store all waiting bodies and end the thread."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def unstored(self) -> int:
        """The number of reports that arrived but are neither stored nor acknowledged."""
        return sum(len(one.body) // one.acceptance.wire.size for one in [*self._storing, *self._waiting])

    def check(self) -> None:
        """Raise `StoreUnavailable` if storing just failed or reports wait too long. Any thread may call this."""
        now = time.monotonic()
        if self._failing and now - self._failed_at < _FAILED_SECONDS:
            raise StoreUnavailable("the last reports could not be stored")
        waiting = self._storing[:1]
        with contextlib.suppress(IndexError):
            waiting = waiting or [self._waiting[0]]
        if waiting and now - waiting[0].since > _SLOW_SECONDS:
            raise StoreUnavailable("reports wait too long to be stored")

    def _work(self) -> None:
        while True:
            self._idle = True
            if not self._waiting and not self._ending:  # A body that arrives after this check sets `_wake`.
                self._wake.wait()
            self._idle = False
            self._wake.clear()
            while self._waiting:
                group = self._storing = self._take()
                try:
                    self._store_group(group)
                except Exception as error:
                    _log.error("A group of reports could not be stored: %s", error_location(error))
                    for one in group:
                        one.outcome = Refused(Problem.INTERNAL, "the reports were not stored")
                self._storing = []
                self._loop.call_soon_threadsafe(_answer, group)
            if self._ending and not self._waiting:
                return

    def _take(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        size = 0
        while self._waiting and (not group or size + len(self._waiting[0].body) <= self._settings.group):
            size += len(self._waiting[0].body)
            group.append(self._waiting.popleft())
        return group

    def _store_group(self, group: list[_Waiting]) -> None:
        now = self._clock()
        known: dict[int, CampaignAcceptance] = {id(one.acceptance): one.acceptance for one in group}
        arrived: dict[int, AcceptedReports] = {}
        for key, acceptance in known.items():
            bodies = [one for one in group if one.acceptance is acceptance]
            taken = _read(acceptance, bodies, now)
            if taken is not None:
                arrived[key] = taken
        begun = time.perf_counter()
        try:
            self._add(known, arrived)
        except RoundsClosed as closed:
            self._refuse_closed(group, closed.rounds, now)
            self._store_group([one for one in group if one.outcome is None])
            return
        except StoreUnavailable as error:
            self._failed(group, error)
            return
        if arrived:
            self._failures.worked()
            self._failing = False
        stored = [one for one in group if one.outcome is None]
        if stored:
            self._metrics.add("groups_committed")
            self._metrics.add("commit_microseconds", int(1e6 * (time.perf_counter() - begun)))
            self._metrics.add("bodies_received", len(stored))
            self._metrics.add("reports_received", sum(each.rows.shape[0] for each in arrived.values()))

    def _add(self, known: dict[int, CampaignAcceptance], arrived: dict[int, AcceptedReports]) -> None:
        reports: dict[Round, Rows] = {}
        for key, each in arrived.items():
            reports |= group_by_round(known[key].id, each)
        if reports:
            self._store.add(reports)

    @staticmethod
    def _refuse_closed(group: Iterable[_Waiting], closed: frozenset[Round], now: float) -> None:
        """Refuse the bodies that have a report of a closed round."""
        for one in group:
            if one.outcome is None:
                numbers = np.unique(one.acceptance.wire.decode(one.body).rounds).tolist()
                late = [number for number in numbers if Round(one.acceptance.id, number) in closed]
                if late:
                    one.outcome = Refused(
                        Problem.ROUND_OVER, f"round {late[0]} is closed and takes no more reports"
                    )

    def _failed(self, group: Iterable[_Waiting], error: StoreUnavailable) -> None:
        self._metrics.add("store_failures")
        self._failures.failed(error)
        self._failing, self._failed_at = True, time.monotonic()
        for one in group:
            if one.outcome is None:
                one.outcome = Refused(Problem.STORE_UNAVAILABLE, "the reports were not stored")


def _read(acceptance: CampaignAcceptance, bodies: list[_Waiting], now: float) -> AcceptedReports | None:
    """Read all bodies at once. If that fails, read them one by one, so that each gets its own answer."""
    try:
        return acceptance.read(b"".join([one.body for one in bodies]), now)
    except Refused:
        pass
    good = []
    for one in bodies:
        try:
            acceptance.read(one.body, now)
            good.append(one.body)
        except Refused as refused:
            one.outcome = refused
    return acceptance.read(b"".join(good), now) if good else None


def _answer(group: list[_Waiting]) -> None:
    for one in group:
        if not one.answer.done():
            one.answer.set_result(one.outcome)
