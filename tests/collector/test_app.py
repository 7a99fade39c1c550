"""The service from outside: what is answered, by status and by problem type, on both stores."""

import json
import secrets
import threading
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tests.collector.loads import wait_until
from tests.collector.samples import BEGIN, DECK, HOUR, answers, bodies, campaign, sealed
from tests.collector.servers import JSON, OCTETS, SETTINGS, Clock, Collector, TestClient, collecting
from untrackable import Bitwise
from untrackable.collector import service as service_module
from untrackable.collector import writer as writer_module
from untrackable.collector.api import create_campaign
from untrackable.collector.app import create_app
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Round, Rows, Store
from untrackable.encodings.encoding import Bit
from untrackable.errors import StoreUnavailable
from untrackable.mechanisms import OneChange, Votes
from untrackable.protocol import wire
from untrackable.protocol.campaign import Guarantee


def problem(response: object) -> tuple[int, str]:
    """Status and problem type, both as documented."""
    content = response.json()  # type: ignore[attr-defined]
    assert response.headers["content-type"] == "application/problem+json"  # type: ignore[attr-defined]
    assert set(content) == {"type", "title", "status", "detail"}
    kind = next(kind for kind in Problem if kind.uri == content["type"])
    assert (content["title"], content["status"]) == (kind.title, kind.status)
    assert response.status_code == kind.status  # type: ignore[attr-defined]
    return kind.status, kind.slug


def test_reports_are_counted_and_estimated(collector: Collector) -> None:
    asked = collector.create(campaign())
    values = np.random.default_rng(5).choice(12, 3000, p=np.arange(1, 13) / 78)
    sent = answers(DECK, values)
    for single in sealed(asked, sent[:20]):
        assert collector.send(asked, single).status_code == 204
    assert collector.send(asked, b"".join(sealed(asked, sent[20:]))).status_code == 204
    assert collector.store.count(Round(asked.id, 1)) == 3000
    assert collector.close(asked).json() == {"round": 1, "state": "closed"}
    expected = DECK.aggregator().add(sent)
    assert collector.store.sums(Round(asked.id, 1)) == expected.to_bytes()
    estimate = collector.http.get(f"/campaigns/{asked.id}/rounds/1/estimate", params={"top": 3}).json()
    assert estimate["reports"] == 3000
    best = [r for r in expected.estimate().top(16) if r.value < 12]
    ranked = [r for r in best if r.unclamped >= sorted(each.unclamped for each in best)[-3]]
    assert [(row["value"], row["label"], row["frequency"]) for row in estimate["values"]] == [
        (r.value, f"page {r.value}", r.frequency) for r in ranked
    ]
    assert collector.http.get(f"/campaigns/{asked.id}/estimate", params={"top": 3}).json() == estimate


def test_a_retry_counts_once(collector: Collector) -> None:
    asked = collector.create(campaign())
    first = bodies(asked, 20)
    for _ in range(3):
        assert collector.send(asked, b"".join(first)).status_code == 204
    assert collector.send(asked, b"".join([*first, first[0]])).status_code == 204
    assert collector.store.count(Round(asked.id, 1)) == 20


def test_malformed_bodies_are_refused_whole(collector: Collector) -> None:
    asked = collector.create(campaign())
    good = bodies(asked, 3)
    size = wire.of(DECK).size
    nonce = secrets.token_bytes(16)
    wrong = {
        "empty": b"",
        "truncated": good[0][:-1],
        "over-long": good[0] + b"\0",
        "version": b"\2" + good[0][1:],
        "round 0": b"\1\0\0\0\0" + nonce + b"\5",
        "round beyond the last": b"\1\x1f\0\0\0" + nonce + b"\5",
        "padding": b"\1\1\0\0\0" + nonce + b"\x45",
        "not possible": b"\1\1\0\0\0" + nonce + b"\1",
    }
    assert size == 22
    for name, body in wrong.items():
        for whole in (body, good[1] + body + good[2]) if body else (body,):
            assert problem(collector.send(asked, whole)) == (400, "malformed-reports"), name
    assert collector.store.round(Round(asked.id, 1)) is None
    assert collector.send(asked, good[0]).status_code == 204


