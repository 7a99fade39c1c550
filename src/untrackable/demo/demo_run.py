"""The whole system at work: a collector, clients over HTTP, a relay, estimates, and an observer."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.auditing.confidence import Matched
from untrackable.collector import server_process
from untrackable.collector.http import api_keys
from untrackable.collector.stores.store_address import open_store
from untrackable.demo import crowd
from untrackable.demo.homepage_question import DAYS, HOMEPAGES, ROUNDS, campaign, population, rival
from untrackable.demo.observer import NAMED, follow
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.protocol.campaign import Campaign

Progress = Callable[[str, float], None]
"""Told what is going on and how much of it is done, from 0 to 1."""

SHOWN = 16
"""Homepages in tables and pictures."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_HOME = 64 << 10
"""Bytes that a client's folder takes, at most."""
_LATE = str((ROUNDS + 1) * 86_400)
"""Seconds for which the collector takes reports of days that are over: the demonstration lives them in a minute."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the collector learned, and what an observer could do with the reports.

    `values` are the collector's own answer, the most frequent first: labels, frequencies and intervals.
    """

    campaign: Campaign
    rappor: Rappor
    address: str
    clients: int
    people: int
    truth: NDArray[np.float64]
    accepted: int
    reports: int
    beta: float
    values: list[dict[str, Any]]
    deck_matched: Matched
    rappor_matched: Matched


@contextmanager
def run(
    *,
    clients: int,
    simulated: int,
    seed: int = 1,
    progress: Progress = lambda what, done: None,
) -> Iterator[Outcome]:
    """Collect over HTTP, estimate, and try to follow people; the collector runs until the block is left.

    So many people have a client of their own; the reports of so many simulated ones are forwarded by a relay.
    """
    asked = campaign(time.time())
    with (
        TemporaryDirectory(prefix="untrackable-demo-") as folder,
        TemporaryDirectory(prefix="untrackable-people-", dir=_memory(clients)) as homes,
    ):
        store = f"sqlite:///{folder}/demo.db"
        opened = open_store(store)
        _, key = api_keys.new_key(opened, "admin")
        opened.close()
        server = server_process.start(store, "--grace", _LATE)
        try:
            values = population(clients + simulated, seed)
            accepted, answer = _collected(asked, server.address, key, Path(homes), values, clients, seed, progress)
            rappor = rival()
            yield Outcome(
                asked,
                rappor,
                server.address,
                clients,
                len(values),
                np.bincount(values, minlength=len(HOMEPAGES)) / len(values),
                accepted,
                answer["reports"],
                answer["beta"],
                answer["values"],
                follow(asked.mechanism, 0, seed, _telling(progress, "following people through Deck")),
                follow(rappor, NAMED, seed, _telling(progress, "following people through RAPPOR")),
            )
        finally:
            server.end()


def _memory(clients: int) -> str | None:
    """Where files are in memory, if there is room and nobody chose another place.

    Everyone would have a disk of their own; on one for all, thousands of clients only wait for each other.
    """
    if "TMPDIR" in os.environ or not os.access(_SHARED_MEMORY, os.W_OK):
        return None
    return _SHARED_MEMORY if shutil.disk_usage(_SHARED_MEMORY).free > clients * _HOME else None


def _collected(
    asked: Campaign,
    server: str,
    key: str,
    folder: Path,
    values: NDArray[np.int64],
    clients: int,
    seed: int,
    progress: Progress,
) -> tuple[int, dict[str, Any]]:
    """How many reports were accepted, and the collector's answer."""
    where = f"/campaigns/{asked.id}"
    crowd.call(server, "POST", "/campaigns?published=true", asked.to_bytes(), "application/json", key)
    living = _telling(progress, f"{clients:,} clients, {DAYS} days, over HTTP")
    accepted = crowd.live(asked, server, folder, values[:clients].tolist(), living)
    relayed = _telling(progress, f"{len(values) - clients:,} simulated people, by a relay")
    accepted += crowd.forward(asked, server, values[clients:], seed, relayed)
    for round in range(1, DAYS + 1):
        crowd.call(server, "POST", f"{where}/rounds/{round}/close", key=key)
        progress("closing rounds", round / DAYS)
    return accepted, strict_json.parse(crowd.call(server, "GET", f"{where}/estimate?top={SHOWN}"))


def _telling(progress: Progress, what: str) -> Callable[[float], None]:
    return lambda done: progress(what, done)
