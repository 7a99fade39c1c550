"""Stores the reports of many requests in one transaction, and answers them once it is on disk.

Reports are accepted if they are well-formed, possible, and of a round that is open. Log lines about a failing store
stay few even if every second transaction fails, as near a full disk.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, RoundsClosed, Rows, Store
from untrackable.errors import StoreUnavailable, WireError
from untrackable.estimation.aggregators import Aggregator, Reports
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.serving.group_commit import GroupCommit, Outcome, Waiting
from untrackable.serving.problems import Refused, error_location

_log = logging.getLogger("untrackable.collector")

_WORD = 8
"""The number of bytes of a 64-bit word."""


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedReports:
    """Accepted reports: their rounds, and their bytes as they are stored."""

    rounds: NDArray[np.uint32]
    rows: Rows


class CampaignAcceptance:
    """Reads the bodies that are sent to one campaign, and refuses those with an unacceptable report."""

    def __init__(self, campaign: Campaign, settings: Settings) -> None:
        self.campaign = campaign
        self.id = campaign.id
        self.sealed_only = campaign.gateway is not None
        self.wire = wire.of(campaign.mechanism)
        self._settings = settings
        self._possible = campaign.mechanism.aggregator(1)
        self._countable: set[int] = set()

    def read(self, body: bytes, now: float) -> AcceptedReports:
        """All reports of a body. If one of them is refused, all are."""
        try:
            decoded = self.wire.decode(body)
        except WireError as error:
            raise Refused(Problem.MALFORMED_REPORTS, str(error)) from None
        self._check_rounds(decoded.rounds, now)
        try:
            self._possible.check(as_reports(decoded.payloads, self._possible))
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REPORTS, str(error)) from None
        bytes_ = np.frombuffer(body, dtype=np.uint8).reshape(-1, self.wire.size)
        return AcceptedReports(decoded.rounds, bytes_[:, self.wire.size - self.row_size :])

    @property
    def row_size(self) -> int:
        """The number of bytes of a stored report."""
        return wire.NONCE + -(-self.wire.report_bits // 8)

    def _check_rounds(self, rounds: NDArray[np.uint32], now: float) -> None:
        first, last = self.open_rounds(now)
        lowest, highest, final = int(rounds.min()), int(rounds.max()), self.campaign.rounds or LAST_ROUND
        if highest > final:
            raise Refused(
                Problem.MALFORMED_REPORTS, f"round must be at most {final}, the campaign's last one, got {highest}"
            )
        if lowest < first:
            raise Refused(Problem.ROUND_OVER, f"round {lowest} is over and takes no more reports")
        if highest > last:
            raise Refused(Problem.ROUND_NOT_BEGUN, f"round {highest} has not begun yet")
        numbers = {lowest, highest} if highest - lowest < 2 else set(np.unique(rounds).tolist())
        for number in numbers - self._countable:
            check_countable(self.campaign, number)
            self._countable = {each for each in self._countable if each >= first} | {number}

    def open_rounds(self, now: float) -> tuple[int, int]:
        """The first and the last round that take reports now. The first is above the last if no round does."""
        campaign, settings = self.campaign, self._settings
        under_way = settings.last_arrival(campaign, 1) - campaign.begins(2)
        first, last = campaign.last_begun(now - under_way), campaign.last_begun(now + settings.early)
        return max(1, first), min(campaign.rounds or LAST_ROUND, last)


def group_by_round(campaign: str, arrived: AcceptedReports) -> dict[Round, Rows]:
    """Group reports by round and sort them by nonce, which forgets the order in which they came."""
    first = int(arrived.rounds[0])
    if (arrived.rounds == first).all():  # As a rule. Everything else takes longer.
        return {Round(campaign, first): _sorted(arrived.rows)}
    return {
        Round(campaign, number): _sorted(arrived.rows[arrived.rounds == number])
        for number in np.unique(arrived.rounds).tolist()
    }


def _sorted(rows: Rows) -> Rows:
    nonces = np.ascontiguousarray(rows[:, : wire.NONCE]).view(">u8")
    return rows[np.lexsort((nonces[:, 1], nonces[:, 0]))]


def as_reports(payloads: NDArray[np.uint8], aggregator: Aggregator) -> Reports:
    """Convert answers from the wire to the form that the aggregator takes: bytes along a last axis, or words."""
    if aggregator.in_bytes:
        return np.ascontiguousarray(payloads)
    words = np.zeros((payloads.shape[0], _WORD), dtype=np.uint8)
    words[:, : payloads.shape[1]] = payloads
    return words.view("<u8").astype(np.uint64, copy=False).reshape(-1)


def check_countable(campaign: Campaign, number: int) -> None:
    """Refuse a round without sums, such as a very late round of `Fading` whose answers are pure noise."""
    try:
        campaign.mechanism.aggregator(number)
    except ValueError:
        raise Refused(Problem.ROUND_OVER, f"round {number} is too late: its answers would be pure noise") from None


def reason_not_collectable(campaign: Campaign) -> str | None:
    """The reason why this collector cannot collect a campaign, or None if it can."""
    mechanism = campaign.mechanism
    if type(mechanism).takes is not Mechanism.takes:
        return (
            f"a collector cannot collect {type(mechanism).__name__}, "
            "because the sums of one of its rounds depend on other rounds"
        )
    try:
        mechanism.aggregator(1)
    except ValueError as error:
        return str(error)
    return None


_STEADY_SECONDS = 60.0
"""A store that failed, worked and failed again within this time has to work for as long before that is logged."""


class FailureLog:
    """Logs when a store begins to fail and when it works again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing = False
        self._unsteady = False
        self._failed_at = self._worked_at = -inf

    def failed(self, error: StoreUnavailable) -> None:
        """Note a failed transaction. It is logged unless the log already says that the store fails."""
        now = self._clock()
        self._failed_at = now
        if self._failing:
            return
        self._failing = True
        self._unsteady = now - self._worked_at < _STEADY_SECONDS
        if self._unsteady:
            _log.error(
                "The store fails again, so some reports are refused. The next line follows when it has worked for "
                "%.0f seconds: %s",
                _STEADY_SECONDS,
                error,
            )
        else:
            _log.error("The store fails, so reports are refused until it works again: %s", error)

    def worked(self) -> None:
        """Note a transaction that was stored."""
        if not self._failing:
            return
        now = self._clock()
        if self._unsteady and now - self._failed_at < _STEADY_SECONDS:
            return
        self._failing, self._worked_at = False, now
        _log.warning("The store works again.")


