"""Runs the whole system: a collector, clients over HTTP, a relay, estimates, and an observer."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.collector.http import api_keys
from untrackable.collector.stores.store_address import open_store
from untrackable.demo import crowd
from untrackable.demo.homepage_question import DAYS, HOMEPAGES, ROUNDS, homepage_campaign, population
from untrackable.demo.observer import Followed, follow
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign import Campaign
from untrackable.serving import server_process

SHOWN = 16
"""Tables and figures show this many homepages."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_CLIENT_BYTES = 64 << 10
"""The most that a client's folder takes on disk."""
_GRACE_SECONDS = str((ROUNDS + 1) * 86_400)
"""How long the collector accepts reports of days that are over. The demonstration plays all days in a minute."""


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """The estimates of the collector, and how well an observer could follow people.

    `values` is the collector's own answer: labels, frequencies and intervals, the most frequent value first.
    """

    campaign: Campaign
    address: str
    clients: int
    people: int
    truth: NDArray[np.float64]
    accepted: int
    reports: int
    beta: float
    values: list[dict[str, Any]]
    followed: tuple[Followed, ...]


@contextmanager
def run(
    *,
    clients: int,
    simulated: int,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Iterator[DemoResult]:
    """Collect over HTTP, estimate, and try to follow people. The collector runs until the block ends.

    `clients` people have their own client. A relay sends the reports of `simulated` people.
    """
    campaign = homepage_campaign(time.time())
    with (
        TemporaryDirectory(prefix="untrackable-demo-") as folder,
        TemporaryDirectory(prefix="untrackable-people-", dir=_memory_folder(clients)) as homes,
    ):
        store = f"sqlite:///{folder}/demo.db"
        opened = open_store(store)
        _, key = api_keys.new_key(opened, "admin")
        opened.close()
        server = server_process.start_server(store, "--grace", _GRACE_SECONDS)
        try:
            values = population(clients + simulated, seed)
            accepted, answer = _collect(campaign, server.address, key, Path(homes), values, clients, seed, progress)
            yield DemoResult(
                campaign,
                server.address,
                clients,
                len(values),
                np.bincount(values, minlength=len(HOMEPAGES)) / len(values),
                accepted,
                answer["reports"],
                answer["beta"],
                answer["values"],
                follow(campaign.mechanism, seed, _share_of(progress, "following people")),
            )
        finally:
            server.end()


def _memory_folder(clients: int) -> str | None:
    """A folder in memory, if there is room and TMPDIR does not name another folder.

    Real clients have a disk each. On a single disk, thousands of them would wait for each other.
    """
    if "TMPDIR" in os.environ or not os.access(_SHARED_MEMORY, os.W_OK):
        return None
    return _SHARED_MEMORY if shutil.disk_usage(_SHARED_MEMORY).free > clients * _CLIENT_BYTES else None


def _collect(
    campaign: Campaign,
    server: str,
    key: str,
    folder: Path,
    values: NDArray[np.int64],
    clients: int,
    seed: int,
    progress: Progress,
) -> tuple[int, dict[str, Any]]:
    """Run all people and close the rounds. Returns the number of accepted reports and the collector's answer."""
    where = f"/campaigns/{campaign.id}"
    crowd.request(server, "POST", "/campaigns?published=true", campaign.to_bytes(), "application/json", key)
    clients_done = _share_of(progress, f"{clients:,} clients, {DAYS} days, over HTTP")
    accepted = crowd.run_clients(campaign, server, folder, values[:clients].tolist(), clients_done)
    simulated_done = _share_of(progress, f"{len(values) - clients:,} simulated people, by a relay")
    accepted += crowd.relay_simulated(campaign, server, values[clients:], seed, simulated_done)
    for round in range(1, DAYS + 1):
        crowd.request(server, "POST", f"{where}/rounds/{round}/close", key=key)
        progress("closing rounds", round / DAYS)
    return accepted, strict_json.parse(crowd.request(server, "GET", f"{where}/estimate?top={SHOWN}"))


def _share_of(progress: Progress, what: str) -> crowd.ShowShare:
    """A function that shows the progress of one step."""
    return lambda done: progress(what, done)
