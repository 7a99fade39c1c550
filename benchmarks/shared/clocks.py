"""How long work takes, and how much memory it needs."""

import multiprocessing
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


def fastest(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    return in_turns(work, times=times)[0]


def in_turns(*works: Callable[[], object], times: int = 3) -> list[float]:
    """Seconds of the fastest run of each, taken in turns, so that all meet the same machine."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(times):
        for work, found in zip(works, taken, strict=True):
            begun = time.perf_counter()
            work()
            found.append(time.perf_counter() - begun)
    return [min(found) for found in taken]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of one run, and its result."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def processor_timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor time of one run, with all its threads, and its result. It depends little on what else is run."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def command_seconds(*arguments: str) -> float:
    """Processor time of Python with these arguments, from start to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Taken(NamedTuple):
    """Seconds of the fastest run, and the peak memory of its process in GiB."""

    seconds: float
    peak: float


def taken(work: Callable[..., object], *arguments: object, times: int = 2) -> Taken:
    """What work takes in this process."""
    seconds = fastest(lambda: work(*arguments), times)
    return Taken(seconds, memory("VmHWM") / 2**30)


def taken_apart(work: Callable[..., object], *arguments: object, times: int = 2, small: bool = False) -> Taken:
    """What work takes in a process of its own."""
    return apart(taken, work, *arguments, times=1 if small else times, small=small)


def apart(work: Callable[..., T], *arguments: object, small: bool = False, **more: object) -> T:
    """The result of work in a process of its own, or in this one if it is only tried."""
    if small:
        return work(*arguments, **more)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments, **more).result()


def memory(kind: str = "VmRSS", process: int | str = "self") -> float:
    """Bytes of memory of a process: resident now, or at its peak (VmHWM)."""
    found = re.search(rf"{kind}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return 1024 * int(found[1]) if found else 0.0
