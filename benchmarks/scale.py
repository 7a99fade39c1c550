"""What a population that outgrows one machine needs: a sizing model from constants that are measured here.

Measured: processor time of the collector for a durable report, sent directly by wrk over connections that stay
open; the time to open and answer a sealed one; bytes of a report in the collector's store, in an exported file and
on the wire; processor time to add up a report, at two sizes, of which the larger must follow from the smaller; the
size of the sums. From these follow collectors, store, cores and what a cluster shuffles, for people who are asked
once a day. `scale.py 1e8` adds up more reports, to check the extrapolation. docs/scale.md explains the table.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import sealed

from untrackable import Deck, estimate_files
from untrackable.collector.http.management import create_campaign
from untrackable.collector.stores.store_address import open_store
from untrackable.encodings.categories import Categories
from untrackable.oblivious.gateway_keys import GatewayKeys
from untrackable.oblivious.sealing import SEALED_ANSWER_LENGTH, SEALED_LENGTH, seal_request
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.reports.population import population
from untrackable.reports.simulation import simulate_file
from untrackable.serving.server_process import start_server

DECK = Deck(bits=10, slots=365, eps_report=3.9, width=4)
SMALL, LARGE = 1_000_000, 10_000_000
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
        guarantee=Guarantee(eps=1e3, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def received(folder: Path) -> tuple[float, float, float]:
    """Processor time for a direct and for a sealed report, and the bytes of a stored one."""
    asked, store = campaign(), f"sqlite:///{folder}/reports.db"
    opened = open_store(store)
    create_campaign(opened, asked.to_bytes())
    opened.close()
    before = sum(file.stat().st_size for file in folder.iterdir())
    (batch,) = DECK.simulate([0] * sealed.BODIES, rounds=1, seed=1)
    from untrackable.protocol import wire

    layout = wire.of(DECK)
    bodies = [
        layout.encode(round=1, nonce=os.urandom(wire.NONCE), report=r) for r in _integers(batch.reports[:, 0])
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


def _integers(rows: object) -> list[int]:
    return [int.from_bytes(bytes(row), "little") for row in rows]  # type: ignore[attr-defined]


def summed(folder: Path, reports: int) -> tuple[float, float]:
    """Processor time to add up a report of a file, and the bytes that it takes there."""
    path = folder / f"{reports}.parquet"
    simulate_file(path, DECK, population("zipf:1.3", DECK), people=reports // 10, rounds=10)
    size, begun = path.stat().st_size, time.process_time()
    estimate_files(path)
    taken = time.process_time() - begun
    path.unlink()
    return 1e6 * taken / reports, size / reports


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
    sizes = [SMALL, *(int(float(given)) for given in sys.argv[1:] or [str(LARGE)])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        direct, through, stored = received(folder)
        summed(folder, SMALL // 10)  # loads what is compiled
        found = [summed(folder, size) for size in sizes]
    per = Constants(direct, through, found[-1][0], stored, found[-1][1], 8 << DECK.bits)
    print(
        f"a report costs {per.direct:.0f} µs directly and {per.sealed:.0f} µs sealed; {per.stored:.0f} bytes stored"
    )
    print(f"{per.summed:.2f} µs to add up, and {per.exported:.1f} bytes in a file; sums have {per.sums:,} bytes")
    for size, (cost, _) in zip(sizes, found, strict=True):
        print(f"  {size:>13,} reports: {cost:.2f} µs each, {cost / found[0][0]:.2f} of what the smallest predicts")
    print(" ".join(f"{title:>13}" for title in TITLES))
    for people in (10**6, 10**8, 10**9):
        for participation in (1.0, 0.05):
            print(row(people, participation, per))


main()
