"""Reports with ballots: how fast they are taken beside the same reports without, and how fast a round is closed.

Both campaigns are at one collector with one process, and get their reports in turn from wrk (`apt-get install
wrk`) over connections that stay open. Collector and wrk share one core. All bodies are made before and are new.
Ratios are medians over turns. A round is closed beside another one that has counted as many ballots.
"""

import functools
import os
import secrets
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.large_round import MILLION, group
from benchmarks.sealed import Target, load
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from tests.ballots.samples import Mint
from untrackable import Categories
from untrackable.ballots.signing import SigningKey
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Store
from untrackable.mechanisms.local import Fresh, RandomizedResponse
from untrackable.oblivious.binary_http import reports_request
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.oblivious.sealing import seal_request
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, Guarantee
from untrackable.protocol.wire import NONCE, of_campaign
from untrackable.serving.server import start_server
from untrackable.theory.turns import Turns

TURNS, CONNECTIONS, BODIES = 3, 64, {"sent directly": 50_000, "sealed": 20_000}
"""The bodies of a turn: more than are sent. Without ballots, there are twice as many."""
PEER = "the same reports without ballots"
RATES = {
    way: Comparison(
        work=f"Reports with ballots, {way}, stored durably", peer=PEER, unit="times their rate", at_least=goal
    )
    for way, goal in (("sealed", 0.8), ("sent directly", None))
}
COSTS = {
    way: Comparison(work=f"Processor time of the collector for each, {way}", peer=PEER, unit="times as long")
    for way in RATES
}
CLOSED = Comparison(work="A round with ballots is closed", peer="one without", unit="times as long")
COMPARISONS = (*RATES.values(), *COSTS.values(), CLOSED)


def asked(gateway: Gateway | None) -> Campaign:
    """A campaign without ballots whose only round is on."""
    crowd = None if gateway is None else CrowdGuarantee(eps=1.0, delta=1e-6, reports=2)
    return Campaign(
        question="Yes?",
        encoding=Categories(names=["yes", "no"]),
        randomizer=Fresh(RandomizedResponse(eps=1.0)),
        first_round=int(time.time()) - 60,
        round_seconds=86400,
        rounds=1,
        turns=Turns(rounds=1),
        guarantee=Guarantee(eps=1.0, crowd=crowd),
        gateway=gateway,
    )


def bodies(campaign: Campaign, signing: SigningKey, key: KeyConfig | None, count: int) -> bytes:
    """So many new reports, sealed if there is a key."""
    wire, mint, found = of_campaign(campaign), Mint(signing), []
    for _ in range(count):
        nonce = mint.ballot(campaign.id) if campaign.ballots is not None else secrets.token_bytes(NONCE)
        body = wire.encode(round=1, nonce=nonce, report=secrets.randbelow(2))
        found.append(body if key is None else seal_request(key, reports_request(campaign.id, body)).body)
    return b"".join(found)


def made(file: Path, make: Callable[[int], bytes], count: int) -> int:
    """Write bodies to a file, made on all cores, and return the size of each."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        data = b"".join(pool.map(make, [-(-count // cores)] * cores))
    file.write_bytes(data)
    return len(data) // (-(-count // cores) * cores)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Measure a collector with a store in SQLite. Only closing has a small size: wrk takes whole seconds."""
    if shutil.which("wrk") is None:
        raise Unavailable("wrk: apt-get install wrk")
    mint = Mint()
    affinity = os.sched_getaffinity(0)
    for way in RATES:
        with tempfile.TemporaryDirectory() as name:
            yield from taken(way, Path(name), mint)
        os.sched_setaffinity(0, affinity)
    with tempfile.TemporaryDirectory() as name:
        yield closed(Path(name), mint, 5000 if small else MILLION)


def taken(way: str, folder: Path, mint: Mint) -> Iterator[Row]:
    """How fast reports are taken, with and without ballots."""
    keys = GatewayKeys().with_list(1, 1)
    write_keys(folder / "gateway.keys", keys)
    sealed = way == "sealed"
    without = asked(Gateway.from_json(keys.public_list(1)) if sealed else None)
    campaigns = (replace(without, ballots=mint.ballots), without)
    opened = open_store(f"sqlite:///{folder}/reports.db")
    for campaign in campaigns:
        create_campaign(opened, campaign.to_bytes())
    opened.close()
    targets = []
    for number, campaign in enumerate(campaigns):
        file, key = folder / str(number), keys.keys[0].config if sealed else None
        count = BODIES[way] * (1 if campaign.ballots is not None else 2)
        size = made(file, functools.partial(bodies, campaign, mint.signing, key), TURNS * count)
        path = "/.well-known/ohttp-gateway" if sealed else f"/campaigns/{campaign.id}/reports"
        kind = "message/ohttp-req" if sealed else "application/octet-stream"
        targets.append(Target(path, kind, file, size, count))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    server = start_server(f"sqlite:///{folder}/reports.db", "--gateway-keys", str(folder / "gateway.keys"))
    try:
        pairs = [
            [load(server.address, server.process.pid, target, turn, CONNECTIONS) for target in targets]
            for turn in range(TURNS)
        ]
    finally:
        server.end()
    many = f"{CONNECTIONS} connections"
    yield RATES[way].row(statistics.median(ours.rate / plain.rate for ours, plain in pairs), many)
    yield COSTS[way].row(statistics.median(ours.cost / plain.cost for ours, plain in pairs), many)


def closed(folder: Path, mint: Mint, reports: int) -> Row:
    """How long closing a round takes beside another one that counted as many ballots, and without ballots."""
    without = asked(None)
    without = replace(without, rounds=2, turns=Turns(rounds=2))
    seconds = []
    for campaign in (replace(without, ballots=mint.ballots), without):
        store = open_store(f"sqlite:///{folder}/{campaign.id}.db")
        create_campaign(store, campaign.to_bytes())
        for number in (1, 2):
            fill(store, Round(campaign.id, number), reports)
        close_round(store, campaign, 1)
        begun = time.perf_counter()
        close_round(store, campaign, 2)
        seconds.append(time.perf_counter() - begun)
        store.close()
    return CLOSED.row(seconds[0] / seconds[1], f"{reports:,} reports")


def fill(store: Store, round: Round, reports: int) -> None:
    """Add reports in groups."""
    each = min(20_000, reports)
    for _ in range(reports // each):
        rows = group(each)[:, : NONCE + 1].copy()
        rows[:, NONCE] &= 1
        store.add({round: rows})
        store.rearrange()
