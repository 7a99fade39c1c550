"""The kernels beside what SciPy and NumPy offer for the same work.

A "pass" is the time of negating the table in place, which reads and writes all of it once.
"""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.fft

from benchmarks.shared.clocks import command_seconds, fastest, in_turns
from benchmarks.shared.measurements import Comparison, Row
from untrackable.kernels import engine
from untrackable.kernels.counting import _butterflies, _parity_sums, add_signs, parity_sums, walsh_hadamard

RFFT = Comparison(
    work="Walsh-Hadamard transform", peer="`scipy.fft.rfft` of the same length", unit="times as fast", at_least=5
)
PASSES = Comparison(work="Walsh-Hadamard transform", peer="one pass over the table", unit="times as long")
BUTTERFLIES = Comparison(work="Walsh-Hadamard transform", peer="the same in NumPy", unit="times as fast")
COUNTED = Comparison(
    work="Reports counted", peer="`np.bincount` with signs as weights", unit="times as fast", at_least=1.5
)
COUNTED_ALONE = Comparison(
    work="Reports counted, on one thread", peer="`np.bincount` with signs as weights", unit="times as fast"
)
PARITY = Comparison(work="Parity scan", peer="`np.bitwise_count`", unit="times as fast", at_least=5)
PARITY_ALONE = Comparison(work="Parity scan, on one thread", peer="`np.bitwise_count`", unit="times as fast")
LOADED = Comparison(work="First use of the compiled kernels in a process", unit="s of processor time")
COMPARISONS = (RFFT, PASSES, BUTTERFLIES, COUNTED, COUNTED_ALONE, PARITY, PARITY_ALONE, LOADED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Transforms, counts and parities, and what loading the kernels costs."""
    engine.compiled(engine.WORTHWHILE)
    for bits in (10, 10, 10, 10) if small else (20, 22, 24, 26):
        yield from _transforms(bits)
    table = np.random.default_rng(1).integers(-9, 9, size=1 << (10 if small else 22))
    ours, peer = (fastest(lambda w=work: w(table), 1) for work in (walsh_hadamard, _butterflies))  # type: ignore[misc]
    yield BUTTERFLIES.row(peer / ours, f"2^{table.size.bit_length() - 1}")
    for bits in (16, 24):
        yield from _counts(bits, 1000 if small else 10_000_000)
    for limbs, count in ((1, 1000), (4, 100)):
        yield from _parities(limbs, 1000 if small else 1_000_000, count)
    numpy, ours = (
        command_seconds("-c", f"import numpy{more}") for more in ("", "; from untrackable.kernels import compiled")
    )
    yield LOADED.row(ours - numpy)


def _one_thread(work: Callable[[], object]) -> Callable[[], object]:
    """The same on one thread."""

    def alone() -> None:
        with engine.at_most(1):
            work()

    return alone


def _transforms(bits: int) -> Iterator[Row]:
    table = np.random.default_rng(bits).integers(-9, 9, size=1 << bits)
    real = table.astype(np.float64)
    ours, peer, once = in_turns(
        lambda: walsh_hadamard(table, in_place=True),
        lambda: scipy.fft.rfft(real, workers=engine.allowed()),
        lambda: np.negative(table, out=table),
        times=5,
    )
    yield RFFT.row(peer / ours, f"2^{bits}")
    yield PASSES.row(ours / once, f"2^{bits}")


def _counts(bits: int, number: int) -> Iterator[Row]:
    """Ours checks the range and finds the signs as well."""
    reports = np.random.default_rng(bits).integers(2, 2 << bits, size=number, dtype=np.uint64)
    sums = np.zeros(1 << bits, dtype=np.int64)
    vectors = (reports >> np.uint64(1)).astype(np.int64)
    signs = 1.0 - 2.0 * (reports & np.uint64(1)).astype(np.float64)
    ours, alone, peer = in_turns(
        lambda: add_signs(sums, reports),
        _one_thread(lambda: add_signs(sums, reports)),
        lambda: np.bincount(vectors, signs, minlength=sums.size),
        times=20,
    )
    yield COUNTED.row(peer / ours, f"{number:,} reports of {bits} bits")
    yield COUNTED_ALONE.row(peer / alone, f"{number:,} reports of {bits} bits")


def _parities(limbs: int, number: int, count: int) -> Iterator[Row]:
    """A list of candidates, for values that are too wide to tabulate."""
    rng = np.random.default_rng(1)
    vectors = rng.integers(0, 1 << 64, size=(limbs, number), dtype=np.uint64)
    candidates = rng.integers(0, 1 << 64, size=(limbs, count), dtype=np.uint64)
    ours = fastest(lambda: parity_sums(vectors, candidates))
    alone = fastest(_one_thread(lambda: parity_sums(vectors, candidates)))
    peer = fastest(lambda: _parity_sums(vectors, candidates), 1)
    size = f"{number:,} reports × {count:,} candidates of {64 * limbs} bits"
    yield PARITY.row(peer / ours, size)
    yield PARITY_ALONE.row(peer / alone, size)
