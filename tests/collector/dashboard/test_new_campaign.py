"""New campaigns: plans in the words of the command, a preview of the exact document, and its creation."""

import datetime
import gc
import html
import re
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.collector.dashboard.visitors import Visitor, visiting
from tests.collector.samples import answers, sealed
from tests.collector.servers import SETTINGS
from untrackable import Bit, Buckets, Categories, HashedStrings
from untrackable.collector.closing import close_round
from untrackable.collector.dashboard.campaign_form import Asked, empty_form
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed, WorkOutdated
from untrackable.collector.dashboard.new_campaign import show_campaign, show_plan
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
from untrackable.display.campaign import held_words
from untrackable.display.plan import caption, verdict
from untrackable.encodings import Choices, Record
from untrackable.errors import StoreUnavailable
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.planning.goals import Goals
from untrackable.planning.plan import plan
from untrackable.protocol.campaign import Campaign, HoldingRelay
from untrackable.theory.crowd import MARGIN, fewest_likely_reports
from untrackable.theory.turns import Turns

GOALS = Goals(people=10**5, encoding=Bit(), rounds=4, eps=2.0, looks=1)
QUESTION = 'Do you <smoke> & "drink"?'


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Somebody who signed in. The tests of this module share one collector, so that a plan is made once."""
    folder = tmp_path_factory.mktemp("new")
    with visiting(open_store(f"sqlite:///{folder}/store.db")) as result:
        result.sign_in()
        yield result


def fields(visitor: Visitor, **others: str) -> dict[str, str]:
    first = empty_form(visitor.clock.now).typed
    return {**first, "kind": "yes-no", "rounds": "4", "question": QUESTION, **others}


def previewed(visitor: Visitor) -> dict[str, str]:
    """The form that a preview has for creating the campaign."""
    answer = visitor.post("/new/preview", **fields(visitor))
    assert answer.status_code == 200
    return hidden(answer)


def hidden(answer: httpx.Response) -> dict[str, str]:
    matches = re.findall(
        r'<input type="hidden" name="([^"]+)" value="([^"]*)">', answer.text.split("/new/create")[1]
    )
    return {name: html.unescape(text) for name, text in matches}


def test_the_plan_is_the_one_that_the_command_prints(manager: Visitor) -> None:
    answer = manager.post("/new", **fields(manager))
    assert answer.status_code == 200
    shown = html.unescape(answer.text)
    best = plan(goals=GOALS)
    for sentence in verdict(best):
        assert sentence in shown
    assert caption(best)[1:] in shown
    assert "untrackable plan --values 2 --people 100000 --rounds 4 --eps 2" in shown
    live = manager.post("/new/results", **fields(manager)).json()
    assert (live["errors"], live["computing"]) == ({}, False)
    assert verdict(best)[0] in html.unescape(live["html"])


def test_nothing_usable_is_said_first_with_the_nearest_changes() -> None:
    goals = Goals(people=100, encoding=Bit(), rounds=4, eps=1.0, looks=1)
    best = show_plan(goals)
    assert not best["usable"]
    assert best["verdict"][0].startswith("Not met.")
    enough = next(int(change.value) for change in plan(goals=goals).changes if change.goal == "people")
    assert f"people={enough:,}".replace(",", "%2C") in [use for _, use in best["changes"]]
    assert show_plan(goals.replace(people=enough))["usable"]


def test_what_is_typed_is_kept_whatever_happens(manager: Visitor) -> None:
    wrong = fields(manager, protection="other", eps="lots", names="a\nb", rounds="4.5")
    for path, given in (("/new", wrong), ("/new/preview", wrong), ("/new", fields(manager, margin="9"))):
        answer = manager.post(path, **given)
        assert answer.status_code == 422
        assert "need another look" in answer.text or "One field needs" in answer.text
        assert html.escape(QUESTION, quote=False)[:10] in answer.text
        for name in ("question", "eps", "rounds", "first", "margin"):
            assert f'value="{html.escape(given[name], quote=True).replace("&quot;", "&#34;")}"' in answer.text
    assert manager.post("/new/results", **wrong).json()["errors"] == {
        "eps": "Eps must be a number, such as 0.01.",
        "rounds": "Rounds must be a whole number.",
    }


def test_without_a_session_or_its_token_nothing_is_computed_and_nothing_lost(manager: Visitor) -> None:
    for path in ("/new", "/new/preview", "/new/create"):
        answer = manager.post(path, "0" * 64, **fields(manager))
        assert "You have signed in again" in answer.text
        assert "Do you &lt;smoke&gt;" in answer.text
    kept = manager.http.cookies.get("untrackable")
    manager.http.cookies.clear()
    answer = manager.post("/new", **fields(manager))
    assert "Your session is over" in answer.text
    assert "Do you &lt;smoke&gt;" in answer.text
    manager.http.cookies.set("untrackable", str(kept), domain="localhost.local", path="/")
    assert manager.is_signed_in()


def test_the_preview_is_the_exact_document(manager: Visitor) -> None:
    answer = manager.post("/new/preview", **fields(manager))
    document = hidden(answer)["document"]
    result = Campaign.from_bytes(document.encode())
    assert result.question == QUESTION
    assert (result.rounds, result.round_seconds) == (4, 7 * 86400)
    assert html.escape(document, quote=False) in answer.text.replace("&#34;", '"').replace("&#39;", "'")
    assert f'<code class="id">{result.id}</code>' in answer.text
    shown = html.unescape(answer.text)
    asked = Asked(GOALS, QUESTION, result.first_round, result.round_seconds)
    words = show_campaign(asked, None)
    assert words["id"] == result.id
    assert all(sentence in shown for sentence in (*words["guarantee"], words["schedule"], words["accuracy"][1:]))
    assert "100,000 people" in words["accuracy"]
    assert words["in_pages"]
    assert "It asks each visitor first" in shown


def test_the_campaign_is_created_as_it_was_previewed(manager: Visitor) -> None:
    form = previewed(manager)
    id = Campaign.from_bytes(form["document"].encode()).id
    answer = manager.http.post("/new/create", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/view/{id}?done=created")
    stored = manager.store.campaign(id)
    assert stored is not None
    assert (stored.document.decode(), stored.published) == (form["document"], False)
    manager.http.post("/new/create", data={**form, "published": "on"})
    again = manager.store.campaign(id)
    assert again is not None
    assert again.published


def test_a_campaign_that_cannot_be_created(manager: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    form = previewed(manager)
    count = len(manager.store.campaigns())
    declared = form["document"].replace('"guarantee":{"eps":2}', '"guarantee":{"eps":0.5}')
    assert declared != form["document"]
    for document, told in (
        ("{}", "was not created"),
        ("", "was not created"),
        (declared, "was not created: "),
    ):
        answer = manager.http.post("/new/create", data={**form, "document": document})
        assert answer.status_code == 422
        assert told in answer.text
        assert "Do you &lt;smoke&gt;" in answer.text
    before = manager.clock.now
    manager.clock.now += 9 * 86400
    manager.sign_in()
    late = manager.http.post("/new/create", data={**form, "token": manager.token()})
    assert "its first round is over already" in late.text
    assert "would be over already" in late.text
    manager.clock.now = before
    manager.sign_in()

    def full(*_: object) -> None:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(manager.store, "add_campaign", full)
    other = form["document"].replace("smoke", "SMOKE")
    unavailable = manager.http.post("/new/create", data={**form, "token": manager.token(), "document": other})
    assert "store is full or not available" in unavailable.text
    assert "Do you &lt;smoke&gt;" in unavailable.text
    assert len(manager.store.campaigns()) == count


def test_a_crowd_needs_a_gateway(manager: Visitor) -> None:
    answer = manager.post("/new/preview", **fields(manager, relay="on"))
    assert "opens no sealed reports" in answer.text


def test_a_campaign_for_a_crowd(tmp_path: Path) -> None:
    keys = tmp_path / "gateway.keys"
    write_keys(keys, GatewayKeys().with_list(2, 30))
    settings = type(SETTINGS)(minimum_reports=10, sweep=3600.0, gateway_keys=keys)
    with visiting(open_store(f"sqlite:///{tmp_path}/store.db"), settings=settings) as visitor:
        visitor.sign_in()
        answer = visitor.post("/new/preview", **fields(visitor, relay="on", people="10,000"))
        assert answer.status_code == 200
        form = hidden(answer)
        made = Campaign.from_bytes(form["document"].encode())
        assert made.gateway is not None
        assert made.guarantee.crowd is not None
        assert "It must name a relay that the visitor trusts." in answer.text
        assert made.guarantee.crowd.reports == fewest_likely_reports(10_000, made.chance * (1 - MARGIN))
        assert visitor.http.post("/new/create", data=form).status_code == 303


def test_a_campaign_whose_reports_a_relay_holds(tmp_path: Path) -> None:
    """Its plan, its preview, its document and its page say which relay, and when it releases reports."""
    keys, relay = tmp_path / "gateway.keys", "https://relay.example/gateways/study"
    write_keys(keys, GatewayKeys().with_list(2, 30))
    settings = type(SETTINGS)(minimum_reports=10, sweep=3600.0, gateway_keys=keys)
    with visiting(open_store(f"sqlite:///{tmp_path}/store.db"), settings=settings) as visitor:
        visitor.sign_in()
        held = {"relay": "on", "hold_at": relay, "release_after": "90", "release_unit": "minutes"}
        typed = fields(visitor, people="10,000", **held)
        ends = empty_form(visitor.clock.now).typed["first"]
        first = int(datetime.datetime.fromisoformat(f"{ends}+00:00").timestamp()) + 7 * 86400
        said = held_words(HoldingRelay(relay, 5400), first)
        assert "90 minutes after the end of the round; those of the first round on" in said
        for shown in (visitor.post("/new", **typed).text, visitor.post("/new/results", **typed).json()["html"]):
            assert said in html.unescape(shown)
        answer = visitor.post("/new/preview", **typed)
        assert said in html.unescape(answer.text)
        assert "This needs a relay that is started with `--release-every 1800`" in html.unescape(answer.text)
        assert "It must name the relay." in answer.text
        form = hidden(answer)
        made = Campaign.from_bytes(form["document"].encode())
        assert made.relay == HoldingRelay(relay, 5400)
        assert (form["hold_at"], form["release_after"], form["release_unit"]) == (relay, "90", "minutes")
        created = visitor.http.post("/new/create", data=form)
        assert said in html.unescape(visitor.http.get(created.headers["location"]).text)
        plain = visitor.post("/new", **fields(visitor, relay="on", people="10,000")).text
        assert "holds the reports of a round" not in html.unescape(plain)
        wrong = visitor.post("/new/preview", **fields(visitor, **{**held, "hold_at": "relay"}))
        assert 'name="hold_at" type="url" value="relay"' in wrong.text
        assert 'aria-invalid="true"' in wrong.text.split('id="hold_at"')[1].split(">")[0]


def test_a_fresh_salt_for_hashed_texts() -> None:
    goals = Goals(people=10**7, encoding=HashedStrings(bits=4, salt=bytes(16), longest=20), rounds=1, eps=2.0)
    documents = [show_campaign(Asked(goals, "Which?", 2_000_000_000, 86400), None)["document"] for _ in range(2)]
    salts = {Campaign.from_bytes(text.encode()).encoding.to_json()["salt"] for text in documents}
    assert len(salts) == 2
    assert "0" * 32 not in salts


def test_slow_computations_are_said_and_lose_nothing(manager: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.dashboard.new_campaign._WAIT_SECONDS", 0.0)
    monkeypatch.setattr(HeavyWork, "submit", lambda *_, **__: Future())
    answer = manager.post("/new", **fields(manager, people="999,999"))
    assert "Still computing" in answer.text
    assert 'value="999,999"' in answer.text
    assert "data-again>" in manager.post("/new/preview", **fields(manager)).text
    assert manager.post("/new/results", **fields(manager)).json() == {"errors": {}, "computing": True, "html": ""}


@pytest.mark.parametrize("outdated", [True, False])
def test_a_question_that_a_newer_one_replaced_is_asked_again(
    manager: Visitor, monkeypatch: pytest.MonkeyPatch, outdated: bool
) -> None:
    stopped: Future[None] = Future()
    if outdated:
        stopped.set_exception(WorkOutdated("another job is wanted"))
    else:
        stopped.cancel()
        stopped.set_running_or_notify_cancel()
    monkeypatch.setattr(HeavyWork, "submit", lambda *_, **__: stopped)
    assert manager.post("/new/results", **fields(manager)).json()["computing"]


def test_tabs_do_not_stop_each_other(manager: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    askers = []

    def submit(self: HeavyWork, *_: object, asker: str) -> Future[None]:
        askers.append(asker)
        stopped: Future[None] = Future()
        stopped.set_exception(WorkFailed("no"))
        return stopped

    monkeypatch.setattr(HeavyWork, "submit", submit)
    for tab in ("1", "2", "1"):
        manager.post("/new/results", **fields(manager, tab=tab))
    manager.post("/new", **fields(manager))
    manager.sign_in()
    manager.post("/new/results", **fields(manager, tab="1"))
    assert askers[0] == askers[2]
    assert len(set(askers)) == 4


def test_a_failed_computation_is_said(manager: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise WorkFailed("it took too long or needed too much memory")

    monkeypatch.setattr(HeavyWork, "submit", fail)
    answer = manager.post("/new", **fields(manager))
    assert "It took too long or needed too much memory." in answer.text
    assert "It took too long" in manager.post("/new/results", **fields(manager)).json()["html"]
    assert "It took too long" in manager.post("/new/preview", **fields(manager)).text


def test_a_job_that_expires_after_its_page_was_sent_logs_nothing(
    manager: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No traceback of an error that nobody looked at."""
    late: list[Future[None]] = []

    def submit(*_: object, **__: object) -> Future[None]:
        late.append(Future())
        return late[-1]

    monkeypatch.setattr("untrackable.collector.dashboard.new_campaign._WAIT_SECONDS", 0.0)
    monkeypatch.setattr(HeavyWork, "submit", submit)
    assert manager.post("/new/results", **fields(manager)).json()["computing"]
    late.pop().set_exception(WorkFailed("it took too long or needed too much memory"))
    for _ in range(2):  # The collector's thread gets a turn, and then what nobody refers to is deleted.
        manager.get("/campaigns")
        gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


