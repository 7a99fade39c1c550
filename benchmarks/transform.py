"""The kernels against what SciPy and NumPy offer for the same work, in the same run.

Ratios above 1 mean that ours is faster. A "pass" is the time of negating the table in place, which reads and writes
all of it once. Run with `make bench`, or with the largest number of bits as argument.
"""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.fft

from untrackable.kernels import compilation as kernels
from untrackable.kernels import threads
from untrackable.kernels.counting import add_signs
from untrackable.kernels.parity import _parity_sums, parity_sums
from untrackable.kernels.transform import _butterflies, walsh_hadamard

REPORTS = 10_000_000
LARGEST_NUMPY = 22


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of a few runs."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def in_turns(*works: Callable[[], object], times: int = 5) -> list[float]:
    """The shortest run of each, taken in turns."""
    spent = [[seconds(work, 1) for work in works] for _ in range(times)]
    return [min(column) for column in zip(*spent, strict=True)]


def one_thread(work: Callable[[], object]) -> Callable[[], object]:
    """The same on one thread."""

    def alone() -> None:
        with threads.at_most(1):
            work()

    return alone


def loading() -> None:
    """What the first use in a process costs, once compiled."""
    script = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    spent = [
        float(subprocess.run([sys.executable, "-c", script.format(work)], capture_output=True, check=True).stdout)  # noqa: S603
        for work in ("import numpy", "import numpy; from untrackable.kernels import compiled")
    ]
    kernels.compiled(kernels.WORTHWHILE)
    print(f"first use in a process: {spent[1] - spent[0]:.2f} s to load numba and the kernels from the cache")


def transforms(largest: int) -> None:
    """All sizes, one thread and as many as allowed."""
    print(f"\nWalsh-Hadamard transform ({threads.allowed()} threads at most)")
    print("bits      ms   one thread   rfft/ours   NumPy/ours   passes")
    for bits in range(16, largest + 1, 2):
        table = np.random.default_rng(bits).integers(-9, 9, size=1 << bits)
        real = table.astype(np.float64)
        ours, alone, peer, once = in_turns(
            lambda x=table: walsh_hadamard(x, in_place=True),  # type: ignore[misc]
            one_thread(lambda x=table: walsh_hadamard(x, in_place=True)),  # type: ignore[misc]
            lambda x=real: scipy.fft.rfft(x, workers=threads.allowed()),  # type: ignore[misc]
            lambda x=table: np.negative(x, out=x),  # type: ignore[misc]
            times=3,
        )
        numpy = f"{seconds(lambda x=table: _butterflies(x), 1) / ours:.1f}" if bits <= LARGEST_NUMPY else "-"  # type: ignore[misc]
        print(
            f"{bits:4}  {ours * 1e3:6.2f}  {alone * 1e3:11.2f}  {peer / ours:10.1f}  {numpy:>11}  "
            f"{ours / once:7.1f}"
        )


def counts() -> None:
    """Range check and signs included, against counting alone."""
    print(f"\ncounting {REPORTS:,} reports")
    for bits in (16, 24):
        reports = np.random.default_rng(bits).integers(2, 2 << bits, size=REPORTS, dtype=np.uint64)
        sums = np.zeros(1 << bits, dtype=np.int64)
        vectors = (reports >> np.uint64(1)).astype(np.int64)
        signs = 1.0 - 2.0 * (reports & np.uint64(1)).astype(np.float64)
        ours, alone, plain, weighted = in_turns(
            lambda s=sums, r=reports: add_signs(s, r),  # type: ignore[misc]
            one_thread(lambda s=sums, r=reports: add_signs(s, r)),  # type: ignore[misc]
            lambda v=vectors, s=sums: np.bincount(v, minlength=s.size),  # type: ignore[misc]
            lambda v=vectors, w=signs, s=sums: np.bincount(v, w, minlength=s.size),  # type: ignore[misc]
        )
        print(
            f"  {bits} bits: {REPORTS / ours / 1e6:.0f} million a second; {weighted / ours:.2f} × np.bincount with "
            f"signs as weights ({weighted / alone:.2f} × on one thread), {plain / ours:.2f} × without signs"
        )


def parities() -> None:
    """A list of candidates, for values that are too wide to tabulate."""
    print("\nparity scan of 1,000,000 reports")
    rng = np.random.default_rng(1)
    for limbs, count in ((1, 1000), (2, 100), (4, 100)):
        vectors = rng.integers(0, 1 << 64, size=(limbs, 1_000_000), dtype=np.uint64)
        candidates = rng.integers(0, 1 << 64, size=(limbs, count), dtype=np.uint64)
        ours = seconds(lambda v=vectors, u=candidates: parity_sums(v, u))  # type: ignore[misc]
        alone = seconds(one_thread(lambda v=vectors, u=candidates: parity_sums(v, u)))  # type: ignore[misc]
        peer = seconds(lambda v=vectors, u=candidates: _parity_sums(v, u), 1)  # type: ignore[misc]
        print(
            f"  {64 * limbs:3} bits, {count:4} candidates: {peer / ours:.1f} × np.bitwise_count "
            f"({peer / alone:.1f} × on one thread)"
        )


if __name__ == "__main__":
    loading()
    transforms(int(sys.argv[1]) if len(sys.argv) > 1 else 26)
    counts()
    parities()
