"""Small reports that arrive whole are answered without a task, in the same way as all others."""

import asyncio
from collections.abc import Callable
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
    """Takes bodies that begin with a, and keeps them and the futures that their requests wait for."""

    def __init__(self) -> None:
        self.futures: list[asyncio.Future[Refused | None]] = []
        self.bodies: list[bytes] = []
        self.parsed = 0

    def storing_small(self, scope: Any, size: int) -> Any:
        self.parsed += 1
        return self.store

    def store(self, body: bytes) -> "asyncio.Future[Refused | None] | None":
        if not body.startswith(b"a"):
            return None
        self.bodies.append(body)
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


async def converse(
    monkeypatch: pytest.MonkeyPatch, *parts: bytes, after: Callable[[ServerState], None] = lambda _: None
) -> tuple[Upload, list[bytes]]:
    """Send each part once the one before is answered, and return the upload and the first words of all answers."""
    upload, state = Upload(), ServerState()
    monkeypatch.setattr(LimitedProtocol, "upload", upload)
    config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None)
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: LimitedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    said = b""
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.05)
        after(state)
        while any(not future.done() for future in upload.futures):
            next(future for future in upload.futures if not future.done()).set_result(None)
            await asyncio.sleep(0.05)
        said += await asyncio.wait_for(reader.read(1 << 16), 10)
    writer.close()
    server.close()
    return upload, [part[:3] for part in said.split(b"HTTP/1.1 ")[1:]]


def body(text: bytes) -> bytes:
    return POST.replace(b"abc", text)


def test_a_repeated_head_is_not_parsed_again_and_each_body_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [body(text) for text in (b"a01", b"a02", b"a03")]
    upload, answers = asyncio.run(converse(monkeypatch, *parts))
    assert upload.bodies == [b"a01", b"a02", b"a03"]
    assert upload.parsed == 1
    assert answers == [b"204"] * 3


def test_a_connection_that_does_not_repeat_its_heads_is_parsed_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    varied = [POST.replace(b"host: x", b"host: %d" % i) for i in range(6)]
    upload, answers = asyncio.run(converse(monkeypatch, *varied, body(b"a01"), body(b"a02")))
    assert answers == [b"204"] * 8
    assert upload.parsed == 8


def test_a_repeated_head_with_a_body_that_is_not_taken_goes_to_the_application(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload, answers = asyncio.run(converse(monkeypatch, body(b"a01"), body(b"x02"), body(b"a03"), body(b"a04")))
    assert answers == [b"204", b"200", b"204", b"204"]
    assert upload.bodies == [b"a01", b"a03", b"a04"]
    assert upload.parsed == 3


CHUNKED = b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\n%s\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "bodies", "parsed"),
    [
        ([body(b"a01"), body(b"a02") + body(b"a03"), body(b"a04")], 4, 4),  # pipelined
        ([body(b"a01"), body(b"a02").replace(b"host: x", b"host: y"), body(b"a03")], 3, 3),  # another head
        ([CHUNKED % b"a01", CHUNKED % b"a02"], 2, 2),
        ([b"\r\n" + body(b"a01"), body(b"a02")], 2, 2),
        ([body(b"a01") + body(b"a02")[:20], body(b"a02")[20:], body(b"a03"), body(b"a04")], 2, 3),
    ],
)
def test_requests_that_are_not_repeated_as_they_were_are_parsed(
    monkeypatch: pytest.MonkeyPatch, parts: list[bytes], bodies: int, parsed: int
) -> None:
    upload, answers = asyncio.run(converse(monkeypatch, *parts))
    sent = b"".join(parts)
    assert len(answers) == sent.count(b"POST ")
    assert set(answers) <= {b"204", b"200"}
    assert upload.bodies == sorted(upload.bodies)
    assert len(upload.bodies) >= bodies
    assert upload.parsed >= parsed


def test_a_repeated_request_that_is_answered_at_the_end_closes_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The collector ends while the second request waits: it is answered, and the connection is closed."""
    calls = 0

    def end(state: ServerState) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            for connection in list(state.connections):
                connection.shutdown()

    upload, answers = asyncio.run(converse(monkeypatch, body(b"a01"), body(b"a02"), after=end))
    assert upload.parsed == 1
    assert answers == [b"204"] * 2
