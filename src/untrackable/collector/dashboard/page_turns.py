"""One page is made at a time, so that many readers leave the interpreter to those who send reports."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.requests import Request

from untrackable.collector.http.problems import Problem, Refused

Made = TypeVar("Made")
_WAITING = 16
"""The largest number of pages that are made or wait. More would take the threads that other requests need."""
_room = threading.BoundedSemaphore(_WAITING)
_turn = threading.Lock()


@contextmanager
def page_turn() -> Iterator[None]:
    """Make a page within the block. `Refused` if too many wait."""
    if not _room.acquire(blocking=False):
        raise Refused(Problem.BUSY, "too many people look at pages now")
    try:
        with _turn:
            yield
    finally:
        _room.release()


def in_turn(endpoint: Callable[[Any, Request], Made]) -> Callable[[Any, Request], Made]:
    """An endpoint that makes its page in turn. It must not wait for heavy work meanwhile."""

    @functools.wraps(endpoint)
    def made(self: Any, request: Request) -> Made:
        with page_turn():
            return endpoint(self, request)

    return made
