"""Who sends slowly or too much, or does not take the answers, is cut off, and others do not notice."""

import asyncio
import json
import operator
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from tests.collector.loads import fresh, split, wait_until
from tests.collector.servers import OCTETS, process
from tests.collector.test_faults import on_now, stored
from tests.collector.test_pipelining import unconnected
from untrackable.collector.api import create_campaign
from untrackable.collector.problems import Problem
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
from untrackable.collector.uploads import LimitedProtocol


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """A server's address, where to post, and its store."""
    folder = tmp_path_factory.mktemp("limits")
    url = f"sqlite:///{folder}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    store.close()
    with process(url, "--request-seconds", "1", "--largest-body", "100000", log=folder / "log") as server:
        yield server.address, f"/campaigns/{asked.id}/reports", url
        assert server.end() == 0
    assert Path(folder / "log").read_text() == ""  # nobody can make it grow


def connected(address: str) -> socket.socket:
    host, port = urlsplit(address).netloc.split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def answer(plain: socket.socket) -> bytes:
    """Everything until the server hangs up."""
    said = b""
    try:
        while part := plain.recv(10_000):
            said += part
    except ConnectionResetError:
        pass
    return said


def head(path: str, length: int) -> bytes:
    headers = f"host: x\r\ncontent-type: application/octet-stream\r\ncontent-length: {length}\r\n"
    return f"POST {path} HTTP/1.1\r\n{headers}\r\n".encode()


def last(head: bytes) -> bytes:
    """The head of a request after which the server hangs up at once, and does not wait for another."""
    return head.replace(b"host: x\r\n", b"host: x\r\nconnection: close\r\n")


def test_a_body_that_does_not_come(running: tuple[str, str, str]) -> None:
    address, path, url = running
    report = fresh(1)
    with connected(address) as plain:
        plain.sendall(head(path, len(report)) + report[:10])
        assert answer(plain).startswith(b"HTTP/1.1 408 ")
    asked = open_store(url, check=False)
    assert asked.round(Round(path.split("/")[2], 1)) is None  # nothing of it was stored
    asked.close()


def test_a_body_that_comes_byte_by_byte(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 10_000))
        begun = time.monotonic()
        with pytest.raises(OSError):  # noqa: PT012
            while time.monotonic() < begun + 20:
                plain.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() < begun + 20


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"GET / HTTP/1.1\r\nhost: x\r\n"])
def test_a_head_that_does_not_end(running: tuple[str, str, str], sent: bytes) -> None:
    with connected(running[0]) as plain:
        plain.sendall(sent)
        assert answer(plain).startswith(b"HTTP/1.1 408 ")


def test_a_head_that_is_too_large(running: tuple[str, str, str]) -> None:
    with connected(running[0]) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nx-padding: " + b"x" * 40_000)
        assert answer(plain).startswith(b"HTTP/1.1 431 ")


def test_a_body_that_is_too_large_is_refused_before_it_comes(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 100_001))
        assert b"413 " in plain.recv(1000)


def test_a_body_of_no_declared_length_is_cut(running: tuple[str, str, str]) -> None:
    address, path, _ = running

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    try:
        status = httpx.post(f"{address}{path}", content=endless(), headers=OCTETS, timeout=30).status_code
    except httpx.TransportError:
        status = 413  # hung up on in the middle of sending
    assert status == 413


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"nonsense\r\n\r\n", Problem.MALFORMED_REQUEST),
        (b"GET http://[ HTTP/1.1\r\nhost: x\r\n\r\n", Problem.MALFORMED_REQUEST),
        (b"GET /?" + b"x" * 40_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", Problem.HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 8_000 + b"\r\n", Problem.HEAD_TOO_LARGE),
        (b"GET / HTTP/1.1\r\n", Problem.TOO_SLOW),
    ],
)
def test_what_is_cut_off_is_told_a_problem(running: tuple[str, str, str], sent: bytes, expected: Problem) -> None:
    with connected(running[0]) as plain:
        plain.sendall(sent)
        head, body = answer(plain).split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % expected.status)
    assert b"content-type: application/problem+json" in head
    assert head.count(b"x-content-type-options: nosniff") == 1
    assert json.loads(body)["type"] == expected.uri


def chunked(path: str) -> bytes:
    return head(path, 0).replace(b"content-length: 0", b"transfer-encoding: chunked")


