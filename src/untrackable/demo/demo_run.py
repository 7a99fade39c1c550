"""Runs the whole system: a collector, a relay, clients over HTTP, estimates, and an observer."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.collector.http import api_keys
from untrackable.collector.stores.store_address import open_store
from untrackable.demo.answer_page import answer_page
from untrackable.demo.homepage_question import (
    DAYS,
    HOMEPAGES,
    ROUNDS,
    crowd_campaign,
    homepage_campaign,
    population,
    promised_crowd,
)
from untrackable.demo.observer import Followed, follow
from untrackable.demo.people import ShowShare, request, run_clients, send_simulated
from untrackable.demo.visitor_question import visitor_campaign
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway
from untrackable.serving import server_process

_ASKED = 1000
"""The collector is asked for this many values, those with the largest estimates. It gives no more at once."""
SHOWN = 16
"""Tables and figures show this many homepages."""
_RELAYED = 200
"""This many people at most send the second campaign's reports from a client of their own, through a relay."""
_DIRECT, _RELAY = "directly", "through a relay"
"""How reports reach the collector."""
_STARTING, _FOLLOWING = "starting and planning", "following people"
"""The first step and the last one."""
_NO_LIMIT = str(10**9)
"""The relay takes so many requests a minute from one address: all clients have the address of this machine."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_CLIENT_BYTES = 64 << 10
"""The most that a client's folder takes on disk."""
_GRACE_SECONDS = str((ROUNDS + 1) * 86_400)
"""How long the collector accepts reports of days that are over. The demonstration plays all days in a minute."""


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The collector's own answer to one campaign: labels, shares and intervals of values.

    A value comes before one of an earlier place if it is certainly more frequent.
    """

    campaign: Campaign
    accepted: int
    reports: int
    beta: float
    values: dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """What the collector learns when it asks in two ways, and how well an observer could follow people.

    Reports to the campaign `alone` are as private as promised whoever sees them. Those to the campaign in the
    `crowd` are so only if nobody knows who sent which. `shown` are the values with the largest estimates.
    `address` is the collector's, with its dashboard, and `key` opens the pages for managers. At `answer_address` is
    a page on which visitors answer themselves.
    """

    address: str
    key: str
    answer_address: str
    clients: int
    relayed: int
    people: int
    truth: NDArray[np.float64]
    alone: Collected
    crowd: Collected
    promised: CrowdGuarantee
    shown: list[int]
    followed: tuple[Followed, ...]


@contextmanager
def run(
    *,
    clients: int,
    simulated: int,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Iterator[DemoResult]:
    """Collect over HTTP in both ways, estimate, and try to follow people. The collector runs until the block ends.

    `clients` people have their own client; some of them also send through a relay. `simulated` people have none.
    """
    with ExitStack() as running:
        progress(_STARTING, None)
        folder, homes = (
            Path(running.enter_context(TemporaryDirectory(prefix=f"untrackable-{name}-", dir=place)))
            for name, place in (("demo", None), ("people", _memory_folder(clients)))
        )
        store, keys = f"sqlite:///{folder}/demo.db", folder / "gateway-keys.json"
        opened = open_store(store)
        _, key = api_keys.new_key(opened, "admin")
        opened.close()
        gateway = GatewayKeys().with_list(1, ROUNDS)
        write_keys(keys, gateway)
        with server_process.postponed_signals():
            server = server_process.start_server(store, "--grace", _GRACE_SECONDS, "--gateway-keys", str(keys))
            running.callback(server.end)
            relay = server_process.start_relay("--gateway", f"demo={server.address}", "--per-minute", _NO_LIMIT)
            running.callback(relay.end)
        values, now = population(clients + simulated, seed), time.time()
        people = _People(homes, values, clients, seed, progress)
        asked = homepage_campaign(now)
        promised = promised_crowd(len(values))
        hidden = crowd_campaign(now, promised, Gateway.from_json(gateway.public_list(1)))
        alone = _collect(asked, server.address, key, (), people)
        crowd = _collect(hidden, server.address, key, (f"{relay.address}/gateways/demo",), people)

        def ask_visitors() -> Campaign:
            own = visitor_campaign(time.time())
            request(server.address, "POST", "/campaigns?published=true", own.to_bytes(), "application/json", key)
            return own

        yield DemoResult(
            server.address,
            key,
            running.enter_context(answer_page(ask_visitors, server.address)),
            clients,
            people.clients_of(hidden),
            len(values),
            np.bincount(values, minlength=len(HOMEPAGES)) / len(values),
            alone,
            crowd,
            promised,
            _largest(crowd, alone),
            follow(asked.mechanism, seed, _share_of(progress, _FOLLOWING)),
        )


def steps_of(clients: int, simulated: int) -> dict[str, float]:
    """The steps that are shown, in their order, with about as many seconds as they take on two idle cores.

    A client that relies on a crowd takes longer: it recomputes what a crowd of so many people hides.
    """
    relayed = min(clients, _RELAYED)
    direct, sealed = _steps(clients, simulated, _DIRECT), _steps(relayed, simulated + clients - relayed, _RELAY)
    millions = (simulated + clients) / 1e6
    return {
        _STARTING: 3.0,
        direct[0]: 1.0 + clients / 80,
        direct[1]: 2.2 * millions,
        direct[2]: 0.2 + 1.5 * millions,
        sealed[0]: 2.0 + relayed / 10,
        sealed[1]: 2.8 * millions,
        sealed[2]: 0.5 + 2.1 * millions,
        _FOLLOWING: 3.0,
    }


def _steps(clients: int, simulated: int, way: str) -> tuple[str, str, str]:
    """What is shown while a campaign is answered: by clients, by simulated people, and while it is closed."""
    return (
        f"{clients:,} clients, {DAYS} days, {way}",
        f"{simulated:,} simulated people, {DAYS} days, {way}",
        f"closing rounds of reports that came {way}",
    )


def _memory_folder(clients: int) -> str | None:
    """A folder in memory, if there is room and TMPDIR does not name another folder.

    Real clients have a disk each. On a single disk, thousands of them would wait for each other.
    """
    if "TMPDIR" in os.environ or not os.access(_SHARED_MEMORY, os.W_OK):
        return None
    return _SHARED_MEMORY if shutil.disk_usage(_SHARED_MEMORY).free > clients * _CLIENT_BYTES else None


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """All people: their homepages, and how many of them have a client with a folder of its own."""

    folder: Path
    values: NDArray[np.int64]
    clients: int
    seed: int
    progress: Progress

    def clients_of(self, campaign: Campaign) -> int:
        """How many real clients answer a campaign. The others are simulated."""
        return self.clients if campaign.gateway is None else min(self.clients, _RELAYED)


def _collect(campaign: Campaign, server: str, key: str, relays: tuple[str, ...], people: _People) -> Collected:
    """All people answer a campaign, and its rounds are closed."""
    where, way = f"/campaigns/{campaign.id}", _RELAY if relays else _DIRECT
    clients, values = people.clients_of(campaign), people.values
    folder = people.folder / campaign.id
    folder.mkdir()
    real, simulated, closing = _steps(clients, len(values) - clients, way)
    show = _share_of(people.progress, real)
    show(0.0)
    request(server, "POST", "/campaigns?published=true", campaign.to_bytes(), "application/json", key)
    accepted = run_clients(campaign, server, relays, folder, values[:clients].tolist(), show)
    show = _share_of(people.progress, simulated)
    show(0.0)
    accepted += send_simulated(campaign, server, values[clients:], people.seed, show)
    for round in range(1, DAYS + 1):
        people.progress(closing, (round - 1) / DAYS)
        request(server, "POST", f"{where}/rounds/{round}/close", key=key)
    answer = strict_json.parse(request(server, "GET", f"{where}/estimate?top={_ASKED}"))
    rows = {row["value"]: row for row in answer["values"]}
    return Collected(campaign, accepted, answer["reports"], answer["beta"], rows)


def _largest(first: Collected, other: Collected) -> list[int]:
    """The values with the largest estimates, of those that both answers have, in the order of the first."""
    both = [value for value in first.values if value in other.values]
    chosen = sorted(both, key=lambda value: -first.values[value]["unclamped"])[:SHOWN]
    return [value for value in both if value in chosen]


def _share_of(progress: Progress, what: str) -> ShowShare:
    """A function that shows the progress of one step."""
    return lambda done: progress(what, done)
