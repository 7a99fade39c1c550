"""Gateways that say what they are told to, within the test's own loop, and relays in front of them."""

import asyncio
import os
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from untrackable.relay.app import SEALED_LENGTH, RelaySettings, create_relay
from untrackable.relay.gateway import GatewayAddress
from untrackable.relay.held_reports import HeldReports
from untrackable.serving.server import ServerProcess, start_relay

ROOT = Path(__file__).parent.parent.parent

SEALED = {"content-type": "message/ohttp-req"}


def answer(content: bytes, *, status: str = "200 OK", kind: str = "message/ohttp-res", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n{more}\r\n"
    return head.encode() + content


def sealed(number: int) -> bytes:
    """A body that is as long as a sealed report, and none."""
    return number.to_bytes(4, "big") + bytes(SEALED_LENGTH - 4)


@dataclass
class FakeGateway:
    """Keeps every request as it came, byte by byte, and how many connections there were."""

    reply: Callable[[bytes], bytes | None]
    seen: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    pause: Callable[[], Awaitable[Any]] | None = None
    closes: bool = False
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = 0
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                request = head + await reader.readexactly(length)
                self.seen.append(request)
                if self.pause is not None:
                    await self.pause()
                said = self.reply(request)
                if said is None:
                    break
                writer.write(said)
                await writer.drain()
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        writer.transport.abort()


@asynccontextmanager
async def gateway(
    reply: Callable[[bytes], bytes | None], context: ssl.SSLContext | None = None
) -> AsyncIterator[FakeGateway]:
    found = FakeGateway(reply)
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0, ssl=context)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in found.tasks:
            task.cancel()
        await asyncio.gather(*found.tasks)
        await asyncio.sleep(0.01)


@asynccontextmanager
async def relayed(
    port: int,
    at: str = "http://127.0.0.1",
    *,
    held: HeldReports | None = None,
    clock: Callable[[], float] = time.time,
    **settings: Any,
) -> AsyncIterator[Callable[[str], httpx.AsyncClient]]:
    """A relay before a gateway at this port. What is yielded makes a sender of an address."""
    chosen = RelaySettings(gateways=(GatewayAddress.parse(f"study={at}:{port}"),), **settings)
    app = create_relay(chosen, held, clock)

    def sender(address: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=(address, 4711))
        return httpx.AsyncClient(transport=transport, base_url="http://relay.example")

    async with app.router.lifespan_context(app):
        yield sender


@contextmanager
def threaded(reply: Callable[[bytes], bytes | None]) -> Iterator[FakeGateway]:
    """A gateway in a thread of its own, for relays that are processes."""
    ready, ending = threading.Event(), threading.Event()
    found: list[FakeGateway] = []

    async def serve() -> None:
        async with gateway(reply) as there:
            found.append(there)
            ready.set()
            while not ending.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield found[0]
    finally:
        ending.set()
        thread.join(30)


@contextmanager
def relay_process(*options: str, log: Path | None = None, folder: Path | None = None) -> Iterator[ServerProcess]:
    """`untrackable relay` as a process, for which `folder` is home and scratch; killed if it is still there."""
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    places = {} if folder is None else {"HOME": str(folder), "TMPDIR": str(folder)}
    with ExitStack() as stack:
        errors = None if log is None else stack.enter_context(log.open("ab"))
        found = start_relay(*options, errors=errors, environment={"PYTHONPATH": path, **places})
        try:
            yield found
        finally:
            if found.process.poll() is None:
                found.kill()
