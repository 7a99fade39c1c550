"""How much longer work takes: by its own pace so far, and by how large its later steps are."""

import math
import time
from collections.abc import Callable, Mapping

_FIRST_SHARE, _FIRST_SECONDS = 0.01, 0.3
"""From which share of a step on, or after how many seconds of work, its pace says something."""


class RemainingTime:
    """The time that is left of work in steps.

    `sizes` are the steps that are expected, in their order, with their sizes: numbers of which only ratios count.
    Steps that are not in it count only while they run.
    """

    def __init__(self, sizes: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._sizes, self._clock = dict(sizes), clock
        self._start = self._began = clock()
        self._done_size = self._done_seconds = 0.0
        self._done: float | None = None
        self.step = ""

    def update(self, step: str, done: float | None) -> None:
        """Note which step is being done, and the share of it that is done, if that is known."""
        if step != self.step:
            self._finish()
            self.step, self._began, self._done = step, self._clock(), None
        if done is not None:
            self._done = min(1.0, done)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._start

    def left(self) -> float | None:
        """Seconds until the end; None as long as nothing is known."""
        running = self._clock() - self._began
        size, later = self._sizes.get(self.step, 0.0), self._later()
        whole = self._whole_step(running, size)
        if whole is None:
            return None
        seconds, sizes = self._done_seconds + whole, self._done_size + size
        if later and not sizes:
            return None
        return max(0.0, whole - running) + (later * seconds / sizes if later else 0.0)

    def share(self) -> float | None:
        """The share of all work that is done."""
        left = self.left()
        return None if left is None else self.elapsed / max(self.elapsed + left, 1e-9)

    def _whole_step(self, running: float, size: float) -> float | None:
        """Seconds that the present step takes."""
        if self._done is not None and self._done >= _FIRST_SHARE and running >= _FIRST_SECONDS:
            return running / self._done
        if self._done_size and size:
            return max(running, size * self._done_seconds / self._done_size)
        return None

    def _later(self) -> float:
        """The size of all steps after this one."""
        return sum(size for step, size in self._sizes.items() if step != self.step)

    def _finish(self) -> None:
        """Count the present step as done, and those before it as left out."""
        if self.step not in self._sizes:
            return
        for step in list(self._sizes):
            size = self._sizes.pop(step)
            if step == self.step:
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
