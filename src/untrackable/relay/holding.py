"""Holds sealed reports until the end of their round, and then releases them once, shuffled.

A sender names the time of the release, which follows from the campaign and is the same for everybody in a round.
The sender is answered when the report is on disk, like everybody else and whatever the collector does.

At its time a release begins: no report is added any more. Its reports are passed on in random order, over
connections of the relay's own. A report is deleted when the gateway has answered that it has it, or that it can
never open it. All others are passed on again, more and more rarely. After a kill in between, some are passed on
twice. The collector takes a report once, and a second copy of the same bytes tells nothing about its sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple, ParamSpec, TypeVar

from untrackable import checks
from untrackable.relay.gateway import RelayProblem
from untrackable.relay.held_reports import FIRST, HeldReports, HoldingFailed, Release
from untrackable.serving.group_commit import GroupCommit, Outcome, Waiting
from untrackable.serving.problems import Refused, error_location

_log = logging.getLogger("untrackable.relay")
_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")

DAY = 86_400
_TOGETHER = 256
"""The number of reports that are passed on before those of them that arrived are deleted."""
_LOOK_SECONDS, _LONGEST_WAIT = 0.5, 300.0
"""How often the relay looks for a release that begins, and the longest wait. While reports for a gateway are left
over, it waits twice as long each time."""
_EXPIRY_SECONDS = 3600.0
"""How often the relay looks for reports that are deleted because no gateway has taken them.

A relay that was away for days tries for as long to deliver them first."""
_NEW, _NEW_SECONDS = 1 << 15, 5.0
"""The number of new reports that become rows at once, and the longest time until they do."""
_MOST_TIMES = 100_000
"""The largest number of times for which a relay holds reports at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldingSettings:
    """The bounds of releases and of what is held."""

    every: int = 3600
    """Times of releases are multiples of this number of seconds, so there are few of them."""
    ahead: int = 40
    """How many days ahead a release may be."""
    keep: int = 7
    """How many days after their release reports are deleted that no gateway has taken."""
    most: int = 1_000_000
    """The largest number of held reports."""
    most_of_one: int = 500_000
    """The largest number of held reports of one release."""

    def __post_init__(self) -> None:
        for name in ("every", "ahead", "keep", "most", "most_of_one"):
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1)})
        if self.ahead * DAY > self.every * _MOST_TIMES:
            raise ValueError(
                f"ahead must be at most {self.every * _MOST_TIMES // DAY} days with a release every {self.every} "
                f"seconds, got {self.ahead}"
            )


class ReleaseCount(NamedTuple):
    """The number of reports that a release had when it began, and of those that it still has."""

    reports: int
    left: int


