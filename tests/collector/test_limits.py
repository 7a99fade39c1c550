"""Senders that are slow or send too much are cut off, and others do not notice."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.collector.loads import fresh
from tests.collector.servers import OCTETS, process
from tests.collector.test_faults import on_now
from untrackable.collector.managing import create_campaign
from untrackable.collector.stores.opening import open_store
from untrackable.collector.stores.records import Round


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
    assert "Traceback" not in Path(folder / "log").read_text()


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


@pytest.mark.parametrize("head", [b"nonsense\r\n\r\n", b"GET /?" + b"x" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n"])
def test_what_is_not_http_is_a_problem(running: tuple[str, str, str], head: bytes) -> None:
    with connected(running[0]) as plain:
        plain.sendall(head)
        said = answer(plain)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in said
    assert said.endswith(b"}")


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
