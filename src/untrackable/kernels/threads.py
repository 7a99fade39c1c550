"""How many threads a kernel may use: all cores (four at most) unless the caller says otherwise.

Plain Python threads over kernels that release the interpreter's lock, so that any number of server threads may call
them at once; numba's own threading layer is not safe for that.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

from untrackable import checks

_MOST = 4
_allowed: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Within the block, this thread's kernels use at most so many threads."""
    token = _allowed.set(checks.integer("threads", threads, low=1))
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed() -> int:
    """How many threads a kernel may use here."""
    chosen = _allowed.get()
    return min(_MOST, _cores()) if chosen is None else chosen


def share(work: Callable[[int, int], object], total: int, *, threads: int) -> None:
    """Do work(start, stop) on all of 0 … total-1, in as many pieces as there are threads."""
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
