"""Relay and collector as killed processes: nothing acknowledged is lost, or counted twice."""

import contextlib
import functools
import http.client
import re
import resource
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.relay.gateways import SEALED, answer, relay_process, sealed, threaded
from tests.relay.sealed_senders import SealedSenders, Study, check, free_port, study, wait_until
from untrackable.client.sending import Address
from untrackable.relay.app import SEALED_LENGTH
from untrackable.relay.held_reports import FIRST, HeldReports, Release
from untrackable.serving.server import ServerProcess

LATER = int(time.time()) + 7200


class HeldStudy(Study):
    """A study whose relay holds reports, of which a release is far away."""

    gateway: int = 0
    """The port at which the relay reaches the collector, if it is another one."""

    @contextlib.contextmanager
    def relay(self, port: int, *options: str) -> Iterator[ServerProcess]:
        """The relay, always at the same port and with the same file."""
        with relay_process(
            *("--port", str(port), "--gateway", f"study=http://127.0.0.1:{self.gateway or self.port}"),
            *("--hold-in", str(self.folder / "held.db"), "--release-every", "1", "--release-ahead", "1"),
            *("--per-minute", "1000000", "--gateway-seconds", "5", *options),
            log=self.folder / "relay-log",
        ) as running:
            yield running


def held_study(folder: Path) -> HeldStudy:
    plain = study(folder)
    return HeldStudy(plain.folder, plain.campaign, plain.keys, plain.port, lambda round: LATER)


def left(folder: Path) -> int:
    held = HeldReports(folder / "held.db")
    try:
        return sum(held.counts().values())
    finally:
        held.close()


def begin_now(folder: Path) -> int:
    """Let all held reports be of a release whose time has come. No relay may use the file."""
    at = int(time.time()) - 1
    with sqlite3.connect(folder / "held.db") as database:
        database.execute("UPDATE held SET time = ?", (at,))
    database.close()
    return at


def counted(collector: ServerProcess) -> int:
    """The number of reports that a collector got since it started."""
    said = httpx.get(f"{collector.address}/metrics", timeout=30).text
    found = re.search(r"reports_received_total (\d+)", said)
    return int(found[1]) if found else 0


def slowly(collector: int, request: bytes) -> bytes | None:
    """Pass a request on to a collector, one after the other, so that a release takes a while."""
    time.sleep(0.005)
    connection = http.client.HTTPConnection("127.0.0.1", collector, timeout=30)
    try:
        connection.request("POST", "/.well-known/ohttp-gateway", request[-SEALED_LENGTH:], SEALED)
        found = connection.getresponse()
        kind = found.headers["content-type"]
        return answer(found.read(), status=f"{found.status} {found.reason}", kind=kind)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def has_some(collector: ServerProcess) -> bool:
    return counted(collector) > 0


def test_nothing_acknowledged_is_lost_while_relay_and_collector_are_killed(tmp_path: Path) -> None:
    asked, port = held_study(tmp_path), free_port()
    with SealedSenders(asked, Address("http", "127.0.0.1", port, "/gateways/study")) as senders:
        for _ in range(4):  # The collector is not even there.
            with asked.relay(port) as running:
                senders.wait_for(100)
                running.kill()
        with asked.relay(port) as running:
            senders.wait_for(100)
            assert running.end() == 0
    acknowledged = len(senders.outcome.acknowledged)
    assert acknowledged >= 500
    assert left(tmp_path) >= acknowledged, "more only if a sender was not told any more"
    at = begin_now(tmp_path)
    with threaded(functools.partial(slowly, asked.port)) as between:
        asked.gateway = between.port
        for killed in ("relay", "collector", "relay", "both"):
            before = left(tmp_path)
            with asked.collector() as collector, asked.relay(port) as running:
                wait_until(functools.partial(has_some, collector))
                for name, process in (("relay", running), ("collector", collector)):
                    if killed in (name, "both"):
                        process.kill()
                if killed == "relay":
                    assert collector.end() == 0
            assert 0 < left(tmp_path) <= before, "the release was interrupted"
    asked.gateway = 0
    with asked.relay(port) as running, asked.collector() as collector:
        wait_until(lambda: all_left(running, at) == 0)
        assert (running.end(), collector.end()) == (0, 0)
    assert left(tmp_path) == 0
    check(asked, senders.outcome)
    assert (tmp_path / "relay-log").read_text() == ""


def all_left(running: ServerProcess, at: int) -> int:
    """The number of reports that a relay still has of a release that has begun."""
    return int(httpx.get(f"{running.address}/gateways/study/releases/{at}", timeout=30).json().get("left", -1))


def posted(running: ServerProcess, number: int, at: int, address: str = "127.0.0.1") -> int:
    """The status for a report that an address sends."""
    host, port = urlsplit(running.address).netloc.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(address, 0))
    connection.request("POST", f"/gateways/study/releases/{at}", sealed(number), SEALED)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    asked, at = held_study(tmp_path), int(time.time()) + 3600
    statuses: dict[int, int] = {}
    with asked.relay(free_port()) as running:
        for number in range(50):
            statuses[number] = posted(running, number, at)
        pid = running.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        for number in range(50, 800):
            statuses[number] = posted(running, number, at)
            if list(statuses.values())[-20:].count(503) == 20:
                break
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        for number in range(1000, 1050):
            statuses[number] = posted(running, number, at)
        running.kill()
    assert set(statuses.values()) == {202, 503}
    assert all(statuses[number] == 202 for number in (*range(50), *range(1000, 1050)))
    held = HeldReports(tmp_path / "held.db")
    found = [int.from_bytes(body[:4], "big") for _, body in held.some(Release("study", at), FIRST, 10_000)]
    held.close()
    assert sorted(found) == sorted(number for number, status in statuses.items() if status == 202)
    assert "Reports could not be stored" in (tmp_path / "relay-log").read_text()


def test_files_and_log_say_nothing_about_senders(tmp_path: Path) -> None:
    asked, at = held_study(tmp_path), int(time.time()) + 3600
    people = [f"127.77.1.{number}" for number in range(2, 12)]
    with asked.relay(free_port()) as running:
        assert {posted(running, number, at, person) for number, person in enumerate(people)} == {202}
        during = {path: path.read_bytes() for path in tmp_path.glob("held.db*")}
        assert running.end() == 0
    assert any(sealed(3) in data for data in during.values()), "the search finds what is there"
    written = {**during, **{Path("ended", path.name): path.read_bytes() for path in tmp_path.glob("held.db*")}}
    written[Path("log")] = (tmp_path / "relay-log").read_bytes()
    marks = [b"127.77", *(socket.inet_aton(person) for person in people)]
    marks += [mark[::-1] for mark in marks[1:]]
    assert [(path, mark) for path, data in written.items() for mark in marks if mark in data] == []


def test_a_release_goes_on_where_a_restart_interrupted_it(tmp_path: Path) -> None:
    """The relay is told to end in the middle of a release, and starts again."""
    asked, port = held_study(tmp_path), free_port()
    with asked.relay(port) as running:
        for number in range(600):
            assert posted(running, number, int(time.time()) + 3600) == 202
        assert running.end() == 0
    begin_now(tmp_path)
    with threaded(lambda request: answer(b"sealed")) as there:
        asked.port = there.port
        with asked.relay(port) as running:
            wait_until(lambda: len(there.seen) > 10)
            assert running.end() == 0
        with asked.relay(port) as running:
            wait_until(lambda: len({request[-1079:] for request in there.seen}) == 600)
            assert running.end() == 0
        assert len(there.seen) < 1200, "those that arrived before are not all sent again"
    assert left(tmp_path) == 0
