"""Nothing about whoever sends is written down: every byte that the server wrote is searched."""

import http.client
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.collector.loads import fresh
from tests.collector.samples import campaign
from tests.collector.servers import process
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.settings import open_store

MARK = "RECOGNISABLE"
ADDRESS = "127.0.0.77"
HEADERS = {
    "user-agent": f"{MARK}-agent/1.0",
    "cookie": f"{MARK}-cookie=1",
    "referer": f"https://{MARK.lower()}.example/page",
    "accept-language": f"{MARK}-language",
    "x-forwarded-for": "203.0.113.77",
    "forwarded": "for=203.0.113.77",
    "x-request-id": f"{MARK}-request",
    "etag": f"{MARK}-tag",
    "if-none-match": f'"{MARK}-match"',
}

REPORT = fresh(1)


def requests(address: str, path: str) -> Iterator[int]:
    """Good and bad ones from an address of their own; the ports that they came from."""
    netloc = urlsplit(address).netloc
    octets = {"content-type": "application/octet-stream"}
    for method, where, body, extra in (
        ("POST", path, REPORT, octets),
        ("POST", path, REPORT, octets),  # sent again
        ("POST", path, fresh(30), octets),
        ("POST", path, b"malformed", octets),
        ("POST", path, fresh(1), {"content-type": f"text/{MARK}"}),
        ("POST", path, fresh(1, round=9), octets),
        ("GET", f"/{MARK}?{MARK}={MARK}", None, {}),
        ("GET", f"/campaigns/{MARK}", None, {"authorization": f"Bearer ut_{MARK}_{MARK}"}),
        ("GET", path.replace("reports", f"estimate?rounds={MARK}&candidate={MARK}"), None, {}),
        ("DELETE", path, None, {}),
        ("GET", "/", None, {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-key": MARK}),
        ("OPTIONS", path, None, {"origin": f"https://{MARK}.example", "access-control-request-method": MARK}),
    ):
        connection = http.client.HTTPConnection(netloc, timeout=30, source_address=(ADDRESS, 0))
        connection.request(method, where, body, {**HEADERS, **extra})
        yield connection.sock.getsockname()[1]
        response = connection.getresponse()
        response.read()
        assert response.status < 500
        connection.close()
    for raw in (f"{MARK} is not HTTP\r\n\r\n".encode(), f"GET /{MARK} HTTP/9.9\r\n{MARK}\r\n\r\n".encode()):
        host, port = netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=30, source_address=(ADDRESS, 0)) as plain:
            yield plain.getsockname()[1]
            plain.sendall(raw)
            assert b"400 Bad Request" in plain.recv(1000)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_byte_that_the_server_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    begun = int(time.time())
    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), campaign(begin=begun - 86_400 // 2, seconds=86_400)
    create_campaign(store, asked.to_bytes(), published=True)
    key = new_key(store, "admin")[1]
    path = f"/campaigns/{asked.id}/reports"
    with process(url, "--workers", workers, log=tmp_path / "log") as server:
        ports = list(requests(server.address, path))
        written = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}  # while the round is open
        for file in Path(f"/proc/{server.process.pid}/fd").iterdir():
            if str(scratch) in str(file.readlink()):  # files without a name
                written[Path("counts")] = file.read_bytes()
        connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=30)
        for where in ("/metrics", "/", path.replace("reports", "rounds")):
            connection.request("GET", where)
            written[Path(where)] = connection.getresponse().read()
        close = path.replace("reports", "rounds/1/close")
        connection.request("POST", close, headers={"authorization": f"Bearer {key}"})
        assert connection.getresponse().read() == b'{"round":1,"state":"closed"}'
        connection.close()
        assert server.end() == 0
    written |= {Path("closed") / p.name: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    written[Path("stdout")] = server.output
    assert b"reports_received_total 32" in written[Path("/metrics")]
    counts = {"counts"} if workers == "2" else set()
    assert {p.name for p in written} >= {"x.db", "x.db-wal", "log", "stdout", *counts}
    assert any(REPORT[5:21] in data for data in written.values())  # the search finds what is there
    packed = socket.inet_aton(ADDRESS)
    marks = [MARK.encode(), MARK.lower().encode(), ADDRESS.encode(), b"203.0.113", packed, packed[::-1]]
    marks += [str(port).encode() for port in ports if port != urlsplit(server.address).port]
    for second in range(begun, int(time.time()) + 2):  # and not when: as text, or as 64 bits of some kind
        marks += [
            str(second).encode(),
            struct.pack("<q", second),
            struct.pack(">q", second),
            struct.pack("<d", second),
        ]
    for name, data in written.items():
        for mark in marks:
            assert mark not in data, (name, mark)
    store.close()


def test_nothing_is_in_the_log_of_postgresql(new_url: Callable[[str], str], postgres: Any, tmp_path: Path) -> None:
    """Reports that are sent again or late are nothing that it would write down, with the time."""
    url = new_url("postgresql")
    store, asked = open_store(url), campaign(begin=int(time.time()) - 86_400 // 2, seconds=86_400)
    create_campaign(store, asked.to_bytes(), published=True)
    key = new_key(store, "admin")[1]
    log = postgres.pgdata / "log"
    before = log.read_bytes()
    assert b"ready to accept connections" in before
    path = f"/campaigns/{asked.id}/reports"
    with process(url, log=tmp_path / "log") as server:
        for _ in range(2):
            assert len(list(requests(server.address, path))) > 10
        connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=30)
        close = path.replace("reports", "rounds/1/close")
        connection.request("POST", close, headers={"authorization": f"Bearer {key}"})
        assert connection.getresponse().read() == b'{"round":1,"state":"closed"}'
        connection.close()
        assert len(list(requests(server.address, path))) > 10  # late
        assert server.end() == 0
    store.close()
    said = log.read_bytes().removeprefix(before).decode().splitlines()
    assert [line for line in said if "checkpoint" not in line] == []
