"""What can be done with a campaign on its page: the same as by commands, by those with an admin key only."""

import pytest
from starlette.requests import Request

from tests.collector.dashboard.visitors import Visitor
from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import OCTETS
from untrackable.collector.dashboard.campaign_actions import (
    ClosableRound,
    OfferedActions,
    done_words,
    offered_actions,
)
from untrackable.collector.dashboard.sessions import Session
from untrackable.collector.http.management import create_campaign
from untrackable.collector.http.service import Service
from untrackable.collector.stores.records import StoredCampaign
from untrackable.protocol.campaign import Campaign


@pytest.fixture
def asked(visitor: Visitor) -> Campaign:
    found = campaign()
    create_campaign(visitor.store, found.to_bytes())
    visitor.sign_in()
    return found


def stored(visitor: Visitor, asked: Campaign) -> StoredCampaign:
    found = visitor.store.campaign(asked.id)
    assert found is not None
    return found


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
    found = offered(visitor, asked)
    assert found is not None
    assert found.rounds[:2] == (ClosableRound(15, True), ClosableRound(14, False))
    assert (len(found.rounds), found.further) == (12, 3)
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