def test_rounds_open_and_close_with_the_clock(collector: Collector) -> None:
    asked = collector.create(campaign())
    first, second = bodies(asked, 1), bodies(asked, 1, round=2)
    collector.clock.now = BEGIN - 61
    assert problem(collector.send(asked, first[0])) == (409, "round-not-begun")
    collector.clock.now = BEGIN - 59  # a client whose clock is fast
    assert collector.send(asked, first[0]).status_code == 204
    assert problem(collector.send(asked, second[0])) == (409, "round-not-begun")
    assert problem(collector.send(asked, first[0] + second[0])) == (409, "round-not-begun")
    collector.clock.now = BEGIN + HOUR + SETTINGS.grace - 1
    assert collector.send(asked, second[0] + first[0]).status_code == 204
    collector.clock.now = BEGIN + HOUR + SETTINGS.grace
    assert problem(collector.send(asked, first[0])) == (410, "round-over")
    assert collector.send(asked, second[0]).status_code == 204
    collector.clock.now = BEGIN + 10  # the clock jumps back
    assert collector.send(asked, first[0]).status_code == 204


def test_a_closed_round_stays_closed_whatever_the_clock_says(collector: Collector) -> None:
    asked = collector.create(campaign())
    early, late = bodies(asked, 2)
    assert collector.send(asked, early).status_code == 204
    collector.close(asked)
    assert problem(collector.send(asked, late)) == (410, "round-over")
    assert problem(collector.send(asked, early)) == (410, "round-over")
    collector.clock.now = BEGIN + HOUR - 5
    both = late + bodies(asked, 1, round=2)[0]
    assert problem(collector.send(asked, both)) == (410, "round-over")
    assert collector.store.round(Round(asked.id, 2)) is None


def test_overdue_rounds_are_closed_by_themselves(store: Store) -> None:
    asked = campaign()
    with collecting(store) as collector:
        collector.create(asked)
        assert collector.send(asked, b"".join(bodies(asked, 30))).status_code == 204
        service = collector.http.app.state.service  # type: ignore[attr-defined]
        collector.clock.now = BEGIN + HOUR + SETTINGS.grace - 1
        assert service.close_overdue() == 0
        collector.clock.now += 1
        assert service.close_overdue() == 1
        assert service.close_overdue() == 0
        listing = collector.http.get(f"/campaigns/{asked.id}/rounds").json()
    assert listing["now"] == 2
    assert [(r["round"], r["state"], r["reports"]) for r in listing["rounds"]] == [(1, "closed", 30)]


def test_while_a_round_is_open_nobody_learns_whether_a_report_came(collector: Collector) -> None:
    """Every answer but the operator's metrics is the same before and after the first one."""
    asked = collector.create(campaign())
    one = f"/campaigns/{asked.id}"
    addresses = ["/", "/campaigns", "/healthz", "/ready", "/openapi.json", one, f"{one}/guarantee", f"{one}/rounds"]
    addresses += [f"{one}/estimate", f"{one}/estimate?rounds=1", f"{one}/rounds/1/estimate"]

    def told() -> list[tuple[int, bytes]]:
        row = [collector.http.get(address, headers=collector.keys["admin"]) for address in addresses]
        return [(each.status_code, each.content) for each in row]

    before = told()
    for people in (1, 29):
        assert collector.send(asked, b"".join(bodies(asked, people))).status_code == 204
        assert told() == before
    refused = collector.http.get(f"{one}/rounds/1/estimate")
    assert problem(refused) == (409, "round-not-closed")
    collector.close(asked)
    (row,) = collector.http.get(f"{one}/rounds").json()["rounds"]
    assert row == {
        "round": 1, "state": "closed", "begins": BEGIN, "ends": BEGIN + HOUR, "reports": 30, "withheld": False,
        "missing": None,
    }  # fmt: skip


