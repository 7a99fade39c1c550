"""How much longer work takes: by its own pace so far, and by how large its later steps are."""

import math
import time
from collections.abc import Callable, Mapping

_FIRST_SHARE, _FIRST_SECONDS = 0.01, 0.3
"""From which share of a step on, and after how many seconds of it, its pace says something."""
_LARGE_SHARE = 0.1
"""A first share that is smaller says nothing: it may have taken long because something was loaded first."""


class Seconds(float):
    """The size of a step whose length is known beforehand, as from a trial."""


class RemainingTime:
    """The time that is left of work in steps.

    `sizes` are the steps that are expected, in their order, with their sizes: `Seconds`, or else numbers of which
    only ratios count. Steps that are not in it count only while they run.
    """

    def __init__(self, sizes: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._sizes, self._clock = dict(sizes), clock
        self._start = self._began = clock()
        self._done_size = self._done_seconds = 0.0
        self._first: tuple[float, float] | None = None
        self._whole: float | None = None
        self.step = ""

    def update(self, step: str, done: float | None) -> None:
        """Note which step is being done, and the share of it that is done, if that is known."""
        if step != self.step:
            self._finish()
            self.step, self._began, self._first, self._whole = step, self._clock(), None, None
        if done:
            running = self._clock() - self._began
            self._first = self._first or (running, done)
            self._whole = self._length(running, done)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._start

    def left(self) -> float | None:
        """Seconds until the end; None as long as it is not known."""
        running, later = self._clock() - self._began, self._later()
        whole = self._whole if self._whole is not None else self._expected(self._sizes.get(self.step))
        if whole is None or (running > whole and not later):
            return None
        seconds = [self._expected(size, whole) for size in later]
        known = [each for each in seconds if each is not None]
        return max(0.0, whole - running) + sum(known) if len(known) == len(seconds) else None

    def share(self) -> float | None:
        """The share of all work that is done."""
        left = self.left()
        return None if left is None else self.elapsed / max(self.elapsed + left, 1e-9)

    def _length(self, running: float, done: float) -> float | None:
        """Seconds of all of this step, by its pace since its first share, or else since it began."""
        start, before = self._first or (0.0, 0.0)
        if done - before >= _FIRST_SHARE and running - start >= _FIRST_SECONDS:
            return running + (1 - done) * (running - start) / (done - before)
        return running / done if done >= _LARGE_SHARE and running >= _FIRST_SECONDS else None

    def _expected(self, size: float | None, whole: float | None = None) -> float | None:
        """Seconds of a step of this size, at the pace of the steps before, and of the present one if known."""
        if size is None or isinstance(size, Seconds):
            return size
        mine = self._sizes.get(self.step, 0.0)
        seconds, sizes = self._done_seconds, self._done_size
        if whole is not None and not isinstance(mine, Seconds):
            seconds, sizes = (seconds + whole, sizes + mine) if mine else (seconds, sizes)
        return size * seconds / sizes if sizes else None

    def _later(self) -> list[float]:
        """The sizes of all steps after this one."""
        return [size for step, size in self._sizes.items() if step != self.step]

    def _finish(self) -> None:
        """Count the present step as done, and those before it as left out."""
        if self.step not in self._sizes:
            return
        for step in list(self._sizes):
            size = self._sizes.pop(step)
            if step == self.step:
                if not isinstance(size, Seconds):
                    self._done_size += size
                    self._done_seconds += self._clock() - self._began
                return


def roughly(seconds: float) -> str:
    """A time in words, as exact as it is known."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {math.ceil(seconds / 10) * 10} seconds"
    if seconds < 90 * 60:
        return f"about {math.ceil(seconds / 60)} minutes"
    return f"about {math.ceil(seconds / 3600)} hours"
