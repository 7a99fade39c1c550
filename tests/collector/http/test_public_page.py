"""The page at /: what people see, in a real browser too."""

import json
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.collector.rounds.test_small_rounds import crowded
from tests.collector.samples import DECK, answers, campaign, sealed
from tests.collector.servers import Collector, collecting, process
from tests.collector.stores.test_faults import on_now
from untrackable.brackets import Bracket
from untrackable.collector.http.management import create_campaign
from untrackable.collector.rounds.closing import close_round
from untrackable.collector.stores.records import Round, StoredCampaign
from untrackable.collector.stores.store import Store
from untrackable.collector.stores.store_address import open_store
from untrackable.display.campaign_words import end_words, guarantee_words
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.attendance import Attendance


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as found:
        yield found


def filled(store: Store, asked: Campaign, people: int = 40_000) -> None:
    """A closed round in which higher numbers are held by more people."""
    create_campaign(store, asked.to_bytes(), published=True)
    values = np.random.default_rng(5).choice(12, people, p=np.arange(1, 13) / 78)
    rows = np.array([list(body[5:]) for body in sealed(asked, answers(DECK, values))], dtype=np.uint8)
    store.add({Round(asked.id, 1): rows})
    close_round(store, asked, 1)


def test_nothing_yet(collector: Collector) -> None:
    response = collector.http.get("/")
    assert response.status_code == 200
    assert "There is no campaign yet." in response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    for name in ("default-src", "base-uri", "form-action", "frame-ancestors"):
        assert f"{name} 'none'" in policy


def test_campaign_guarantee_and_bars(collector: Collector) -> None:
    asked = campaign(question='Which <b>page</b> & "why"?')
    filled(collector.store, asked)
    text = collector.http.get("/").text
    assert "Which &lt;b&gt;page&lt;/b&gt; &amp; &#34;why&#34;?" in text
    assert asked.id in text
    assert "Reports of one person look exactly like reports of two people with the same answer (exact)." in text
    assert "People with different answers are hidden from each other only as far as the odds above say." in text
    assert "40,000 reports of round 1" in text
    assert text.count('class="whisker"') == 12
    estimate = DECK.aggregator().add_saved(collector.store.sums(Round(asked.id, 1)) or b"").estimate()
    assert f"{100 * estimate.frequencies[11]:.2f} %" in text
    outstanding = sum(each.stands_out for each in estimate.top(16) if each.value < 12)
    assert 0 < outstanding < 12
    assert text.count('<div class="bar" ') == text.count('class="number strong"') == outstanding
    assert text.count('<div class="bar pale" ') == 12 - outstanding
    assert "<script" not in text
    elsewhere = text.replace("https://testserver", "")  # It is in the lines to copy.
    assert "http://" not in elsewhere
    assert "https://" not in elsewhere


def test_attendance_and_who_the_reports_are_of(collector: Collector) -> None:
    """A page and the API say how often people answer; shares are of everybody."""
    declared = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0, recognition=0.0025)
    asked = campaign(guarantee=declared, attendance=Attendance(Fraction(1, 8)))
    filled(collector.store, asked)
    text = collector.http.get("/").text
    assert "Each person answers about one round in 8, as a secret coin decides." in text
    assert "about 320,000 people in a round (estimated)" in text
    found = collector.http.get(f"/campaigns/{asked.id}/guarantee").json()
    assert found["attendance"]["participation"] == "1/8"
    assert found["verified"]["recognition"]["upper"] <= 0.0025
    estimate = collector.http.get(f"/campaigns/{asked.id}/rounds/1/estimate").json()
    assert estimate["participation"] == "1/8"
    alone = DECK.aggregator().add_saved(collector.store.sums(Round(asked.id, 1)) or b"").estimate()
    first = estimate["values"][0]
    assert first["standard_error"] > alone.standard_error[first["value"]]


def test_a_verdict_of_before_gets_its_recognition(collector: Collector) -> None:
    """Versions that did not count attendance stored no number for it."""
    asked = campaign()
    verdict = json.dumps({"delta": None, "tracking_delta": None})
    collector.store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), verdict, published=True))
    found = collector.http.get(f"/campaigns/{asked.id}/guarantee").json()
    assert found["verified"]["recognition"]["lower"] > 0.999999
    text = collector.http.get("/").text
    assert "People answer every round, so nobody is seen at two places in one round." in text
    assert "at most 100 %, by reports and attendance together" in text


def test_texts_of_a_campaign_are_isolated_from_the_direction_of_others(collector: Collector) -> None:
    asked = campaign(question="מה 1, 2?")
    filled(collector.store, asked)
    text = collector.http.get("/").text
    assert "<h2><bdi>מה 1, 2?</bdi></h2>" in text
    assert text.count("<bdi>") == text.count("</bdi>") == 14
    assert text.count('<td class="label" dir="auto"') == 12


def test_no_filled_bar_has_an_interval_that_starts_at_zero(collector: Collector) -> None:
    """And no pale bar has an interval that excludes 0. There are filled and pale bars here."""
    asked = campaign()
    filled(collector.store, asked, people=9_000)
    rows = collector.http.get("/").text.split("<tbody>")[1].split("<tr>")[1:]
    for row in rows:
        starts_at_zero = ", 0.00 to " in row
        assert ("bar pale" in row) == starts_at_zero
        assert ("number strong" in row) != starts_at_zero
    assert {", 0.00 to " in row for row in rows} == {True, False}


