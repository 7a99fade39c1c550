"""A clock that jumps must not close rounds that are not over: a closed round stays closed."""

import logging
import time
from collections.abc import Callable

_log = logging.getLogger("untrackable.collector")
_MOST = 60.0
"""Seconds that a clock may be set forward between two looks without being doubted."""
_PATIENCE = 600.0
"""Seconds after which it is believed all the same: a machine that was halted has to catch up."""


def since_start() -> float:
    """Seconds that only pass, also while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Steady:
    """Compares a clock with one that nobody sets. A clock that is wrong from the start is not found out."""

    def __init__(self, clock: Callable[[], float], passing: Callable[[], float] = since_start) -> None:
        self._clock, self._passing = clock, passing
        self._ahead = clock() - passing()
        self._doubted: float | None = None

    def agrees(self) -> bool:
        """Whether the clock ran on as time passed, or jumped forward so long ago that it is believed."""
        now = self._passing()
        ahead = self._clock() - now
        if ahead - self._ahead <= _MOST:
            if self._doubted is not None:
                _log.warning("the clock is back: rounds are closed again")
        elif self._doubted is None:
            jump = ahead - self._ahead
            _log.error("the clock jumped %.0f s forward: no round is closed in the next %.0f s", jump, _PATIENCE)
            self._doubted = now
            return False
        elif now - self._doubted < _PATIENCE:
            return False
        self._ahead, self._doubted = ahead, None
        return True
