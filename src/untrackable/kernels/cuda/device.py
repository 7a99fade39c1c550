"""The GPU: arrays on it, and kernels that are compiled for it on first use."""

import functools
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import NoGpu
from untrackable.extras import extra


@functools.cache
def arrays() -> Any:
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
    found: NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return found


def most_shared_memory() -> int:
    """The bytes of fast memory that the threads of a block can share."""
    return int(arrays().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def processors() -> int:
    """The number of multiprocessors."""
    return int(arrays().cuda.Device().attributes["MultiProcessorCount"])


def launch(
    kernel: str,
    blocks: tuple[int, ...],
    threads: int,
    arguments: Sequence[Any],
    *,
    shared_memory: int = 0,
    **settings: str | int,
) -> None:
    """Start the kernel `file.function` in these blocks. Its source is compiled with `settings` as macros."""
    function = _compiled(*kernel.split("."), tuple(f"-D{name}={value}" for name, value in settings.items()))
    if shared_memory:
        function.max_dynamic_shared_size_bytes = shared_memory
    function(blocks, (threads,), tuple(arguments), shared_mem=shared_memory)


@functools.cache
def _compiled(file: str, function: str, macros: tuple[str, ...]) -> Any:
    source = (resources.files(__package__) / f"{file}.cu").read_text(encoding="utf-8")
    return arrays().RawModule(code=source, options=("--std=c++17", *macros)).get_function(function)
