"""Group commit: one transaction stores the reports of many requests, which are answered once it is on disk."""

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import AcceptedReports, CampaignAcceptance, group_by_round
from untrackable.collector.rounds.failure_log import FailureLog
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, RoundsClosed, Rows
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable
from untrackable.serving.error_location import error_location

_log = logging.getLogger("untrackable.collector")

SMALL_BODY = 2 << 10
"""The largest body that may use the share of the memory that large bodies must leave free.

The default number of connections with an unfinished body of this size do not fill that share."""
_SMALL_SHARE = 4
"""Large bodies leave one part in this many of the memory to small ones, if the largest body still fits."""
Outcome = Refused | None
"""The result of storing a body: None if it is stored, or the reason why it is not."""
_NEVER = 1 << 62
"""More bodies than ever wait."""
_SYNCED_BYTES = 64 << 10
"""The size of a group up to which its sync takes longer than its insertion."""
_LONGEST_WAIT = 0.01
"""The longest time to wait for more bodies, in seconds. It is at most the time that storing the last group took.

If all n senders send again within a time w, one group takes s + w, where s is the time to store it. Without
waiting, two groups of n/2 bodies take 2s. So waiting is better as long as w < s."""
_LATE_SHARE = 8
"""The thread does not wait for the last one in this many of the senders that were just answered."""
_GROUPS_WITHOUT_WAIT = 31
"""The largest number of groups that are stored without waiting for more bodies after waiting was in vain."""
_SLOW_SECONDS = 15.0
"""If a body waits longer than this, the collector reports that the store hangs."""
_FAILED_SECONDS = 30.0
"""For this time after a failure, the collector reports that the store fails.

Afterwards it reports success again. Otherwise a proxy would keep all reports away, and nothing could succeed."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A body that waits to be stored, and what is told the outcome. It is refused already if it has one."""

    acceptance: CampaignAcceptance | None
    body: bytes
    answer: Callable[[Outcome], None]
    reserved: int = 0
    """The memory that is given back when the body is stored."""
    outcome: Outcome = None
    sealed: bool = False
    """Whether a relay must not learn from the time of the answer what became of the body."""
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
        self._large_room = max(settings.largest_body, settings.room - settings.room // _SMALL_SHARE)
        self._wake = threading.Event()
        self._wanted = _NEVER
        """The number of waiting bodies from which on the thread is woken."""
        self._in_vain = 0
        """How often in a row the thread has waited for more bodies of which most did not come."""
        self._without_wait = 0
        """The number of next groups for which the thread does not wait for more bodies."""
        self._ending = False
        self._failing = False
        self._failed_at = 0.0
        self._failures = FailureLog()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def reserve(self, size: int, *, large: bool = False) -> None:
        """Reserve memory for a part of a body, or refuse. `release` gives it back.

        A body above `SMALL_BODY` is `large` and may not use the share that is kept for small ones.
        """
        if self._held + size > (self._large_room if large else self._settings.room) or self._ending:
            raise Refused(Problem.BUSY, "the collector cannot take more reports now")
        self._held += size
        self._metrics.set_gauge("waiting_bytes", self._held)

    def release(self, size: int) -> None:
        """Give reserved memory back."""
        self._held -= size
        self._metrics.set_gauge("waiting_bytes", self._held)

    def write(
        self, acceptance: CampaignAcceptance, body: bytes, *, sealed: bool = False
    ) -> "asyncio.Future[Outcome]":
        """Queue a body. The future is done when all its reports are stored, or when none is, with the reason.

        A `sealed` body is answered after a sync, even if nothing of it is stored.
        """
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue(_Waiting(acceptance, body, functools.partial(_settle, outcome), sealed=sealed))
        return outcome

    def refuse(self, refused: Refused) -> "asyncio.Future[Outcome]":
        """Queue a sealed body that is refused. It is answered when it would be if its reports were stored."""
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue(_Waiting(None, b"", functools.partial(_settle, outcome), outcome=refused, sealed=True))
        return outcome

    def try_write(
        self,
        acceptance: CampaignAcceptance,
        body: bytes,
        answer: Callable[[Outcome], None],
        *,
        sealed: bool = False,
    ) -> bool:
        """Reserve memory for a body and queue it, or return False if there is none. It is given back afterwards.

        `answer` is called with the outcome, in the event loop's thread. `sealed` is as for `write`.
        """
        size = len(body)
        if self._held + size > self._settings.room or self._ending:
            return False
        self._held += size
        self._queue(_Waiting(acceptance, body, answer, size, sealed=sealed))
        return True

    def _queue(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if len(self._waiting) >= self._wanted:
            self._wake.set()

    def stop(self) -> None:
        """Store all waiting bodies and end the thread."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def unstored(self) -> int:
        """The number of reports that arrived but are neither stored nor acknowledged."""
        waiting = [*self._storing, *self._waiting]
        return sum(len(one.body) // one.acceptance.wire.size for one in waiting if one.acceptance is not None)

    def check_thread(self) -> None:
        """Raise `RuntimeError` if the thread has died, so that nothing is stored any more."""
        if not self._thread.is_alive():
            raise RuntimeError("the thread that stores reports has ended")

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
            self._wait_for(1, None)
            while self._waiting:
                begun = time.monotonic()
                group = self._storing = self._take()
                try:
                    self._store_group(group)
                except Exception as error:
                    _log.error("A group of reports could not be stored: %s", error_location(error))
                    for one in group:
                        one.outcome = Refused(Problem.INTERNAL, "the reports were not stored")
                self._storing = []
                others = len(self._waiting)
                self._loop.call_soon_threadsafe(self._answer, group)
                taken = time.monotonic() - begun
                self._rearrange()
                if sum(len(one.body) for one in group) <= _SYNCED_BYTES:
                    self._wait_for_more(others, len(group), taken)
            if self._ending and not self._waiting:
                return

    def _rearrange(self) -> None:
        try:
            self._store.rearrange()
        except Exception as error:
            _log.error("Stored reports could not be rearranged because of a fault: %s", error_location(error))

    def _wait_for_more(self, others: int, answered: int, taken: float) -> None:
        """Wait for the next bodies of the senders that were just answered, if they are likely to come soon.

        Storing a small group mostly waits for the disk. If all senders wait for it, one sync for all of them is
        better than two. If their next bodies take longer than a sync to come, storing goes on meanwhile instead.
        `others` is the number of bodies that waited when those senders were answered.
        """
        if self._without_wait:
            self._without_wait -= 1
            return
        self._wait_for(others + answered - answered // _LATE_SHARE, min(taken, _LONGEST_WAIT))
        if 2 * (len(self._waiting) - others) >= answered:
            self._in_vain = 0
        else:
            self._in_vain += 1
            self._without_wait = min(2**self._in_vain - 1, _GROUPS_WITHOUT_WAIT)

    def _wait_for(self, count: int, seconds: float | None) -> None:
        """Wait until this many bodies wait, the time is over, or the collector ends."""
        self._wanted = count
        if len(self._waiting) < count and not self._ending:  # A body that arrives after this check sets `_wake`.
            self._wake.wait(seconds)
        self._wanted = _NEVER
        self._wake.clear()

    def _take(self) -> list[_Waiting]:
        waiting, left = self._waiting, self._settings.group
        group: list[_Waiting] = []
        while waiting:
            left -= len(waiting[0].body)
            if left < 0 and group:
                break
            group.append(waiting.popleft())
        return group

    def _store_group(self, group: list[_Waiting]) -> None:
        now = self._clock()
        bodies: dict[CampaignAcceptance, list[_Waiting]] = {}
        for one in group:
            if one.acceptance is not None and one.outcome is None:
                bodies.setdefault(one.acceptance, []).append(one)
        arrived: dict[CampaignAcceptance, AcceptedReports] = {}
        for acceptance, its_bodies in bodies.items():
            taken = _read(acceptance, its_bodies, now)
            if taken is not None:
                arrived[acceptance] = taken
        begun, sealed = time.perf_counter(), any(one.sealed for one in group)
        try:
            self._add(arrived, always_writes=sealed)
        except RoundsClosed as closed:
            self._refuse_closed(group, closed.rounds, now)
            self._store_group(group)
            return
        except StoreUnavailable as error:
            self._failed(group, error)
            return
        if arrived or sealed:
            self._failures.worked()
            self._failing = False
        stored = [one for one in group if one.outcome is None]
        if stored:
            self._metrics.add("groups_committed")
            self._metrics.add("commit_microseconds", int(1e6 * (time.perf_counter() - begun)))
            self._metrics.add("bodies_received", len(stored))
            self._metrics.add("reports_received", sum(each.rows.shape[0] for each in arrived.values()))

    def _add(self, arrived: dict[CampaignAcceptance, AcceptedReports], *, always_writes: bool) -> None:
        reports: dict[Round, Rows] = {}
        for acceptance, each in arrived.items():
            reports |= group_by_round(acceptance.id, each)
        if reports or always_writes:
            self._store.add(reports, always_writes=always_writes)

    @staticmethod
    def _refuse_closed(group: Iterable[_Waiting], closed: frozenset[Round], now: float) -> None:
        """Refuse the bodies that have a report of a closed round."""
        for one in group:
            if one.outcome is None and one.acceptance is not None:
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

    def _answer(self, group: list[_Waiting]) -> None:
        """Tell the requests of a group what became of them, and give the memory back."""
        for one in group:
            self._held -= one.reserved
            try:
                one.answer(one.outcome)
            except Exception as error:
                _log.error("A request could not be answered because of a fault: %s", error_location(error))
        self._metrics.set_gauge("waiting_bytes", self._held)


def _settle(future: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


def _read(acceptance: CampaignAcceptance, bodies: list[_Waiting], now: float) -> AcceptedReports | None:
    """Read all bodies together, and give those that are refused their own answers."""
    size = acceptance.wire.size
    whole = [one for one in bodies if one.body and not len(one.body) % size]
    if len(whole) < len(bodies):  # Two bodies that are cut off must not be taken for one whole report.
        for one in set(bodies).difference(whole):
            _read_by_halves(acceptance, [one], now)
    parts = _read_by_halves(acceptance, whole, now) if whole else []
    if len(parts) < 2:
        return parts[0] if parts else None
    return AcceptedReports(
        np.concatenate([part.rounds for part in parts]), np.concatenate([part.rows for part in parts])
    )


def _read_by_halves(acceptance: CampaignAcceptance, bodies: list[_Waiting], now: float) -> list[AcceptedReports]:
    """Read bodies at once, or each half of them if that fails. One bad body of n costs about 2·log2(n) readings."""
    try:
        return [acceptance.read(b"".join([one.body for one in bodies]), now)]
    except Refused as refused:
        if len(bodies) == 1:
            bodies[0].outcome = refused
            return []
    half = len(bodies) // 2
    return [part for some in (bodies[:half], bodies[half:]) for part in _read_by_halves(acceptance, some, now)]