def created(visitor: Visitor, **others: str) -> tuple[Campaign, str]:
    """A campaign that somebody planned, previewed and created, and its preview."""
    typed = fields(visitor, people="10,000,000", **others)
    answer = visitor.post("/new/preview", **typed)
    assert answer.status_code == 200
    form = hidden(answer)
    for name, text in typed.items():
        assert form.get(name, "").splitlines() == text.splitlines()
    assert visitor.http.post("/new/create", data=form).status_code == 303
    return Campaign.from_bytes(form["document"].encode()), html.unescape(answer.text)


def test_any_number_of_a_list(manager: Visitor) -> None:
    names = {"kind": "choices", "names": "search\nexport to <b>\nshare"}
    made, shown = created(manager, **names, where="pages")
    assert made.encoding == Choices(names=["search", "export to <b>", "share"])
    assert made.turns == Turns(rounds=4, wipes=1)
    assert "The eps also holds if the client's stored data is deleted once" in shown
    plans = html.unescape(manager.post("/new", **fields(manager, people="1e7", **names)).text)
    assert "Ways to ask for the same" in plans
    assert "untrackable plan --choice search --choice 'export to <b>' --choice share --people 10000000" in plans


def test_a_record_of_attributes(manager: Visitor) -> None:
    attributes = "system: linux, mac\ndark: yes/no"
    made, shown = created(manager, kind="record", attributes=attributes, tables="dark\nsystem")
    assert made.encoding == Record(
        attributes={"system": Categories(names=["linux", "mac"]), "dark": Bit()}, tables=[("dark",), ("system",)]
    )
    assert "This holds as long as the client's stored data is not deleted." in shown
    assert "tables that can be told: dark; system" in shown


