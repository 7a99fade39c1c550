"""The element that asks people, and one call for several campaigns: one policy, one consent, an answer to each."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.page_checks import serious_violations, too_wide
from tests.browser.people import Asking, posted, refusal
from tests.browser.questions import BEGIN, HOUR, question
from tests.browser.test_refusals import KEPT, changed
from untrackable.collector import browser as browser_client
from untrackable.encodings.encoding import Bit, Presence
from untrackable.mechanisms.local import Present, RandomizedResponse
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

TAKE_PART = """([server, file, policy, answers]) => import(file).then(({ takePart, used }) => {
    for (const id in answers) if (answers[id] == "used") answers[id] = used;
    window.outcomes = [];
    const told = (id, outcome) => outcomes.push(outcome);
    return takePart({ server, policy, answers, told, clock: () => window.now, ...window.more });
})"""
DRESSED = """slot => {
    document.documentElement.lang = "en";
    document.documentElement.style.colorScheme = "light dark";
    document.head.insertAdjacentHTML("beforeend", '<meta name=viewport content="width=device-width">');
    document.body.innerHTML = `<main><h1>An application</h1>${slot}</main>`;
}"""
ELEMENT = "<untrackable-consent></untrackable-consent>"


@pytest.fixture
def asked(asking: Asking) -> Campaign:
    asking.clock.now = BEGIN - HOUR - 100
    return asking.ask(question(wipes=1))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 1000, "height": 800})
    yield found
    found.close()


def opened(asking: Asking, context: BrowserContext, slot: str = ELEMENT) -> Page:
    """A page of the application."""
    page = context.new_page()
    page.on("console", lambda message: asking.complaints.append(message.text))
    page.on("pageerror", lambda error: asking.complaints.append(str(error)))
    page.goto(asking.application)
    page.evaluate(DRESSED, slot)
    asking.at(page)
    return page


def arguments(asking: Asking, answers: dict[str, Any], **policy: Any) -> list[Any]:
    name = next(name for name in browser_client.files() if name.startswith("untrackable-"))
    return [asking.server, f"{asking.server}/client/{name}", {"eps": 4, **policy}, answers]


def begin(page: Page, asking: Asking, answers: dict[str, Any], **policy: Any) -> None:
    """Take part, as far as the person's decision; its error, if any, is `failed`."""
    page.evaluate(
        f"given => {{ window.failed = ''; window.over = ({TAKE_PART})(given)"
        ".catch(error => { failed = error.message }).then(() => true) }",
        arguments(asking, answers, **policy),
    )


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def test_somebody_agrees(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """Nothing is kept before. They are asked once, and their report is sent in its turn."""
    page = opened(asking, context)
    bodies = posted(page)
    begin(page, asking, {asked.id: "page 3"})
    region = page.get_by_role("region", name="May we ask you once?")
    expect(region).to_be_visible()
    for words in ("Which page is yours?", "in one of 4 hours, drawn in secret", "factor of at most 54.6"):
        expect(region).to_contain_text(words)
    assert page.evaluate(KEPT) == {}
    assert page.evaluate("localStorage.length") == 0
    button(page, "Take part").click()
    expect(page.get_by_role("status")).to_have_text("Thank you. You take part.")
    assert page.evaluate("over")
    assert json.loads(page.evaluate("localStorage.untrackable")) == {asked.id: True}
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id}

    page = opened(asking, context)
    asking.clock.now = BEGIN - 100
    asking.at(page)
    begin(page, asking, {asked.id: "page 3"})
    assert page.evaluate("over")
    assert page.evaluate("document.querySelector('untrackable-consent').shadowRoot") is None
    assert json.loads(page.evaluate(KEPT)["ledger"])["accounts"].keys() == {asked.id}
    assert bodies == []
    assert asking.complaints == []


