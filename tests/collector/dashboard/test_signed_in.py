"""What people do with a key: forms with limits, actions on campaigns as by commands, and keys without secrets."""

import asyncio
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from starlette.requests import Request

from tests.collector.dashboard.visitors import Visitor
from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import OCTETS
from untrackable.collector.api import create_campaign, new_key, valid_key
from untrackable.collector.dashboard import campaign_form, signed_in
from untrackable.collector.dashboard.sessions import Session
from untrackable.collector.dashboard.signed_in import ClosableRound, OfferedActions, done_words, offered_actions
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.protocol.campaign import Campaign

LARGEST = 64 << 10
FORM = {"content-type": "application/x-www-form-urlencoded"}


def service(visitor: Visitor) -> Service:
    result: Service = visitor.http.app.state.service  # type: ignore[attr-defined]
    return result


def test_forms_of_strangers_are_small(visitor: Visitor) -> None:
    for path in ("/sign-in", "/sign-out", "/new", "/new/results", "/new/preview", "/new/create", "/keys"):
        answer = visitor.http.post(path, content=b"names=" + b"x" * (LARGEST - 5), headers=FORM)
        assert answer.status_code == 413, path
        answer = visitor.http.post(path, content=b"names=" + b"x" * (LARGEST - 6), headers=FORM)
        assert answer.status_code in (200, 303, 401, 403, 422), path


def test_what_was_typed_in_a_session_is_still_there_after_its_end(visitor: Visitor) -> None:
    names = "\n".join(f"answer {i}" for i in range(2000))
    answer = visitor.post("/new", "", kind="categories", names=names)
    assert "Your session is over" in answer.text
    assert "answer 1999" in answer.text
    visitor.sign_in()
    assert visitor.post("/keys", role="reader", unused="x" * (2 * LARGEST)).status_code == 201


def test_a_form_takes_its_share_of_the_memory_for_reports(visitor: Visitor) -> None:
    """While it arrives. Otherwise many that never end would take as much as there is."""
    result, held = service(visitor), list[int]()
    parts = iter([(b"key=" + b"x" * 3996, True), (b"y" * 1000, True), (b"", False)])

    async def receive() -> dict[str, Any]:
        held.append(result.metrics.total("waiting_bytes"))
        body, more = next(parts)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    headers = {"host": "localhost", "sec-fetch-site": "same-origin", **FORM}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    visitor.http.portal.call(visitor.http.app, scope, receive, send)  # type: ignore[union-attr]
    assert held == [0, 4000, 5000]
    assert sent[0]["status"] == 403
    assert result.metrics.total("waiting_bytes") == 0


def test_forms_are_refused_if_there_is_no_memory(visitor: Visitor) -> None:
    writer, _ = service(visitor).writer, visitor.sign_in()
    room = service(visitor).settings.room - 10
    writer.reserve(room)
    token = visitor.token()
    assert visitor.post("/keys", token, role="reader").status_code == 503
    writer.release(room)
    assert visitor.post("/keys", token, role="reader").status_code == 201