_SMALL_SHARE = 4
"""Large bodies leave one part in this many of the memory to small ones, if the largest body still fits.

The default number of connections with an unfinished body of `SMALL_BODY` bytes do not fill that share."""
_SLOW_SECONDS = 15.0
"""If a body waits longer than this, the collector reports that the store hangs."""
_FAILED_SECONDS = 30.0
"""For this time after a failure, the collector reports that the store fails.

Afterwards it reports success again. Otherwise a proxy would keep all reports away, and nothing could succeed."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Waiting(Waiting):
    """A body that waits to be stored."""

    acceptance: CampaignAcceptance | None
    reserved: int = 0
    """The memory that is given back when the body is stored."""
    sealed: bool = False
    """Whether a relay must not learn from the time of the answer what became of the body."""
    since: float = field(default_factory=time.monotonic)


class Writer(GroupCommit[_Waiting]):
    """A thread that stores bodies in groups.

    `reserve` reserves memory for a body while it arrives, and `write` stores it. Both must be called in the event
    loop's thread. All bodies together take at most `settings.room` bytes.
    """

    log = _log
    fault = Problem.INTERNAL
    synced_bytes = 64 << 10

    def __init__(self, store: Store, clock: Callable[[], float], settings: Settings, metrics: Metrics) -> None:
        self._store, self._clock, self._settings, self._metrics = store, clock, settings, metrics
        self.group_bytes = settings.group
        self._held = 0
        self._large_room = max(settings.largest_body, settings.room - settings.room // _SMALL_SHARE)
        self._failing = False
        self._failed_at = 0.0
        self._failures = FailureLog()
        super().__init__()

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
        outcome, settle = self._future()
        self._queue(_Waiting(acceptance=acceptance, body=body, answer=settle, sealed=sealed))
        return outcome

    def refuse(self, refused: Refused) -> "asyncio.Future[Outcome]":
        """Queue a sealed body that is refused. It is answered when it would be if its reports were stored."""
        outcome, settle = self._future()
        self._queue(_Waiting(acceptance=None, body=b"", answer=settle, outcome=refused, sealed=True))
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
        self._queue(_Waiting(acceptance=acceptance, body=body, answer=answer, reserved=size, sealed=sealed))
        return True

    def unstored(self) -> int:
        """The number of reports that arrived but are neither stored nor acknowledged."""
        waiting = [*self._storing, *self._waiting]
        return sum(len(one.body) // one.acceptance.wire.size for one in waiting if one.acceptance is not None)

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

    def _rearrange(self) -> None:
        try:
            self._store.rearrange()
        except Exception as error:
            _log.error("Stored reports could not be rearranged because of a fault: %s", error_location(error))

    def _store_group(self, group: list[_Waiting]) -> None:
        now = self._clock()
        bodies: dict[CampaignAcceptance, list[_Waiting]] = {}
        for one in group:
            if one.acceptance is not None and one.outcome is None:
                bodies.setdefault(one.acceptance, []).append(one)
        arrived: dict[CampaignAcceptance, AcceptedReports] = {}
        for acceptance, its_bodies in bodies.items():
            reports = _read(acceptance, its_bodies, now)
            if reports is not None:
                arrived[acceptance] = reports
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
        """Give the memory of a group back, and tell its requests what became of them."""
        self._held -= sum(one.reserved for one in group)
        super()._answer(group)
        self._metrics.set_gauge("waiting_bytes", self._held)


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