def test_few_reports_are_withheld_from_everybody(collector: Collector) -> None:
    asked = collector.create(campaign())
    collector.send(asked, b"".join(bodies(asked, 9)))
    collector.close(asked)
    for path in ("rounds/1/estimate", "estimate", "estimate?rounds=1"):
        for headers in ({}, collector.keys["admin"]):
            response = collector.http.get(f"/campaigns/{asked.id}/{path}", headers=headers)
            assert problem(response) == (409, "withheld")
            assert "9" not in response.json()["detail"]
    (round,) = collector.http.get(f"/campaigns/{asked.id}/rounds").json()["rounds"]
    assert (round["reports"], round["withheld"]) == (None, True)


def test_rounds_are_pooled_and_few_reports_left_out(collector: Collector) -> None:
    asked = collector.create(campaign())
    collector.clock.now = BEGIN + HOUR + 1
    sent = {}
    for round, people in ((1, 200), (2, 300)):
        sent[round] = answers(DECK, np.arange(people) % 12, round=round, seed=round)
        collector.send(asked, b"".join(sealed(asked, sent[round], round=round)))
    collector.clock.now = BEGIN + 2 * HOUR + 1
    collector.send(asked, b"".join(bodies(asked, 5, round=3)))
    for round in (1, 2, 3):
        collector.close(asked, round)
    estimate = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    assert estimate["rounds"] == [1, 2]
    expected = DECK.aggregator().add(sent[1]).add(sent[2]).estimate()
    for row in estimate["values"]:
        assert row["unclamped"] == pytest.approx(expected.frequencies[row["value"]], abs=1e-12)
    assert collector.http.get(f"/campaigns/{asked.id}/estimate?rounds=2").json()["reports"] == 300
    assert problem(collector.http.get(f"/campaigns/{asked.id}/estimate?rounds=1-3")) == (409, "withheld")


def test_keys_are_demanded_and_roles_kept_apart(collector: Collector) -> None:
    asked = campaign()
    closing = f"/campaigns/{asked.id}/rounds/1/close"
    cases = [("POST", "/campaigns"), ("POST", closing), ("PUT", f"/campaigns/{asked.id}/published")]
    for method, path in cases:
        for wrong in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic YTpi"}):
            response = collector.http.request(method, path, headers=wrong)
            assert problem(response) == (401, "key-needed")
            assert response.headers["www-authenticate"] == "Bearer"
        response = collector.http.request(method, path, headers=collector.keys["reader"])
        assert problem(response) == (403, "key-insufficient")


def test_unpublished_estimates_need_a_key(collector: Collector) -> None:
    asked = collector.create(campaign(), published=False)
    collector.send(asked, b"".join(bodies(asked, 30)))
    collector.close(asked)
    path = f"/campaigns/{asked.id}/rounds/1/estimate"
    assert problem(collector.http.get(path)) == (404, "not-found")
    for role in ("reader", "admin"):
        assert collector.http.get(path, headers=collector.keys[role]).status_code == 200
    address = f"/campaigns/{asked.id}/published"
    assert collector.http.put(address, headers=collector.keys["admin"]).status_code == 204
    assert collector.http.get(path).status_code == 200
    assert collector.http.delete(address, headers=collector.keys["admin"]).status_code == 204
    assert problem(collector.http.get(path)) == (404, "not-found")