def test_forms_are_read_apart_from_reports(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of `%22` takes half a second to read, in which the event loop could not take a report."""
    read = []

    def parse(text: str, **options: Any) -> list[tuple[str, str]]:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        read.append(text)
        return parse_qsl(text, **options)

    monkeypatch.setattr(signed_in, "parse_qsl", parse)
    monkeypatch.setattr(campaign_form, "parse_qsl", parse)
    for path in ("/sign-in", "/new", "/new/results"):
        assert visitor.http.post(path, data={"key": "x", "use": "rounds=3"}).status_code in (200, 403)
    assert len(read) == 3 + 2


@pytest.fixture
def asked(visitor: Visitor) -> Campaign:
    result = campaign()
    create_campaign(visitor.store, result.to_bytes())
    visitor.sign_in()
    return result


def stored(visitor: Visitor, asked: Campaign) -> StoredCampaign:
    record = visitor.store.campaign(asked.id)
    assert record is not None
    return record


def request(session: Session | None, query: str = "") -> Request:
    made = Request({"type": "http", "query_string": query.encode(), "headers": []})
    made.state.session = session
    return made


ADMIN, READER = Session("0" * 12, "admin", "t"), Session("1" * 12, "reader", "t")


def offered(visitor: Visitor, asked: Campaign, session: Session | None = ADMIN) -> OfferedActions | None:
    service: Service = visitor.http.app.state.service  # type: ignore[attr-defined]
    return offered_actions(service, request(session), stored(visitor, asked))


def said(visitor: Visitor, asked: Campaign, query: str, session: Session | None = ADMIN) -> str:
    service: Service = visitor.http.app.state.service  # type: ignore[attr-defined]
    return done_words(service, request(session, query), stored(visitor, asked))


def test_publishing(visitor: Visitor, asked: Campaign) -> None:
    answer = visitor.post(f"/view/{asked.id}/publish")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/view/{asked.id}?done=published")
    assert stored(visitor, asked).published
    assert said(visitor, asked, "done=published") == "This campaign is published."
    visitor.post(f"/view/{asked.id}/unpublish")
    assert not stored(visitor, asked).published
    assert said(visitor, asked, "done=unpublished") == "This campaign is no longer published."


def test_closing_a_round(visitor: Visitor, asked: Campaign) -> None:
    body = b"".join(bodies(asked, 3))
    assert visitor.http.post(f"/campaigns/{asked.id}/reports", content=body, headers=OCTETS).status_code < 300
    assert offered(visitor, asked) == OfferedActions((ClosableRound(1, True),), 0, True, False)
    answer = visitor.post(f"/view/{asked.id}/rounds/1/close")
    assert answer.headers["location"] == f"/view/{asked.id}?done=closed&number=1"
    [closed] = visitor.store.rounds(asked.id)
    assert (closed.state, closed.reports) == ("closed", 3)
    assert said(visitor, asked, "done=closed&number=1") == "Round 1 is closed, with 3 reports."
    assert said(visitor, asked, "done=closed&number=1", READER) == ""
    assert said(visitor, asked, "done=closed&number=1", None) == ""
    for number in ("%C2%B2", "%D9%A1", "2", "-1", "", "1" * 11):
        assert said(visitor, asked, f"done=closed&number={number}") == ""
    assert offered(visitor, asked) == OfferedActions((), 0, True, False)
    assert visitor.post(f"/view/{asked.id}/rounds/1/close").status_code == 303


def test_rounds_that_cannot_be_closed(visitor: Visitor, asked: Campaign) -> None:
    for number, status in ((0, 404), (2, 409), (31, 404), (10**10 - 1, 404)):
        answer = visitor.post(f"/view/{asked.id}/rounds/{number}/close")
        assert answer.status_code == status
        assert "text/html" in answer.headers["content-type"]
    assert visitor.post(f"/view/{'0' * 64}/rounds/1/close").status_code == 404
    assert visitor.store.rounds(asked.id) == []


def test_ending(visitor: Visitor, asked: Campaign) -> None:
    answer = visitor.post(f"/view/{asked.id}/end")
    assert answer.headers["location"] == f"/view/{asked.id}?done=ended"
    assert stored(visitor, asked).last_round == 1
    assert said(visitor, asked, "done=ended") == "This campaign ends after round 1."
    assert offered(visitor, asked) == OfferedActions((ClosableRound(1, True),), 0, False, False)
    visitor.clock.now += HOUR
    assert offered(visitor, asked) == OfferedActions((), 0, False, False)


def test_what_is_offered(visitor: Visitor, asked: Campaign) -> None:
    assert offered(visitor, asked, READER) is None
    assert offered(visitor, asked, None) is None
    for number in range(1, 16):
        visitor.clock.now = BEGIN + (number - 1) * HOUR + 10
        body = b"".join(bodies(asked, 1, round=number))
        visitor.http.post(f"/campaigns/{asked.id}/reports", content=body, headers=OCTETS)
    result = offered(visitor, asked)
    assert result is not None
    assert result.rounds[:2] == (ClosableRound(15, True), ClosableRound(14, False))
    assert (len(result.rounds), result.further) == (12, 3)
    visitor.clock.now = BEGIN - 10
    assert offered(visitor, asked) == OfferedActions((), 0, True, False)
    visitor.clock.now = BEGIN + 30 * HOUR
    over = offered(visitor, asked)
    assert over is not None
    assert not over.can_end


@pytest.mark.parametrize(
    "query",
    ["", "done=x", "done=<b>", "done=ended", "done=closed", "done=closed&number=9", "done=closed&number=%C2%B2"],
)
def test_only_what_was_done_is_said(visitor: Visitor, asked: Campaign, query: str) -> None:
    assert said(visitor, asked, query) == ""


def test_a_key_is_shown_once(visitor: Visitor) -> None:
    visitor.sign_in()
    answer = visitor.post("/keys", role="reader")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    match = re.search(r">(ut_[0-9a-f]{12}_[A-Za-z0-9_-]{43})</pre>", answer.text)
    assert match is not None
    assert (found := valid_key(visitor.store, match[1])) is not None
    assert found.role == "reader"
    listed = visitor.get("/keys").text
    assert match[1].split("_")[1] in listed
    assert match[1].split("_", 2)[2] not in listed


def test_keys_are_revoked_with_their_sessions(visitor: Visitor) -> None:
    own = visitor.sign_in()
    id, key = new_key(visitor.store, "admin")
    answer = visitor.post(f"/keys/{id}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/keys?revoked={id}")
    assert valid_key(visitor.store, key) is None
    assert f"The key {id} is revoked" in visitor.get(answer.headers["location"]).text
    last = visitor.get("/keys").text
    assert "It is the last admin key" in last
    assert "You are signed in with it" in last
    answer = visitor.post(f"/keys/{own}/revoke")
    assert answer.headers["location"] == "/"
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert not visitor.is_signed_in()


def test_what_is_not_a_key(visitor: Visitor) -> None:
    visitor.sign_in()
    count = len(visitor.store.keys())
    assert visitor.post("/keys/000000000000/revoke").status_code == 404
    assert visitor.post("/keys", role="owner").status_code == 400
    assert visitor.post("/keys").status_code == 400
    assert len(visitor.store.keys()) == count
    assert "is revoked" not in visitor.get("/keys?revoked=<b>").text
    assert "<b>" not in visitor.get("/keys?revoked=<b>").text
