"""A GPU that is emulated on the processor: the shipped CUDA sources, compiled by the system's C++ compiler."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from untrackable.kernels import engine, gpu

_FOLDER = Path(__file__).parent
_SOURCES = Path(gpu.__file__).parent / "cuda"
COMPILER = shutil.which("g++") or shutil.which("clang++")


@contextmanager
def emulated_device(*, shared_memory: int = 232_448, backwards: bool = False) -> Iterator[None]:
    """Within the block, kernels run on the processor, on arrays in main memory."""
    with (
        mock.patch.object(engine, "cupy", return_value=np),
        mock.patch.object(gpu, "cupy", return_value=np),
        mock.patch.object(gpu, "most_shared_memory", return_value=shared_memory),
        mock.patch.object(gpu, "processors", return_value=3),
        mock.patch.object(gpu, "_THREADS", 96),
        mock.patch.object(gpu, "launch", functools.partial(_launch, backwards, shared_memory)),
    ):
        yield


def _launch(
    backwards: bool,
    most: int,
    kernel: str,
    blocks: tuple[int, ...],
    threads: int,
    arguments: Sequence[Any],
    *,
    shared_memory: int = 0,
    **settings: str | int,
) -> None:
    assert shared_memory <= most
    for argument in arguments:
        assert not isinstance(argument, np.ndarray) or argument.flags.c_contiguous
    numbers = [a.ctypes.data if isinstance(a, np.ndarray) else int(a) & (1 << 64) - 1 for a in arguments]
    run = _compiled(kernel.split(".")[0], tuple(f"-D{name}={value}" for name, value in settings.items()))
    columns, rows = (*blocks, 1)[:2]
    run((ctypes.c_uint64 * len(numbers))(*numbers), columns, rows, threads, int(backwards))


@functools.cache
def _compiled(file: str, macros: tuple[str, ...]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.so"
        subprocess.run(  # noqa: S603
            [
                str(COMPILER),
                *("-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-U_FORTIFY_SOURCE"),
                *("-Wno-unknown-pragmas", "-Wno-unused-function"),
                f'-DKERNEL="{_SOURCES / file}.cu"',
                f"-D{file.upper()}",
                *macros,
                str(_FOLDER / "emulated_kernels.cpp"),
                "-o",
                str(made),
            ],
            check=True,
        )
        return ctypes.CDLL(str(made)).run
