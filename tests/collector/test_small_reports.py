"""Small reports that arrive whole are answered without a task, in the same way as all others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from untrackable.collector.problems import Problem
from untrackable.collector.uploads import LimitedProtocol
from untrackable.serving import connections
from untrackable.serving.problems import Refused
from untrackable.serving.small_posts import Answer, SmallPost

POST = b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-type: a/b\r\ncontent-length: 3\r\n\r\nabc"
LAST = POST.replace(b"host: x", b"connection: close")
STORED = b"204 No Content\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\r\n"


class Upload:
    """Takes bodies that begin with a, and keeps them and what answers them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.answers: list[Callable[[Answer], None]] = []

    def store_small(self, post: SmallPost, answer: Callable[[Answer], None]) -> bool:
        if not post.body.startswith(b"a"):
            return False
        self.bodies.append(post.body)
        self.answers.append(answer)
        return True


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("from a task")(scope, receive, send)


class Connection:
    """A connection to a server whose small reports are answered when the test says so."""

    def __init__(self, state: ServerState, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.state, self._reader, self.writer = state, reader, writer
        self.upload = Upload()

    async def send(self, data: bytes, bodies: int) -> None:
        """Send bytes, and wait until so many bodies were taken in all."""
        self.writer.write(data)
        async with asyncio.timeout(10):
            while len(self.upload.bodies) < bodies:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)

    def answer(self, answer: Answer) -> None:
        """Answer the last body that was taken."""
        self.upload.answers[-1](answer)

    async def answers(self, count: int) -> list[bytes]:
        """So many answers, or as many as come until the server hangs up."""
        said = b""
        while said.count(b"HTTP/1.1 ") < count and (part := await asyncio.wait_for(self._reader.read(1 << 16), 10)):
            said += part
        return said.split(b"HTTP/1.1 ")[1:]

    async def end(self) -> bytes:
        """What still comes until the server hangs up."""
        return await asyncio.wait_for(self._reader.read(), 10)


@asynccontextmanager
async def connected(monkeypatch: pytest.MonkeyPatch, **options: Any) -> AsyncIterator[Connection]:
    state = ServerState()
    config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None, **options)
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: LimitedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    connection = Connection(state, *await asyncio.open_connection(*server.sockets[0].getsockname()))
    monkeypatch.setattr(LimitedProtocol, "upload", connection.upload)
    yield connection
    connection.writer.close()
    server.close()
    await asyncio.sleep(0.05)
    assert state.tasks == set()


def test_each_report_is_stored_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            for number, answer in enumerate((None, Refused(Problem.ROUND_OVER, "round 1 is over"), b"sealed"), 1):
                await connection.send(POST.replace(b"abc", b"a0%d" % number), number)
                assert len(connection.state.tasks) == 1  # uvicorn waits for it when it ends
                connection.answer(answer)
                assert connection.state.tasks == set()
            first, second, third = await connection.answers(3)
            assert connection.upload.bodies == [b"a01", b"a02", b"a03"]
            assert first == STORED
            assert second.startswith(b"410 ")
            assert Problem.ROUND_OVER.uri.encode() in second
            assert b"connection" not in second
            assert third.startswith(b"200 ")
            assert third.endswith(b"content-type: message/ohttp-res\r\ncontent-length: 6\r\n\r\nsealed")

    asyncio.run(run())


@pytest.mark.parametrize(
    "parts",
    [
        (POST.replace(b"abc", b"xyz"),),
        (POST[:-1], POST[-1:]),
        (POST[:10], POST[10:]),
        (LAST,),
        (b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",),
    ],
)
def test_other_bodies_and_bodies_in_parts_go_to_the_application(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            for part in parts:
                await connection.send(part, 0)
            count = b"".join(parts).count(b"POST ")
            for answer in await connection.answers(count):
                assert answer.startswith(b"200 ")
                assert answer.endswith(b"from a task")
            assert connection.upload.bodies == []

    asyncio.run(run())


def test_requests_behind_a_small_report_wait_for_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are small reports need no task either."""

    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST, 1)
            other, page = POST.replace(b"abc", b"xyz"), POST.replace(b"host: x", b"origin: x")
            await connection.send(POST.replace(b"abc", b"a02") + other + page + LAST.replace(b"abc", b"a05"), 1)
            for number in (1, 2, 3):
                assert len(connection.upload.bodies) == number
                assert len(connection.state.tasks) == 1
                connection.answer(None)
                await asyncio.sleep(0.05)
            answers = await connection.answers(5)
            assert [answer[:3] for answer in answers] == [b"204", b"204", b"200", b"200", b"204"]
            assert [b"connection: close" in answer for answer in answers] == [False, False, False, False, True]
            assert connection.upload.bodies == [b"abc", b"a02", b"a05"]
            assert await connection.end() == b""

    asyncio.run(run())


def test_the_first_of_several_requests_that_come_together_has_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST + POST, 1)
            connection.answer(None)
            assert [answer[:3] for answer in await connection.answers(2)] == [b"200", b"204"]

    asyncio.run(run())


def test_a_report_beyond_the_backlog_of_all_is_refused_and_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_BACKLOG_BYTES", 1000)
    monkeypatch.setattr(connections, "_BUSY_SECONDS", 0.1)

    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST, 1)
            await connection.send(3 * POST, 1)
            connection.answer(None)
            stored, refused = await connection.answers(3)
            assert stored == STORED
            assert refused.startswith(b"503 ")
            assert Problem.BUSY.uri.encode() in refused
            assert len(connection.upload.bodies) == 1

    asyncio.run(run())


def test_a_small_report_after_the_first_bytes_of_another_request_is_part_of_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(b"POST /x HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(POST), 0)
            await connection.send(POST, 0)
            await connection.send(POST.replace(b"abc", b"a02"), 1)
            connection.answer(None)
            assert [answer[:3] for answer in await connection.answers(2)] == [b"200", b"204"]
            assert connection.upload.bodies == [b"a02"]

    asyncio.run(run())


def test_a_report_that_is_cancelled_at_the_end_is_told_so_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST, 1)
            for task in connection.state.tasks:
                task.cancel("the time is over")
            await asyncio.sleep(0.02)
            connection.answer(None)
            said = await connection.end()
            assert said.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: " in said
            assert Problem.BUSY.uri.encode() in said
            assert said.count(b"HTTP/1.1") == 1

    asyncio.run(run())


def test_a_report_that_waits_when_the_collector_ends_is_answered_and_closes_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST, 1)
            connection.answer(None)
            await connection.answers(1)
            await connection.send(POST, 2)
            for each in list(connection.state.connections):
                each.shutdown()
            connection.answer(None)
            said = await connection.end()
            assert said == b"HTTP/1.1 " + STORED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")

    asyncio.run(run())


def test_a_sender_that_is_gone_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with connected(monkeypatch) as connection:
            await connection.send(POST, 1)
            connection.writer.transport.abort()
            await asyncio.sleep(0.05)
            assert connection.state.connections == set()
            connection.answer(None)

    asyncio.run(run())


def test_a_connection_is_closed_if_it_is_idle_and_not_while_a_report_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with connected(monkeypatch, timeout_keep_alive=0.3) as connection:
            for number in (1, 2):
                await connection.send(POST, number)
                await asyncio.sleep(0.5)
                connection.answer(None)
                assert await connection.answers(1) == [STORED]
            assert await connection.end() == b""

    asyncio.run(run())
