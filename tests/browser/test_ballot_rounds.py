"""People with real browsers get ballots from a real issuer, and each code is heard once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request

from tests.ballots.samples import EXPIRES
from tests.browser.people import Asking, posted, refusal
from tests.browser.questions import BEGIN, HOUR, question
from tests.cli.test_ballots import serving
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.protocol import wire
from untrackable.protocol.ballots import NUMBER, CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

LARGEST_CHUNK = 20_000
"""The promised size of what is loaded for ballots, in bytes."""
KEPT = """async id => {
    const opened = await new Promise(found => {
        const opening = indexedDB.open("untrackable", 1);
        opening.onsuccess = () => found(opening.result);
    });
    const state = await new Promise(found => {
        const asked = opened.transaction("kept").objectStore("kept").get(id);
        asked.onsuccess = () => found(asked.result);
    });
    opened.close();
    return Object.keys(state ?? {});
}"""
"""The names of what a page keeps of a campaign."""


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register.make(tmp_path / "members.ballots", Entitled.CODES, EXPIRES)


@pytest.fixture
def asked(asking: Asking, register: Register, tmp_path: Path) -> Iterator[Campaign]:
    """A campaign whose issuer runs."""
    with serving(tmp_path / "members.ballots") as issuer:
        yield asking.ask(question(rounds=1, ballots=CampaignBallots(issuer, register.key, EXPIRES)))


def embed(page: Page, asked: Campaign, code: str) -> None:
    """Let the client be one of this campaign, for somebody with a code."""
    options = [asked.id, {"eps": 9, "turns_a_year": 9}, {"enrolment": code}]
    page.evaluate("([id, policy, more]) => { window.client = made(id, policy, more) }", options)


def joins(asking: Asking, page: Page) -> str:
    """What becomes of an answer just before the first round, after the page was there once before."""
    for seconds in (HOUR + 100, 100):
        asking.clock.now = BEGIN - seconds
        asking.at(page)
        found = refusal(page, "client.answer('page 3').then(found => { window.found = found })")
    return found or str(page.evaluate("found"))


def test_a_code_is_heard_once(browser: Browser, asking: Asking, register: Register, asked: Campaign) -> None:
    """One person is counted. A second browser with the same code gets no ballot, and one without a code neither."""
    (code,) = register.new_codes(1)
    contexts = [browser.new_context() for _ in range(3)]
    pages = [asking.page(context, asked) for context in contexts]
    told, bodies = [], [posted(page) for page in pages]
    for page, given in zip(pages, [code, code, "no code"], strict=True):
        embed(page, asked, given)
        told.append(joins(asking, page))
    assert told == [
        "kept",
        "the issuer of ballots says that this person's ballot was issued before",
        "the issuer of ballots says that this does not entitle to a ballot",
    ]
    assert register.state().issued == 1
    kept = [pages[i].evaluate(KEPT, asked.id) for i in (0, 1)]
    assert ["ballot" in each for each in kept] == [True, False]
    assert ["secret" in each for each in kept] == [False, True]  # Nothing connects the request with the ballot.
    asking.late_in(asked, 1, *pages)
    assert [page.evaluate("client.send()") for page in pages] == ["accepted", "nothing", "nothing"]
    assert pages[0].evaluate("client.send()") == "nothing"
    request, report = bodies[0]
    assert request
    assert report
    (ballot,) = wire.of_campaign(asked).ballots(report)
    assert is_valid(register.key, asked.id, ballot)
    blinded = json.loads(request)["blinded"]
    assert ballot[:NUMBER].hex() not in blinded
    assert ballot[NUMBER:].hex() != blinded
    assert asking.counted(asked, 1) == 1
    for context in contexts:
        context.close()


def test_invented_reports_are_refused(
    browser: Browser, asking: Asking, register: Register, asked: Campaign
) -> None:
    """A script in a page sends a counted report again with another number, and one with an invented ballot."""
    context = browser.new_context()
    page = asking.page(context, asked)
    bodies = posted(page)
    embed(page, asked, register.new_codes(1)[0])
    assert joins(asking, page) == "kept"
    asking.late_in(asked, 1, page)
    assert page.evaluate("client.send()") == "accepted"
    report = bodies[-1]
    assert report
    changed = bytearray(report)
    changed[wire.HEAD - 1] ^= 1
    size = wire.of_campaign(asked).size
    invented = [
        bytes(changed),
        report[: wire.HEAD] + bytes(size - wire.HEAD),
        report[: wire.of(asked.mechanism).size],
    ]
    sent = """async ([address, body]) => (await fetch(address, { method: "POST", body: new Uint8Array(body),
        headers: { "content-type": "application/octet-stream" } })).status"""
    address = f"{asking.server}/campaigns/{asked.id}/reports"
    assert [page.evaluate(sent, [address, list(body)]) for body in invented] == [403, 403, 400]
    assert 200 <= page.evaluate(sent, [address, list(report)]) < 300  # The same ballot again is counted once.
    assert asking.counted(asked, 1) == 1
    context.close()


def test_the_part_for_ballots_is_loaded_only_where_it_is_needed(
    browser: Browser, asking: Asking, register: Register, asked: Campaign
) -> None:
    """A campaign without ballots does without it, and asks no issuer. The part is small."""
    plain = asking.ask(question(rounds=1))
    context = browser.new_context()
    page = asking.page(context, plain)
    asked_for: list[Request] = []
    context.on("request", lambda request: asked_for.append(request))
    embed(page, plain, register.new_codes(1)[0])
    assert joins(asking, page) == "kept"
    asking.late_in(plain, 1, page)
    assert page.evaluate("client.send()") == "accepted"
    assert not any("ballots" in request.url for request in asked_for)
    context.close()
    context = browser.new_context()
    page = asking.page(context, asked)
    context.on("request", lambda request: asked_for.append(request))
    embed(page, asked, register.new_codes(1)[0])
    assert joins(asking, page) == "kept"
    (part,) = {request.url: request for request in asked_for if "/client/ballots-" in request.url}.values()
    answer = part.response()
    assert answer
    assert 1000 < len(answer.body()) <= LARGEST_CHUNK
    assert asking.complaints == []
    context.close()


def test_nobody_is_enrolled_for_what_the_policy_refuses(
    browser: Browser, asking: Asking, register: Register, asked: Campaign
) -> None:
    """Also if the policy allowed it when the person was first asked."""
    (code,) = register.new_codes(1)
    context = browser.new_context()
    page = asking.page(context, asked)
    embed(page, asked, code)
    asking.clock.now = BEGIN - HOUR - 100
    asking.at(page)
    assert page.evaluate("client.answer('page 3')") == "not yet"
    asking.clock.now = BEGIN - 100
    asking.at(page)
    less = [asked.id, {"eps": 1}, {"enrolment": code}]
    page.evaluate("([id, policy, more]) => { window.client = made(id, policy, more) }", less)
    bodies = posted(page)
    assert "does not fit the person's privacy budget" in refusal(page, "client.answer('page 3')")
    assert (bodies, register.state().issued) == ([], 0)
    context.close()


def test_joining_waits_for_an_issuer_that_is_down(
    browser: Browser, asking: Asking, register: Register, tmp_path: Path
) -> None:
    """Its answer is lost once, too. The same request is signed again, so one code is enough."""
    (code,) = register.new_codes(1)
    context = browser.new_context()
    with serving(tmp_path / "members.ballots") as issuer:
        asked = asking.ask(question(rounds=1, ballots=CampaignBallots(issuer, register.key, EXPIRES)))
        page = asking.page(context, asked)
        embed(page, asked, code)
        page.route("**/ballots/*", lambda route: route.abort())
        assert joins(asking, page) == "the issuer of ballots cannot be reached"
        assert register.state().issued == 0
        page.unroute("**/ballots/*")
        bodies = posted(page)
        page.route("**/ballots/*", lambda route: (route.fetch(), route.abort())[1])
        assert refusal(page, "client.answer('page 3')") == "the issuer of ballots cannot be reached"
        assert register.state().issued == 1
        page.unroute("**/ballots/*")
        asking.load(page, asked)
        embed(page, asked, code)
        assert page.evaluate("client.answer('page 3')") == "kept"
        assert bodies[0] == bodies[1]
        assert register.state().issued == 1
    context.close()
