"""The people of the demonstration: real clients with a folder each, and simulated people behind a relay."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from untrackable.client.client import Client
from untrackable.client.delivery import Outcome
from untrackable.client.policy import Policy
from untrackable.demo.homepage_question import DAYS, HOMEPAGES
from untrackable.mechanisms.simulated_batches import Batch
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.serving.server_process import shielded_from_interrupts

ShowShare = Callable[[float], None]
"""A function that shows the share of the work that is done, from 0 to 1."""

_CLIENTS_PER_TASK = 25
"""A worker runs this many clients before it shows progress."""
_REPORTS_PER_REQUEST = 20_000
"""The relay sends this many reports at once."""


@dataclass(frozen=True, slots=True)
class ClientTask:
    """The clients that one worker runs: their folders, and the homepages of their people."""

    document: bytes
    server: str
    folders: tuple[Path, ...]
    homepages: tuple[str, ...]


def run_clients(campaign: Campaign, server: str, folder: Path, values: Sequence[int], show: ShowShare) -> int:
    """Everyone joins before the first day, and answers on the days that their coin says.

    Returns the number of accepted reports.
    """
    document = campaign.to_bytes()
    tasks = [
        ClientTask(
            document,
            server,
            tuple(folder / str(i) for i in range(start, min(start + _CLIENTS_PER_TASK, len(values)))),
            tuple(HOMEPAGES[value] for value in values[start : start + _CLIENTS_PER_TASK]),
        )
        for start in range(0, len(values), _CLIENTS_PER_TASK)
    ]
    accepted = 0
    # Workers mostly wait for the disk and the collector, so there are more of them than cores.
    workers = min(8, 2 * (os.cpu_count() or 1))
    with ExitStack() as ending:
        with shielded_from_interrupts():
            pool = ending.enter_context(multiprocessing.get_context("spawn").Pool(workers))
        for done, count in enumerate(pool.imap_unordered(_run_task, tasks), start=1):
            accepted += count
            show(done / len(tasks))
    return accepted


def _run_task(task: ClientTask) -> int:
    campaign = _campaign(task.document)
    eps, delta = campaign.guarantee.eps, campaign.guarantee.delta
    policy = Policy(eps=eps, delta=delta, crowd_eps=eps, crowd_delta=delta, pins=(campaign.id,))
    accepted = 0
    for folder, homepage in zip(task.folders, task.homepages, strict=True):
        folder.mkdir(mode=0o700)
        today = campaign.first_round - 1.0
        client = Client(campaign, None, policy, folder=folder, clock=lambda: today)  # noqa: B023
        client.answer(homepage)
        for round in range(1, DAYS + 1):
            today = campaign.begins(round) + 0.99 * campaign.round_seconds
            accepted += client.send(task.server) is Outcome.ACCEPTED
    return accepted


@cache
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def relay_simulated(campaign: Campaign, server: str, values: NDArray[np.int64], seed: int, show: ShowShare) -> int:
    """A relay sends the reports of many simulated people. Returns the number of accepted reports.

    The mechanism's rounds are independent, so each day is simulated for those alone who answer on it.
    """
    layout = wire.of(campaign.mechanism)
    rng = np.random.default_rng([seed, 2, len(values)])
    sent = 0
    for day in range(1, DAYS + 1):
        answering = values[rng.random(len(values)) < float(campaign.participation)]
        for reports in _batches(campaign.mechanism.simulate(answering, rounds=[day], seed=(seed << 16) + day)):
            nonces = np.frombuffer(os.urandom(wire.NONCE * len(reports)), dtype=np.uint8)
            body = layout.encode_many(round=day, nonces=nonces.reshape(-1, wire.NONCE), reports=reports)
            request(server, "POST", f"/campaigns/{campaign.id}/reports", body, "application/octet-stream")
            sent += len(reports)
        show(day / DAYS)
    return sent


def _batches(simulated: Iterator[Batch]) -> Iterator[NDArray[Any]]:
    for batch in simulated:
        for start in range(0, len(batch.reports), _REPORTS_PER_REQUEST):
            yield batch.reports[start : start + _REPORTS_PER_REQUEST, 0]


def request(server: str, method: str, path: str, body: bytes = b"", kind: str = "", key: str = "") -> bytes:
    """Send a request to the collector. Any answer other than success is an error."""
    address = urlsplit(server)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
    headers = {"content-type": kind} if kind else {}
    if key:
        headers["authorization"] = f"Bearer {key}"
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if not 200 <= response.status < 300:
        raise RuntimeError(f"the collector answered {response.status}: {answer.decode(errors='replace')}")
    return answer
