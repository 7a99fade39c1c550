"""Files of reports, simulated, read and estimated as streams: peak memory, and time beside pyarrow's own.

Every step runs in a process of its own, whose peak memory the operating system tells; reading is done twice, the
first time with imports and compiled code to load, and the shorter time counts. Ours does more than the peer, as
checksums are verified and every report is checked and counted.

Values of 256 bits cannot be tabulated: a hundred candidates are counted while reading, beside keeping all reports
and asking them afterwards, with a tenth of the reports and with all of them.
"""

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.shared.clocks import taken_apart
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck, Fresh, NoisyInnerProduct, estimate_files, read_reports, write_reports
from untrackable.reports.simulation import population, simulate_file
from untrackable.reports.sums import sum_files

DECK = Deck(bits=16, slots=30, eps_report=1.0, width=1)
LOCAL = NoisyInnerProduct(bits=256, eps=1.0, width=1)
WIDE = Fresh(LOCAL)
CANDIDATES = [0, *(1 << i for i in range(99))]
LIMIT = 2.0
"""GiB."""
FORMATS = ("parquet", "csv")
READING = {
    step: {
        name: Comparison(work=f"{step}, {name}", peer="pyarrow reading the file", unit="times as long")
        for name in FORMATS
    }
    for step in ("Read and check a file", "Estimate from a file")
}
PEAKS = {name: Comparison(work=f"Peak memory of that, {name}", unit="GiB", at_most=LIMIT) for name in FORMATS}
SIMULATED = {
    name: Comparison(work=f"Peak memory of simulating a file, {name}", unit="GiB", at_most=LIMIT)
    for name in FORMATS
}
ASKED = Comparison(
    work="Estimate 100 candidates of 256 bits from a file", peer="keep all reports and ask them later",
    unit="times as long",
)  # fmt: skip
ASKED_MEMORY = Comparison(work="Peak memory of that", unit="GiB", at_most=LIMIT)
GROWN = Comparison(work="Peak memory of that", peer="a tenth of the reports", unit="times as large")
COMPARISONS = (
    *(made for step in READING.values() for made in step.values()),
    *PEAKS.values(),
    *SIMULATED.values(),
    ASKED,
    ASKED_MEMORY,
    GROWN,
)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Both formats, CSV with a tenth of the reports; then wide values."""
    reports = 1000 if small else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name, count in zip(FORMATS, (reports, reports // 10), strict=True):
            yield from _format(name, Path(folder, f"reports.{name}"), count, small=small)
        yield from _wide(Path(folder, "wide.parquet"), reports, small=small)


def _format(name: str, path: Path, reports: int, *, small: bool) -> Iterator[Row]:
    size, apart = f"{reports:,} reports", functools.partial(taken_apart, small=small)
    yield SIMULATED[name].row(apart(simulated, path, reports, times=1).peak, size)
    peer, reading, estimating = (apart(step, path) for step in (read_by_pyarrow, read, estimated))
    for step, found in zip(READING.values(), (reading, estimating), strict=True):
        yield step[name].row(found.seconds / peer.seconds, size)
    yield PEAKS[name].row(estimating.peak, size)


def _wide(path: Path, reports: int, *, small: bool) -> Iterator[Row]:
    peaks = []
    for count in (reports // 10, reports):
        taken_apart(written, path, count, times=1, small=small)
        peaks.append(taken_apart(asked, path, small=small))
    beside, size = taken_apart(kept, path, small=small), f"{reports:,} reports"
    yield ASKED.row(peaks[1].seconds / beside.seconds, size)
    yield ASKED_MEMORY.row(peaks[1].peak, size)
    yield GROWN.row(peaks[1].peak / peaks[0].peak, size)


def simulated(path: Path, reports: int) -> None:
    """Ten rounds of a tenth as many people."""
    simulate_file(path, DECK, population("zipf:1.3", DECK), people=reports // 10, rounds=10)


def read(path: Path) -> None:
    """Ours, without counting."""
    for _piece in read_reports(path).pieces():
        pass


def estimated(path: Path) -> None:
    """Ours, all of it."""
    estimate_files(path)


def read_by_pyarrow(path: Path) -> None:
    """The same columns, batch by batch."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            for _batch in file.iter_batches(1 << 20):
                pass
        return
    with pyarrow.csv.open_csv(path, pyarrow.csv.ReadOptions(skip_rows=1, block_size=1 << 23)) as batches:
        for _batch in batches:
            pass


def written(path: Path, reports: int) -> None:
    """Random vectors of 256 bits, and the noisy answers of people who all hold the value 0."""
    rng, size = np.random.default_rng(1), 1 << 18

    def pieces() -> Iterator[tuple[int, Any]]:
        for start in range(0, reports, size):
            rows = rng.integers(0, 256, size=(min(size, reports - start), 33), dtype=np.uint8)
            rows[:, 0] = rows[:, 0] & 254 | LOCAL.flip.simulate(rng, rows.shape[:1])
            rows[:, -1] &= 1
            yield 1, rows

    write_reports(path, pieces(), mechanism=WIDE)


def asked(path: Path) -> None:
    """Ours, with the candidates known beforehand."""
    (most, *_rest) = estimate_files(path, candidates=CANDIDATES).best.top(1)
    if most.value != 0 or not most.lower < 1 <= most.upper:
        raise AssertionError("everyone holds the value 0")


def kept(path: Path) -> None:
    """The same from all reports, as where the candidates come later."""
    (sums,) = sum_files([path]).sums.values()
    sums.estimate(candidates=CANDIDATES)
