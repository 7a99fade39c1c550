"""When to load the compiled kernels.

Importing numba takes about half a second. Compiling takes a few seconds more, but only once, because the result is
kept on disk. So NumPy does small work until the first large job loads the kernels.
"""

import functools
import logging
import threading
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTHWHILE = 1 << 18
"""The number of entries from which loading the kernels pays off."""

_NOTICEABLE = 1.5
"""After this number of seconds, a log line tells that the kernels are loading."""

_log = logging.getLogger("untrackable")
_ready = threading.Event()
_loading = threading.Lock()


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
