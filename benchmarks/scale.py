"""What a population that outgrows one machine needs: a sizing model from constants that are measured here.

Measured: processor time of the collector for a durable report, sent directly by wrk over connections that stay
open; the time to open and answer a sealed one; bytes of a report in the collector's store, in an exported file and
on the wire; processor time to add up a report, at three sizes, of which the largest must follow from the others;
the size of the sums. From these follow collectors, store, cores and what a cluster shuffles, for people who are
asked once a day. `scale.py 1e8` adds up more reports, to check the extrapolation. docs/scale.md explains the table.
"""

import itertools
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sealed
from numpy.typing import NDArray

from untrackable import Deck, estimate_files
from untrackable.collector.http.management import create_campaign
from untrackable.collector.stores.store_address import open_store
from untrackable.encodings.categories import Categories
from untrackable.oblivious.gateway_keys import GatewayKeys
from untrackable.oblivious.sealing import SEALED_ANSWER_LENGTH, SEALED_LENGTH, seal_request
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.reports.population import population
from untrackable.reports.simulation import simulate_file
from untrackable.serving.server_process import start_server

DECK = Deck(bits=10, slots=365, eps_report=3.9, width=4)
SIZES = (1_000_000, 4_000_000, 20_000_000)
"""Reports that are added up: the first two say what one costs, and the last must follow from that."""
BUSY = 0.5
"""Machines are sized so that they are busy for this share of the time."""
PEAK = 1.2
"""Clients send at random moments of a day, so the busiest minute has hardly more than the mean."""
HEADERS = 500
"""Bytes of HTTP, TLS and TCP of a request and its answer on an open connection, roughly."""
TASK_BYTES = 128 << 20
"""The part of a file that one task of a cluster reads."""
DAY = 86_400
TITLES = (
    "people", "share", "reports/day", "a second", "cores", "cores, sealed", "store GiB", "wire GiB", "sum hours",
    "tasks", "shuffle MiB",
)  # fmt: skip


@dataclass(frozen=True)
class Constants:
    """What was measured, for one report: microseconds of processor time, and bytes."""

    direct: float
    sealed: float
    summed: float
    stored: float
    exported: float
    sums: int


def campaign() -> Campaign:
    """A daily question with 1,024 answers."""
    return Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        mechanism=DECK,
        first_round=int(time.time()) - 60,
        round_seconds=DAY,
        rounds=365,
        guarantee=Guarantee(eps=1e4, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def received(folder: Path) -> tuple[float, float, float]:
    """Processor time for a direct and for a sealed report, and the bytes of a stored one."""
    asked, store = campaign(), f"sqlite:///{folder}/reports.db"
    opened = open_store(store)
    create_campaign(opened, asked.to_bytes())
    opened.close()
    before = sum(file.stat().st_size for file in folder.iterdir())
    sealed.BODIES = 40_000 * sealed.SECONDS  # Direct reports are quicker than sealed ones.
    (batch,) = DECK.simulate([0] * 1000, rounds=1, seed=1)
    layout, reports = wire.of(DECK), itertools.cycle(_integers(batch.reports[:, 0]))
    bodies = [
        layout.encode(round=1, nonce=os.urandom(wire.NONCE), report=next(reports)) for _ in range(sealed.BODIES)
    ]
    (folder / "bodies").write_bytes(b"".join(bodies))
    target = sealed.Target(
        f"/campaigns/{asked.id}/reports", "application/octet-stream", folder / "bodies", len(bodies[0])
    )
    server = start_server(store, "--grace", "1e9")
    try:
        found = sealed.load(server.address, server.process.pid, target, 0, 256)
    finally:
        server.end()
    sent = min(sealed.BODIES, found.rate * sealed.SECONDS)
    stored = (sum(file.stat().st_size for file in folder.glob("reports.db*")) - before) / sent
    keys = GatewayKeys().with_list(1, 365)
    opening, answering = sealed.microseconds(keys, seal_request(keys.keys[0].config, b"\0").body)
    return found.cost, found.cost + opening + answering, stored


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


def row(people: int, participation: float, per: Constants) -> str:
    """What a population of this size needs."""
    daily = people * participation
    rate = PEAK * daily / DAY
    cores = [rate * cost / 1e6 / BUSY for cost in (per.direct, per.sealed)]
    tasks = daily * per.exported / TASK_BYTES
    wire = daily * (SEALED_LENGTH + SEALED_ANSWER_LENGTH + HEADERS)
    cells = (
        f"{people:,}", f"{participation:.2f}", f"{daily:,.0f}", f"{rate:,.0f}",
        *(f"{each:.1f}" for each in cores),
        f"{daily * per.stored / 2**30:.1f}", f"{wire / 2**30:.0f}", f"{daily * per.summed / 3.6e9:.2f}",
        f"{max(1, tasks):,.0f}", f"{max(1, tasks) * per.sums / 2**20:.1f}",
    )  # fmt: skip
    return " ".join(f"{cell:>13}" for cell in cells)


def main() -> None:
    """Print the constants, the check of the extrapolation, and the table."""
    small, middle, large = (*SIZES[:2], int(float(sys.argv[1])) if sys.argv[1:] else SIZES[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        direct, through, stored = received(folder)
        (first, _), (second, _), (third, size) = (summed(folder, reports) for reports in (small, middle, large))
    slope = (second - first) / (middle - small)
    per = Constants(direct, through, slope, stored, size / large, 8 << DECK.bits)
    print(f"a report: {per.direct:.0f} µs directly, {per.sealed:.0f} µs sealed, {per.stored:.0f} bytes stored,")
    print(f"{per.summed:.3f} µs to add up, {per.exported:.1f} bytes in a file; sums have {per.sums:,} bytes")
    expected = first + slope * (large - small)
    told = f"{third / expected:.2f} of what smaller files predict"
    print(f"{large:,} reports took {third / 1e6:.2f} s to add up, {told}")
    print(" ".join(f"{title:>13}" for title in TITLES))
    for people in (10**6, 10**8, 10**9):
        for participation in (1.0, 0.05):
            print(row(people, participation, per))


main()
