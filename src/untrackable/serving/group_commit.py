"""Group commit: one transaction stores what many requests brought, which are answered once it is on disk."""

import asyncio
import functools
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from untrackable.serving.problems import ProblemType, Refused, error_location

Outcome = Refused | None
"""The result of storing a body: None if it is stored, or the reason why it is not."""
_NEVER = 1 << 62
"""More bodies than ever wait."""
_LONGEST_WAIT = 0.01
"""The longest time to wait for more bodies, in seconds. It is at most the time that storing the last group took.

If all n senders send again within a time w, one group takes s + w, where s is the time to store it. Without
waiting, two groups of n/2 bodies take 2s. So waiting is better as long as w < s."""
_LATE_SHARE = 8
"""The thread does not wait for the last one in this many of the senders that were just answered."""
_GROUPS_WITHOUT_WAIT = 31
"""The largest number of groups that are stored without waiting for more bodies after waiting was in vain."""


@dataclass(slots=True, eq=False, kw_only=True)
class Waiting:
    """A body that waits to be stored, and the function that takes its outcome. With an outcome, it is refused."""

    body: bytes
    answer: Callable[[Outcome], None]
    outcome: Outcome = None


One = TypeVar("One", bound=Waiting)


class GroupCommit(ABC, Generic[One]):
    """A thread that stores together all bodies that arrived while it was storing the ones before.

    All methods but `_store_group` are called in the event loop's thread.
    """

    log: ClassVar[logging.Logger]
    fault: ClassVar[ProblemType]
    """The problem of bodies that are not stored because of a fault."""
    group_bytes: int
    """The largest total of the bodies of a group, unless it is a single one."""
    synced_bytes: ClassVar[int]
    """The size of a group up to which its sync takes longer than its insertion."""

    def __init__(self) -> None:
        self._waiting: deque[One] = deque()
        self._storing: list[One] = []
        self._wake = threading.Event()
        self._wanted = _NEVER
        """The number of waiting bodies from which on the thread is woken."""
        self._in_vain = 0
        """How often in a row the thread has waited for more bodies of which most did not come."""
        self._without_wait = 0
        """The number of next groups for which the thread does not wait for more bodies."""
        self._ending = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    @abstractmethod
    def _store_group(self, group: list[One]) -> None:
        """Store bodies together, or give each that is not stored an outcome."""

    def _rearrange(self) -> None:
        """Work on the store between groups, after the last one was answered."""

    def stop(self) -> None:
        """Store all waiting bodies and end the thread."""
        self._ending = True
        self._wake.set()
        self._thread.join()

    def check_thread(self) -> None:
        """Raise `RuntimeError` if the thread has died, so that nothing is stored any more."""
        if not self._thread.is_alive():
            raise RuntimeError("the thread that stores reports has ended")

    def _queue(self, waiting: One) -> None:
        self._waiting.append(waiting)
        if len(self._waiting) >= self._wanted:
            self._wake.set()

    def _future(self) -> "tuple[asyncio.Future[Outcome], Callable[[Outcome], None]]":
        """A future outcome, and the function that settles it."""
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        return outcome, functools.partial(_settle, outcome)

    def _work(self) -> None:
        while True:
            self._wait_for(1, None)
            while self._waiting:
                begun = time.monotonic()
                group = self._storing = self._take()
                try:
                    self._store_group(group)
                except Exception as error:
                    self.log.error("A group of reports could not be stored: %s", error_location(error))
                    for one in group:
                        one.outcome = Refused(self.fault, "the reports were not stored")
                self._storing = []
                others = len(self._waiting)
                self._loop.call_soon_threadsafe(self._answer, group)
                seconds = time.monotonic() - begun
                self._rearrange()
                if sum(len(one.body) for one in group) <= self.synced_bytes:
                    self._wait_for_more(others, len(group), seconds)
            if self._ending and not self._waiting:
                return

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
        """Wait until this many bodies wait, the time is over, or the server ends."""
        self._wanted = count
        if len(self._waiting) < count and not self._ending:  # A body that arrives after this check sets `_wake`.
            self._wake.wait(seconds)
        self._wanted = _NEVER
        self._wake.clear()

    def _take(self) -> list[One]:
        waiting, left = self._waiting, self.group_bytes
        group: list[One] = []
        while waiting:
            left -= len(waiting[0].body)
            if left < 0 and group:
                break
            group.append(waiting.popleft())
        return group

    def _answer(self, group: list[One]) -> None:
        """Tell the requests of a group what became of them."""
        for one in group:
            try:
                one.answer(one.outcome)
            except Exception as error:
                self.log.error("A request could not be answered because of a fault: %s", error_location(error))


def _settle(future: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)
