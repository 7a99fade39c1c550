"""Reports added up by Spark, beside a hand-written aggregation of the same sums, and beside one machine.

The hand-written one reads the same Parquet files with Spark and counts signed words of each round with NumPy,
without checks or errors. Each size is read twice; the shorter time counts.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.shared.clocks import fastest
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from untrackable import Deck, estimate_files
from untrackable.engines.spark import SparkEngine
from untrackable.reports.simulation import population, simulate_file

DECK = Deck(bits=16, slots=30, eps_report=1.0, width=1)
ADDED = "Reports added up by Spark on two cores"
BY_HAND = Comparison(work=ADDED, peer="a job written by hand, without checks", unit="times as long")
BY_ONE = Comparison(work=ADDED, peer="the local engine on one machine", unit="times as long")
GROWTH = Comparison(work=ADDED, peer="a tenth of the reports", unit="times as long")
WORKERS = Comparison(work=ADDED, peer="Spark on one core", unit="times as fast")
COMPARISONS = (BY_HAND, BY_ONE, GROWTH, WORKERS)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Two sizes with two workers, and the larger one with one."""
    if shutil.which("java") is None:
        raise Unavailable("Java: apt-get install default-jre-headless")
    sizes = (1000, 10_000) if small else (10_000_000, 100_000_000)
    with tempfile.TemporaryDirectory() as folder:
        ours: list[float] = []
        for size in sizes:
            path = Path(folder) / f"{size}.parquet"
            simulate_file(path, DECK, population("zipf:1.3", DECK), people=size // 10, rounds=10)
            session = session_of("local[2]")
            ours.append(fastest(lambda p=path, s=session: estimate_files(p, add_up=SparkEngine(s)), 2))  # type: ignore[misc]
            hand = fastest(lambda p=path, s=session: by_hand(s, p), 2)  # type: ignore[misc]
            yield BY_HAND.row(ours[-1] / hand, f"{size:,} reports")
            yield BY_ONE.row(ours[-1] / fastest(lambda p=path: estimate_files(p), 2), f"{size:,} reports")  # type: ignore[misc]
        yield GROWTH.row(ours[1] / ours[0], f"{sizes[1]:,} reports")
        session.stop()
        session = session_of("local[1]")
        alone = fastest(lambda: estimate_files(path, add_up=SparkEngine(session)), 2)
        yield WORKERS.row(alone / ours[1], f"{sizes[1]:,} reports")
        session.stop()


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
