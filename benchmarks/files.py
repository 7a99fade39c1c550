"""Files of reports, simulated, written, read and estimated as streams: peak memory, and time against pyarrow's own.

Every step runs in a process of its own, whose peak memory the operating system tells; reading is done twice, the
first time with imports and compiled code to load, and the shorter time counts. Ratios above 1 mean that ours is
slower: it does more, as checksums are verified and every report is checked and counted. "bytes" is reading the file
without looking at it, "pass" one pass over the reports in memory. `files.py 1e8` takes another number.

Values of 256 bits cannot be tabulated: a hundred candidates are counted while reading, beside keeping all reports
and asking them afterwards, with a tenth of the reports and with all of them.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq

from untrackable import Deck, Fresh, NoisyInnerProduct, estimate_files, read_reports, write_reports
from untrackable.reports.population import population
from untrackable.reports.simulation import simulate_file
from untrackable.reports.summing import sum_files

DECK = Deck(bits=16, slots=30, eps_report=1.0, width=1)
LOCAL = NoisyInnerProduct(bits=256, eps=1.0, width=1)
WIDE = Fresh(LOCAL)
CANDIDATES = [0, *(1 << i for i in range(99))]
LIMIT = 2.0


def simulated(path: Path, reports: int) -> None:
    """Ten rounds of a tenth as many people."""
    simulate_file(path, DECK, population("zipf:1.3", DECK), people=reports // 10, rounds=10)


def read(path: Path, _: int) -> None:
    """Ours, without counting."""
    for _piece in read_reports(path).pieces():
        pass


def estimated(path: Path, _: int) -> None:
    """Ours, all of it."""
    estimate_files(path)


def read_by_pyarrow(path: Path, _: int) -> None:
    """The same columns, batch by batch."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            for _batch in file.iter_batches(1 << 20):
                pass
        return
    with pyarrow.csv.open_csv(path, pyarrow.csv.ReadOptions(skip_rows=1, block_size=1 << 23)) as batches:
        for _batch in batches:
            pass


def read_bytes(path: Path, _: int) -> None:
    """The bytes of the file."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 23):
            pass


def one_pass(_: Path, reports: int) -> None:
    """As many reports in memory, read once."""
    block = np.ones(1 << 20, dtype=np.uint32)
    for _block in range(max(1, reports >> 20)):
        block.sum()


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


def asked(path: Path, _: int) -> None:
    """Ours, with the candidates known beforehand."""
    (most, *_rest) = estimate_files(path, candidates=CANDIDATES).best.top(1)
    if most.value != 0 or not most.lower < 1 <= most.upper:
        raise AssertionError("everyone holds the value 0")


def kept(path: Path, _: int) -> None:
    """The same from all reports, as where the candidates come later."""
    (sums,) = sum_files([path]).sums.values()
    sums.estimate(candidates=CANDIDATES)


STEPS: dict[str, Callable[[Path, int], None]] = {
    step.__name__: step for step in (simulated, read, estimated, read_by_pyarrow, read_bytes, one_pass)
}
WIDE_STEPS = {step.__name__: step for step in (written, read, asked, kept)}


def measured(step: str, path: Path, reports: int) -> dict[str, Any]:
    """Seconds and peak memory of a step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, str(path), str(reports)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def compare(path: Path, reports: int) -> None:
    """One format."""
    peaks = {}
    spent = {}
    for step in STEPS:
        found = measured(step, path, reports)
        spent[step], peaks[step] = found["seconds"], found["peak"]
    print(f"\n{path.suffix[1:]}: {reports:,} reports, {path.stat().st_size / reports:.2f} bytes each")
    print("             s   million/s   peak GiB    /pyarrow's read   /bytes   /pass")
    for step in ("simulated", "read", "estimated"):
        ratios = [spent[step] / spent[other] for other in ("read_by_pyarrow", "read_bytes", "one_pass")]
        verdict = "ok" if peaks[step] <= LIMIT else f"ABOVE {LIMIT:g}"
        print(
            f"{step:9} {spent[step]:6.2f}   {reports / spent[step] / 1e6:9.1f}   {peaks[step]:5.2f} {verdict}   "
            f"{ratios[0]:16.1f}   {ratios[1]:6.1f}   {ratios[2]:5.1f}"
        )


def compare_wide(path: Path, reports: int) -> None:
    """Peak memory with candidates counted as reports come, and with all reports kept; the first does not grow."""
    print(f"\n{path.suffix[1:]}, 256 bits, {len(CANDIDATES)} candidates")
    print("                            s   /kept   peak GiB    /a tenth of the reports")
    before: dict[str, float] = {}
    for count in (reports // 10, reports):
        found = {step: measured(step, path, count) for step in WIDE_STEPS}
        for step in ("asked", "kept"):
            spent, peak = found[step]["seconds"], found[step]["peak"]
            verdict = "ok" if peak <= LIMIT else f"ABOVE {LIMIT:g}"
            grown = f"{peak / before[step]:8.2f}" if step in before else ""
            ratio = spent / found["kept"]["seconds"]
            print(f"{step:6} {count:13,} {spent:8.2f}   {ratio:5.2f}   {peak:5.2f} {verdict}   {grown}")
            before[step] = peak


def main() -> None:
    """Both formats, CSV with a tenth of the reports; then wide values."""
    if sys.argv[1:2] == ["--step"]:
        step, path, reports = (STEPS | WIDE_STEPS)[sys.argv[2]], Path(sys.argv[3]), int(sys.argv[4])
        spent = []
        for _ in range(1 if step in (simulated, written) else 2):
            start = time.perf_counter()
            step(path, reports)
            spent.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": min(spent), "peak": peak}))
        return
    reports = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder, "reports.parquet"), reports)
        compare(Path(folder, "reports.csv"), reports // 10)
        compare_wide(Path(folder, "wide.parquet"), reports)


if __name__ == "__main__":
    main()
