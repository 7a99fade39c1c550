"""Group commit: many requests, one transaction. A request is answered when its reports are on disk."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import Accepting, Arrived, by_round
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, RoundsClosed, Rows
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable

_log = logging.getLogger("untrackable.collector")

Outcome = Refused | None
_SLOW_SECONDS = 15.0
"""If a body waits for longer, something hangs."""
_FAILED_SECONDS = 30.0
"""After a failure, if nothing came since: who is kept away by it would never see that the store works again."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A body, and the future of its request."""

    accepting: Accepting
    body: bytes
    answer: "asyncio.Future[Outcome]"
    outcome: Outcome = None
    since: float = field(default_factory=time.monotonic)


class Writer:
    """One thread that stores whatever has come while it was storing what came before.

    `hold` reserves room for a body while it arrives, `write` stores it; both belong to the event loop's thread.
    There are no more than `settings.room` bytes in all.
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
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def hold(self, size: int) -> None:
        """Reserve room, or refuse; `release` gives it back."""
        if self._held + size > self._settings.room or self._ending:
            raise Refused(Problem.BUSY, "there is no room for more reports now")
        self._held += size
        self._metrics.show("waiting_bytes", self._held)

    def release(self, size: int) -> None:
        """Give room back."""
        self._held -= size
        self._metrics.show("waiting_bytes", self._held)

    def write(self, accepting: Accepting, body: bytes) -> "asyncio.Future[Outcome]":
        """Done when all reports of the body are stored, or none is and the outcome says why."""
        answer: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append(_Waiting(accepting, body, answer))
        if self._idle:
            self._wake.set()
        return answer

    def stop(self) -> None:
        """Store what is waiting and end."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def unstored(self) -> int:
        """Reports that came and are not stored, nor acknowledged."""
        return sum(len(one.body) // one.accepting.wire.size for one in [*self._storing, *self._waiting])

    def check(self) -> None:
        """`StoreUnavailable` if reports were not stored just now, or have waited for too long; from any thread."""
        now = time.monotonic()
        if self._failing and now - self._failed_at < _FAILED_SECONDS:
            raise StoreUnavailable("the last reports were not stored")
        waiting = self._storing[:1]
        with contextlib.suppress(IndexError):
            waiting = waiting or [self._waiting[0]]
        if waiting and now - waiting[0].since > _SLOW_SECONDS:
            raise StoreUnavailable("reports wait for long to be stored")

    def _work(self) -> None:
        while True:
            self._idle = True
            if not self._waiting and not self._ending:  # looked at again: whoever comes from now on sets `wake`
                self._wake.wait()
            self._idle = False
            self._wake.clear()
            while self._waiting:
                group = self._storing = self._take()
                try:
                    self._store_group(group)
                except Exception as error:
                    _log.error("a group was not stored: %s", place(error))
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
        known: dict[int, Accepting] = {id(one.accepting): one.accepting for one in group}
        arrived: dict[int, Arrived] = {}
        for key, accepting in known.items():
            bodies = [one for one in group if one.accepting is accepting]
            taken = _read(accepting, bodies, now)
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
            self._recovered()
        stored = [one for one in group if one.outcome is None]
        if stored:
            self._metrics.add("groups_committed")
            self._metrics.add("commit_microseconds", int(1e6 * (time.perf_counter() - begun)))
            self._metrics.add("bodies_received", len(stored))
            self._metrics.add("reports_received", sum(each.rows.shape[0] for each in arrived.values()))

    def _add(self, known: dict[int, Accepting], arrived: dict[int, Arrived]) -> None:
        reports: dict[Round, Rows] = {}
        for key, each in arrived.items():
            reports |= by_round(known[key].id, each)
        if reports:
            self._store.add(reports)

    @staticmethod
    def _refuse_closed(group: Iterable[_Waiting], closed: frozenset[Round], now: float) -> None:
        """Turn away the bodies that have a report of a closed round."""
        for one in group:
            if one.outcome is None:
                numbers = np.unique(one.accepting.wire.decode(one.body).rounds).tolist()
                late = [number for number in numbers if Round(one.accepting.id, number) in closed]
                if late:
                    one.outcome = Refused(
                        Problem.ROUND_OVER, f"round {late[0]} is closed: it takes no more reports"
                    )

    def _failed(self, group: Iterable[_Waiting], error: StoreUnavailable) -> None:
        self._metrics.add("store_failures")
        if not self._failing:
            _log.error("the store fails: %s", error)
        self._failing, self._failed_at = True, time.monotonic()
        for one in group:
            if one.outcome is None:
                one.outcome = Refused(Problem.STORE_UNAVAILABLE, "the reports were not stored")

    def _recovered(self) -> None:
        if self._failing:
            _log.warning("the store works again")
        self._failing = False


def _read(accepting: Accepting, bodies: list[_Waiting], now: float) -> Arrived | None:
    """All bodies at once; if that fails, one by one, so that each gets an answer of its own."""
    try:
        return accepting.read(b"".join([one.body for one in bodies]), now)
    except Refused:
        pass
    good = []
    for one in bodies:
        try:
            accepting.read(one.body, now)
            good.append(one.body)
        except Refused as refused:
            one.outcome = refused
    return accepting.read(b"".join(good), now) if good else None


def _answer(group: list[_Waiting]) -> None:
    for one in group:
        if not one.answer.done():
            one.answer.set_result(one.outcome)


def place(error: BaseException) -> str:
    """The kind of an error and where it happened, without its message."""
    trace, lines = error.__traceback__, []
    while trace is not None:
        lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' '.join(lines)}"
