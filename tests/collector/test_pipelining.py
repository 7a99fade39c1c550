"""Connections that send requests without waiting for answers take bounded memory, and others are answered."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from unittest.mock import MagicMock
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from tests.collector.floods import Flood, resident
from tests.collector.loads import fresh
from tests.collector.servers import OCTETS, process
from tests.collector.test_faults import on_now
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.collector.uploads import LimitedProtocol
from untrackable.serving import connections
from untrackable.serving.server import ServerProcess

MEGABYTES = 80
"""The most that a server may grow by: 16 MiB for requests that wait, what is being answered, and buffers."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, str]]:
    folder = tmp_path_factory.mktemp("pipelining")
    url = f"sqlite:///{folder}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    store.close()
    with process(url, log=folder / "log") as server:
        yield server, f"/campaigns/{asked.id}/reports"
        assert server.end() == 0
    assert (folder / "log").read_text() == ""


def post(path: str, body: bytes) -> bytes:
    headers = f"host: x\r\ncontent-type: application/octet-stream\r\ncontent-length: {len(body)}\r\n"
    return f"POST {path} HTTP/1.1\r\n{headers}\r\n".encode() + body


REQUESTS: dict[str, Callable[[str], bytes]] = {
    "reports": lambda path: post(path, fresh(1)),
    "refused reports": lambda path: post(path, b"x"),
    "small": lambda path: b"GET / HTTP/1.1\r\n\r\n",
    "not HTTP": lambda path: b"nonsense\r\n\r\n",
}


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("kind", REQUESTS)
def test_memory_is_bounded_and_others_are_answered(
    running: tuple[ServerProcess, str], kind: str, reads: bool
) -> None:
    server, path = running
    assert httpx.post(f"{server.address}{path}", content=fresh(1), headers=OCTETS, timeout=30).status_code == 204
    before = most = resident(server.process.pid)
    answered = 0
    with Flood(server.address, lambda: REQUESTS[kind](path), connections=100, reads=reads) as flood:
        end = time.monotonic() + 1
        while time.monotonic() < end or answered < 5:
            response = httpx.post(f"{server.address}{path}", content=fresh(1), headers=OCTETS, timeout=60)
            assert response.status_code == 204
            answered += 1
            most = max(most, resident(server.process.pid))
    assert flood.opened >= 100
    assert flood.sent > 1 << 20
    assert most - before < MEGABYTES


def test_unfinished_large_bodies_do_not_shut_others_out(running: tuple[ServerProcess, str]) -> None:
    """Forty bodies of 1 MiB without their last byte are more than all that may wait to be stored."""
    server, path = running
    host, port = urlsplit(server.address).netloc.split(":")
    unfinished = post(path, bytes(1 << 20))[:-1]
    with ExitStack() as stack:
        for _ in range(40):
            plain = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            with contextlib.suppress(ConnectionError):  # The last ones are told to come again.
                plain.sendall(unfinished)
        answers = [
            httpx.post(f"{server.address}{path}", content=fresh(count), headers=OCTETS, timeout=30).status_code
            for count in (1, 90, 1, 10_000)
        ]
    assert answers == [204, 204, 204, 503]


def test_beyond_the_backlog_of_all_the_next_request_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers stay in order, the rest is forgotten, and the backlog is empty again."""
    monkeypatch.setattr(connections, "_BACKLOG_BYTES", 50_000)
    monkeypatch.setattr(connections, "_BUSY_SECONDS", 0.1)

    async def talk() -> tuple[int, list[bytes], int]:
        go = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await go.wait()
            await PlainTextResponse("x")(scope, receive, send)

        config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: LimitedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        streams = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(2)]
        for _, writer in streams:
            writer.write(b"GET / HTTP/1.1\r\n\r\n" * 6)  # 40,960 bytes of memory while five of them wait
            await asyncio.sleep(0.2)
        held = LimitedProtocol.backlog
        go.set()
        said = [await streams[1][0].read()]  # until the server hangs up
        streams[0][1].write_eof()
        said.append(await streams[0][0].read())
        for _, writer in streams:
            writer.close()
        await asyncio.sleep(0.2)
        server.close()
        return held, said, LimitedProtocol.backlog

    held, (second, first), left = asyncio.run(talk())
    assert 40_960 < held < 50_000
    assert first.count(b"HTTP/1.1 200 ") == first.count(b"HTTP/1.1 ") == 6
    assert [part[:3] for part in second.split(b"HTTP/1.1 ")[1:]] == [b"200", b"503"]
    assert b"retry-after: " in second
    assert second.count(b"x-content-type-options: nosniff\r\n") == 1
    assert left == 0


def unconnected(app: ASGIApp) -> tuple[LimitedProtocol, MagicMock]:
    """A connection of an application without any network, and what stands for its socket."""
    config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None)
    connection = LimitedProtocol(config=config, server_state=ServerState(), app_state={})
    transport = MagicMock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_write_buffer_size.return_value = 0
    transport.get_extra_info.return_value = None
    connection.connection_made(transport)
    return connection, transport


def test_nothing_more_is_read_while_requests_wait() -> None:
    """Neither if the application asks for a body nor for an answer, as uvicorn itself would."""
    go = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await go.wait()
        await PlainTextResponse("x")(scope, receive, send)

    async def talk() -> None:
        connection, transport = unconnected(app)
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n" * 9)
        await asyncio.sleep(0.05)
        assert len(connection.pipeline) == 8
        transport.pause_reading.assert_called_once()
        transport.resume_reading.assert_not_called()
        go.set()
        while connection.pipeline:
            transport.resume_reading.assert_not_called()
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        transport.resume_reading.assert_called_once()
        connection.connection_lost(None)

    asyncio.run(talk())