def test_goals_that_are_not_met_say_what_would_be_enough(manager: Visitor) -> None:
    typed = fields(manager, people="1,000", error="0.01")
    shown = html.unescape(manager.post("/new", **typed).text)
    assert "<strong>Not met." in shown
    uses = re.findall(r'<button class="change" name="use" value="([^"]+)">', shown)
    assert uses
    met = html.unescape(manager.post("/new", **typed, use=next(use for use in uses if "people" in use)).text)
    assert "Not met." not in met


def test_numbers_of_which_the_mean_is_published(manager: Visitor) -> None:
    """The page of such a campaign shows the mean, and no shares, which one noisy bit does not tell."""
    made, shown = created(manager, kind="buckets", buckets="0s:10s:5", want="mean")
    assert made.encoding == Buckets(edges=[0, 2, 4, 6, 8, 10], below="clamp", above="clamp", unit="s")
    assert "the mean, in hundredths of the range of numbers, is off by at most" in shown
    assert "shares are off" not in shown
    reports = answers(made.mechanism, [3] * 400)
    rows = np.array([list(body[5:]) for body in sealed(made, reports)], dtype=np.uint8)
    manager.store.add({Round(made.id, 1): rows})
    close_round(manager.store, made, 1)
    page = html.unescape(manager.get(f"/view/{made.id}").text)
    assert '<th scope="row">mean</th>' in page
    assert "These reports tell a mean, and no shares of single answers." in page
    assert "less frequent and not listed" not in page
    assert "tells the mean only" in page
    assert manager.get(f"/view/{made.id}/download.json").json()["values"] == []
    assert manager.get(f"/view/{made.id}/picture.svg").status_code == 200


def test_every_kind_of_question_keeps_what_is_typed(manager: Visitor) -> None:
    """Without a script, all fields are there, whichever kind is chosen."""
    given = fields(
        manager,
        kind="record",
        attributes="a: <x>, y\nb",
        tables="a, c",
        buckets='1:"2',
        want="quantiles",
        wipes="lots",
    )
    answer = manager.post("/new", **given)
    assert answer.status_code == 422
    assert ">\na: &lt;x&gt;, y\nb</textarea>" in answer.text
    assert ">\na, c</textarea>" in answer.text
    assert 'value="1:&#34;2"' in answer.text
    assert 'value="lots"' in answer.text
    assert '<option value="quantiles" selected>' in answer.text
    assert re.findall('id="(attributes|wipes)-error">[A-Z]', answer.text) == ["attributes", "wipes"]
