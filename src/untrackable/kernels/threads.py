"""The threads that a kernel may use: all cores, but at most four, unless the caller sets another limit.

These are plain Python threads, and the kernels release the interpreter's lock. So any number of server threads may
call them at once. numba's own threading layer is not safe for that.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

from untrackable import checks

_MOST = 4
"""The largest number of threads unless the caller sets a limit."""
_allowed: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Within the block, kernels that this thread calls use at most this number of threads."""
    token = _allowed.set(checks.integer("threads", threads, low=1))
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed() -> int:
    """The number of threads that a kernel may use here."""
    chosen = _allowed.get()
    return min(_MOST, _cores()) if chosen is None else chosen


def split_work(work: Callable[[int, int], object], total: int, *, threads: int) -> None:
    """Call work(start, stop) on consecutive pieces of 0 … total-1, one piece per thread."""
    threads = max(1, min(threads, total))
    if threads == 1:
        work(0, total)
        return
    ends = [total * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
