"""People answer several things at once, and numbers, with real browsers; each of them counts exactly once."""

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.people import Asking, posted, refusal
from tests.browser.questions import PERCENT, question
from untrackable.collector.store import Round
from untrackable.encodings.encoding import Bit, Categories, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets
from untrackable.encodings.record import Record
from untrackable.mechanisms.local import OneBitMean, Present, SubsetSelection
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PEOPLE = 10
FEATURES = Choices(names=["search", "export", "share"])
VISIT = Record(attributes={"browser": Categories(names=["Firefox", "Safari"], unknown="other"), "new": Bit()})
STARTS = Buckets(edges=[0, 50, 100, 200, 500, 1000, 2000, 5000], above="separate", unit="ms")
WEEKDAYS = Categories(names=["Monday", "Sunday", "another"])
ANSWERS: list[tuple[Encoding, Any]] = [
    (FEATURES, [[], ["search"], ["share", "search"], list(FEATURES.names)]),
    (VISIT, [{"browser": "Safari", "new": True}, {"new": False, "browser": "Lynx"}]),
    (STARTS, [0, 49.9, 180, 5000, 60_000]),
    (PERCENT, [0, 33, 100]),
    (WEEKDAYS, ["Sunday", "Monday"]),
    (Presence(), [True]),
]
"""The questions, and what people answer in turn."""


def about(encoding: Encoding, number: int) -> Campaign:
    """A campaign of one round of an hour, after those of smaller numbers."""
    base: Any = OneBitMean(values=101, eps=2.0)
    if encoding.asked is not None:
        base = Views(bits=encoding.bits, views=encoding.asked.views, eps=2.0)
    elif encoding is STARTS:
        base = Views.prefixes(bits=encoding.bits, eps=2.0)
    elif encoding is WEEKDAYS:
        base = SubsetSelection(values=3, eps=2.0)
    elif encoding.values == 1:
        base = Present()
    asked = question(base, encoding, rounds=1, question="What?")
    return replace(asked, first_round=asked.first_round + number * 10 * asked.round_seconds)


def embed(page: Page, asked: Campaign) -> None:
    """Let the client be one of this campaign."""
    policy = {"eps": 20, "turns_a_year": 9}
    page.evaluate("([id, policy]) => { window.client = made(id, policy) }", [asked.id, policy])


def test_everybody_is_counted_once(browser: Browser, asking: Asking) -> None:
    """For every kind of question, one campaign after another."""
    campaigns = [asking.ask(about(encoding, i)) for i, (encoding, _) in enumerate(ANSWERS)]
    contexts = [browser.new_context() for _ in range(PEOPLE)]
    pages = [asking.page(context, campaigns[0]) for context in contexts]
    for asked, (_, answers) in zip(campaigns, ANSWERS, strict=True):
        for seconds, outcome in ((asked.round_seconds + 100, "not yet"), (100, "kept")):
            asking.clock.now = asked.first_round - seconds
            asking.at(*pages)
            for i, page in enumerate(pages):
                embed(page, asked)
                given = answers[i % len(answers)]
                assert page.evaluate("given => client.answer(given)", given) == outcome
        if asked is campaigns[0]:
            assert pages[0].evaluate("client.answer(['export'])") == "kept"
            assert refusal(pages[0], "client.answer('export')") == "the answer must be a list of names"
        bodies = [posted(page) for page in pages]
        asking.late_in(asked, 1, *pages)
        for page in pages:
            assert page.evaluate("client.send()") == "accepted"
            assert page.evaluate("client.send()") == "nothing"
        check_sums(asking, asked, [body for (body,) in bodies if body])
    assert asking.complaints == []
    for context in contexts:
        context.close()


def check_sums(asking: Asking, asked: Campaign, bodies: list[bytes]) -> None:
    """The collector's sums are those of these bodies, each counted once."""
    assert asking.counted(asked, 1) == len(bodies) == PEOPLE
    sums = asked.mechanism.aggregator(1).add([int.from_bytes(body[21:], "little") for body in bodies])
    assert asking.store.sums(Round(asked.id, 1)) == sums.to_bytes()


def test_the_part_for_views_is_loaded_only_where_it_is_needed(browser: Browser, asking: Asking) -> None:
    """A plain campaign does without it. If it is changed on the way, nothing is sent and nothing is lost."""
    plain, asked = asking.ask(question(rounds=1)), asking.ask(about(FEATURES, 1))
    context = browser.new_context()
    page = asking.page(context, plain)
    urls: list[str] = []
    context.on("request", lambda request: urls.append(request.url))
    asking.join(plain, page)
    asking.late_in(plain, 1, page)
    assert page.evaluate("client.send()") == "accepted"
    assert not any("/views-" in url for url in urls)
    page.evaluate("() => allow({ eps: 20, turns_a_year: 9 })")
    embed(page, asked)
    for seconds in (asked.round_seconds + 100, 100):
        asking.clock.now = asked.first_round - seconds
        asking.at(page)
        page.evaluate("client.answer(['search'])")
    assert any("/views-" in url for url in urls)
    asking.late_in(asked, 1, page)
    asking.load(page, plain)
    embed(page, asked)
    page.route("**/views-*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    assert refusal(page, "client.send()") == "a part of the client cannot be loaded, or was changed"
    page.unroute("**/views-*.js")
    asking.load(page, plain)  # Some browsers try a part that failed once again only on a new page.
    embed(page, asked)
    assert page.evaluate("client.send()") == "accepted"
    assert asking.counted(asked, 1) == 1
    context.close()
