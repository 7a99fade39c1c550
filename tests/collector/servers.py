"""Collectors to talk to: within the test, or as a process of their own."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx
from starlette.exceptions import StarletteDeprecationWarning

from tests.collector.samples import BEGIN
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.app import create_app
from untrackable.collector.settings import Settings
from untrackable.collector.store import Store
from untrackable.protocol.campaign import Campaign
from untrackable.serving.server import ServerProcess, start_server

with warnings.catch_warnings():
    warnings.simplefilter("ignore", StarletteDeprecationWarning)  # it would rather have a later httpx
    from starlette.testclient import TestClient as TestClient

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
def process(url: str, *options: str, log: Path | None = None) -> Iterator[ServerProcess]:
    """`untrackable serve` as a process; killed at the end if it is still there."""
    with ExitStack() as stack:
        errors = None if log is None else stack.enter_context(log.open("ab"))
        path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
        server = start_server(url, *options, errors=errors, environment={"PYTHONPATH": path})
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.kill()


_PRELOADED = """
import json, os, signal, sys
from untrackable.cli import run
from untrackable.collector import app, postgres, sqlite
child = 0
for line in sys.stdin:
    if options := json.loads(line):
        child = os.fork()
        if child == 0:
            sys.argv = ["untrackable", *options]
            run()
    else:
        os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        child = 0
if child:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


class PreloadedServers:
    """`untrackable serve` again and again, one at a time, each forked from a process that has loaded everything."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _PRELOADED]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)  # noqa: S603

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def start(self, url: str, *options: str) -> str:
        """Its address."""
        self._write(["serve", "--store", url, "--port", "0", "--json", *options])
        return str(json.loads(self._read())["address"])

    def kill(self) -> int:
        """Its exit status."""
        self._write([])
        return int(self._read())

    def _write(self, options: list[str]) -> None:
        assert self._process.stdin is not None
        print(json.dumps(options), file=self._process.stdin, flush=True)

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()