def test_to_strangers_an_unpublished_campaign_looks_as_if_it_did_not_exist(collector: Collector) -> None:
    asked, nobodys, shown = collector.create(campaign(), published=False), "0" * 64, ("", "rounds/1/")
    collector.send(asked, b"".join(bodies(asked, 30)))
    collector.close(asked)
    assert collector.http.get(f"/campaigns/{asked.id}").content == asked.to_bytes(), "clients need it"
    addresses = [f"/campaigns/ID/{part}estimate{query}" for part in shown for query in ("", "?rounds=1", "?top=x")]
    addresses += ["/campaigns/ID/rounds", "/view/ID", "/view/ID?done=closed&number=1", "/view/ID/following"]
    addresses += [f"/view/ID/{name}?round=1" for name in ("download.csv", "download.json", "picture.svg")]
    wrong: tuple[dict[str, str], ...] = ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic YTpi"})

    def told(headers: dict[str, str], id: str) -> list[tuple[int, str, dict[str, str]]]:
        responses = [collector.http.get(each.replace("ID", id), headers=headers) for each in addresses]
        return [(each.status_code, each.text.replace(id, "ID"), dict(each.headers)) for each in responses]

    for headers in wrong:
        answered = told(headers, asked.id)
        assert answered == told(headers, nobodys)
        assert {status for status, _, _ in answered} <= {401, 404}
    assert collector.http.get("/campaigns").json() == {"campaigns": []}
    assert problem(collector.http.get("/campaigns", headers=wrong[1])) == (401, "key-needed")
    for key in collector.keys.values():
        (listed,) = collector.http.get("/campaigns", headers=key).json()["campaigns"]
        assert listed == {"id": asked.id, "question": asked.question, "published": False}
        (round,) = collector.http.get(f"/campaigns/{asked.id}/rounds", headers=key).json()["rounds"]
        assert round["reports"] == 30


def test_a_revoked_key_opens_nothing(collector: Collector) -> None:
    asked = collector.create(campaign())
    id = collector.keys["admin"]["authorization"].split("_")[1]
    assert collector.close(asked).status_code == 200
    collector.store.revoke(id)
    assert problem(collector.close(asked)) == (401, "key-needed")


def test_campaigns_are_created_once_with_their_exact_bytes(collector: Collector) -> None:
    asked = campaign()
    headers = {**collector.keys["admin"], **JSON}
    first = collector.http.post("/campaigns", content=asked.to_bytes(), headers=headers)
    assert (first.status_code, first.json()) == (201, {"id": asked.id})
    again = collector.http.post("/campaigns?published=true", content=asked.to_bytes(), headers=headers)
    assert (again.status_code, again.json()) == (200, {"id": asked.id})
    assert collector.http.get(f"/campaigns/{asked.id}").content == asked.to_bytes()
    listed = collector.http.get("/campaigns", headers=collector.keys["reader"]).json()["campaigns"]
    assert listed == [{"id": asked.id, "question": asked.question, "published": False}]
    guarantee = collector.http.get(f"/campaigns/{asked.id}/guarantee").json()
    assert guarantee["declared"] == asked.to_json()["guarantee"]
    assert guarantee["verified"]["tracking_delta"] == {"lower": 0.0, "upper": 0.0, "certainty": "exact"}
    assert guarantee["verified"]["delta"]["upper"] <= 1e-6
    assert "e^8 " not in guarantee["words"][0]
    assert "(eps = 8), except with probability 1e-06 (exact). This holds whatever" in guarantee["words"][0]
    assert "2981" in guarantee["words"][0]


def test_campaigns_that_cannot_be_taken(collector: Collector) -> None:
    headers = {**collector.keys["admin"], **JSON}

    def create(content: bytes) -> tuple[int, str]:
        return problem(collector.http.post("/campaigns", content=content, headers=headers))

    asked = campaign()
    assert create(b"{}") == (400, "malformed-campaign")
    assert create(b"\xff") == (400, "malformed-campaign")
    assert create(json.dumps(asked.to_json()).encode()) == (400, "malformed-campaign")  # not canonical
    boast = Guarantee(eps=7.9, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0)
    assert create(campaign(guarantee=boast).to_bytes()) == (422, "campaign-refused")
    for mechanism in (
        OneChange(rounds=4, changes=1, eps=1.0),
        Votes(eps_vote=0.8, eps_estimate=1.3, votes=2, estimates=1, updates=(1, 3)),
    ):
        assert create(campaign(mechanism, encoding=Bit(), rounds=4).to_bytes()) == (422, "campaign-refused")
    assert create(b" " * ((1 << 20) + 1)) == (413, "too-large")
    response = collector.http.post("/campaigns", content=b"{}", headers={**collector.keys["admin"], **OCTETS})
    assert problem(response) == (415, "media-type")
    assert collector.store.campaigns() == []


