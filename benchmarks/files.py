"""Files of reports, simulated, written, read and estimated as streams: peak memory, and time against pyarrow's own.

Every step runs in a process of its own, whose peak memory the operating system tells; reading is done twice, the
first time with imports and compiled code to load, and the shorter time counts. Ratios above 1 mean that ours is
slower: it does more, as checksums are verified and every report is checked and counted. "bytes" is reading the file
without looking at it, "pass" one pass over the reports in memory. `files.py 1e8` takes another number.
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
import pyarrow.csv
import pyarrow.parquet as pq

from untrackable import Deck, estimate_files, read_reports
from untrackable.files.populations import population
from untrackable.files.simulation import simulate_file

DECK = Deck(bits=16, slots=30, eps_report=1.0, width=1)
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


STEPS: dict[str, Callable[[Path, int], None]] = {
    step.__name__: step for step in (simulated, read, estimated, read_by_pyarrow, read_bytes, one_pass)
}


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


def main() -> None:
    """Both formats, CSV with a tenth of the reports."""
    if sys.argv[1:2] == ["--step"]:
        step, path, reports = STEPS[sys.argv[2]], Path(sys.argv[3]), int(sys.argv[4])
        spent = []
        for _ in range(1 if step is simulated else 2):
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


if __name__ == "__main__":
    main()
