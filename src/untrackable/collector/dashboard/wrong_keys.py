"""Limits how often somebody may try wrong keys, without looking at addresses.

Tries are counted for each key that exists. Somebody who does not know the id of a key, which is random too, can
neither guess the key nor lock anybody out.
"""

import threading
import time
from collections.abc import Callable

_TRIES = 10
"""The largest number of wrong tries for one key in a period."""
_SECONDS = 60.0
"""The length of a period. At its end all counts are forgotten."""


class WrongKeys:
    """The number of wrong tries for each key in the present period, in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counting = threading.Lock()
        self._since, self._counts = clock(), dict[str, int]()

    def allow(self, id: str) -> bool:
        """Whether another key with this id may be tried now."""
        with self._counting:
            if not 0 <= self._clock() - self._since < _SECONDS:
                self._since, self._counts = self._clock(), {}
            return self._counts.get(id, 0) < _TRIES

    def count(self, id: str) -> None:
        """Count a wrong try for a key that exists."""
        with self._counting:
            self._counts[id] = self._counts.get(id, 0) + 1
