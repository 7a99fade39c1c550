"""Reports per second that a relay holds, acknowledged durably: against those of a collector, in the same run.

The relay and the collector take turns. wrk (`apt-get install wrk`) sends to each with one thread over connections
that stay open, and shares one core with it. What the relay gets is as long as a sealed report, and random, because
a relay cannot read reports. Ratios are medians over turns. A relay that holds many reports writes to more pages of
its file, so the last row is of one that holds some hundred thousand. After each turn both have seconds for what
they put off, and its processor time counts.
"""

import os
import secrets
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sealed import CONNECTIONS, SECONDS, TURNS, Target, asked_now, load, report
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.held_reports import HeldReports, Release
from untrackable.serving.server import start_relay, start_server

FULL, REST = 300_000, 6.0
PEER = "a collector that stores them"
RATE = Comparison(work="Sealed reports that a relay holds", peer=PEER, unit="times its rate", at_least=0.5)
FILLED = Comparison(work="The same, once the relay holds 300,000", peer=PEER, unit="times its rate")
COST = Comparison(work="Processor time of the relay for each", peer=PEER, unit="times as long")
COMPARISONS = (RATE, FILLED, COST)
BODIES = 40_000 * SECONDS


def measure(*, small: bool = False) -> Iterator[Row]:
    """Measure a relay and a collector. There is no small size: wrk takes whole seconds."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk: apt-get install wrk")
    campaign, hour = asked_now(), 3600
    at = (int(time.time()) // hour + 24) * hour
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), f"sqlite:///{name}/reports.db"
        opened = open_store(store)
        create_campaign(opened, campaign.to_bytes())
        opened.close()
        turns = (len(CONNECTIONS) + 1) * TURNS
        plain, held = folder / "plain", folder / "held"
        plain.write_bytes(b"".join(report() for _ in range(turns * BODIES)))
        held.write_bytes(secrets.token_bytes(SEALED_LENGTH * BODIES))
        path = f"/campaigns/{campaign.id}/reports"
        direct = Target(path, "application/octet-stream", plain, len(report()), BODIES)
        sealed = Target(f"/gateways/study/releases/{at}", "message/ohttp-req", held, SEALED_LENGTH, BODIES)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        server = start_server(store, "--grace", "1e9")
        try:
            for number, connections in enumerate((*CONNECTIONS, CONNECTIONS[-1])):
                full = number == len(CONNECTIONS)
                file = folder / f"held-{number}.db"
                if full:
                    _fill(file, Release("study", at))
                relay = start_relay(
                    *("--gateway", "study=http://127.0.0.1:9", "--hold-in", str(file)),
                    *("--per-minute", "1000000000", "--most-held", "1000000000", "--most-in-release", "1000000000"),
                )
                try:
                    pairs = [
                        (
                            load(server.address, server.process.pid, direct, turn, connections, REST),
                            load(relay.address, relay.process.pid, sealed, 0, connections, REST),
                        )
                        for turn in range(number * TURNS, (number + 1) * TURNS)
                    ]
                finally:
                    relay.end()
                size = f"{connections} connections"
                kind = FILLED if full else RATE
                yield kind.row(statistics.median(one.rate / other.rate for other, one in pairs), size)
                if not full:
                    yield COST.row(statistics.median(one.cost / other.cost for other, one in pairs), size)
        finally:
            server.end()


def _fill(file: Path, release: Release) -> None:
    """Let a relay hold many reports."""
    held = HeldReports(file)
    for _ in range(FULL // 2000):
        held.add([(release, secrets.token_bytes(SEALED_LENGTH)) for _ in range(2000)])
    held.close()