def test_headers_after_the_body_are_refused(running: tuple[str, str, str]) -> None:
    address, path, url = running
    report = fresh(1)
    with connected(address) as plain:
        plain.sendall(chunked(path) + b"16\r\n" + report + b"\r\n0\r\n" + b"a: b\r\n" * 1000 + b"\r\n")
        said = answer(plain)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1 ") == 1
    assert report not in everything(url, path)


def everything(url: str, path: str) -> bytes:
    store = open_store(url, check=False)
    store.tidy()  # which leaves one row for each
    with store._transaction(write=False) as run:
        known = run("SELECT count(*) FROM rounds").fetchone()[0]
        rows = run("SELECT nonce, report FROM reports_1").fetchall() if known else []
    store.close()
    return b"".join(b"\1\1\0\0\0" + nonce + report for nonce, report in rows)


@pytest.mark.parametrize("endless", [b"0\r\n" + b"a" * 1000, b"5;" + b"a" * 1000, b"0\r\na: " + b"b" * 1000])
def test_no_part_of_a_request_is_endless(running: tuple[str, str, str], endless: bytes) -> None:
    """Whatever the body is wrapped in, ever more of it is not taken."""
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(chunked(path) + endless)
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(500):  # 32 MB
                plain.sendall(endless[-1:] * (1 << 16))


def test_a_second_request_on_the_heels_of_the_first_has_no_more_time(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 22) + fresh(1) + head(path, 90_000) + b"x" * 60_000)
        said = answer(plain)
    assert said.startswith(b"HTTP/1.1 204 ")
    assert said.count(b"HTTP/1.1 ") == said.count(b"HTTP/1.1 204 ") + said.count(b"HTTP/1.1 408 ") == 2


def test_no_second_answer_to_one_request(running: tuple[str, str, str]) -> None:
    """It was refused before its body came, which never does."""
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 100_001) + b"x")
        said = answer(plain)
    assert said.startswith(b"HTTP/1.1 413 ")
    assert said.count(b"HTTP/1.1 ") == 1


def test_a_connection_whose_request_was_answered_early_is_not_kept(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 22).replace(b"octet-stream", b"other") + b"x")
        said = plain.recv(20)
        plain.sendall(b"x" * 21)
        said += answer(plain)  # until it hangs up
    assert said.startswith(b"HTTP/1.1 415 ")
    assert said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("many", [60, 66, 5000])
def test_requests_that_wait_for_each_other_are_all_answered(running: tuple[str, str, str], many: int) -> None:
    one = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    with connected(running[0]) as plain:
        sending = threading.Thread(target=plain.sendall, args=(one * (many - 1) + last(one),))
        sending.start()
        said = answer(plain)
        sending.join()
    assert said.count(b"HTTP/1.1 200 ") == said.count(b"HTTP/1.1 ") == many


def test_reports_that_wait_for_each_other_are_all_stored(running: tuple[str, str, str]) -> None:
    address, path, url = running
    many = [fresh(1 + 40 * (i % 3)) for i in range(400)]
    with connected(address) as plain:
        heads = [head(path, len(body)) for body in many]
        heads[-1] = last(heads[-1])
        plain.sendall(b"".join(map(operator.add, heads, many)))
        assert answer(plain).count(b"HTTP/1.1 204 ") == 400
    store = open_store(url)
    asked = store.campaigns()[0].id
    reports = set(stored(store))
    assert store.count(Round(asked, 1)) == len(reports)
    assert {part for body in many for part in split(body)} <= reports
    store.close()


class _Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.go, self.begun = asyncio.Event(), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        await self.go.wait()
        await PlainTextResponse("x")(scope, receive, send)


def test_only_so_many_requests_wait_for_each_other() -> None:
    """Whatever else has come is not looked at, and no more is read."""
    one, count = b"GET / HTTP/1.1\r\n\r\n", 50_000

    async def talk() -> tuple[int, int, int, int]:
        app = _Slow()
        config = uvicorn.Config(app, http=LimitedProtocol, lifespan="off", log_config=None)
        config.load()
        made: list[LimitedProtocol] = []

        def make() -> LimitedProtocol:
            made.append(LimitedProtocol(config=config, server_state=ServerState(), app_state={}))
            return made[-1]

        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(one * count)
        await asyncio.sleep(0.5)
        (protocol,) = made
        waiting, unread = len(protocol.pipeline), len(protocol._unread) - protocol._parsed
        app.go.set()
        answered = 0
        while answered < count:
            answered += (await reader.read(1 << 16)).count(b"HTTP/1.1 200 ")
        longest = app.begun
        writer.close()
        server.close()
        return waiting, unread, answered, longest

    waiting, unread, answered, begun = asyncio.run(talk())
    assert 8 <= waiting < 8 + 1024 // len(one) + 1
    assert 0 < unread < len(one) * count // 2
    assert answered == begun == count


