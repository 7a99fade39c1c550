"""Where the kernels run: compiled or by NumPy, on how many threads, or on the GPU for callers that ask for it.

Results are the same integers everywhere. Small work stays on the processor, because copying it to the GPU would
take longer. Importing numba takes about half a second, and compiling a few seconds more, but only once, because
the result is kept on disk. So NumPy does small work until the first large job loads the kernels.

The threads are plain Python threads, and the kernels release the interpreter's lock. So any number of server
threads may call them at once. numba's own threading layer is not safe for that.
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.errors import NoGpu
from untrackable.extras import extra

Engine = Literal["local", "cuda"]
ENGINES: tuple[Engine, ...] = ("local", "cuda")

WORTHWHILE = 1 << 18
"""The number of entries from which loading the kernels pays off."""
_NOTICEABLE = 1.5
"""After this number of seconds, a log line tells that the kernels are loading."""
_log = logging.getLogger("untrackable")
_ready = threading.Event()
_loading = threading.Lock()
_MOST = 4
"""The largest number of threads unless the caller sets a limit."""
_allowed: ContextVar[int | None] = ContextVar("threads", default=None)
_chosen: ContextVar[str] = ContextVar("engine", default="local")


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Within the block, kernels that this thread calls run there. Raises at once if there is no GPU."""
    if checks.choice("engine", engine, ENGINES) == "cuda":
        cupy()
    token = _chosen.set(engine)
    try:
        yield
    finally:
        _chosen.reset(token)


def on_gpu() -> bool:
    """Whether large work runs on the GPU here."""
    return _chosen.get() == "cuda"


def arrays() -> Any:
    """The module for arrays on the engine: NumPy, or CuPy, which has the same functions."""
    return cupy() if on_gpu() else np


@functools.cache
def cupy() -> Any:
    """CuPy: it does what NumPy does, with arrays on the GPU. An error says what is missing."""
    with extra("cuda"):
        import cupy
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        raise NoGpu("The engine cuda needs an NVIDIA GPU and its driver, and there is none here.") from None
    return cupy


def in_main_memory(array: Any) -> NDArray[Any]:
    """The array itself, or a copy of an array that is on the GPU."""
    copied: NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return copied


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


def compiled(work: int) -> ModuleType | None:
    """The compiled kernels for work on this number of entries, or None if NumPy should do it.

    It is None without numba, and for small work as long as the kernels are not loaded.
    """
    if work < WORTHWHILE and not _ready.is_set():
        return None
    return _load()


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The entries of an array in the form that the kernels expect: contiguous and read-only."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _load() -> ModuleType | None:
    with _loading:  # Other threads wait here, so that only one of them imports and logs.
        return _imported()


@functools.cache
def _imported() -> ModuleType | None:
    notice = threading.Timer(
        _NOTICEABLE, _log.warning, ["Loading the compiled kernels. The first time, this takes a few seconds."]
    )
    notice.daemon = True
    notice.start()
    try:
        from untrackable.kernels import compiled as kernels
    except ImportError:
        return None
    finally:
        notice.cancel()
    _ready.set()
    return kernels
