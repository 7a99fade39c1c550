"""Keeps a log short: a line that repeats is written once a minute, whoever causes it and however often."""

import logging
import threading
import time
from collections.abc import Callable

_SECONDS = 60.0
"""The length of a period, in which the same line is written once."""
_MOST_LINES = 1000
"""The largest number of different lines of a period."""


class RepeatedLines(logging.Filter):
    """Lets a line pass if it was not written in this period. The next one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._counting = threading.Lock()
        self._since, self._written, self._left_out = clock(), set[str](), 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        text = record.getMessage()
        with self._counting:
            if not 0 <= self._clock() - self._since < _SECONDS:
                self._since, self._written = self._clock(), set()
            if text in self._written or len(self._written) >= _MOST_LINES:
                self._left_out += 1
                return False
            self._written.add(text)
            left_out, self._left_out = self._left_out, 0
        if left_out:
            record.msg, record.args = "%s (%d repeated lines were left out before)", (text, left_out)
        return True
