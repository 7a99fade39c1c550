"""Files of reports about numbers, several choices and records, estimated as streams: peak memory and time.

Each kind of question has one file of Parquet. It is estimated, and beside that read by pyarrow and counted by
`np.bincount`, without a check of any report or checksum: the plainest that adds up the same sums. Every step runs
in a process of its own, whose peak memory the operating system tells; it is done twice, and the shorter time
counts. Adding up reports in memory is compared with `np.bincount` of the same array.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.shared.clocks import in_turns, taken_apart
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Buckets, Categories, IntegerRange, estimate_files
from untrackable.encodings import Choices, Encoding, Record
from untrackable.mechanisms import OneBitMean, Views
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.simulation import Population, simulate_file

_NUMBERS = Buckets(edges=np.geomspace(0.05, 20, 1025).tolist())
_FEATURES = Choices(names=[f"feature {i}" for i in range(30)])
_PERSON = Record(
    attributes={
        "system": Categories(names=[f"system {i}" for i in range(8)]),
        "country": Categories(names=[f"country {i}" for i in range(64)]),
        "memory": IntegerRange(low=0, high=15),
    }
)
_SECONDS = IntegerRange(low=0, high=1023)


def _asked(encoding: Encoding) -> Views:
    assert encoding.asked is not None  # noqa: S101
    return Views(bits=encoding.bits, views=encoding.asked.views, eps=1.0)


QUESTIONS: dict[str, tuple[Mechanism, Encoding]] = {
    "numbers": (Dealt(Views.prefixes(bits=10, eps=1.0), 12), _NUMBERS),
    "choices": (Dealt(_asked(_FEATURES), 12), _FEATURES),
    "record": (Dealt(_asked(_PERSON), 12), _PERSON),
    "mean": (Dealt(OneBitMean(values=1024, eps=1.0), 12), _SECONDS),
}


KINDS = {
    "numbers": "numbers by views",
    "choices": "30 choices",
    "record": "a record of three attributes",
    "mean": "a mean from one bit",
}
PEAK = {
    name: Comparison(work=f"Peak memory to estimate from a file: {kind}", unit="GiB", at_most=2.0)
    for name, kind in KINDS.items()
}
STREAMED = {
    name: Comparison(
        work=f"Time for that: {kind}", peer="pyarrow and `np.bincount`, nothing checked", unit="times as long"
    )
    for name, kind in KINDS.items()
}
ADDED = {
    name: Comparison(work=f"Reports added up in memory: {kind}", peer="`np.bincount` of them", unit="times as long")
    for name, kind in KINDS.items()
}
COMPARISONS = (*PEAK.values(), *STREAMED.values(), *ADDED.values())


def measure(*, small: bool = False) -> Iterator[Row]:
    """Files, and then reports in memory."""
    reports, fewer = (1000, 1000) if small else (100_000_000, 5_000_000)
    for name in QUESTIONS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{name}.parquet")
            made = taken_apart(simulated, name, path, reports, times=1, small=small)
            ours, peer = (taken_apart(step, name, path, small=small) for step in (estimated, counted))
        yield PEAK[name].row(max(made.peak, ours.peak), f"{reports:,} reports")
        yield STREAMED[name].row(ours.seconds / peer.seconds, f"{reports:,} reports")
    for name in QUESTIONS:
        yield ADDED[name].row(in_memory(name, fewer), f"{fewer:,} reports")


def simulated(name: str, path: Path, reports: int) -> None:
    """One round. People hold some of the values."""
    mechanism, encoding = QUESTIONS[name]
    values = np.random.default_rng(1).integers(0, encoding.values, size=200, dtype=np.uint64)
    values = np.unique(values) if encoding.asked is None else np.arange(200, dtype=np.uint64)
    held = Population(values, np.full(values.size, 1 / values.size))
    simulate_file(path, mechanism, held, people=reports, encoding=encoding)


def estimated(name: str, path: Path) -> None:
    """Ours, all of it."""
    best = estimate_files(path).best
    if name == "mean":
        best.mean()
    elif name == "numbers":
        best.quantile(0.5)


def counted(name: str, path: Path) -> None:
    """Read by pyarrow, and counted by their views, vectors and answers."""
    mechanism, _encoding = QUESTIONS[name]
    size = 1 << mechanism.report_bits
    total = np.zeros(size, dtype=np.int64)
    for column in _columns(path):
        total += np.bincount(column, minlength=size)


def _columns(path: Path) -> Any:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1 << 20, columns=["report"]):
            column: NDArray[Any] = batch.column(0).to_numpy(zero_copy_only=False)
            yield column


def in_memory(name: str, number: int) -> float:
    """Adding up reports in memory, as a multiple of `np.bincount` of the same array."""
    mechanism, _ = QUESTIONS[name]
    batches = mechanism.simulate(np.arange(number) % mechanism.base.values, rounds=[1], seed=1)  # type: ignore[attr-defined]
    reports = np.concatenate([batch.reports[:, 0] for batch in batches])
    ours, theirs = in_turns(
        lambda: mechanism.aggregator(1).add(reports),
        lambda: np.bincount(reports.astype(np.int64), minlength=1 << mechanism.report_bits),
    )
    return ours / theirs
