"""The people of the demonstration: real clients with a folder each, and simulated people."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
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
from untrackable.client.policy import Policy
from untrackable.client.sending import Outcome
from untrackable.collector.http.report_upload import GATEWAY
from untrackable.demo.homepage_question import HOMEPAGES, WEEKS, Population
from untrackable.mechanisms.simulated_batches import Batch
from untrackable.oblivious.binary_http import BinaryResponse, reports_request
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.serving.server_process import end_with_parent, shielded_from_interrupts

ShowShare = Callable[[float], None]
"""A function that shows the share of the work that is done, from 0 to 1."""

_CLIENTS_PER_TASK = 25
"""A worker runs this many clients before it shows progress."""
_REPORTS_PER_REQUEST = 20_000
"""This many reports of simulated people are sent at once."""
_STORED = 204
"""The status of reports that are stored."""


@dataclass(frozen=True, slots=True)
class ClientTask:
    """The clients that one worker runs: their folders, and the homepages of their people."""

    document: bytes
    server: str
    relays: tuple[str, ...]
    folders: tuple[Path, ...]
    people: Population


def run_clients(
    campaign: Campaign, server: str, relays: tuple[str, ...], folder: Path, people: Population, show: ShowShare
) -> int:
    """Everyone joins before the first week, and answers in the week that their device draws.

    Reports that rely on a crowd go through a relay. Returns the number of accepted reports.
    """
    tasks = [
        ClientTask(
            campaign.to_bytes(),
            server,
            relays,
            tuple(folder / str(i) for i in range(start, min(start + _CLIENTS_PER_TASK, len(people.before)))),
            people.part(slice(start, start + _CLIENTS_PER_TASK)),
        )
        for start in range(0, len(people.before), _CLIENTS_PER_TASK)
    ]
    accepted = 0
    # Workers mostly wait for the disk and the collector, so there are more of them than cores.
    workers = min(8, 2 * (os.cpu_count() or 1), len(tasks))
    with ExitStack() as ending:
        with shielded_from_interrupts():
            pool = ending.enter_context(multiprocessing.get_context("spawn").Pool(workers, end_with_parent))
        for done, count in enumerate(pool.imap_unordered(_run_task, tasks), start=1):
            accepted += count
            show(done / len(tasks))
    return accepted


def _run_task(task: ClientTask) -> int:
    campaign = _campaign(task.document)
    policy = Policy(eps=campaign.guarantee.eps, relays=task.relays, pins=(campaign.id,))
    accepted = 0
    for folder, before, after, week in zip(task.folders, *task.people, strict=True):
        folder.mkdir(mode=0o700)
        today = campaign.first_round - 1.0
        client = Client(campaign, None, policy, folder=folder, clock=lambda: today)  # noqa: B023
        client.answer(HOMEPAGES[before])
        due = client.due(today)
        if week <= WEEKS and due is not None and due >= campaign.begins(week):
            today = campaign.begins(week)
            client.answer(HOMEPAGES[after])
        if due is not None:
            today = due
            accepted += client.send(task.server) is Outcome.ACCEPTED
    return accepted


@cache
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def send_simulated(campaign: Campaign, server: str, people: Population, seed: int, show: ShowShare) -> int:
    """Send the reports of many simulated people, many at once. Returns the number of accepted reports.

    Each draws a turn, as a client does. Only the report of this one week is simulated.
    """
    layout = wire.of(campaign.mechanism)
    turns = np.random.default_rng([seed, 2, len(people.before)]).integers(1, WEEKS + 1, size=len(people.before))
    sent = 0
    for week in range(1, WEEKS + 1):
        answering = people.at(week)[turns == week]
        for reports in _batches(campaign.mechanism.simulate(answering, rounds=[week], seed=(seed << 16) + week)):
            nonces = np.frombuffer(os.urandom(wire.NONCE * len(reports)), dtype=np.uint8)
            body = layout.encode_many(round=week, nonces=nonces.reshape(-1, wire.NONCE), reports=reports)
            _post(campaign, server, week, body)
            sent += len(reports)
        show(week / WEEKS)
    return sent


def _post(campaign: Campaign, server: str, week: int, body: bytes) -> None:
    """Send reports to the collector: sealed, if they rely on a crowd."""
    path, kind = f"/campaigns/{campaign.id}/reports", "application/octet-stream"
    if campaign.gateway is None:
        request(server, "POST", path, body, kind)
        return
    from untrackable.oblivious import sealing

    inner = reports_request(campaign.id, body)
    key = KeyConfig.from_bytes(campaign.gateway.keys_from(week)[0].config)
    sealed = sealing.seal_request(key, inner, length=len(inner))
    answer = request(server, "POST", GATEWAY, sealed.body, sealing.REQUEST_MEDIA_TYPE)
    status = BinaryResponse.from_bytes(sealed.open_answer(answer)).status
    if status != _STORED:
        raise RuntimeError(f"the gateway answered {status}")


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
