"""Log lines about a failing store. They stay few even if every second transaction fails, as near a full disk."""

import logging
import time
from collections.abc import Callable
from math import inf

from untrackable.errors import StoreUnavailable

_log = logging.getLogger("untrackable.collector")

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