def test_somebody_refuses(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """They are not asked again, and but for their no, nothing is kept."""
    for attempt in range(2):
        page = opened(asking, context)
        begin(page, asking, {asked.id: "page 3"})
        if attempt == 0:
            button(page, "No").click()
            expect(page.get_by_role("status")).to_contain_text("Nothing is sent, and you are not asked again.")
        assert page.evaluate("over")
        assert page.evaluate("failed") == ""
        assert page.get_by_role("region").count() == 1 - attempt
        assert page.evaluate(KEPT) == {}
        assert page.evaluate("({ ...localStorage })") == {
            "untrackable": json.dumps({asked.id: False}, separators=(",", ":"))
        }
    assert asking.complaints == []


def test_a_decision_that_cannot_be_kept(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """It counts for nothing, and the person is told."""
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3"})
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('it is full') } }")
    button(page, "Take part").click()
    expect(page.get_by_role("status")).to_have_text("Nothing is sent: it is full.")
    assert page.evaluate("over")
    assert page.evaluate("failed") == "it is full"
    assert page.evaluate(KEPT) == {}


def test_keyboard_and_screen_reader(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """All buttons are reached in order; what is opened and what was decided gets the focus, and is announced."""
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3"})
    expect(button(page, "Take part")).to_be_visible()
    focused = "document.activeElement?.shadowRoot?.activeElement"
    assert page.evaluate(f"{focused}") is None  # Nobody's focus is taken.
    order = []
    for _ in range(3):
        page.keyboard.press("Tab")
        order.append(page.evaluate(f"{focused}.textContent"))
    assert order == ["Take part", "No", "What is sent?"]
    look = button(page, "What is sent?")
    assert look.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert look.get_attribute("aria-expanded") == "true"
    group = page.get_by_role("group", name="What is sent")
    expect(group).to_be_visible()
    expect(group).to_be_focused()
    body = bytes.fromhex(group.locator("code").inner_text())
    assert len(body) > 21
    expect(group).to_contain_text("It takes eps 4 of the 4 allowed for all campaigns together, and leaves 0.")
    look.press("Space")
    expect(group).to_be_hidden()
    button(page, "No").press("Enter")
    status = page.get_by_role("status")
    expect(status).to_be_focused()
    assert "Nothing is sent" in status.inner_text()
    assert asking.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("slot", [ELEMENT, ""])
def test_everybody_can_read_it(browser: Browser, asking: Asking, asked: Campaign, slot: str, scheme: Any) -> None:
    """On a desktop and a phone, within the page and above it; the buttons can be seen and hit."""
    second = asking.ask(question(RandomizedResponse(eps=1), Bit(), first_round=BEGIN + 10**7))
    for width, height in ((1100, 800), (390, 700)):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = opened(asking, context, slot)
        begin(page, asking, {asked.id: "page 3", second.id: True})
        expect(button(page, "Take part")).to_be_visible()
        for _ in range(2):
            assert serious_violations(page) == []
            assert not too_wide(page)
            for name in ("Take part", "No"):
                box = button(page, name).bounding_box()
                assert box["height"] >= 44
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
                if not slot:
                    assert box["y"] + box["height"] <= height
            sizes = [button(page, name).bounding_box() for name in ("Take part", "No")]
            assert sizes[0]["width"] == pytest.approx(sizes[1]["width"])
            styles = [
                button(page, name).evaluate(
                    "each => { const { color, font, background } = getComputedStyle(each);"
                    " return [color, font, background] }"
                )
                for name in ("Take part", "No")
            ]
            assert styles[0] == styles[1]  # A no is as easy as a yes.
            button(page, "What is sent?").click()
        context.close()
    assert asking.complaints == []


def test_pages_give_it_their_colours(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = opened(
        asking,
        context,
        '<untrackable-consent style="--untrackable-background: rgb(1, 2, 3);'
        ' --untrackable-color: rgb(250, 251, 252); --untrackable-radius: 7px"><p>Says the page.</p>'
        "</untrackable-consent>",
    )
    begin(page, asking, {asked.id: "page 3"})
    expect(button(page, "Take part")).to_be_visible()
    expect(page.get_by_text("Says the page.")).to_be_visible()
    style = "each => { const { backgroundColor, color, borderRadius } = getComputedStyle(each);"
    style += " return [backgroundColor, color, borderRadius] }"
    found = page.locator("untrackable-consent").evaluate(style)
    assert found == ["rgb(1, 2, 3)", "rgb(250, 251, 252)", "7px"]


def test_settings_let_people_stop(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """An element with that attribute is there after the decision too."""
    slot = "<untrackable-consent settings></untrackable-consent>"
    page = opened(asking, context, slot)
    begin(page, asking, {asked.id: "page 3"})
    button(page, "Take part").click()
    assert page.evaluate("over")
    asking.clock.now = BEGIN - 100
    page = opened(asking, context, slot)
    begin(page, asking, {asked.id: "page 3"})
    expect(page.get_by_role("region", name="You take part")).to_be_visible()
    assert button(page, "Take part").count() == 0
    button(page, "Stop").click()
    expect(page.get_by_role("status")).to_contain_text("Nothing is sent")
    assert json.loads(page.evaluate("localStorage.untrackable")) == {asked.id: False}
    assert page.evaluate(KEPT).keys() == {"ledger"}
    assert asking.complaints == []


def test_one_call_asks_about_several_campaigns(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """With one policy, whose eps is their sum. Later ones are asked about when they come."""
    second = asking.ask(question(Present(), Presence(), first_round=BEGIN + 4 * HOUR, eps=1))
    third = asking.ask(question(RandomizedResponse(eps=1), Bit(), first_round=BEGIN + 8 * HOUR))
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3", second.id: "used"}, eps=5)
    for words in ("(eps 4, upper)", "(eps 1, upper)"):
        expect(page.get_by_role("region")).to_contain_text(words)
    assert page.get_by_role("heading", name="Which page is yours?").count() == 2
    button(page, "Take part").click()
    assert page.evaluate("over")
    asking.clock.now = BEGIN - 100
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3", second.id: "used"}, eps=5)
    assert page.evaluate("over")
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3", second.id: "used", third.id: True}, eps=6)
    expect(page.get_by_role("region")).to_contain_text("(eps 1, upper)")
    assert page.get_by_role("heading", name="Which page is yours?").count() == 1
    # Those of before have gone on meanwhile, and a larger policy waits for a yes.
    assert len(json.loads(page.evaluate(KEPT)["ledger"])["accounts"]) == 2
    assert json.loads(page.evaluate(KEPT)["ledger"])["policy"]["eps"] == 5
    button(page, "Take part").click()
    assert page.evaluate("over")
    assert page.evaluate("failed") == ""
    assert json.loads(page.evaluate(KEPT)["ledger"])["policy"]["eps"] == 6
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id, second.id, third.id}
    accounts = json.loads(page.evaluate(KEPT)["ledger"])["accounts"]
    assert {name: each["eps"] for name, each in accounts.items()} == {asked.id: 4, second.id: 1}
    assert asking.complaints == []


def test_a_run_that_fails_is_begun_again(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """With the next yes of the person, and without a complaint that nobody handles."""
    page = opened(asking, context)
    begin(page, asking, {asked.id: "page 3"}, eps=5)
    button(page, "Take part").click()
    assert page.evaluate("over")
    asking.clock.now = BEGIN - 100
    other = asking.ask(question(RandomizedResponse(eps=1), Bit(), first_round=BEGIN + 4 * HOUR))
    page = opened(asking, context)
    page.evaluate(
        """() => {
            const wait = window.setTimeout.bind(window);
            window.failures = 0;
            window.setTimeout = (work, ms) => {
                if (ms < 60_000) return wait(work, ms);
                failures++;
                throw new Error("there is no timer");
            };
        }"""
    )
    begin(page, asking, {asked.id: "page 3", other.id: True}, eps=5)
    page.wait_for_function("window.failures == 1")
    button(page, "Take part").click()
    assert page.evaluate("over")
    page.wait_for_function("window.failures == 2")
    assert asking.complaints == []


def test_a_yes_is_also_one_to_a_larger_policy(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """Until then nothing is joined under it. Afterwards all campaigns are answered, also on this visit."""
    other = asking.ask(question(RandomizedResponse(eps=1), Bit(), first_round=BEGIN + 4 * HOUR))
    answers: dict[str, Any] = {asked.id: "page 3"}
    for eps in (4, 5):
        page = opened(asking, context)
        begin(page, asking, answers, eps=eps)
        expect(button(page, "Take part")).to_be_visible()
        kept = page.evaluate(KEPT)
        assert "ledger" not in kept or json.loads(kept["ledger"]) == {
            "accounts": {},
            "policy": {"eps": 4, "delta": 0, "turns_a_year": 4, "relays": []},
        }
        button(page, "Take part").click()
        assert page.evaluate("over")
        assert page.evaluate("failed") == ""
        asking.clock.now = BEGIN - 100
        answers[other.id] = True
    kept = page.evaluate(KEPT)
    assert json.loads(kept["ledger"])["policy"]["eps"] == 5
    assert json.loads(kept["ledger"])["accounts"].keys() == {asked.id}
    assert kept.keys() == {"ledger", asked.id, other.id}


def test_a_refused_campaign_does_not_stop_the_others(
    context: BrowserContext, asking: Asking, asked: Campaign
) -> None:
    """And its refusal is told in the end. A page's own question is asked instead of the element's."""
    at_once = asking.ask(question(first_round=BEGIN + 1, eps=0.5, base=RandomizedResponse(eps=0.5), encoding=Bit()))
    page = opened(asking, context, "")
    page.evaluate("() => { window.more = { consent: () => true } }")
    answers: dict[str, Any] = {asked.id: "page 3", at_once.id: "private"}
    assert "the answer must be true or false" in refusal(
        page, f"({TAKE_PART})({json.dumps(arguments(asking, answers, eps=9))})"
    )
    assert page.get_by_role("region").count() == 0
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id}
    assert page.evaluate("localStorage.length") == 0
    asking.clock.now = BEGIN - 100
    asking.at(page)
    answers[at_once.id] = True
    for _ in range(2):
        found = refusal(page, f"({TAKE_PART})({json.dumps(arguments(asking, answers, eps=9))})")
        assert "two would help to recognise the person" in found
    assert json.loads(page.evaluate(KEPT)["ledger"])["accounts"].keys() == {asked.id}


def test_nobody_is_asked_who_does_not_want_to_be_tracked(
    context: BrowserContext, asking: Asking, asked: Campaign
) -> None:
    page = opened(asking, context)
    page.evaluate("() => Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    begin(page, asking, {asked.id: "page 3"})
    assert page.evaluate("over")
    assert page.get_by_role("region").count() == 0
    assert [url for url in urls if "untrackable-" not in url] == []
    assert page.evaluate(KEPT) == {}
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("intact", [True, False])
def test_the_lines_to_copy(context: BrowserContext, asking: Asking, intact: bool) -> None:
    """They ask about all campaigns at once, once they have answers; a changed file does not run."""
    begin = int(time.time()) + 600
    asked = [asking.ask(question(first_round=begin + i * 4 * HOUR, question=f"Question {i}?")) for i in range(6)]
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    lines = browser_client.snippet(asked, asking.server).replace(": null,", ': "page 3",')
    page.goto(asking.application)
    if intact:
        page.set_content(lines)
        button(page, "Take part").click()
        expect(page.get_by_role("status")).to_have_text("Thank you. You take part.")
        assert page.evaluate(KEPT).keys() == {"ledger", *(each.id for each in asked)}
        assert complaints == []
    else:
        page.route("**/untrackable-*.js", lambda route: changed(route))
        with page.expect_console_message(lambda message: "integrity" in message.text):
            page.set_content(lines)
        assert page.get_by_role("region").count() == 0
        assert page.evaluate(KEPT) == {}


def test_lines_without_an_answer_complain(context: BrowserContext, asking: Asking) -> None:
    """So nobody publishes the example of a snippet, and nobody is asked."""
    asked = asking.ask(question(first_round=int(time.time()) + 600))
    page = context.new_page()
    page.goto(asking.application)
    with page.expect_event("pageerror") as complaint:
        page.set_content(browser_client.snippet([asked], asking.server))
    assert "the answer must be text" in str(complaint.value)
    assert page.get_by_role("region").count() == 0
