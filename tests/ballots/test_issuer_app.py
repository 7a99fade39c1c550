"""The issuer over HTTP: what it answers, to whom, and that it says nothing about anybody."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ballots.samples import CAMPAIGN, EXPIRES, register, request
from tests.collector.servers import TestClient
from untrackable.ballots.app import IssuerSettings, create_issuer
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.protocol.ballots import KEY, is_valid

PAGE = {"origin": "https://page.example"}


@pytest.fixture(autouse=True)
def in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Now is when ballots are issued."""
    monkeypatch.setattr("untrackable.ballots.register.time.time", lambda: EXPIRES - 100.0)


@pytest.fixture
def codes(tmp_path: Path) -> Register:
    return register(tmp_path)


@pytest.fixture
def anybody(tmp_path: Path) -> Register:
    return register(tmp_path, Entitled.ANYBODY, "b.ballots")


@pytest.fixture
def http(codes: Register, anybody: Register) -> Iterator[TestClient]:
    settings = IssuerSettings(per_hour=2, sender_header="x-sender")
    with TestClient(create_issuer([codes, anybody], settings)) as client:
        yield client


def asked(issuer: Register, enrolment: str, blinded: bytes) -> dict[str, Any]:
    return {"url": f"/ballots/{issuer.key.id}", "json": {"blinded": blinded.hex(), "enrolment": enrolment}}


def test_a_code_gets_a_ballot(http: TestClient, codes: Register) -> None:
    (code,) = codes.new_codes(1)
    mine = request(codes)
    answer = http.post(**asked(codes, code, mine.to_issuer()))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    ballot = mine.ballot(bytes.fromhex(answer.json()["signature"]))
    assert is_valid(codes.key, CAMPAIGN, ballot)
    assert http.post(**asked(codes, code, mine.to_issuer())).json() == answer.json()
    refused = http.post(**asked(codes, code, request(codes).to_issuer()))
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:untrackable:problem:already-issued")
    assert code not in refused.text


def test_the_key_is_shown_to_everybody(http: TestClient, codes: Register, anybody: Register) -> None:
    for issuer in (codes, anybody):
        shown = http.get(f"/ballots/{issuer.key.id}")
        public = {"key": issuer.key.to_bytes().hex(), "expires": EXPIRES, "entitled": issuer.entitled.value}
        assert shown.json() == public
    assert http.get(f"/ballots/{'0' * 64}").status_code == 404
    assert http.get("/healthz").json() == {"status": "ok"}


def test_an_address_gets_few_an_hour(http: TestClient, anybody: Register, codes: Register) -> None:
    """Only if ballots are for anybody. The proxy's header says the address."""
    for sender, status in (("192.0.2.1", 200), ("192.0.2.1", 200), ("192.0.2.1", 429), ("192.0.2.2", 200)):
        again = http.post(**asked(anybody, "", request(anybody).to_issuer()), headers={"x-sender": sender})
        assert again.status_code == status
        assert ("retry-after" in again.headers) == (status == 429)
    for code in codes.new_codes(4):
        mine = request(codes).to_issuer()
        assert http.post(**asked(codes, code, mine), headers={"x-sender": "192.0.2.1"}).status_code == 200


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"content": b""}, 400),
        ({"content": b"[]"}, 400),
        ({"content": b'{"blinded": "00", "enrolment": ""}'}, 400),
        ({"content": b'{"blinded": 7, "enrolment": ""}'}, 400),
        ({"json": {"blinded": "ff" * KEY, "enrolment": ""}}, 400),
        ({"json": {"blinded": "AB" * KEY, "enrolment": ""}}, 400),
        ({"json": {"blinded": "ab" * KEY, "enrolment": 7}}, 400),
        ({"json": {"blinded": "ab" * KEY, "enrolment": "x" * 513}}, 400),
        ({"json": {"blinded": "ab" * KEY, "enrolment": "", "more": 1}}, 400),
        ({"content": b"x" * 2049}, 413),
        ({"content": b"{}", "headers": {"content-type": "text/plain"}}, 415),
    ],
)
def test_other_requests_are_refused(
    http: TestClient, codes: Register, changed: dict[str, Any], status: int
) -> None:
    if "content" in changed:
        changed = {"headers": {"content-type": "application/json"}, **changed}
    answer = http.post(f"/ballots/{codes.key.id}", **changed)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert codes.state().issued == 0


def test_who_is_not_entitled_gets_nothing(http: TestClient, codes: Register) -> None:
    for enrolment in ("", "0000-0000-0000-0000", "account:1:2"):
        assert http.post(**asked(codes, enrolment, request(codes).to_issuer())).status_code == 403


def test_later_there_are_no_more(
    http: TestClient, codes: Register, anybody: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = codes.new_codes(1)
    anybody.close()
    assert http.post(**asked(anybody, "", request(anybody).to_issuer())).status_code == 410
    monkeypatch.setattr("untrackable.ballots.register.time.time", lambda: float(EXPIRES))
    assert http.post(**asked(codes, code, request(codes).to_issuer())).status_code == 410


def test_pages_may_ask_for_ballots_without_cookies(http: TestClient, codes: Register) -> None:
    address = f"/ballots/{codes.key.id}"
    asking = {**PAGE, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    allowed = http.options(address, headers=asking)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in allowed.headers
    asking["access-control-request-method"] = "DELETE"
    assert http.options(address, headers=asking).status_code == 400
    assert "access-control-allow-origin" not in http.get("/healthz", headers=PAGE).headers


def test_a_fault_says_where_and_nothing_about_the_person(
    http: TestClient, codes: Register, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (code,) = codes.new_codes(1)

    def fails(*given: object) -> None:
        raise OSError(f"a secret: {given}")

    monkeypatch.setattr(Register, "issue", fails)
    mine = request(codes).to_issuer()
    with caplog.at_level(logging.DEBUG):
        answer = http.post(**asked(codes, code, mine))
    assert answer.status_code == 500
    told = answer.text + "".join(record.getMessage() for record in caplog.records if record.name != "httpx")
    assert "OSError" in told
    assert not any(private in told for private in ("secret", code, mine.hex()))


@pytest.mark.parametrize("wrong", [{"per_hour": 0}, {"connections": 0}, {"request_seconds": 0.0}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        IssuerSettings(**wrong)