def test_other_refusals(collector: Collector) -> None:
    asked = collector.create(campaign())
    http = collector.http
    rounds = [
        f"/campaigns/{asked.id}/rounds/{number}/estimate" for number in ("0", "x", "-1", "9" * 30, "9" * 5000)
    ]
    for path in (
        "/nothing",
        f"/campaigns/{'0' * 64}",
        "/campaigns/short",
        "/campaigns/",
        "/campaigns/%00",
        *rounds,
    ):
        assert problem(http.get(path)) == (404, "not-found"), path
    assert problem(http.post(f"/campaigns/{'0' * 64}/reports", content=b"x", headers=OCTETS)) == (404, "not-found")
    assert problem(http.delete("/campaigns")) == (405, "method-not-allowed")
    assert problem(http.post(f"/campaigns/{asked.id}/reports", content=b"x", headers=JSON)) == (415, "media-type")
    large = b"x" * (SETTINGS.largest_body + 1)
    assert problem(collector.send(asked, large)) == (413, "too-large")
    assert problem(collector.close(asked, 2)) == (409, "round-not-begun")
    assert problem(collector.close(asked, 31)) == (404, "not-found")
    assert problem(http.post(f"/campaigns/{asked.id}/rounds/{'9' * 5000}/close")) == (404, "not-found")
    for query in ("top=0", "top=x", "top=1001", "beta=0", "beta=nan", "beta=x", "rounds=", "rounds=0", "rounds=3-1",
                  "rounds=1-99999999", "rounds=x", "candidate=x&rounds=1", *(f"{n}={'9' * 5000}" for n in
                  ("top", "beta", "rounds", "rounds=1-")), "rounds=1-6000,1-6000"):  # fmt: skip
        response = http.get(f"/campaigns/{asked.id}/estimate?{query}")
        assert problem(response)[1] in ("malformed-request", "round-not-closed"), query


