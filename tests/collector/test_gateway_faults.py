"""A gateway as a process: killed, keys rotated in mid-flight, replays, and nothing written down about senders."""

import http.client
import random
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.collector.loads import Sent, fresh, split, wait_until
from tests.collector.sealed_reports import (
    GATEWAY,
    OHTTP_KEY,
    SEALED,
    SealedSenders,
    inner,
    new_keys,
    opened_answer,
    sealed_reports,
)
from tests.collector.servers import process
from tests.collector.test_faults import check, on_now, stored
from untrackable import strict_json
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import write_keys
from untrackable.oblivious.sealing import seal_request

KILLS = 3


def test_killed_at_random_moments_under_load(tmp_path: Path) -> None:
    url, rng, sent = f"sqlite:///{tmp_path}/x.db", random.Random(7), Sent()  # noqa: S311
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    path, keys = new_keys(tmp_path)
    for _ in range(KILLS):
        before = len(sent.acknowledged)
        with process(url, "--gateway-keys", str(path)) as server:
            senders = SealedSenders(asked, [keys.keys[0].config], sent)
            senders.start(server.address)
            wait_until(lambda before=before: len(sent.acknowledged) > before)  # type: ignore[misc]
            time.sleep(rng.uniform(0.0, 0.15))
            assert server.kill() == -signal.SIGKILL
            senders.join()
    check(store, asked, sent)
    store.close()


def test_keys_are_rotated_in_mid_flight(tmp_path: Path) -> None:
    """Reports that are sealed with the old key are taken until it is revoked, and the next key is there before."""
    url, sent = f"sqlite:///{tmp_path}/x.db", Sent()
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    path, keys = new_keys(tmp_path, count=1)
    longer = keys.with_list(1, 30)
    with process(url, "--gateway-keys", str(path), "--workers", "2", log=tmp_path / "log") as server:
        senders = SealedSenders(asked, [key.config for key in longer.keys], sent, patient=True)
        senders.start(server.address)
        wait_until(lambda: len(sent.acknowledged) > 20)
        write_keys(path, longer)
        time.sleep(1.5)  # longer than the collector does not look at the file
        assert senders.unknown == 0
        write_keys(path, longer.without({0}))
        wait_until(lambda: senders.unknown >= senders.threads)
        before = len(sent.acknowledged)
        wait_until(lambda: len(sent.acknowledged) > before + 20)
        senders.stop()
        assert senders.unknown == senders.threads
        assert server.end() == 0
    assert sent.acknowledged == sent.everything
    check(store, asked, sent)
    store.close()
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize("keep", [True, False])
def test_requests_on_real_connections(tmp_path: Path, keep: bool) -> None:
    """Good, replayed, garbled and foreign ones; on one connection, or each on its own."""
    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    path, keys = new_keys(tmp_path)
    config = keys.keys[0].config
    with process(url, "--gateway-keys", str(path), log=tmp_path / "log") as server:
        connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)

        def post(body: bytes) -> tuple[int, bytes]:
            connection.request("POST", GATEWAY, body, SEALED if keep else {**SEALED, "connection": "close"})
            response = connection.getresponse()
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cache-control"] == "no-store"
            return response.status, response.read()

        reports = fresh(9)
        for report in split(reports):
            sealed = sealed_reports(config, asked, report)
            for _ in range(2):  # A replay is counted once.
                status, answer = post(sealed.body)
                assert (status, opened_answer(sealed, answer)) == (200, (204, None))
            status, answer = post(sealed.body[:500] + bytes([sealed.body[500] ^ 1]) + sealed.body[501:])
            assert status == 400
            assert strict_json.parse(answer)["type"] == "urn:untrackable:problem:malformed-sealed-request"
            status, answer = post(b"\x63" + sealed.body[1:])
            assert (status, strict_json.parse(answer)["type"]) == (400, OHTTP_KEY)
            late = sealed_reports(config, asked, fresh(1, round=7))
            assert opened_answer(late, post(late.body)[1]) == (409, "round-not-begun")
            other = sealed_reports(config, "0" * 64, report)
            assert opened_answer(other, post(other.body)[1]) == (404, "not-found")
            dirty = seal_request(config, inner(asked, report).ljust(900, b"\x00") + b"\x01")
            assert opened_answer(dirty, post(dirty.body)[1]) == (400, "malformed-request")
        several = sealed_reports(config, asked, fresh(20))
        assert opened_answer(several, post(several.body)[1]) == (204, None)
        connection.close()
        assert server.end() == 0
    assert set(split(reports)) <= set(stored(store))
    assert len(stored(store)) == 29
    store.close()
    assert (tmp_path / "log").read_text() == ""


def test_a_request_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    path, keys = new_keys(tmp_path)
    body = sealed_reports(keys.keys[0].config, asked, fresh(1)).body
    head = f"POST {GATEWAY} HTTP/1.1\r\nhost: x\r\ncontent-type: message/ohttp-req\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    with process(url, "--gateway-keys", str(path), "--request-seconds", "1") as server:
        where = urlsplit(server.address)
        for size in (0, 1, 7, 39, 1000, len(body) - 1):
            with socket.create_connection((where.hostname, where.port), timeout=30) as plain:
                plain.sendall(head.encode() + body[:size])
                if size == 1000:
                    assert b"408 Request Timeout" in plain.recv(1000)
        assert server.end() == 0
    assert store.campaign(asked.id) is not None
    with store._transaction(write=False) as run:
        assert run("SELECT count(*) FROM rounds").fetchone() == (0,)
    store.close()


MARK = b"RECOGNISABLE"


def test_nothing_about_senders_or_relays_is_written_down(tmp_path: Path) -> None:
    """Neither what a relay says about itself and others, nor what is sealed beside the report."""
    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    path, keys = new_keys(tmp_path)
    report = fresh(1)
    fields = ((b"content-type", b"application/octet-stream"), (b"x-marked", MARK), (b"user-agent", MARK))
    sealed = sealed_reports(keys.keys[0].config, asked, report, fields=fields, authority=MARK.lower())
    headers = {**SEALED, "forwarded": "for=203.0.113.77", "via": MARK.decode(), "user-agent": MARK.decode()}
    with process(url, "--gateway-keys", str(path), log=tmp_path / "log") as server:
        for body in (sealed.body, sealed.body, sealed.body[:-1], b"\x63" + sealed.body[1:]):
            connection = http.client.HTTPConnection(
                urlsplit(server.address).netloc, timeout=30, source_address=("127.0.0.77", 0)
            )
            connection.request("POST", GATEWAY, body, headers)
            assert connection.getresponse().status in (200, 400)
            connection.close()
        connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=30)
        connection.request("GET", "/metrics")
        written = {"metrics": connection.getresponse().read()}
        connection.close()
        assert server.end() == 0
    store.close()
    written |= {str(file): file.read_bytes() for file in tmp_path.iterdir() if file != path}
    assert any(report[5:21] in data for data in written.values())  # the search finds what is there
    packed = socket.inet_aton("127.0.0.77")
    for name, data in written.items():
        for mark in (MARK, MARK.lower(), b"127.0.0.77", b"203.0.113.77", packed, packed[::-1], sealed.body[7:39]):
            assert mark not in data, name
