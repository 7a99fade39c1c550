"""The gateway: sealed reports are stored like others, and everything else is refused and changes nothing."""

import functools
import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collector.loads import fresh
from tests.collector.samples import HOUR, campaign
from tests.collector.sealed_reports import (
    GATEWAY,
    OHTTP_KEY,
    SEALED,
    inner,
    new_keys,
    opened_answer,
    sealed_reports,
)
from tests.collector.servers import SETTINGS, Collector, collecting
from tests.oblivious.key_lists import configs_from_bytes
from untrackable.collector.api import check_gateway_keys
from untrackable.collector.gateway import WatchedKeys
from untrackable.collector.problems import Problem
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Rows
from untrackable.collector.uploads import ReportUpload
from untrackable.errors import GatewayKeysError, StoreUnavailable
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.oblivious.sealing import SealedRequest, seal_request
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused
from untrackable.serving.small_posts import Answer, SmallPost

ASKED = campaign()


class Gateway:
    """A collector within the test that is a gateway, its keys, and a campaign."""

    def __init__(self, collector: Collector, path: Path, keys: GatewayKeys) -> None:
        self.collector, self.path, self.keys = collector, path, keys
        self.config = keys.keys[0].config
        collector.create(ASKED)

    def post(self, body: bytes, headers: dict[str, str] = SEALED) -> httpx.Response:
        response: httpx.Response = self.collector.http.post(GATEWAY, content=body, headers=headers)
        return response

    def send(self, sealed: SealedRequest) -> tuple[int, str | None]:
        response = self.post(sealed.body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "message/ohttp-res"
        assert response.headers["cache-control"] == "no-store"
        return opened_answer(sealed, response.content)

    def count(self, round: int = 1) -> int:
        return self.collector.store.count(Round(ASKED.id, round))


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    path, keys = new_keys(tmp_path)
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db"), replace(SETTINGS, gateway_keys=path)) as collector:
        yield Gateway(collector, path, keys)


def problem(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["type"].removeprefix("urn:untrackable:problem:")


def test_the_public_keys_are_shown(gateway: Gateway) -> None:
    shown = gateway.collector.http.get(GATEWAY)
    assert shown.headers["content-type"] == "application/ohttp-keys"
    assert configs_from_bytes(shown.content) == tuple(key.config for key in gateway.keys.keys)


def test_a_sealed_report_is_stored_once(gateway: Gateway) -> None:
    report = fresh(1)
    sealed = sealed_reports(gateway.config, ASKED, report)
    assert gateway.send(sealed) == (204, None)
    assert gateway.count() == 1
    assert gateway.send(sealed) == (204, None)  # replayed
    assert gateway.send(sealed_reports(gateway.config, ASKED, report)) == (204, None)  # sealed anew
    assert gateway.collector.send(ASKED, report).status_code == 204  # sent directly as well
    assert gateway.count() == 1


def test_every_key_that_is_not_revoked_opens(gateway: Gateway) -> None:
    for key in gateway.keys.keys:
        assert gateway.send(sealed_reports(key.config, ASKED, fresh(2))) == (204, None)
    assert gateway.count() == 6


def test_refusals_are_sealed_and_look_alike(gateway: Gateway) -> None:
    refused = {
        (ASKED.id, b"malformed"): (400, "malformed-reports"),
        (ASKED.id, fresh(1, round=2)): (409, "round-not-begun"),
        (ASKED.id, fresh(1, round=99)): (400, "malformed-reports"),
        ("0" * 64, fresh(1)): (404, "not-found"),
        ("no-id", fresh(1)): (404, "not-found"),
    }
    for (id, body), expected in refused.items():
        assert gateway.send(sealed_reports(gateway.config, id, body)) == expected
    gateway.collector.clock.now += 2 * HOUR
    assert gateway.send(sealed_reports(gateway.config, ASKED, fresh(1))) == (410, "round-over")
    assert gateway.count() == 0
    assert b'problems_total{type="round-over"} 1' in gateway.collector.http.get("/metrics").content


def test_every_sealed_request_is_answered_after_a_sync(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the wait for the disk does not tell a relay what became of a report."""
    config, stored, other = gateway.config, fresh(1), campaign(question="Which other?")
    gateway.collector.create(other)
    for each in (ASKED, other):
        assert gateway.send(sealed_reports(config, each, stored)) == (204, None)
    gateway.collector.close(other)
    http, store = gateway.collector.http, gateway.collector.store
    upload: ReportUpload = http.app.state.upload  # type: ignore[attr-defined]
    add, syncing, synced, answers = store.add, threading.Event(), threading.Event(), queue.SimpleQueue[Answer]()

    def slow(reports: Mapping[Round, Rows], *, always_writes: bool) -> None:
        add(reports, always_writes=always_writes)
        assert always_writes
        syncing.set()
        assert synced.wait(30)

    monkeypatch.setattr(store, "add", slow)
    for sealed, expected in {
        sealed_reports(config, ASKED, fresh(1)): (204, None),
        sealed_reports(config, ASKED, stored): (204, None),  # again
        sealed_reports(config, ASKED, b"malformed"): (400, "malformed-reports"),
        sealed_reports(config, ASKED, fresh(1)[:-1] + b"x" * 2): (400, "malformed-reports"),
        sealed_reports(config, ASKED, fresh(1, round=2)): (409, "round-not-begun"),
        sealed_reports(config, other, fresh(1)): (410, "round-over"),
        sealed_reports(config, "0" * 64, fresh(1)): (404, "not-found"),
        sealed_reports(config, ASKED, fresh(1), path=b"/metrics"): (404, "not-found"),
        seal_request(config, b"\xff" * 50): (400, "malformed-request"),
    }.items():
        post = SmallPost(GATEWAY, b"message/ohttp-req", sealed.body, b"")
        assert http.portal is not None
        assert http.portal.call(functools.partial(upload.store_small, post, answers.put))
        assert syncing.wait(30), expected
        assert answers.empty()
        synced.set()
        answer = answers.get(timeout=30)
        assert isinstance(answer, bytes)
        assert opened_answer(sealed, answer) == expected
        syncing.clear()
        synced.clear()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"method": b"GET"}, (405, "method-not-allowed")),
        ({"path": b"/campaigns"}, (404, "not-found")),
        ({"path": b"/metrics"}, (404, "not-found")),
        ({"fields": ()}, (415, "media-type")),
        ({"fields": ((b"content-type", b"text/plain"),)}, (415, "media-type")),
    ],
)
def test_sealed_requests_can_only_send_reports(
    gateway: Gateway, changed: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert gateway.send(sealed_reports(gateway.config, ASKED, fresh(1), **changed)) == expected
    assert gateway.count() == 0


def test_binary_http_that_is_wrong_inside_is_refused_inside(gateway: Gateway) -> None:
    for content in (b"\x02", inner(ASKED, fresh(1)) + b"\x01", b"\xff" * 50, b""):
        assert gateway.send(seal_request(gateway.config, content)) == (400, "malformed-request")
    assert gateway.count() == 0


def test_an_unknown_key_is_said_in_the_clear(gateway: Gateway) -> None:
    other = KeyConfig(9, gateway.config.public_key)
    response = gateway.post(sealed_reports(other, ASKED, fresh(1)).body)
    assert problem(response) == (400, OHTTP_KEY)
    assert gateway.count() == 0


def test_a_revoked_key_is_refused_and_a_new_one_is_taken(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.gateway._SECONDS", 0.0)
    first, second = (key.config for key in gateway.keys.keys[:2])
    assert gateway.send(sealed_reports(first, ASKED, fresh(1))) == (204, None)
    changed = gateway.keys.without({0}).with_list(1, 30)
    write_keys(gateway.path, changed)
    assert problem(gateway.post(sealed_reports(first, ASKED, fresh(1)).body)) == (400, OHTTP_KEY)
    for config in (second, changed.keys[-1].config):
        assert gateway.send(sealed_reports(config, ASKED, fresh(1))) == (204, None)
    shown = configs_from_bytes(gateway.collector.http.get(GATEWAY).content)
    assert [config.id for config in shown] == [3, 1, 2]


def test_a_damaged_file_leaves_the_keys_as_they_were(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("untrackable.collector.gateway._SECONDS", 0.0)
    for damage in ("{", ""):
        gateway.path.write_text(damage)
        assert gateway.send(sealed_reports(gateway.config, ASKED, fresh(1))) == (204, None)
    gateway.path.unlink()
    for _ in range(3):
        assert gateway.send(sealed_reports(gateway.config, ASKED, fresh(1))) == (204, None)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "The gateway's keys stay as they were"
    ] * 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.data())
def test_truncated_altered_and_other_bodies_change_nothing(gateway: Gateway, data: st.DataObject) -> None:
    body = sealed_reports(gateway.config, ASKED, fresh(1)).body
    at = data.draw(st.integers(0, len(body) - 1))
    change = data.draw(st.integers(1, 255))
    altered = body[:at] + bytes([body[at] ^ change]) + body[at + 1 :]
    for given_body in (body[:at], altered, data.draw(st.binary(max_size=2000)), body + b"\x00"):
        status, slug = problem(gateway.post(given_body))
        assert status == 400
        assert slug in (OHTTP_KEY, "malformed-sealed-request")
    assert gateway.count() == 0


def test_a_store_that_fails_is_told_in_the_clear_so_that_a_relay_tries_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sealed answer means that the collector is done with a report. So this must not be one."""
    sealed = sealed_reports(gateway.config, ASKED, fresh(1))
    for failing in ("add", "campaign"):
        with monkeypatch.context() as patch:
            gateway.collector.http.app.state.service._acceptances.clear()  # type: ignore[attr-defined]
            patch.setattr(type(gateway.collector.store), failing, unavailable)
            for _ in range(2):
                assert problem(gateway.post(sealed.body)) == (503, "store-unavailable")
    assert gateway.count() == 0
    assert gateway.send(sealed) == (204, None)


def unavailable(*given: object, **named: object) -> None:
    raise StoreUnavailable("database or disk is full")


def test_other_media_types_and_sizes_are_refused(gateway: Gateway) -> None:
    body = sealed_reports(gateway.config, ASKED, fresh(1)).body
    assert problem(gateway.post(body, {"content-type": "application/octet-stream"})) == (415, "media-type")
    assert problem(gateway.post(bytes((1 << 20) + 1))) == (413, "too-large")
    assert problem(gateway.collector.http.put(GATEWAY, content=body, headers=SEALED)) == (405, "method-not-allowed")
    assert gateway.count() == 0


def test_a_collector_without_keys_is_no_gateway(tmp_path: Path) -> None:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as collector:
        for response in (collector.http.get(GATEWAY), collector.http.post(GATEWAY, content=b"x", headers=SEALED)):
            assert problem(response) == (404, "not-found")


def test_reports_for_a_crowd_are_refused_in_the_clear(gateway: Gateway) -> None:
    acceptance = gateway.collector.http.app.state.service.acceptance(ASKED.id)  # type: ignore[attr-defined]
    acceptance.sealed_only = True
    refused = gateway.collector.send(ASKED, fresh(1))
    assert problem(refused) == (403, "sealed-needed")
    assert gateway.count() == 0
    assert gateway.send(sealed_reports(gateway.config, ASKED, fresh(1))) == (204, None)
    assert gateway.count() == 1
    upload: ReportUpload = gateway.collector.http.app.state.upload  # type: ignore[attr-defined]
    post = SmallPost(f"/campaigns/{ASKED.id}/reports", b"application/octet-stream", fresh(1), b"")
    answers: list[object] = []
    assert not upload.store_small(post, answers.append)
    acceptance.sealed_only = False
    assert upload.store_small(post, answers.append)


def test_a_campaign_with_keys_that_do_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, keys = new_keys(tmp_path)

    def declared(*configs: KeyConfig) -> None:
        listed = [SimpleNamespace(config=config.to_bytes()) for config in configs]
        result = SimpleNamespace(gateway=SimpleNamespace(keys=listed))
        monkeypatch.setattr(Campaign, "from_bytes", lambda document: result)

    def refused(file: Path | None) -> str:
        with pytest.raises(Refused) as caught:
            check_gateway_keys(b"", file)
        assert caught.value.problem is Problem.CAMPAIGN_REFUSED
        return caught.value.detail

    declared(*(key.config for key in keys.keys))
    check_gateway_keys(b"", path)
    assert "no gateway" in refused(None)
    write_keys(path, keys.without({1}))
    assert "does not have its key 1" in refused(path)
    declared(KeyConfig(0, keys.keys[1].config.public_key))
    assert "does not have its key 0" in refused(path)


def test_no_key_is_read_that_others_could_read(tmp_path: Path) -> None:
    path, _ = new_keys(tmp_path)
    path.chmod(0o644)
    opened = open_store(f"sqlite:///{tmp_path}/x.db")
    with (
        pytest.raises(Exception, match="owner alone"),
        collecting(opened, replace(SETTINGS, gateway_keys=path)),
    ):
        pass
    opened.close()


def test_the_file_is_looked_at_once_a_second(tmp_path: Path) -> None:
    path, keys = new_keys(tmp_path)
    now = [100.0]
    watched = WatchedKeys(path, clock=lambda: now[0])
    first = watched.current()
    assert set(first.opening) == {0, 1, 2}
    write_keys(path, keys.without({0}))
    now[0] += 0.9
    assert watched.current() is first
    now[0] += 0.1
    assert set(watched.current().opening) == {1, 2}
    unchanged = watched.current()
    now[0] += 5.0
    assert watched.current() is unchanged


def test_keys_must_be_there_at_first(tmp_path: Path) -> None:
    with pytest.raises(GatewayKeysError, match="No such file"):
        WatchedKeys(tmp_path / "none")


def test_a_file_that_comes_back_is_read(tmp_path: Path) -> None:
    path, keys = new_keys(tmp_path)
    now = [0.0]
    watched = WatchedKeys(path, clock=lambda: now[0])
    path.unlink()
    now[0] += 1.0
    assert set(watched.current().opening) == {0, 1, 2}
    write_keys(path, keys.without({1}))
    now[0] += 1.0
    assert set(watched.current().opening) == {0, 2}
