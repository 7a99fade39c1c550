"""However it is ended, the collector leaves nothing behind and says nothing that is not worth reading."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Message

from tests.collector.loads import wait_until
from tests.collector.samples import campaign
from tests.collector.servers import ROOT, Clock, process
from untrackable.collector.api import create_campaign
from untrackable.collector.app import create_app
from untrackable.collector.settings import open_store

EARLY = """
import os, signal, sys, uvicorn
from untrackable.cli import main
before = uvicorn.Config.get_loop_factory
def just_then(self):
    os.kill(os.getpid(), signal.SIGTERM)
    return before(self)
uvicorn.Config.get_loop_factory = just_then
main(["serve", "--store", sys.argv[1], "--port", "0"])
"""


def test_told_to_end_while_it_starts(tmp_path: Path) -> None:
    """Between making the server's coroutine and running it, where there is nobody yet to look at signals."""
    command = [sys.executable, "-c", EARLY, f"sqlite:///{tmp_path}/x.db"]
    path = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"}
    run = subprocess.run(command, capture_output=True, text=True, env=path, timeout=60, check=False)  # noqa: S603
    assert (run.returncode, run.stderr) == (0, "")


def listening(address: str) -> bool:
    host, port = urlsplit(address).netloc.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=30).close()
    except ConnectionRefusedError:
        return False
    return True


def test_workers_end_with_the_process_that_started_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with process(f"sqlite:///{tmp_path}/x.db", "--workers", "2", log=tmp_path / "log") as server:
        assert httpx.get(f"{server.address}/healthz", timeout=60).status_code == 200
        assert server.kill() == -signal.SIGKILL
        wait_until(lambda: not listening(server.address))
    assert list(scratch.iterdir()) == []
    assert (tmp_path / "log").read_text() == ""


def test_interrupted_with_all_of_its_processes_while_they_start(tmp_path: Path) -> None:
    with process(f"sqlite:///{tmp_path}/x.db", "--workers", "2", log=tmp_path / "log") as server:
        os.killpg(server.process.pid, signal.SIGINT)
        assert server.process.wait(60) == 130
        server.kill()  # which closes what is open here
    assert (tmp_path / "log").read_text() == "Stopped.\n"


def test_who_is_not_waited_for_is_asked_to_come_again(tmp_path: Path) -> None:
    """When the collector ends and the time for answers is over, uvicorn cancels what is left."""
    store, asked = open_store(f"sqlite:///{tmp_path}/x.db"), campaign()
    create_campaign(store, asked.to_bytes())
    app = create_app(store, clock=Clock())
    said: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        said.append(message)

    async def cancelled() -> None:
        async with app.router.lifespan_context(app):
            headers = [(b"content-type", b"application/octet-stream")]
            scope = {"type": "http", "method": "POST", "path": f"/campaigns/{asked.id}/reports", "headers": headers}
            task = asyncio.create_task(app(scope, receive, send))
            await asyncio.sleep(0.2)
            task.cancel()
            await task

    asyncio.run(cancelled())
    assert said[0]["status"] == 503
    assert b"retry-after" in dict(said[0]["headers"])
    assert b"urn:untrackable:problem:busy" in said[1]["body"]
