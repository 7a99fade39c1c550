"""Files of reports about numbers, several choices and records, estimated as streams: peak memory and time.

Each kind of question has one file of Parquet. It is estimated, and beside that read by pyarrow alone, and read by
pyarrow and counted by `np.bincount`, without a check of any report or checksum: the plainest that adds up the same
sums. Every step runs in a process of its own, whose peak memory the operating system tells; it is done twice, and
the shorter time counts. The last column compares adding up reports in memory with `np.bincount` of the same array.
Ratios above 1 mean that ours is slower. `question_files.py 1e8` takes another number.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from untrackable import Buckets, Categories, IntegerRange, estimate_files
from untrackable.encodings import Choices, Encoding, Record
from untrackable.mechanisms import OneBitMean, Views
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.reports.population import Population
from untrackable.reports.simulation import simulate_file

LIMIT = 2.0
"""GiB."""
_IN_MEMORY = 5_000_000
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


def simulated(name: str, path: Path, reports: int) -> None:
    """One round. People hold some of the values."""
    mechanism, encoding = QUESTIONS[name]
    values = np.random.default_rng(1).integers(0, encoding.values, size=200, dtype=np.uint64)
    values = np.unique(values) if encoding.asked is None else np.arange(200, dtype=np.uint64)
    held = Population(values, np.full(values.size, 1 / values.size))
    simulate_file(path, mechanism, held, people=reports, encoding=encoding)


def estimated(name: str, path: Path, _: int) -> None:
    """Ours, all of it."""
    best = estimate_files(path).best
    if name == "mean":
        best.mean()
    elif name == "numbers":
        best.quantile(0.5)


def read(_name: str, path: Path, _: int) -> None:
    """The reports, batch by batch."""
    for _column in _columns(path):
        pass


def counted(name: str, path: Path, _: int) -> None:
    """The same, and counted by their views, vectors and answers."""
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


STEPS: dict[str, Callable[[str, Path, int], None]] = {
    step.__name__: step for step in (simulated, estimated, read, counted)
}


def measured(step: str, name: str, path: Path, reports: int) -> dict[str, Any]:
    """Seconds and peak memory of a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, name, str(path), str(reports)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def one_step(step: str, name: str, path: Path, reports: int) -> None:
    """Run a step, twice unless it writes, and print what it took."""
    times = []
    for _ in range(1 if step == "simulated" else 2):
        begun = time.perf_counter()
        STEPS[step](name, path, reports)
        times.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": min(times), "peak": peak}))


def in_memory(name: str) -> float:
    """Adding up reports in memory, as a multiple of `np.bincount` of the same array."""
    mechanism, _ = QUESTIONS[name]
    batches = mechanism.simulate(np.arange(_IN_MEMORY) % mechanism.base.values, rounds=[1], seed=1)  # type: ignore[attr-defined]
    reports = np.concatenate([batch.reports[:, 0] for batch in batches])
    ours, theirs = [], []
    for _ in range(3):
        begun = time.perf_counter()
        mechanism.aggregator(1).add(reports)
        between = time.perf_counter()
        np.bincount(reports.astype(np.int64), minlength=1 << mechanism.report_bits)
        ours.append(between - begun)
        theirs.append(time.perf_counter() - between)
    return min(ours) / min(theirs)


def table(reports: int) -> None:
    """One row for each kind of question."""
    print(f"{reports:,} reports of one round; a peak within {LIMIT:g} GiB is the limit")
    print(
        "question   simulate s   estimate s   million/s   peak GiB   / read   / read and count   memory / bincount"
    )
    for name in QUESTIONS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{name}.parquet")
            found = {step: measured(step, name, path, reports) for step in STEPS}
        ours = found["estimated"]["seconds"]
        peak = max(found[step]["peak"] for step in ("simulated", "estimated"))
        ratios = [ours / found[step]["seconds"] for step in ("read", "counted")]
        print(
            f"{name:8}   {found['simulated']['seconds']:10.1f}   {ours:10.2f}   {reports / ours / 1e6:9.0f}   "
            f"{peak:8.2f}   {ratios[0]:6.1f}   {ratios[1]:16.1f}   {in_memory(name):17.1f}"
            + ("" if peak <= LIMIT else "   above the limit")
        )


def main() -> None:
    """The table, or one step of it."""
    if sys.argv[1:2] == ["--step"]:
        step, name, path, number = sys.argv[2:]
        one_step(step, name, Path(path), int(number))
    else:
        table(int(float(sys.argv[1])) if len(sys.argv) > 1 else 5_000_000)


if __name__ == "__main__":
    main()
