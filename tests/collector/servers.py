"""Collectors to talk to: within the test, or as a process of their own."""

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from starlette.exceptions import StarletteDeprecationWarning

from tests.collector.samples import BEGIN
from untrackable.campaign import Campaign
from untrackable.collector.app import create_app
from untrackable.collector.keys import new_key
from untrackable.collector.managing import create_campaign
from untrackable.collector.settings import Settings
from untrackable.collector.stores.base import Store

with warnings.catch_warnings():
    warnings.simplefilter("ignore", StarletteDeprecationWarning)  # it would rather have a later httpx
    from starlette.testclient import TestClient

ROOT = Path(__file__).parent.parent.parent
OCTETS = {"content-type": "application/octet-stream"}
JSON = {"content-type": "application/json"}


@dataclass
class Clock:
    """A clock that tests set."""

    now: float = BEGIN + 10.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Collector:
    """A collector within the test, with a key for each role."""

    store: Store
    clock: Clock
    http: TestClient
    keys: dict[str, dict[str, str]] = field(default_factory=dict)

    def create(self, asked: Campaign, *, published: bool = True) -> Campaign:
        create_campaign(self.store, asked.to_bytes(), published=published)
        return asked

    def send(self, asked: Campaign, body: bytes) -> httpx.Response:
        response: httpx.Response = self.http.post(f"/campaigns/{asked.id}/reports", content=body, headers=OCTETS)
        return response

    def close(self, asked: Campaign, round: int = 1) -> httpx.Response:
        path = f"/campaigns/{asked.id}/rounds/{round}/close"
        response: httpx.Response = self.http.post(path, headers=self.keys["admin"])
        return response


SETTINGS = Settings(minimum_reports=10, sweep=3600.0)


@contextmanager
def collecting(store: Store, settings: Settings = SETTINGS) -> Iterator[Collector]:
    clock = Clock()
    keys = {role: {"authorization": f"Bearer {new_key(store, role)[1]}"} for role in ("admin", "reader")}
    with TestClient(create_app(store, clock=clock, settings=settings), raise_server_exceptions=False) as http:
        yield Collector(store, clock, http, keys)


@contextmanager
def process(url: str, *options: str, log: Path | None = None) -> Iterator["Process"]:
    """`untrackable serve` as a process; killed at the end if it is still there."""
    command = [sys.executable, "-m", "untrackable", "serve", "--store", url, "--port", "0", "--json", *options]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    errors = None if log is None else log.open("ab")
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)  # noqa: S603
    assert running.stdout is not None
    said = b""
    while not said.rstrip().endswith(b"}"):
        line = running.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with {running.wait()}")
        said += line
    found = Process(running, json.loads(said)["address"], said)
    try:
        yield found
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
        running.wait()
        found.said += running.stdout.read()
        running.stdout.close()
        if errors is not None:
            errors.close()


@dataclass
class Process:
    """A running server."""

    running: "subprocess.Popen[bytes]"
    address: str
    said: bytes

    def end(self) -> int:
        """Ask it to end, and wait."""
        self.running.send_signal(signal.SIGTERM)
        return self.running.wait(timeout=60)
