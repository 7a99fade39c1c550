"""What the browser's client refuses, with clear words and without sending anything twice; and what it keeps."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Route

from tests.browser.people import Asking, posted, refusal
from tests.browser.test_rounds import every_round, joined, sent
from tests.collector.samples import campaign
from untrackable import Deck
from untrackable.encodings.number_ranges import IntegerRange
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

KEPT = """() => new Promise(resolve => {
    const opening = indexedDB.open("untrackable");
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onsuccess = () => {
        const store = opening.result.transaction("kept").objectStore("kept"), found = {};
        store.openCursor().onsuccess = ({ target: { result } }) => {
            if (!result) return opening.result.close(), resolve(found);
            found[result.key] = JSON.stringify(result.value,
                (_, each) => typeof each == "bigint" ? String(each) : each);
            result.continue();
        };
    };
})"""
"""All that the origin keeps, by key."""


@pytest.fixture
def asked(asking: Asking) -> Campaign:
    found = asking.ask(every_round())
    asking.clock.now = found.first_round - 100
    return found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context()
    yield found
    found.close()


def test_campaigns_that_are_not_what_was_pinned(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = asking.page(context, asked)
    bodies = posted(page)
    text = asked.to_bytes().decode()
    answers = [
        ("is not the pinned one", 200, text.replace("page 3", "page 4")),
        ("is not the pinned one", 200, "\0garbage"),
        ("answers 503 instead", 503, text),
        ("answers 404 instead", 404, ""),
    ]

    def tampered(route: Route) -> None:
        _, status, body = answers[0]
        route.fulfill(status=status, body=body, headers={"access-control-allow-origin": "*"})

    page.route(f"**/{asked.id}", tampered)
    while answers:
        assert answers[0][0] in refusal(page, "client.answer('page 3')")
        answers.pop(0)
    page.unroute(f"**/{asked.id}")
    page.evaluate("() => { window.patience = 50 }")
    page.route(f"**/{asked.id}", lambda route: None)  # It hangs.
    assert "cannot be reached" in refusal(page, "client.answer('page 3')")
    page.unroute(f"**/{asked.id}")
    asking.load(page, asked)
    page.route("**/joining-*.js", lambda route: changed(route))
    assert "a part of the client cannot be loaded, or was changed" in refusal(page, "client.answer('page 3')")
    assert page.evaluate(KEPT) == {}
    assert bodies == []


def changed(route: Route) -> None:
    found = route.fetch()
    route.fulfill(response=found, body=found.body() + b"\n")


def test_a_changed_client_does_not_run(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = context.new_page()
    page.route("**/untrackable-*.js", lambda route: changed(route))
    with pytest.raises(Exception, match="Failed to fetch dynamically imported module"):
        asking.load(page, asked)


def test_answers_and_policies_that_do_not_fit(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = asking.page(context, asked)
    assert refusal(page, "client.answer('private page')") == "the answer must be one of the list"
    for name, limit in (("eps", 4), ("recognition", 0.01)):
        asking.load(page, asked, **{name: limit})
        words = refusal(page, "client.answer('page 3')")
        assert words.startswith("all campaigns together would exceed the person's policy: ")
        assert words.endswith("recognition" if name == "recognition" else "delta")
    assert page.evaluate(KEPT) == {}
    asking.load(page, asked)
    joined(page, "page 3")
    # A second campaign would spend the same again: the ledger is one for all campaigns of the origin.
    second = asking.ask(replace(asked, question="And which page is second?"))
    asking.load(page, second)
    assert refusal(page, "client.answer('page 3')").endswith("policy: delta")
    asking.load(page, second, eps=17)
    assert "allows more than the stored one" in refusal(page, "client.answer('page 3')")
    page.evaluate("() => allow({ eps: 17, delta: 1e-5, recognition: 1, crowd_eps: 17, crowd_delta: 1e-5 })")
    asking.load(page, second, eps=17, delta=1e-5)
    joined(page, "page 3")
    assert set(page.evaluate(KEPT)) == {"ledger", asked.id, second.id}
    assert asking.complaints == []


def test_servers_that_fail(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """Retries have the same bytes and end; a refusal is final; a round is never answered with other bytes."""
    page = asking.page(context, asked)
    joined(page, "page 3")
    bodies = posted(page)
    asking.late_in(asked, 1, page)
    replies = [503, 500, 429, None]

    def fail(route: Route) -> None:
        status = replies.pop(0) if replies else None
        if status is None:
            route.continue_()
        elif status:  # Else it hangs.
            route.fulfill(status=status, headers={"access-control-allow-origin": "*", "retry-after": "1"})

    page.route("**/reports", fail)
    assert sent(page) == "accepted"
    assert len(bodies) == 4
    assert len(set(bodies)) == 1
    assert asking.counted(asked, 1) == 1

    page.evaluate("() => { window.patience = 50 }")
    for round, status, outcome, tries in ((2, 0, "given up", 6), (3, 503, "given up", 6), (4, 400, "refused", 1)):
        bodies.clear()
        asking.late_in(asked, round, page)
        replies[:] = [status] * 10
        assert sent(page) == outcome
        assert (len(bodies), len(set(bodies))) == (tries, 1)
        asking.load(page, asked)
        assert sent(page) == "nothing"
        assert len(bodies) == tries


def test_frames_and_browsers_without_storage(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = context.new_page()
    page.goto(asking.application.replace("localhost", "127.0.0.1"))
    page.evaluate("address => { document.body.innerHTML = `<iframe src=${address}></iframe>` }", asking.application)
    while len(page.frames) < 2 or not page.frames[1].url.startswith(asking.application):
        page.wait_for_timeout(20)
    frame: Any = page.frames[1]
    frame.goto = lambda address: None
    asking.load(frame, asked)
    assert "frame of another site" in refusal(frame, "client.answer('page 3')")

    page = asking.page(context, asked)
    session = context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": asking.application, "quotaSize": 1})
    assert "storage does not work (QuotaExceededError)" in refusal(page, "client.answer('page 3')")
    session.send("Storage.overrideQuotaForOrigin", {"origin": asking.application})
    page.evaluate(
        "() => Object.defineProperty(window, 'indexedDB', "
        "{ get() { throw new DOMException('', 'SecurityError'); } })"
    )
    assert "storage does not work (SecurityError)" in refusal(page, "client.answer('page 3')")


def test_consent(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """Without consent, or where the browser says that the person objects, nothing is kept, fetched or sent."""
    page = asking.page(context, asked)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    made = "made(client_id, { eps: 8, delta: 1e-6, recognition: 1, crowd_eps: 8 }, MORE)".replace(
        "client_id", f"'{asked.id}'"
    )
    for more in ("{ consent: undefined }", "{ consent: () => false }", "{ consent: async () => 'yes' }"):
        assert page.evaluate(f"{made.replace('MORE', more)}.answer('page 3')") is False
        assert page.evaluate(f"{made.replace('MORE', more)}.used()") is False
        assert page.evaluate(f"{made.replace('MORE', more)}.send()") == "no consent"
    page.evaluate("() => Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
    assert page.evaluate("client.answer('page 3')") is False
    assert urls == []
    assert page.evaluate(KEPT) == {}
    assert page.evaluate(f"{made.replace('MORE', '{ ignoreGlobalPrivacyControl: true }')}.answer('page 3')") is True


def test_leaving_keeps_only_what_was_spent(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = asking.page(context, asked)
    joined(page, "page 3")
    asking.late_in(asked, 1, page)
    assert sent(page) == "accepted"
    asking.late_in(asked, 2, page)
    page.evaluate("() => client.report()")
    page.evaluate("() => client.leave()")
    kept = page.evaluate(KEPT)
    assert set(kept) == {"ledger"}
    account = json.loads(kept["ledger"])["accounts"][asked.id]
    assert account["campaign"] == asked.to_bytes().decode()
    assert account["lives"] == [[1, 2, 2]]
    assert sent(page) == "nothing"
    # The rounds that are left are charged anew, and no round is answered again.
    joined(page, "page 4")
    lives = json.loads(page.evaluate(KEPT)["ledger"])["accounts"][asked.id]["lives"]
    assert lives == [[1, 2, 2], [3, 4, 2]]
    assert asking.complaints == []


def test_days_of_use(context: BrowserContext, asking: Asking) -> None:
    """On how many of the last 28 days something was used; the days stay on the device."""
    mechanism = Deck.for_budget(bits=5, slots=40, eps=8.0, delta=1e-6)
    question = {"encoding": IntegerRange(low=0, high=28), "seconds": 86400, "rounds": 40}
    asked = asking.ask(campaign(mechanism, **question))  # type: ignore[arg-type]
    page = asking.page(context, asked, recognition=1)
    found = []
    for day in (0, 0, 1, 5, 27, 28, 29, 60):
        asking.clock.now = asked.first_round - 100 + day * 86400
        asking.at(page)
        if day < 40:
            assert page.evaluate("client.used()") is True
            found.append(json.loads(page.evaluate(KEPT)[asked.id])["value"])
    assert found == ["1", "1", "2", "3", "4", "4", "4"]
    assert asking.complaints == []


@pytest.mark.parametrize("intact", [True, False])
def test_the_lines_to_copy(context: BrowserContext, asking: Asking, intact: bool) -> None:
    """They work as the campaign's page shows them, with an answer and consent; a changed file does not run."""
    asked = asking.ask(replace(every_round(), first_round=int(time.time()) + 600))
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(f"{asking.server}/view/{asked.id}")
    lines = page.locator("pre").last.text_content() or ""
    lines = lines.replace("() => false", "() => true").replace("answer(null)", 'answer("page 3")')
    if not intact:
        page.route("**/untrackable-*.js", lambda route: changed(route))
    page.goto(asking.application)
    if intact:
        page.set_content(lines)
        page.wait_for_function(f"async () => Object.keys(await ({KEPT})()).includes('{asked.id}')")
        assert complaints == []
    else:
        with page.expect_console_message(lambda message: "integrity" in message.text):
            page.set_content(lines)
        assert page.evaluate(KEPT) == {}
