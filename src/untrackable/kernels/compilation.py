"""When to use the compiled kernels, and what the first use costs.

Importing numba takes about half a second, compiling a few seconds more, once: the result is kept on disk. Small
work is therefore left to NumPy until something large has come by.
"""

import functools
import logging
import threading
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTHWHILE = 1 << 18
"""Entries from which the first use pays for loading."""

_NOTICEABLE = 1.5
"""Seconds after which to say what is going on."""

_log = logging.getLogger("untrackable")
_ready = threading.Event()
_loading = threading.Lock()


def compiled(work: int) -> ModuleType | None:
    """The compiled kernels for so many entries; none where NumPy is to do it, as without numba."""
    if work < WORTHWHILE and not _ready.is_set():
        return None
    return _load()


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same entries as the kernels are compiled for them: contiguous, and not to be changed."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _load() -> ModuleType | None:
    with _loading:  # threads that come meanwhile wait, and have nothing to say
        return _imported()


@functools.cache
def _imported() -> ModuleType | None:
    notice = threading.Timer(
        _NOTICEABLE, _log.warning, ["loading the compiled kernels; the first time, this takes some seconds"]
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
