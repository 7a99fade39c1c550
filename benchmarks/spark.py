"""Reports added up by Spark, beside a hand-written aggregation of the same sums, and beside one machine.

The hand-written one reads the same Parquet files with Spark and counts signed words of each round with NumPy,
without checks or errors. Ratios above 1 mean that ours is slower. Growth is the time of the largest file divided by
what the smaller one would predict if time were proportional to the number of reports. `spark.py 1e6 1e7` takes
other sizes. Each size is read twice; the shorter time counts.
"""

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from untrackable import Deck, estimate_files
from untrackable.engines.spark import SparkEngine
from untrackable.reports.population import population
from untrackable.reports.simulation import simulate_file

DECK = Deck(bits=16, slots=30, eps_report=1.0, width=1)
SIZES = (1e6, 1e7, 1e8)


def session_of(master: str) -> SparkSession:
    """A Spark session on this machine."""
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = (
        SparkSession.builder.master(master).config("spark.log.level", "OFF").config("spark.ui.enabled", "false")
    )
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "8")
    return builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(1 << 18)).getOrCreate()


def by_hand(session: SparkSession, path: Path) -> int:
    """The sums of one-bit reports by round, as anybody would write them: vectors of each task, added up."""

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums: dict[int, np.ndarray] = {}
        for batch in batches:
            rounds, words = (batch.column(i).to_numpy().astype(np.int64) for i in (0, 1))
            for number in np.unique(rounds).tolist():
                some = words[rounds == number]
                found = np.bincount(some >> 1, 1.0 - 2.0 * (some & 1), minlength=1 << 16).astype(np.int64)
                sums[number] = sums.get(number, 0) + found
        columns = {"round": list(sums), "sums": [found.tobytes() for found in sums.values()]}
        yield pa.RecordBatch.from_pydict(columns)

    frame = session.read.parquet(str(path)).select("round", "report")
    total: dict[int, np.ndarray] = {}
    for row in frame.mapInArrow(counted, "round long, sums binary").collect():
        total[row.round] = total.get(row.round, 0) + np.frombuffer(row.sums, dtype=np.int64)
    return sum(int(np.abs(found).sum()) for found in total.values())


def best(action: Callable[..., object], *given: object, **more: object) -> float:
    """The shorter of two times, in seconds."""
    times = []
    for _ in range(2):
        begun = time.perf_counter()
        action(*given, **more)
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    """Print the table."""
    sizes = [int(float(given)) for given in sys.argv[1:]] or [int(size) for size in SIZES]
    ours: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {size: Path(folder) / f"{size}.parquet" for size in sizes}
        for size, path in files.items():
            simulate_file(path, DECK, population("zipf:1.3", DECK), people=size // 10, rounds=10)
        local = {size: best(estimate_files, path) for size, path in files.items()}
        print(f"{'reports':>12} {'master':>10} {'ours s':>8} {'by hand s':>10} {'ratio':>6} {'local s':>8}")
        for master in ("local[1]", "local[2]"):
            session = session_of(master)
            for size, path in files.items():
                hand = best(by_hand, session, path)
                seconds = ours[master, size] = best(estimate_files, path, add_up=SparkEngine(session))
                row = f"{size:>12,} {master:>10} {seconds:>8.2f} {hand:>10.2f} {seconds / hand:>6.2f}"
                print(f"{row} {local[size]:>8.2f}", flush=True)
            session.stop()
    for small, large in itertools.pairwise(sizes):
        grown = ours["local[2]", large] / ours["local[2]", small] / (large / small)
        print(f"growth from {small:,} to {large:,}: {grown:.2f} of proportional")
    gained = ours["local[1]", sizes[-1]] / ours["local[2]", sizes[-1]]
    print(f"two workers against one at {sizes[-1]:,} reports: {gained:.2f} × faster")


main()
