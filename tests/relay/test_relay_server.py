"""The relay as a process: bounded, silent, and ended cleanly."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.relay.gateways import SEALED, FakeGateway, answer, relay_process, sealed, threaded
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.gateway import RelayProblem


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, FakeGateway]]:
    """A relay's address, and the gateway behind it."""
    folder, log = tmp_path_factory.mktemp("places"), tmp_path_factory.mktemp("log") / "log"
    with (
        threaded(lambda request: answer(b"sealed")) as there,
        relay_process(
            "--gateway", f"study=http://127.0.0.1:{there.port}", "--request-seconds", "1", log=log, folder=folder
        ) as relay,
    ):
        yield relay.address, there
        opened = {str(file.readlink()) for file in Path(f"/proc/{relay.process.pid}/fd").iterdir()}
        devices = {name for name in opened if name.startswith("/dev/") and name != str(log)}
        assert {name for name in opened - devices if name.startswith("/")} == {str(log)}
        assert not any(Path(name).is_file() for name in devices)
        assert relay.end() == 0
        assert relay.output.count(b"\n") == 1
    assert log.read_text() == "", "nobody can make it grow"
    assert list(folder.iterdir()) == []


def connected(address: str) -> socket.socket:
    host, port = urlsplit(address).netloc.split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def said(plain: socket.socket) -> bytes:
    found = b""
    while part := plain.recv(10_000):
        found += part
    return found


def head(length: int) -> bytes:
    lines = f"host: x\r\ncontent-type: message/ohttp-req\r\ncontent-length: {length}\r\n"
    return f"POST /gateways/study HTTP/1.1\r\n{lines}\r\n".encode()


def test_a_sealed_report_goes_through(running: tuple[str, FakeGateway]) -> None:
    found = httpx.post(f"{running[0]}/gateways/study", content=sealed(1), headers=SEALED, timeout=30)
    assert (found.status_code, found.content) == (200, b"sealed")
    assert httpx.get(f"{running[0]}/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (head(SEALED_LENGTH) + b"x", RelayProblem.TOO_SLOW),
        (b"POST /gateways/stu", RelayProblem.TOO_SLOW),
        (b"nonsense\r\n\r\n", RelayProblem.MALFORMED_REQUEST),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 20_000, RelayProblem.HEAD_TOO_LARGE),
        (head(1 << 40), RelayProblem.OTHER_LENGTH),
    ],
)
def test_who_sends_slowly_or_too_much_is_cut_off(
    running: tuple[str, FakeGateway], sent: bytes, problem: RelayProblem
) -> None:
    before = len(running[1].seen)
    with connected(running[0]) as plain:
        plain.sendall(sent)
        found = said(plain)
    assert found.startswith(b"HTTP/1.1 %d " % problem.status)
    assert problem.uri.encode() in found
    assert len(running[1].seen) == before


def test_a_body_that_does_not_end_is_not_read_on(running: tuple[str, FakeGateway]) -> None:
    with connected(running[0]) as plain:
        plain.sendall(head(0).replace(b"content-length: 0", b"transfer-encoding: chunked"))
        with pytest.raises(ConnectionError):  # noqa: PT012
            for _ in range(1000):
                plain.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def test_beyond_so_many_connections_senders_are_asked_to_come_again(tmp_path: Path) -> None:
    with (
        threaded(lambda request: answer(b"sealed")) as there,
        relay_process("--gateway", f"study=http://127.0.0.1:{there.port}", "--connections", "3") as relay,
    ):
        idle = [connected(relay.address) for _ in range(3)]
        end = time.monotonic() + 30
        while (status := httpx.get(f"{relay.address}/healthz").status_code) != 503 and time.monotonic() < end:
            time.sleep(0.05)
        assert status == 503
        for plain in idle:
            plain.close()
        assert relay.end() == 0


def test_told_to_end_it_answers_what_is_under_way(tmp_path: Path) -> None:
    go = threading.Event()

    def slowly(request: bytes) -> bytes:
        go.wait(30)
        return answer(b"sealed")

    with (
        threaded(slowly) as there,
        relay_process("--gateway", f"study=http://127.0.0.1:{there.port}", log=tmp_path / "log") as relay,
    ):
        found: list[httpx.Response] = []

        def send() -> None:
            found.append(
                httpx.post(f"{relay.address}/gateways/study", content=sealed(1), headers=SEALED, timeout=60)
            )

        sending = threading.Thread(target=send)
        sending.start()
        end = time.monotonic() + 30
        while not there.seen and time.monotonic() < end:
            time.sleep(0.02)
        relay.process.terminate()
        go.set()
        assert relay.end() == 0
        sending.join(30)
    assert [response.status_code for response in found] == [200]
    assert (tmp_path / "log").read_text() == ""
