"""Sealed reports per second, acknowledged durably: against reports that are sent directly, in the same run.

Both are sent to one collector with one process, in turn, by wrk (`apt-get install wrk`) with one thread over
connections that stay open. Collector and wrk share one core. The bodies are made before: every report is new, and
so is every sealed request. Ratios are medians over turns. Processor time of the collector says what a request
costs, whatever the disk does.
"""

import os
import re
import secrets
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.shared.measurements import Comparison, Row, Unavailable
from untrackable import Categories, Deck
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.sealing import open_request, seal_request
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.serving.server import start_server

SECONDS = 2
CONNECTIONS = (64, 256)
TURNS = 5
DIRECT_BODIES, SEALED_BODIES = 40_000 * SECONDS, 10_000 * SECONDS
"""More than one turn sends. A body that is sent twice would be stored once."""
PEER = "the same reports sent directly"
RATE = Comparison(work="Sealed reports, stored durably", peer=PEER, unit="times its rate", at_least=0.4)
COST = Comparison(work="Processor time of the collector for each", peer=PEER, unit="times as long")
OPENED = Comparison(work="A sealed request is opened", unit="µs of processor time")
ANSWERED = Comparison(work="Its answer is sealed", unit="µs of processor time")
COMPARISONS = (OPENED, ANSWERED, RATE, COST)
_LOAD = """
local size, at = %(size)d, %(start)d
local file = io.open("%(file)s", "rb")
file:seek("set", at * size)
local bodies = file:read(%(count)d * size)
local headers, number = { ["Content-Type"] = "%(kind)s" }, 0
request = function()
  number = number + 1
  local from = ((number - 1) %% %(count)d) * size
  return wrk.format("POST", "%(path)s", headers, bodies:sub(from + 1, from + size))
end
"""


class Target(NamedTuple):
    """Where bodies are sent, their media type, the file that has them, their size, and how many one turn has."""

    path: str
    kind: str
    file: Path
    size: int
    bodies: int


class Load(NamedTuple):
    """Requests per second, and the microseconds of processor time that the server took for each."""

    rate: float
    cost: float


def busy(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(address: str, pid: int, target: Target, turn: int, connections: int, rest: float = 0.0) -> Load:
    """Send the bodies of one turn as fast as answers come. What the server does in the `rest` afterwards counts."""
    given = {**target._asdict(), "start": turn * target.bodies, "count": target.bodies}
    before = busy(pid)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_LOAD % given)
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "-s", script.name, address]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    time.sleep(rest)
    requests, rate = re.search(r"(\d+) requests in", said), re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert requests is not None and rate is not None and "Non-2xx" not in said, said  # noqa: S101, PT018
    if int(requests[1]) > target.bodies:
        raise ValueError(f"a turn sent {requests[1]} requests, some of them twice")
    return Load(float(rate[1]), 1e6 * (busy(pid) - before) / int(requests[1]))


def microseconds(keys: GatewayKeys, sealed: bytes) -> tuple[float, float]:
    """The least processor time to open a request, and to seal an answer."""
    opening = keys.opening_keys()
    opened = open_request(opening, sealed)
    found = []
    for work in (lambda: open_request(opening, sealed), lambda: opened.seal_answer(b"\x01\x40\xcc")):
        taken = []
        for _ in range(40):
            begun = time.process_time()
            for _ in range(50):
                work()
            taken.append((time.process_time() - begun) / 50)
        found.append(1e6 * min(taken))
    return found[0], found[1]


def measure(*, small: bool = False) -> Iterator[Row]:
    """Measure a collector with a store in SQLite. There is no small size: wrk takes whole seconds."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk: apt-get install wrk")
    campaign = asked_now()
    path, keys = f"/campaigns/{campaign.id}/reports", GatewayKeys().with_list(12, 30)
    fields = ((b"content-type", b"application/octet-stream"),)
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), f"sqlite:///{name}/reports.db"
        write_keys(folder / "gateway.keys", keys)
        opened = open_store(store)
        create_campaign(opened, campaign.to_bytes())
        opened.close()
        plain, sealed = folder / "plain", folder / "sealed"
        turns = len(CONNECTIONS) * TURNS
        with plain.open("wb") as directly:
            for _ in range(turns * DIRECT_BODIES):
                directly.write(report())
        with sealed.open("wb") as through_relay:
            for _ in range(turns * SEALED_BODIES):
                request = BinaryRequest(b"POST", b"https", b"collector.example", path.encode(), fields, report())
                body = seal_request(keys.keys[0].config, request.to_bytes()).body
                through_relay.write(body)
        targets = (
            Target(path, "application/octet-stream", plain, len(report()), DIRECT_BODIES),
            Target("/.well-known/ohttp-gateway", "message/ohttp-req", sealed, len(body), SEALED_BODIES),
        )
        opening, answering = microseconds(keys, body)
        yield OPENED.row(opening)
        yield ANSWERED.row(answering)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        server = start_server(store, "--gateway-keys", str(folder / "gateway.keys"), "--grace", "1e9")
        try:
            for number, connections in enumerate(CONNECTIONS):
                pairs = [
                    [load(server.address, server.process.pid, target, turn, connections) for target in targets]
                    for turn in range(number * TURNS, (number + 1) * TURNS)
                ]
                size = f"{connections} connections"
                yield RATE.row(statistics.median(hidden.rate / direct.rate for direct, hidden in pairs), size)
                yield COST.row(statistics.median(hidden.cost / direct.cost for direct, hidden in pairs), size)
        finally:
            server.end()


def asked_now() -> Campaign:
    """A campaign whose first round is on."""
    return Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        randomizer=Deck.for_budget(bits=10, slots=30, eps=2.0, delta=1e-6, width=1),
        first_round=int(time.time()) - 60,
        round_seconds=86400,
        rounds=30,
        guarantee=Guarantee(eps=2.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def report() -> bytes:
    """A new report of the first round."""
    return b"\1\1\0\0\0" + secrets.token_bytes(16) + b"\2\0"
