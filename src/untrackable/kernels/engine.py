"""Where the kernels run: on this machine's processor, or on its GPU for callers that ask for it.

Results are the same integers. Small work stays on the processor, because copying it to the GPU would take longer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.kernels.cuda import device

Engine = Literal["local", "cuda"]
ENGINES: tuple[Engine, ...] = ("local", "cuda")

_chosen: ContextVar[str] = ContextVar("engine", default="local")


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Within the block, kernels that this thread calls run there. Raises at once if there is no GPU."""
    if checks.choice("engine", engine, ENGINES) == "cuda":
        device.arrays()
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
    return device.arrays() if on_gpu() else np


def in_main_memory(array: Any) -> NDArray[Any]:
    """The array itself, or a copy of an array that is on the GPU."""
    return device.in_main_memory(array)
