"""What the browser's client refuses, with clear words and without sending anything twice; and what it keeps."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Route

from tests.browser.drawn_turns import moment_of, report_of, turn_of
from tests.browser.people import Asking, force, posted, refusal
from tests.browser.questions import question
from tests.browser.test_rounds import sent
from untrackable.encodings.encoding import Presence
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Present
from untrackable.protocol.campaign import Campaign, Guarantee

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
    found = asking.ask(question())
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
    asking.load(page, asked, eps=1.9)
    words = refusal(page, "client.answer('page 3')")
    assert words.endswith("privacy budget: with all others it needs eps 2, and the policy allows 1.9")
    asking.load(page, asked, turns_a_year=0)
    assert "allows 0 turns" in refusal(page, "client.answer('page 3')")
    with pytest.raises(Exception, match="perhaps delta, turns_a_year and relays"):
        asking.load(page, asked, recognition=1)
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id}
    every_round = asking.ask(replace(asked, turns=None, guarantee=Guarantee(eps=99)))
    asking.load(page, every_round)
    assert "only the full package may join it" in refusal(page, "client.answer('page 3')")
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id, every_round.id}
    page.evaluate("client.leave()")
    asking.load(page, asked)
    asking.join(asked, page)
    # A second campaign would spend the same again: the ledger is one for all campaigns of the origin.
    second = asking.ask(replace(asked, question="And second?", first_round=asked.ends or 0))
    asking.load(page, second)
    assert "it needs eps 4, and the policy allows 2" in refusal(page, "client.answer('page 3')")
    asking.load(page, second, eps=4)
    assert "allows more than the stored one" in refusal(page, "client.answer('page 3')")
    page.evaluate("() => allow({ eps: 17 })")
    asking.load(page, second, eps=17, turns_a_year=5)
    assert "allows more than the stored one" in refusal(page, "client.answer('page 3')")
    # Only one turn at a time, whether the other one is over or not.
    at_once = asking.ask(replace(second, first_round=second.first_round - 1))
    for _ in range(2):
        asking.load(page, at_once, eps=17)
        assert "as a set" in refusal(page, "client.answer('page 3')")
        asking.load(page, asked)
        page.evaluate("client.leave()")
    asking.load(page, second, eps=17)
    asking.join(second, page)
    assert set(page.evaluate(KEPT)) == {"ledger", second.id, at_once.id}
    assert asking.complaints == []


def test_refusals_are_remembered(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """With an empty ledger. Only another policy of the page has the campaign fetched again."""
    page = asking.page(context, asked, eps=1.9)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))

    def fetched(campaign: str = asked.id) -> int:
        return sum(url.endswith(f"/campaigns/{campaign}") for url in urls)

    for _ in range(3):
        assert "the policy allows 1.9" in refusal(page, "client.answer('page 3')")
        assert "the policy allows 1.9" in refusal(page, "client.used()")
        asking.load(page, asked, eps=1.9)
    assert fetched() == 1
    found = json.loads(page.evaluate(KEPT)[asked.id])
    assert page.evaluate(KEPT).keys() == {"ledger", asked.id}
    assert page.evaluate(KEPT)["ledger"] == '{"accounts":{}}'
    assert found.keys() == {"campaign", "refused", "page"}
    assert found["campaign"] == ""
    asking.load(page, asked)
    assert page.evaluate("client.answer('page 3')") == "not yet"
    assert fetched() == 2

    # Lowering the policy for a while loses nothing.
    asking.clock.now = asked.begins(2)
    asking.load(page, asked, eps=1.9)
    assert "the policy allows 1.9" in refusal(page, "client.answer('page 3')")
    asking.load(page, asked)
    force(page, asked, 4)
    assert page.evaluate("client.answer('page 3')") == "kept"
    assert json.loads(page.evaluate(KEPT)[asked.id]).keys() == {
        "campaign",
        *("life", "key", "fresh", "turn", "value"),
    }
    assert fetched() == 2


Said = dict[str, Any] | str
"""What a server answers; or what happens instead."""


def replying(replies: list[Said]) -> Callable[[Route], None]:
    """Answers in turn."""

    def reply(route: Route) -> None:
        said = replies.pop(0)
        if said == "continue":
            route.continue_()
        elif said == "abort":
            route.abort()
        elif isinstance(said, dict):  # Else it hangs.
            headers = {"access-control-allow-origin": "*", **said.get("headers", {})}
            route.fulfill(**{**said, "headers": headers})

    return reply


def test_servers_that_fail(browser: Browser, asking: Asking, asked: Campaign) -> None:
    """Retries have the same bytes and end; a refusal is final; redirects are not followed; garbage is ignored."""
    cases: list[tuple[list[Said], str]] = [
        (
            [{"status": 503}, {"status": 500}, {"status": 429, "headers": {"retry-after": "1"}}, "continue"],
            "accepted",
        ),
        (["hang"] * 6, "given up"),
        ([{"status": 503}] * 6, "given up"),
        ([{"status": 400}], "refused"),
        ([{"status": 302, "headers": {"location": asking.server}}], "refused"),
        (["abort", "abort", {"status": 200, "body": "\0garbage"}], "accepted"),
        ([{"status": 599, "body": "<html>"}, {"status": 204}], "accepted"),
    ]
    for answers, outcome in cases:
        context = browser.new_context()
        page = asking.page(context, asked)
        asking.join(asked, page, turn=2)
        bodies, replies = posted(page), list(answers)
        page.route("**/reports", replying(replies))
        page.evaluate("patience => { window.patience = patience }", 50 if "hang" in answers else 60_000)
        asking.late_in(asked, 2, page)
        assert sent(page) == outcome
        assert (len(bodies), len(set(bodies))) == (len(answers), 1)
        assert page.evaluate(KEPT).keys() == {"ledger"}
        asking.load(page, asked)
        assert sent(page) == "nothing"
        assert len(bodies) == len(answers)
        context.close()
    assert asking.counted(asked, 2) == 1


def test_ids_that_are_none(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = asking.page(context, asked)
    for wrong in ("", "0" * 63, "G" * 64, asked.id.upper()):
        assert "campaign must be an id" in refusal(page, f"(async () => made('{wrong}', {{ eps: 1 }}))()")


def test_storage_that_is_full_when_a_report_is_due(
    context: BrowserContext, asking: Asking, asked: Campaign
) -> None:
    """A report that cannot be stored is not sent. Once there is room, it is, once."""
    page = asking.page(context, asked)
    asking.join(asked, page, turn=1)
    bodies = posted(page)
    asking.late_in(asked, 1, page)
    page.evaluate("""() => {
        window.put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = () => { throw new DOMException("", "QuotaExceededError") };
    }""")
    assert "storage does not work (QuotaExceededError)" in refusal(page, "client.send()")
    assert bodies == []
    page.evaluate("() => { IDBObjectStore.prototype.put = window.put }")
    assert sent(page) == "accepted"
    assert sent(page) == "nothing"
    assert len(bodies) == 1
    assert asking.counted(asked, 1) == 1


def test_frames_and_browsers_without_storage(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    page = context.new_page()
    page.goto(asking.application.replace("localhost", "127.0.0.1"))
    page.evaluate("address => { document.body.innerHTML = `<iframe src=${address}></iframe>` }", asking.application)
    while len(page.frames) < 2 or not page.frames[1].url.startswith(asking.application):
        page.wait_for_timeout(20)
    frame: Any = page.frames[1]
    frame.wait_for_load_state()
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
    """Without consent, nothing is kept, fetched or sent."""
    page = asking.page(context, asked)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    made = f"made('{asked.id}', {{ eps: 2 }}, MORE)"
    for more in ("{ consent: undefined }", "{ consent: () => false }", "{ consent: async () => 'yes' }"):
        assert page.evaluate(f"{made.replace('MORE', more)}.answer('page 3')") == "no consent"
        assert page.evaluate(f"{made.replace('MORE', more)}.used()") == "no consent"
        assert page.evaluate(f"{made.replace('MORE', more)}.send()") == "no consent"
    assert urls == []
    assert page.evaluate(KEPT) == {}


@pytest.mark.parametrize("signal", ["globalPrivacyControl: true", 'doNotTrack: "1"'])
def test_people_who_do_not_want_to_be_tracked(
    context: BrowserContext, asking: Asking, asked: Campaign, signal: str
) -> None:
    """Their browser says so: then nothing is stored, looked up or sent, whatever they agreed to before."""
    page = asking.page(context, asked)
    asking.join(asked, page, turn=2)
    kept = page.evaluate(KEPT)
    asking.late_in(asked, 2, page)
    page.evaluate(
        f"() => {{ for (const [name, value] of Object.entries({{ {signal} }}))"
        " Object.defineProperty(navigator, name, { value, configurable: true }) }"
    )
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.evaluate(
        "() => { window.opened = 0; const open = indexedDB.open.bind(indexedDB);"
        " indexedDB.open = (...given) => (opened++, open(...given)) }"
    )
    assert page.evaluate("client.answer('page 4')") == "no consent"
    assert page.evaluate("client.used()") == "no consent"
    assert page.evaluate("client.due()") is None
    assert page.evaluate("client.report()") is None
    assert sent(page) == "no consent"
    assert page.evaluate("client.run().then(() => 'over')") == "over"
    assert page.evaluate("allow({ eps: 9 }).then(() => 'over')") == "over"
    assert page.evaluate("opened") == 0
    assert urls == []
    assert page.evaluate(KEPT) == kept

    # Without the signal, the page does all of this: the report was not lost either.
    asking.load(page, asked)
    assert sent(page) == "accepted"
    assert asking.counted(asked, 2) == 1


@pytest.mark.parametrize("value", ["0", "unspecified", None])
def test_no_wish_is_no_objection(
    context: BrowserContext, asking: Asking, asked: Campaign, value: str | None
) -> None:
    page = asking.page(context, asked)
    page.evaluate("value => Object.defineProperty(navigator, 'doNotTrack', { value })", value)
    assert page.evaluate("client.answer('page 3')") == "not yet"


def test_without_a_turn_only_done_is_kept_however_early(context: BrowserContext, asking: Asking) -> None:
    asked = asking.ask(question(share="1/10"))
    page = asking.page(context, asked)
    for rounds, outcome in ((4, "not yet"), (3, "done")):
        asking.clock.now = asked.first_round - rounds * asked.round_seconds
        asking.at(page)
        force(page, asked, None)
        assert page.evaluate("client.answer('page 3')") == outcome
    kept = page.evaluate(KEPT)
    assert list(kept) == ["ledger"]
    assert json.loads(kept["ledger"])["accounts"][asked.id]["done"] is True


def test_what_is_kept(context: BrowserContext, asking: Asking, asked: Campaign) -> None:
    """First that it was seen, then the turn and the value, then the report, and at the end what was spent."""
    page = asking.page(context, asked)
    asked_for: list[str] = []
    page.expose_function("persisted", lambda: asked_for.append("persistent storage"))
    page.evaluate("() => { navigator.storage.persist = async () => { await persisted() } }")

    def kept() -> dict[str, Any]:
        return {key: json.loads(found) for key, found in page.evaluate(KEPT).items()}

    document = asked.to_bytes().decode()
    assert page.evaluate("client.answer('page 3')") == "not yet"
    assert page.evaluate("client.answer('page 4')") == "not yet"
    policy = {"eps": 2, "delta": 0, "turns_a_year": 4, "relays": []}
    assert kept() == {"ledger": {"accounts": {}, "policy": policy}, asked.id: {"campaign": document, "seen": 0}}
    assert asked_for == []
    page.evaluate("client.leave()")
    assert kept() == {"ledger": {"accounts": {}, "policy": policy}}

    asking.join(asked, page, turn=3)
    assert asked_for == ["persistent storage"]
    account = {"eps": 2, "first": asked.first_round, "end": asked.ends, "done": False}
    found = kept()
    assert found["ledger"]["accounts"] == {asked.id: account}
    assert len(f"{int(found[asked.id].pop('life')):x}") > 20
    key = bytes(found[asked.id].pop("key").values())
    assert turn_of(asked, key) == 3
    assert page.evaluate("client.due()") == pytest.approx(moment_of(asked, key, 3), abs=1e-5)
    assert found[asked.id] == {"campaign": document, "turn": 3, "fresh": {}, "value": "3"}
    asking.late_in(asked, 2, page)
    assert page.evaluate("client.answer('page 3')") == "kept"
    assert kept()[asked.id]["fresh"] == {}
    assert page.evaluate("client.answer('page 7')") == "kept"
    assert kept()[asked.id]["value"] == "7"
    fresh = bytes(kept()[asked.id]["fresh"].values())
    assert len(fresh) == 32
    assert page.evaluate("client.report()") is None

    asking.late_in(asked, 3, page)
    body = page.evaluate("async () => [...await client.report()]")
    assert bytes(body) == report_of(asked, key, 3, 7, fresh)
    found = kept()
    sealed = found[asked.id].pop("sealed")
    assert found[asked.id] == {"campaign": document, "turn": 3}
    assert (sealed["since"], sealed["tries"], list(sealed["body"].values())) == (None, 0, body)
    assert found["ledger"]["accounts"] == {asked.id: {**account, "done": True}}
    asking.clock.now = asked.begins(4)
    asking.at(page)
    assert page.evaluate("client.due()") is None  # The round is over, so it is not sent.
    assert kept() == {"ledger": {"accounts": {asked.id: {**account, "done": True}}, "policy": policy}}
    assert asking.complaints == []


def test_leaving_and_rejoining_gives_no_second_turn(
    context: BrowserContext, asking: Asking, asked: Campaign
) -> None:
    page = asking.page(context, asked)
    asking.join(asked, page, turn=2)
    page.evaluate("() => client.leave()")
    kept = page.evaluate(KEPT)
    assert set(kept) == {"ledger"}
    assert json.loads(kept["ledger"])["accounts"][asked.id]["done"] is True
    for round in range(1, 5):
        asking.late_in(asked, round, page)
        assert page.evaluate("client.answer('page 4')") == "done"
        assert sent(page) == "nothing"
    assert page.evaluate(KEPT) == kept
    asking.clock.now = asked.first_round - 100  # A clock that is put back changes nothing.
    asking.at(page)
    assert page.evaluate("client.answer('page 4')") == "done"
    assert page.evaluate("client.due()") is None


def test_a_campaign_without_a_later_round_is_not_joined(
    context: BrowserContext, asking: Asking, asked: Campaign
) -> None:
    page = asking.page(context, asked)
    for round, outcome in ((3, "not yet"), (4, "over: no later round"), (9, "over: no later round")):
        asking.late_in(asked, round, page)
        assert outcome in (refusal(page, "client.answer('page 3')") or page.evaluate("client.answer('page 3')"))
    assert json.loads(page.evaluate(KEPT)["ledger"])["accounts"] == {}


def test_days_of_use(context: BrowserContext, asking: Asking) -> None:
    """On how many of the last 28 days something was used; the days stay on the device until the report is made."""
    base, encoding = NoisyInnerProduct(bits=5, eps=2.0), IntegerRange(low=0, high=28)
    asked = asking.ask(question(base, encoding, round_seconds=86400, rounds=90))
    page = asking.page(context, asked)
    found = []
    for day in (0, 0, 1, 5, 27, 28, 29, 40):
        asking.clock.now = asked.first_round - 100 + day * 86400
        asking.at(page)
        force(page, asked, 60)
        assert page.evaluate("client.used()") == ("kept" if day else "not yet")
        if day:
            found.append(json.loads(page.evaluate(KEPT)[asked.id])["value"])
    assert found == ["2", "3", "4", "4", "4", "4"]
    assert len(json.loads(page.evaluate(KEPT)[asked.id])["days"]) == 4
    asking.late_in(asked, 60, page)
    assert sent(page) == "accepted"
    assert page.evaluate("client.used()") == "done"
    assert set(page.evaluate(KEPT)) == {"ledger"}
    assert asking.complaints == []


def test_a_use_counts_people(context: BrowserContext, asking: Asking) -> None:
    """Without an answer, and without days."""
    asked = asking.ask(question(Present(), Presence()))
    page = asking.page(context, asked)
    for seconds, outcome in ((asked.round_seconds + 100, "not yet"), (100, "kept")):
        asking.clock.now = asked.first_round - seconds
        asking.at(page)
        force(page, asked, 2)
        assert page.evaluate("client.used()") == outcome
        assert "days" not in json.loads(page.evaluate(KEPT)[asked.id])
    asking.late_in(asked, 2, page)
    assert sent(page) == "accepted"
    assert asking.counted(asked, 2) == 1