def test_health_metrics_and_cross_origin(collector: Collector) -> None:
    asked = collector.create(campaign())
    assert collector.http.get("/healthz").json() == {"status": "ok"}
    collector.send(asked, b"".join(bodies(asked, 3)))
    collector.send(asked, b"x")
    text = collector.http.get("/metrics").text
    assert "untrackable_reports_received_total 3\n" in text
    assert 'untrackable_problems_total{type="malformed-reports"} 1\n' in text
    asking = {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    preflight = collector.http.options(f"/campaigns/{asked.id}/reports", headers=asking)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "*"
    for name, value in (("method", "PATCH"), ("headers", "x-other")):
        wrong = {**asking, f"access-control-request-{name}": value}
        refused = collector.http.options(f"/campaigns/{asked.id}/reports", headers=wrong)
        assert problem(refused) == (400, "malformed-request")
        assert refused.headers["access-control-allow-origin"] == "*"
        assert "Access-Control-Request-Method" in refused.headers["vary"]
    answer = collector.http.get(f"/campaigns/{asked.id}", headers={"origin": "https://app.example"})
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-expose-headers"] == "retry-after"
    for body, status in ((bodies(asked, 1)[0], 204), (b"x", 400)):
        headers = {"origin": "https://app.example", **OCTETS}
        sent = collector.http.post(f"/campaigns/{asked.id}/reports", content=body, headers=headers)
        assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (status, "*")
        assert "access-control-allow-origin" not in collector.send(asked, body).headers
    assert "set-cookie" not in answer.headers
    assert "etag" not in answer.headers


def test_counts_say_what_is_now(collector: Collector) -> None:
    asked = collector.create(campaign())
    assert collector.send(asked, b"".join(bodies(asked, 30))).status_code == 204
    for _ in range(3):
        assert collector.close(asked).status_code == 200
    text = collector.http.get("/metrics").text
    assert "untrackable_rounds_closed_total 1\n" in text
    assert "untrackable_waiting_bytes 0\n" in text


def test_answers_that_are_kept_take_bounded_room(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "_REMEMBERED", 10_000)
    asked = collector.create(campaign())
    collector.send(asked, b"".join(bodies(asked, 300)))
    collector.close(asked)
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    one = f"/campaigns/{asked.id}/estimate"
    first = collector.http.get(one).json()
    for i in range(30):
        assert len(collector.http.get(one, params={"top": 20 + i}).json()["values"]) == 12
        assert 0 < sum(size for _, size in service._answers.values()) == service._answered <= 10_000
        assert all(len(key) == 32 for key in service._answers)
    assert collector.http.get(one).json() == first


def test_a_store_that_hangs_does_not_keep_the_collector(
    new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When it is to end, it says how many reports are not stored, and ends with an error."""
    store, asked, hanging, gave_up = open_store(new_url("sqlite")), campaign(), threading.Event(), threading.Event()
    create_campaign(store, asked.to_bytes())
    before = store.add

    def add(reports: Mapping[Round, Rows], *, always_writes: bool) -> None:
        hanging.wait(60)
        before(reports)

    monkeypatch.setattr(store, "add", add)
    settings = Settings(sweep=3600.0, ending_seconds=0.2)

    def give_up() -> None:
        gave_up.set()
        hanging.set()  # as nothing ends the process here

    app = create_app(store, clock=Clock(), settings=settings, give_up=give_up)
    with TestClient(app) as http:
        service = app.state.service
        for count in (1, 20):
            service.writer.write(service.acceptance(asked.id), b"".join(bodies(asked, count)))
        wait_until(lambda: service.writer.unstored() == 21)
        assert http.get("/healthz").status_code == 200
    assert gave_up.is_set()
    assert "The collector ends without storing 21 reports. None of them was acknowledged." in caplog.text


def test_readiness_says_so_while_reports_are_not_stored(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, http = collector.create(campaign()), collector.http
    before, full = collector.store.add, True

    def add(reports: Mapping[Round, Rows], *, always_writes: bool) -> None:
        if full:
            raise StoreUnavailable("full")
        before(reports)

    monkeypatch.setattr(collector.store, "add", add)
    assert http.get("/ready").status_code == 200
    for _ in range(2):
        assert problem(collector.send(asked, bodies(asked, 1)[0])) == (503, "store-unavailable")
        assert problem(http.get("/ready")) == (503, "store-unavailable")
        collector.send(asked, b"x")  # which needs no store
        assert problem(http.get("/ready")) == (503, "store-unavailable")
    with monkeypatch.context() as later:
        later.setattr(writer_module, "_FAILED_SECONDS", 0.0)  # who is kept away by it may come again
        assert http.get("/ready").status_code == 200
    full = False
    assert collector.send(asked, bodies(asked, 1)[0]).status_code == 204
    assert http.get("/ready").status_code == 200


def test_readiness_says_so_while_reports_wait_for_long(
    new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked, hanging = open_store(new_url("sqlite")), campaign(), threading.Event()
    create_campaign(store, asked.to_bytes())
    before = store.add

    def add(reports: Mapping[Round, Rows], *, always_writes: bool) -> None:
        hanging.wait(60)
        before(reports)

    monkeypatch.setattr(store, "add", add)
    app = create_app(store, clock=Clock(), settings=SETTINGS)
    with TestClient(app) as http:
        service = app.state.service
        for _ in range(2):
            service.writer.write(service.acceptance(asked.id), bodies(asked, 1)[0])
        wait_until(lambda: service.writer.unstored() == 2)
        assert http.get("/ready").status_code == 200
        monkeypatch.setattr(writer_module, "_SLOW_SECONDS", 0.0)
        assert problem(http.get("/ready")) == (503, "store-unavailable")
        hanging.set()
        wait_until(lambda: service.writer.unstored() == 0)
        assert http.get("/ready").status_code == 200


def test_no_room_means_come_again(store: Store) -> None:
    small = Settings(minimum_reports=10, sweep=3600.0, largest_body=500, room=500, retry_after=7)
    with collecting(store, small) as collector:
        asked = collector.create(campaign())
        service = collector.http.app.state.service  # type: ignore[attr-defined]
        service.writer.reserve(490)
        response = collector.send(asked, bodies(asked, 1)[0])
        assert problem(response) == (503, "busy")
        assert response.headers["retry-after"] == "7"
        service.writer.release(490)
        assert collector.send(asked, bodies(asked, 1)[0]).status_code == 204


def test_a_fault_inside_is_a_problem_without_a_word_of_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("private words")

    asked = collector.create(campaign())
    monkeypatch.setattr(collector.store, "rounds", broken)
    response = collector.http.get(f"/campaigns/{asked.id}/rounds")
    assert problem(response) == (500, "internal")
    monkeypatch.setattr(collector.store, "add", broken)
    assert problem(collector.send(asked, bodies(asked, 1)[0])) == (500, "internal")
    assert "private words" not in response.text + caplog.text
    assert "RuntimeError at " in caplog.text


def test_a_bit_of_another_mechanism(collector: Collector) -> None:
    bitwise = Bitwise(eps_state=1.0, eps_report=1.0)
    promised = Guarantee(eps=1.0, delta=0.0, values="fixed", gamma=10.0, tracking_delta=0.0)
    asked = collector.create(campaign(bitwise, encoding=Bit(), rounds=5, guarantee=promised))
    values = np.arange(400) % 4 == 0
    sent = answers(bitwise, values.astype(int))
    assert collector.send(asked, b"".join(sealed(asked, sent))).status_code == 204
    assert problem(collector.send(asked, sealed(asked, [0])[0][:-1] + b"\2"))[1] == "malformed-reports"
    collector.close(asked)
    assert collector.store.sums(Round(asked.id, 1)) == bitwise.aggregator().add(sent).to_bytes()


def test_pages_of_other_origins_have_only_what_a_client_needs(collector: Collector) -> None:
    asked = collector.create(campaign())
    collector.send(asked, b"".join(bodies(asked, 30)))
    collector.close(asked)
    one, origin = f"/campaigns/{asked.id}", {"origin": "https://app.example"}
    for path in (one, f"{one}/guarantee", f"{one}/rounds", f"{one}/rounds/1/estimate", f"{one}/estimate"):
        response = collector.http.get(path, headers=origin)
        assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, "*"), path
    for path in ("/", "/campaigns", "/metrics", "/healthz", "/openapi.json"):
        response = collector.http.get(path, headers={**origin, **collector.keys["admin"]})
        assert response.status_code == 200
        assert not [name for name in response.headers if name.startswith("access-control-")], path
    managing = [("POST", "/campaigns"), ("PUT", f"{one}/published"), ("DELETE", f"{one}/published")]
    for method, path in (*managing, ("POST", f"{one}/rounds/1/close"), ("GET", "/metrics")):
        asking = {**origin, "access-control-request-method": method}
        response = collector.http.options(path, headers=asking)
        assert problem(response) == (405, "method-not-allowed")
        done = collector.http.request(method, path, headers={**origin, **collector.keys["admin"]})
        for each in (response, done):
            assert not [name for name in each.headers if name.startswith("access-control-")], path
    asking = {**origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization"}
    assert collector.http.options(f"{one}/estimate", headers=asking).status_code == 400


def test_browsers_guess_no_media_type(collector: Collector) -> None:
    asked = collector.create(campaign())
    one, origin = f"/campaigns/{asked.id}", {"origin": "https://app.example"}
    asking = {**origin, "access-control-request-method": "POST"}
    answers = [
        collector.http.get(path) for path in ("/", "/campaigns", "/metrics", one, "/nothing", f"{one}/rounds")
    ]
    answers += [collector.send(asked, body) for body in (bodies(asked, 1)[0], b"x")]
    answers += [collector.http.options(f"{one}/reports", headers=asking), collector.http.delete("/campaigns")]
    answers += [collector.http.post(f"{one}/reports", content=b"x", headers={**origin, **OCTETS})]
    for result in answers:
        assert result.headers.get_list("x-content-type-options") == ["nosniff"], result.request.url
