"""A clock that jumps forward must not end rounds, or begin releases, too early: neither can be undone."""

import logging
import time
from collections.abc import Callable

_MOST = 60.0
"""The largest jump of the clock between two checks, in seconds, that is not suspicious."""
_PATIENCE = 600.0
"""After this number of seconds, a clock that jumped is trusted again, since a machine may have been halted."""


def seconds_since_boot() -> float:
    """Seconds since the machine started, including the time it slept. Nobody can set this clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ClockJumpDetector:
    """Compares the clock with one that nobody can set. It cannot detect a clock that is wrong from the start.

    Jumps are logged, with the name of the `work` that waits until the clock is trusted again.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        passing: Callable[[], float] = seconds_since_boot,
        *,
        log: logging.Logger,
        work: str,
    ) -> None:
        self._clock, self._passing, self._log, self._work = clock, passing, log, work
        self._ahead = clock() - passing()
        self._doubted: float | None = None

    def clock_is_doubted(self) -> bool:
        """Whether the clock has jumped forward and is not yet trusted again. This changes and logs nothing."""
        now = self._passing()
        if self._clock() - now - self._ahead <= _MOST:
            return False
        return self._doubted is None or now - self._doubted < _PATIENCE

    def trusted_time(self) -> float | None:
        """The time, if the clock has run steadily, or jumped so long ago that it is trusted again; else None.

        The clock may jump at any moment, so callers use this time and do not look at the clock again.
        """
        now, time = self._passing(), self._clock()
        ahead = time - now
        if ahead - self._ahead <= _MOST:
            if self._doubted is not None:
                self._log.warning("The clock is right again. %s continues.", self._work)
        elif self._doubted is None:
            jump = ahead - self._ahead
            self._log.error(
                "The clock jumped %.0f s forward. %s waits for %.0f s: check the clock.",
                jump,
                self._work,
                _PATIENCE,
            )
            self._doubted = now
            return None
        elif now - self._doubted < _PATIENCE:
            return None
        self._ahead, self._doubted = ahead, None
        return time
