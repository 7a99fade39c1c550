"""A gateway's keys as a running collector has them: read again whenever their file is replaced."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from untrackable.errors import GatewayKeysError
from untrackable.oblivious.gateway_keys import read_keys
from untrackable.oblivious.key_config import configs_to_bytes
from untrackable.oblivious.sealing import OpeningKey

_log = logging.getLogger("untrackable.collector")
_SECONDS = 1.0
"""The longest time for which the file is not looked at while requests come."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKeys:
    """The keys that open requests by their numbers, and the list of the public ones."""

    opening: Mapping[int, OpeningKey]
    published: bytes


class WatchedKeys:
    """The keys in a file. `GatewayKeysError` if they cannot be read at first; later, those of before stay."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._seen = self._mark()
        self._keys = self._read()
        self._looked = clock()

    def current(self) -> LoadedKeys:
        """The keys. The file is read again if it was replaced."""
        now = self._clock()
        if now - self._looked >= _SECONDS:
            self._looked = now
            mark = self._mark()
            if mark != self._seen:
                self._seen = mark
                try:
                    self._keys = self._read()
                except GatewayKeysError as error:
                    _log.error("The gateway's keys stay as they were: %s", error)
        return self._keys

    def _read(self) -> LoadedKeys:
        found = read_keys(self._path)
        return LoadedKeys(found.opening_keys(), configs_to_bytes(found.published()))

    def _mark(self) -> tuple[int, ...] | None:
        """What changes when the file is replaced. None if there is no file."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
