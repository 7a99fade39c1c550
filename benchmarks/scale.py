"""What a report costs, at the collector and when it is added up. docs/scale.md says what a population needs.

Measured: processor time of the collector for a durable report, sent directly by wrk over connections that stay
open; the time to open and answer a sealed one; bytes of a report in the collector's store and in an exported file;
processor time to add up a report, at three sizes, of which the largest must follow from the others.
"""

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks import sealed
from benchmarks.large_round import group
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from benchmarks.shared.sizing import DAY, DIRECT, EXPORTED, SEALED, STORED, SUMMED
from untrackable import Deck, estimate_files
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
from untrackable.encodings.encoding import Categories
from untrackable.oblivious.gateway_keys import GatewayKeys
from untrackable.oblivious.sealing import seal_request
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.reports.simulation import population, simulate_file
from untrackable.serving.server import start_server

DECK = Deck(bits=10, slots=365, eps_report=3.9, width=4)
SIZES = (1_000_000, 4_000_000, 20_000_000)
"""Reports that are added up: the first two say what one costs, and the last must follow from that."""
PREDICTED = Comparison(
    work="Many reports are added up", peer="what two smaller files predict", unit="times as long"
)
COMPARISONS = (DIRECT, SEALED, STORED, EXPORTED, SUMMED, PREDICTED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """A question with 1,024 answers, in a crowd. There is no small size: wrk takes whole seconds."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        direct, through = received(folder)
        stored = stored_bytes(folder)
        (first, _), (second, _), (third, size) = (summed(folder, reports) for reports in SIZES)
    slope = (second - first) / (SIZES[1] - SIZES[0])
    yield DIRECT.row(direct)
    yield SEALED.row(through)
    yield STORED.row(stored)
    yield EXPORTED.row(size / SIZES[2])
    yield SUMMED.row(slope)
    yield PREDICTED.row(third / (first + slope * (SIZES[2] - SIZES[0])), f"{SIZES[2]:,} reports")


def campaign() -> Campaign:
    """A daily question with 1,024 answers."""
    return Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        randomizer=DECK,
        first_round=int(time.time()) - 60,
        round_seconds=DAY,
        rounds=365,
        guarantee=Guarantee(eps=1e4, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def received(folder: Path) -> tuple[float, float]:
    """Processor time for a direct and for a sealed report."""
    asked, store = campaign(), f"sqlite:///{folder}/reports.db"
    opened = open_store(store)
    create_campaign(opened, asked.to_bytes())
    opened.close()
    (batch,) = DECK.simulate([0] * 1000, rounds=1, seed=1)
    layout, reports = wire.of(DECK), itertools.cycle(_integers(batch.reports[:, 0]))
    bodies = [
        layout.encode(round=1, nonce=os.urandom(wire.NONCE), report=next(reports))
        for _ in range(sealed.DIRECT_BODIES)
    ]
    (folder / "bodies").write_bytes(b"".join(bodies))
    target = sealed.Target(
        f"/campaigns/{asked.id}/reports", "application/octet-stream", folder / "bodies", len(bodies[0]), len(bodies)
    )
    server = start_server(store, "--grace", "1e9")
    try:
        found = sealed.load(server.address, server.process.pid, target, 0, 256)
    finally:
        server.end()
    keys = GatewayKeys().with_list(1, 365)
    opening, answering = sealed.microseconds(keys, seal_request(keys.keys[0].config, b"\0").body)
    return found.cost, found.cost + opening + answering


def stored_bytes(folder: Path) -> float:
    """Bytes of a report in the collector's store, after many transactions of a few hundred."""
    asked, store = campaign(), open_store(f"sqlite:///{folder}/stored.db")
    create_campaign(store, asked.to_bytes())
    for _ in range(400):
        store.rearrange()
        store.add({Round(asked.id, 1): group(500, -(-DECK.report_bits // 8))})
    store.close()
    return (folder / "stored.db").stat().st_size / (400 * 500)


def _integers(column: NDArray[Any]) -> list[int]:
    """Reports as clients have them."""
    if column.ndim == 1:
        return [int(report) for report in column]
    return [int.from_bytes(row.tobytes(), "little") for row in column]


def summed(folder: Path, reports: int) -> tuple[float, float]:
    """Microseconds of processor time to add up the reports of a file, and its bytes."""
    path = folder / f"{reports}.parquet"
    simulate_file(path, DECK, population("zipf:1.3", DECK), people=reports // 10, rounds=10)
    size, times = path.stat().st_size, []
    for _ in range(3):
        begun = time.process_time()
        estimate_files(path)
        times.append(time.process_time() - begun)
    path.unlink()
    return 1e6 * min(times), size