def test_a_campaign_that_has_ended_says_so(collector: Collector) -> None:
    asked = campaign()
    create_campaign(collector.store, asked.to_bytes(), published=True)
    assert "ended" not in collector.http.get("/").text
    collector.store.end_campaign(asked.id, 2)
    assert "Round 2 is its last one." in collector.http.get("/").text
    collector.clock.now = asked.begins(3) - 1
    assert "ended" not in collector.http.get("/").text
    collector.clock.now = asked.begins(3)
    assert "This campaign has ended: round 2 was its last one." in collector.http.get("/").text


def test_the_end_of_a_campaign_in_words() -> None:
    asked = campaign()
    assert asked.rounds is not None
    over = asked.begins(asked.rounds + 1)
    assert end_words(asked, None, over - 1) == ""
    assert end_words(asked, asked.rounds, over - 1) == ""
    assert end_words(asked, None, over) == f"This campaign has ended: round {asked.rounds} was its last one."
    assert end_words(asked, 0, asked.begins(1) - 1) == "This campaign was ended before its first round."


def test_unpublished_or_few_reports_show_no_number(collector: Collector) -> None:
    hidden, few = campaign(question="Hidden?"), campaign(question="Few?")
    filled(collector.store, hidden)
    collector.store.publish(hidden.id, False)
    filled(collector.store, few, people=5)
    text = collector.http.get("/").text
    assert "The estimates of this campaign are not published." in text
    assert "No closed round has enough reports yet." in text
    assert "whisker" not in text.split("</style>")[1]


def verdict(upper: float, lower: float) -> str:
    certainty = Bracket(lower, upper).certainty
    return json.dumps({"delta": {"lower": lower, "upper": upper, "certainty": certainty}, "tracking_delta": None})


def test_a_guarantee_says_what_was_verified() -> None:
    loose = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.5, tracking_delta=0.25)
    asked = campaign(guarantee=loose)
    for found, words in (
        (verdict(1e-6, 1e-6), "1e-06 (exact)"),
        (verdict(1e-6, 5e-7), "1e-06 (upper)"),
        (verdict(2e-7, 2e-7), "1e-06 (upper; verified: 2e-07, exact)"),
        ("{}", "1e-06 (upper)"),
    ):
        first, guess, meaning, second, *attendance = guarantee_words(asked, found)
        assert attendance[0].startswith("People answer every round")
        assert "right with probability at most 99.97 % (upper; 50 % is a coin toss)" in guess
        assert meaning.startswith("This eps is large. Each answer is right with probability ")
        assert "one person and two people with the same answer" in second
        assert (
            f"at most 2981 (eps = 8), except with probability {words}. This holds whatever a person answers"
            in first
        )
        assert second.endswith("(gamma = 0.5), except with probability 0.25 (upper).")
    pure = campaign(guarantee=Guarantee(eps=8.0, delta=0.0, values="any", gamma=0.0, tracking_delta=0.0))
    assert "at most 2981 (eps = 8, upper). This holds whatever" in guarantee_words(pure, verdict(0.0, 0.0))[0]


def test_both_observers_in_words() -> None:
    """What the collector by itself may learn, then what it and the relay could learn, and whom one trusts."""
    asked = crowded()
    verified = json.dumps({"crowd": {"upper": 7.7e-7, "lower": 0.0, "certainty": "upper"}})
    alone, guess, together, other, trust, *_ = guarantee_words(asked, verified)
    assert alone.startswith(
        "The collector by itself sees the reports of everybody, and does not know who sent which."
    )
    assert (
        "a factor of at most 2.719 (eps = 1), except with probability 1e-06 (upper; verified: at most 7.7e-07)"
        in alone
    )
    assert "at least 100 people take part" in alone
    assert "is right with probability at most 73.1 % (upper" in guess
    assert together.startswith("If the relay and the collector work together, all reports that a person ever sends")
    assert "2981 (eps = 8)" in together
    assert "is right with probability at most 99.97 % (upper" in other
    assert "you trust that it does not work with the collector: nobody can check that" in trust
    assert "The collector by itself" not in " ".join(guarantee_words(campaign(), "{}"))


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    """Light and dark, wide and narrow: nothing overflows, nothing is loaded from elsewhere, no complaint."""
    from playwright.sync_api import sync_playwright

    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), on_now()
    filled(store, asked)
    store.close()
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with process(url) as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for width, scheme in ((1200, "light"), (360, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            complaints: list[str] = []
            asked_for: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))  # noqa: B023
            page.on("request", lambda request: asked_for.append(request.url))  # noqa: B023
            page.goto(server.address)
            assert page.locator("h2").inner_text() == asked.question
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            bars = page.locator(".bar")
            widths = [bars.nth(i).bounding_box()["width"] for i in range(12)]  # type: ignore[index]
            assert widths[11] > widths[0]
            colour = "element => getComputedStyle(element).backgroundColor"
            filled_bar, pale_bar = page.locator("div.bar:not(.pale)").first, page.locator("div.bar.pale").first
            assert filled_bar.evaluate(colour) != pale_bar.evaluate(colour)
            labels = page.locator("td.label")
            assert all(labels.nth(i).bounding_box()["height"] < 40 for i in range(12))  # type: ignore[index]
            assert complaints == []
            assert asked_for == [f"{server.address}/"]
            page.screenshot(path=tmp_path / f"{width}.png", full_page=True)
        browser.close()