PassOn = Callable[[Release, bytes], Awaitable[bool]]
"""Passes a report of a release on. True if it never needs to be passed on again."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Arrived(Waiting):
    """A report that waits to be stored."""

    release: Release


class Holding(GroupCommit[_Arrived]):
    """The held reports of one relay, and their releases."""

    log = _log
    fault = RelayProblem.INTERNAL
    group_bytes = 1 << 20
    synced_bytes = 1 << 20

    def __init__(
        self,
        settings: HoldingSettings,
        held: HeldReports,
        gateways: Collection[str],
        pass_on: PassOn,
        clock: Callable[[], float],
        trusted: Callable[[], float | None],
    ) -> None:
        """`trusted` is the time by which releases begin; None while the clock is doubted: none can be undone."""
        self._settings, self._held, self._pass_on, self._clock = settings, held, pass_on, clock
        self._trusted, self._gateways = trusted, gateways
        self._jobs = ThreadPoolExecutor(1, "held-reports")
        self._many = asyncio.Event()
        """Set when new reports should become rows."""
        self._counts: Counter[Release] = Counter(self._held.counts())
        self._total = self._counts.total()
        self._begun = self._held.begun()
        self._after: dict[Release, bytes] = {}
        """For releases under way: the last report that was tried."""
        self.unanswered = 0
        """The number of reports whose senders wait."""
        super().__init__()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store and release within the block."""
        work = [self._spread(), self._expire(), *(self._release_all(gateway) for gateway in self._gateways)]
        tasks = [asyncio.create_task(one) for one in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self.stop)
            with contextlib.suppress(HoldingFailed):
                await self._in_thread(self._held.tidy)
            await self._in_thread(self._held.close)
            self._jobs.shutdown()

    async def hold(self, release: Release, body: bytes) -> None:
        """Store a report. It is on disk afterwards."""
        outcome, settle = self._future()
        self.hold_small(release, body, settle)
        if (refused := await outcome) is not None:
            raise refused

    def hold_small(self, release: Release, body: bytes, answer: Callable[[Outcome], None]) -> None:
        """Queue a report, or refuse it. `answer` is called once it is on disk, or will not be."""
        self._check(release)
        self._count(release, 1)
        self.unanswered += 1
        self._queue(_Arrived(release=release, body=body, answer=answer))

    def released(self, release: Release) -> ReleaseCount:
        """How many reports a release had. Nothing is told before it begins: it would show when people send."""
        if release not in self._begun:
            raise Refused(RelayProblem.NOT_FOUND, "no release of this time has begun, or it was long ago")
        return ReleaseCount(self._begun[release], self._counts[release])

    def _check(self, release: Release) -> None:
        """Refuse a report that cannot be held."""
        settings, now = self._settings, self._clock()
        if release.time % settings.every:
            every = f"this relay releases reports at times that are multiples of {settings.every} seconds"
            raise Refused(RelayProblem.OTHER_RELEASE, every)
        if release.time > now + settings.ahead * DAY:
            raise Refused(RelayProblem.OTHER_RELEASE, f"a release may be {settings.ahead} days ahead")
        if release.time <= now or release in self._begun:
            raise Refused(RelayProblem.RELEASED, "the reports of this release have been passed on")
        if self._counts[release] >= settings.most_of_one or self._total >= settings.most:
            raise Refused(RelayProblem.FULL, "the relay holds as many reports as it may")

    def _count(self, release: Release, change: int) -> None:
        self._total += change
        self._counts[release] += change
        if not self._counts[release]:
            del self._counts[release]

    def _store_group(self, group: list[_Arrived]) -> None:
        try:
            with self._held.adding:
                self._held.wait_for_room()
                for one in group:
                    if one.release in self._begun:
                        one.outcome = Refused(RelayProblem.RELEASED, "the release has just begun")
                self._held.add([(one.release, one.body) for one in group if one.outcome is None])
        except HoldingFailed as error:
            _log.error("Reports could not be stored, and their senders were told: %s", error)
            problem = RelayProblem.FULL if error.full else RelayProblem.NOT_STORED
            for one in group:
                one.outcome = one.outcome or Refused(problem, "the report was not stored")

    async def _spread(self) -> None:
        """Make rows of new reports soon, so that nothing shows for long which of them arrived together."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_NEW_SECONDS):
                    await self._many.wait()
            self._many.clear()
            try:
                if self._held.new:
                    await self._in_thread(self._held.spread)
            except HoldingFailed as error:
                _log.error("New reports are kept apart, because the file cannot be written: %s", error)
            except Exception as error:
                _log.error("New reports are kept apart because of a fault: %s", error_location(error))

    def _answer(self, group: list[_Arrived]) -> None:
        for release, count in Counter(one.release for one in group if one.outcome is not None).items():
            self._count(release, -count)
        self.unanswered -= len(group)
        if self._held.new >= _NEW:
            self._many.set()
        super()._answer(group)

    async def _release_all(self, gateway: str) -> None:
        """Pass on all reports for a gateway whose time has come, and try again while some are left."""
        wait = _LOOK_SECONDS
        while True:
            now = self._trusted()
            mine = (each for each in self._counts if each.gateway == gateway)
            due = [] if now is None else sorted(each for each in mine if each.time <= now)
            moved = True
            for release in due:
                try:
                    moved = await self._release(release) and moved
                except HoldingFailed as error:
                    moved = False
                    _log.error("A release waits, because its file cannot be used: %s", error)
                except Exception as error:
                    moved = False
                    _log.error("A release waits because of a fault: %s", error_location(error))
            wait = _LOOK_SECONDS if moved else min(_LONGEST_WAIT, 2 * wait)
            await asyncio.sleep(wait)

    async def _release(self, release: Release) -> bool:
        """Pass on the reports of a release until the gateway takes no more. True if none is left."""
        if release not in self._begun:
            self._begun[release] = 0  # From here on no report is added.
        if not self._begun[release]:
            self._begun[release] = await self._in_thread(self._held.begin, release)
        while True:
            after = self._after.get(release, FIRST)
            some = await self._in_thread(self._held.some, release, after, _TOGETHER)
            if not some:
                self._after.pop(release, None)
                if not self._counts[release]:
                    await self._in_thread(self._held.tidy)
                return not self._counts[release]  # Those that are left were not taken.
            taken = await asyncio.gather(*(self._pass_on(release, body) for _, body in some))
            names = [name for (name, _), done in zip(some, taken, strict=True) if done]
            await self._in_thread(self._held.delete, release, names)
            self._count(release, -min(len(names), self._counts[release]))  # Others may have expired meanwhile.
            self._after[release] = some[-1][0]
            if not names:
                return False

    async def _expire(self) -> None:
        """Delete reports that no gateway has taken for long, and forget about old releases."""
        while True:
            await asyncio.sleep(_EXPIRY_SECONDS)
            if (now := self._trusted()) is None:
                continue
            oldest = int(now) - self._settings.keep * DAY
            try:
                for release in [each for each in self._counts if each.time < oldest]:
                    await self._in_thread(self._held.delete_all, release)
                    lost = self._counts[release]  # Others may have been passed on meanwhile.
                    self._count(release, -lost)
                    if lost:
                        _log.error("%d reports were deleted, because no gateway has taken them for days", lost)
                await self._in_thread(self._held.forget, oldest)
                self._begun = {each: count for each, count in self._begun.items() if each.time >= oldest}
            except HoldingFailed as error:
                _log.error("Old reports could not be deleted: %s", error)

    async def _in_thread(
        self, work: Callable[_Given, _Result], *args: _Given.args, **named: _Given.kwargs
    ) -> _Result:
        """Use the file in the one thread that may. Work that has begun is finished, whatever happens here."""
        task = functools.partial(work, *args, **named)
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._jobs, task))
