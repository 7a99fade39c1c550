"""The list of campaigns: state, reports, guarantee, and who sees which."""

import pytest

from tests.collector.dashboard.test_campaign_page import filled
from tests.collector.samples import campaign
from tests.collector.servers import Collector
from untrackable.collector.api import create_campaign
from untrackable.collector.dashboard.sessions import Session


def test_an_empty_list_says_how_to_make_the_first_campaign(collector: Collector) -> None:
    response = collector.http.get("/")
    assert response.status_code == 200
    assert "There is no campaign here yet." in response.text
    assert "untrackable campaign new campaign.json" in response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    assert response.headers["cache-control"] == "no-store"


def test_campaigns_with_their_state_and_guarantee(collector: Collector) -> None:
    asked, few = campaign(question="Which <page>?"), campaign(question="Few?")
    filled(collector.store, asked, people=40, rounds=2)
    filled(collector.store, few, people=5)
    text = collector.http.get("/").text
    assert f'<a href="/view/{asked.id}"><bdi>Which &lt;page&gt;?</bdi></a>' in text
    assert "80 reports in 2 closed rounds." in text
    assert "No closed round to show yet." in text
    assert text.count("is right with probability at most 99.97 % (upper; 50 % is a coin toss).") == 2
    collector.clock.now = asked.begins(31)
    assert collector.http.get("/").text.count('<span class="tag">ended</span>') == 2


def test_hidden_campaigns_look_like_missing_ones(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = campaign(question="Hidden?")
    create_campaign(collector.store, hidden.to_bytes(), published=False)
    assert "Hidden?" not in collector.http.get("/").text
    for part in ("", "/following", "/download.csv", "/picture.svg", "/picture.png"):
        response, missing = (collector.http.get(f"/view/{id}{part}") for id in (hidden.id, "0" * 64))
        assert response.status_code == missing.status_code == 404
        assert response.text == missing.text
    session = Session(key="a", role="reader", token="b")  # noqa: S106
    monkeypatch.setattr("untrackable.collector.dashboard.rendering.signed_in", lambda request: session)
    text = collector.http.get("/").text
    assert "Hidden?" in text
    assert "not published" in text
    assert collector.http.get(f"/view/{hidden.id}").status_code == 200
