"""Small reports that arrive whole are answered without a task, in the same way as all others."""

import asyncio
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from untrackable.collector.http.connections import LimitedProtocol
from untrackable.collector.http.problems import Problem, Refused

POST = b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc"
LAST = POST.replace(b"host: x", b"connection: close")


class Upload:
    """Takes bodies that begin with a, and keeps the futures that their requests wait for."""

    def __init__(self) -> None:
        self.futures: list[asyncio.Future[Refused | None]] = []

    def submit(self, scope: Any, body: bytearray) -> "asyncio.Future[Refused | None] | None":
        if not body.startswith(b"a"):
            return None
        self.futures.append(asyncio.get_running_loop().create_future())
        return self.futures[-1]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("from a task")(scope, receive, send)


async def talk(monkeypatch: pytest.MonkeyPatch, *parts: bytes, outcomes: list[Refused | str | None]) -> bytes:
    """Send parts one by one, settle each future with an outcome, and return all until the server hangs up."""
    upload, state = Upload(), ServerState()
    monkeypatch.setattr(LimitedProtocol, "upload", upload)
    config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None)
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: LimitedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.1)
    for number, outcome in enumerate(outcomes):
        while len(upload.futures) <= number:
            await asyncio.sleep(0.01)
        waiting: Any = state.tasks
        assert upload.futures[number] in waiting  # uvicorn waits for it when it ends
        if isinstance(outcome, str):
            upload.futures[number].cancel(outcome)
        else:
            upload.futures[number].set_result(outcome)
        await asyncio.sleep(0.05)
    said = await reader.read()
    writer.close()
    server.close()
    assert state.tasks == set()
    assert len(upload.futures) == len(outcomes)
    return said


def test_answers_come_in_order_and_the_last_one_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Refused(Problem.ROUND_OVER, "round 1 is over")
    said = asyncio.run(talk(monkeypatch, POST + POST, LAST, outcomes=[None, late, None]))
    first, second, third = said.split(b"HTTP/1.1 ")[1:]
    assert first == b"204 No Content\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\r\n"
    assert second.startswith(b"410 ")
    assert Problem.ROUND_OVER.uri.encode() in second
    assert b"connection" not in second
    assert third == first.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")


def test_a_request_that_is_cancelled_at_the_end_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = asyncio.run(talk(monkeypatch, LAST, outcomes=["the time is over"]))
    assert said.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in said
    assert Problem.BUSY.uri.encode() in said


@pytest.mark.parametrize("parts", [(LAST.replace(b"abc", b"xyz"),), (LAST[:-1], LAST[-1:])])
def test_other_bodies_and_bodies_in_parts_go_to_the_application(
    monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    said = asyncio.run(talk(monkeypatch, *parts, outcomes=[]))
    assert said.startswith(b"HTTP/1.1 200 ")
    assert said.endswith(b"from a task")