def test_a_body_that_nobody_read_is_forgotten_with_the_answer() -> None:
    """Otherwise each open connection could keep as much of one as is read ahead."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("x")(scope, receive, send)

    async def talk() -> None:
        connection, _ = unconnected(app)
        connection.data_received(head("/", 100_000) + b"x" * 60_000)
        assert len(connection.cycle.body) == 60_000
        await asyncio.sleep(0.05)
        assert connection.cycle.response_complete
        assert len(connection.cycle.body) == 0
        connection.data_received(b"x" * 30_000)
        assert len(connection.cycle.body) == 0
        connection.connection_lost(None)

    asyncio.run(talk())


def test_who_does_not_take_the_answers_is_cut_off(running: tuple[str, str, str]) -> None:
    host, port = urlsplit(running[0]).netloc.split(":")
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        plain.connect((host, int(port)))
        gone = time.monotonic() + 60
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(20):  # 400 requests for 20 kB each
                plain.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 20)
                time.sleep(0.2)
            while time.monotonic() < gone:
                plain.sendall(b"\r\n")
                time.sleep(0.2)


def test_a_length_of_thousands_of_digits(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    with connected(address) as plain:
        plain.sendall(head(path, 22).replace(b": 22", b": " + b"0" * 5000 + b"22") + fresh(1))
        assert plain.recv(1000).startswith((b"HTTP/1.1 204 ", b"HTTP/1.1 400 "))


FEW = """
import sys
from untrackable.collector import app
from untrackable.collector.settings import Settings
from untrackable.serving.server import address, bind
bound = bind("127.0.0.1", 0)
print(address(bound), flush=True)
app.serve(sys.argv[1], bound, Settings(connections=5, retry_after=7))
"""


def test_beyond_so_many_connections_senders_are_asked_to_come_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    open_store(url).close()
    command = [sys.executable, "-c", FEW, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, ExitStack() as open_ones:  # noqa: S603
        open_ones.callback(server.kill)  # Otherwise a failure would wait for it for ever.
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert httpx.get(f"{address}/healthz").status_code == 200
        idle = [open_ones.enter_context(connected(address)) for _ in range(5)]
        wait_until(lambda: httpx.get(f"{address}/healthz").status_code == 503)
        refused = httpx.get(f"{address}/healthz")
        assert (refused.headers["retry-after"], refused.headers["connection"]) == ("7", "close")
        assert refused.json()["type"] == Problem.BUSY.uri
        assert httpx.post(f"{address}/campaigns/x/reports", content=b"x" * 500_000).status_code == 503
        more = [open_ones.enter_context(connected(address)) for _ in range(400)]
        for plain in more:  # also those who have not said anything
            said = answer(plain)
            assert said.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 7\r\n" in said
            assert b"connection: close\r\n" in said
            assert b"x-content-type-options: nosniff\r\n" in said
        for plain in (*idle, *more):
            plain.close()
        wait_until(lambda: httpx.get(f"{address}/healthz").status_code == 200)
        server.terminate()
        assert server.wait(60) == 0


@pytest.mark.parametrize(
    ("limits", "expected"), [("-n 256", 128), ("-n 1000; ulimit -Sn 256", 616), ("-n 9000", 3000)]
)
def test_connections_leave_descriptors_for_the_store(limits: str, expected: int) -> None:
    script = "from untrackable.serving.server import affordable_connections; print(affordable_connections(3000))"
    run = ["bash", "-c", f'ulimit {limits}; exec "$0" -c "$1"', sys.executable, script]
    assert int(subprocess.run(run, capture_output=True, text=True, check=True).stdout) == expected  # noqa: S603


def test_chunks_are_put_together(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    report = fresh(3)
    parts = iter([report[:5], report[5:23], report[23:]])
    assert httpx.post(f"{address}{path}", content=parts, headers=OCTETS, timeout=30).status_code == 204


def test_many_idle_connections_do_not_keep_others_out(running: tuple[str, str, str]) -> None:
    address, path, _ = running
    idle = [connected(address) for _ in range(200)]
    try:
        for plain in idle:
            plain.sendall(head(path, 23) + b"x")
        assert httpx.post(f"{address}{path}", content=fresh(1), headers=OCTETS, timeout=30).status_code == 204
    finally:
        for plain in idle:
            plain.close()
