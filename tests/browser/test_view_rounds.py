"""People answer several things at once, and numbers, with real browsers; each of them counts exactly once."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.people import Asking, posted, refusal
from tests.browser.test_rounds import every_round
from tests.collector.samples import campaign
from untrackable.answers.question import Question
from untrackable.collector.stores.records import Round
from untrackable.encodings.bit import Bit
from untrackable.encodings.categories import Categories
from untrackable.encodings.choices import Choices
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.encodings.record import Record
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.protocol.campaign import Campaign, Guarantee

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PEOPLE = 10
ROUNDS = 2
FEATURES = Choices(names=["search", "export", "share"])
VISIT = Record(attributes={"browser": Categories(names=["Firefox", "Safari"], unknown="other"), "new": Bit()})
STARTS = Buckets(edges=[0, 50, 100, 200, 500, 1000, 2000, 5000], above="separate", unit="ms")
PERCENT = IntegerRange(low=0, high=100)
ANSWERS: list[tuple[Encoding, Any]] = [
    (FEATURES, [[], ["search"], ["share", "search"], list(FEATURES.names)]),
    (VISIT, [{"browser": "Safari", "new": True}, {"new": False, "browser": "Lynx"}]),
    (STARTS, [0, 49.9, 180, 5000, 60_000]),
    (PERCENT, [0, 33, 100]),
]
"""The questions, and what people answer in turn."""


def question(encoding: Encoding) -> Campaign:
    base: Any = OneBitMean(values=101, eps=2.0)
    if encoding.asked is not None:
        base = Views(bits=encoding.bits, views=encoding.asked.views, eps=2.0)
    elif encoding is STARTS:
        base = Views.prefixes(bits=encoding.bits, eps=2.0)
    promise = Guarantee(eps=4.0, delta=0.0, values="any", gamma=0.0, tracking_delta=0.0)
    return campaign(Dealt(base, ROUNDS), encoding=encoding, rounds=ROUNDS, question="What?", guarantee=promise)


def embedded(asking: Asking, context: BrowserContext, campaigns: list[Campaign]) -> Page:
    """A page with a client for each campaign, within one policy."""
    page = asking.page(context, campaigns[0])
    embed(page, campaigns)
    return page


def embed(page: Page, campaigns: list[Campaign]) -> None:
    policy = {"eps": 16, "delta": 1e-6, "crowd_eps": 16, "recognition": 1}
    page.evaluate(
        "([ids, policy]) => { window.clients = ids.map(id => made(id, policy)) }",
        [[asked.id for asked in campaigns], policy],
    )


def send_all(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "async () => { const found = []; for (const each of clients) found.push(await each.send()); return found }"
    )
    return found


def test_everybody_is_counted_once(browser: Browser, asking: Asking) -> None:
    """Estimates are those of the reports that were sent, for every kind of question."""
    campaigns = [asking.ask(question(encoding)) for encoding, _ in ANSWERS]
    asking.clock.now = campaigns[0].first_round - 100
    contexts = [browser.new_context() for _ in range(PEOPLE)]
    pages = [embedded(asking, context, campaigns) for context in contexts]
    for i, page in enumerate(pages):
        given = [answers[i % len(answers)] for _, answers in ANSWERS]
        script = "async given => { for (const i in given) await clients[i].answer(given[i]) }"
        page.evaluate(script, given)
    bodies = [posted(page) for page in pages]
    for number in range(1, ROUNDS + 1):
        asking.late_in(campaigns[0], number, *pages)
        for page in pages:
            assert send_all(page) == ["accepted"] * len(campaigns)
            assert send_all(page) == ["nothing"] * len(campaigns)
        if number == 1:
            # Somebody loads the page again and answers differently; another answer is refused.
            asking.load(pages[0], campaigns[0])
            embed(pages[0], campaigns)
            assert pages[0].evaluate("clients[0].answer(['export'])") is True
            words = refusal(pages[0], "clients[1].answer({ browser: 'Safari' })")
            assert words == "the answer lacks new"
            assert refusal(pages[0], "clients[0].answer('export')") == "the answer must be a list of names"
    for asked, column in zip(campaigns, range(len(campaigns)), strict=True):
        for number in range(1, ROUNDS + 1):
            sent = [page[(number - 1) * len(campaigns) + column] for page in bodies]
            check_estimate(asking, asked, number, [body for body in sent if body])
    assert asking.complaints == []
    for context in contexts:
        context.close()


def check_estimate(asking: Asking, asked: Campaign, number: int, bodies: list[bytes]) -> None:
    """The collector's estimate of a round is the one from these bodies, each counted once."""
    assert asking.counted(asked, number) == len(bodies) == PEOPLE
    sums = asked.mechanism.aggregator(number).add([int.from_bytes(body[21:], "little") for body in bodies])
    assert asking.store.sums(Round(asked.id, number)) == sums.to_bytes()
    shown = httpx.get(f"{asking.server}/campaigns/{asked.id}/rounds/{number}/estimate").json()
    estimate = Question(asked.mechanism, asked.encoding, unused_values=True).estimate(sums, 0.05)
    if asked.encoding is PERCENT:
        mean = estimate.mean()
        assert shown["numbers"]["mean"]["value"] == (pytest.approx(mean.value) if mean.tells else None)
        assert shown["numbers"]["mean"]["lower"] == pytest.approx(mean.lower)
    else:
        found = sorted(row["unclamped"] for row in shown["values"])
        assert found == pytest.approx(sorted(estimate.frequencies.tolist()))
    assert shown["reports"] == PEOPLE


def test_the_part_for_views_is_loaded_only_where_it_is_needed(browser: Browser, asking: Asking) -> None:
    """A plain campaign does without it. If it is changed on the way, nothing is sent and nothing is lost."""
    plain, asked = asking.ask(every_round()), asking.ask(question(FEATURES))
    context = browser.new_context()
    asking.clock.now = asked.first_round - 100
    page = asking.page(context, plain)
    urls: list[str] = []
    context.on("request", lambda request: urls.append(request.url))
    assert page.evaluate("client.answer('page 3')") is True
    assert any("/joining-" in url for url in urls)
    assert not any("/views-" in url for url in urls)
    embed(page, [asked])
    page.evaluate("limits => allow(limits)", {"eps": 16, "delta": 1e-6, "crowd_eps": 16, "recognition": 1})
    assert page.evaluate("clients[0].answer(['search'])") is True
    assert any("/views-" in url for url in urls)
    asking.late_in(asked, 1, page)
    asking.load(page, plain)
    embed(page, [asked])
    page.route("**/views-*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    assert refusal(page, "clients[0].send()") == "a part of the client cannot be loaded, or was changed"
    page.unroute("**/views-*.js")
    asking.load(page, plain)  # Some browsers try a part that failed once again only on a new page.
    embed(page, [asked])
    assert page.evaluate("clients[0].send()") == "accepted"
    assert asking.counted(asked, 1) == 1
    context.close()
