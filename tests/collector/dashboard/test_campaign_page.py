"""A campaign's page: what people see, with and without a script, in a real browser too; its charts and files."""

import csv
import html
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import untrackable
from tests.ballots.samples import Mint
from tests.collector.samples import DECK, NAMES, answers, campaign, sealed
from tests.collector.servers import Collector, process
from tests.collector.test_estimates import SALT, clients, collected
from tests.collector.test_faults import on_now
from tests.collector.test_small_rounds import crowded
from tests.collector.test_small_rounds import filled as with_reports
from untrackable import Buckets, Categories, Dealt, Deck, DiscoveredStrings, HashedStrings, IntegerRange, Memoized
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.dashboard.campaign_page import COLUMNS
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Store
from untrackable.csv_cells import csv_text
from untrackable.display.estimate import BALLOTS_NEEDED, UNKNOWN_IF_DISCOVERED, UNKNOWN_OF_NUMBERS
from untrackable.encodings.encoding import Presence
from untrackable.mechanisms import CountMeanSketch
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh, OneBitMean, Present
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns


def filled(store: Store, asked: Campaign, people: int = 40_000, rounds: int = 1) -> None:
    """Closed rounds in which higher numbers are held by more people."""
    create_campaign(store, asked.to_bytes(), published=True)
    values = np.random.default_rng(5).choice(12, people, p=np.arange(1, 13) / 78)
    for number in range(1, rounds + 1):
        sent = sealed(asked, answers(asked.mechanism, values, round=number), round=number)
        store.add({Round(asked.id, number): np.array([list(body[5:]) for body in sent], dtype=np.uint8)})
        close_round(store, asked, number)


def shown(collector: Collector, asked: Campaign, query: str = "") -> str:
    response = collector.http.get(f"/view/{asked.id}{query}")
    assert response.status_code == 200
    return str(response.text)


def rows_of(text: str) -> list[str]:
    """The rows of the table of answers."""
    return text.split('<table class="bars">')[1].split("</table>")[0].split("<tr>")[2:]


def test_campaign_guarantee_and_bars(collector: Collector) -> None:
    asked = campaign(question='Which <b>page</b> & "why"?')
    filled(collector.store, asked)
    text = shown(collector, asked)
    assert "Which &lt;b&gt;page&lt;/b&gt; &amp; &#34;why&#34;?" in text
    assert asked.id in text
    assert "Reports of one person look exactly like reports of two people with the same answer (exact)." in text
    assert "People with different answers are hidden from each other only as far as the odds above say." in text
    assert "40,000 reports of round 1" in text
    assert text.count('class="whisker"') == len(rows_of(text)) == 12
    estimate = DECK.aggregator().add_saved(collector.store.sums(Round(asked.id, 1)) or b"").estimate()
    assert f"{100 * estimate.frequencies[11]:.2f} %" in text
    outstanding = sum(each.stands_out for each in estimate.top(16) if each.value < 12)
    assert 0 < outstanding < 12
    assert text.count('<svg class="bar" ') == text.count('class="number strong"') == outstanding
    assert text.count('<svg class="bar pale" ') == 12 - outstanding
    elsewhere = text.replace("https://testserver", "")  # It is in the lines to copy.
    assert "http://" not in elsewhere
    assert "https://" not in elsewhere
    assert " style=" not in text
    assert re.findall("<script[^>]*>[^<]+", text) == []


def test_no_filled_bar_has_an_interval_that_starts_at_zero(collector: Collector) -> None:
    """And no pale bar has an interval that excludes 0. There are filled and pale bars here."""
    asked = campaign()
    filled(collector.store, asked, people=15_000)
    rows = rows_of(shown(collector, asked))
    for row in rows:
        starts_at_zero = '"range">0.00 to ' in row
        assert ("bar pale" in row) == starts_at_zero
        assert ("number strong" in row) != starts_at_zero
    assert {'"range">0.00 to ' in row for row in rows} == {True, False}


def test_few_people_have_no_shares_and_no_winner(collector: Collector) -> None:
    """Without the rule, the page, its trend and its files show shares far below 0 and above 100 %."""
    asked = campaign()
    filled(collector.store, asked, people=40, rounds=3)
    text = shown(collector, asked)
    rows = rows_of(text)
    assert len(rows) == 12
    assert all('faint">cannot tell<' in row for row in rows)
    assert all('<rect class="fill" y="1" width="0.0"' in row for row in rows)
    assert [re.findall("<bdi>(page [0-9]+)</bdi>", row)[0] for row in rows] == [f"page {i}" for i in range(12)]
    assert "Cannot tell: the error of this share may be more than 45 points either way (upper)." in text
    assert "it is not certain which answer is more frequent" in text
    shares = [float(share) for share in re.findall(r">(-?[0-9.]+) %<", text)]
    assert shares
    assert all(0 <= share <= 100 for share in shares)
    assert '<circle class="dot"' not in text
    result = collector.http.get(f"/campaigns/{asked.id}/estimate").json()["values"]
    assert {(row["frequency"], row["tells"]) for row in result} == {(None, False)}
    assert max(abs(row["unclamped"]) for row in result) > 0.5
    picture = collector.http.get(f"/view/{asked.id}/picture.svg").text
    assert picture.count(">cannot tell</text>") == 12
    table = collector.http.get(f"/view/{asked.id}/download.csv").text.splitlines()
    assert table[0].startswith("label,frequency,tells,unclamped,")
    assert all(line.split(",")[1:3] == ["", "False"] for line in table[1:])


def test_one_observer_without_a_relay_and_two_with_one(collector: Collector) -> None:
    plain, crowd = campaign(), crowded()
    filled(collector.store, plain, people=20)
    with_reports(collector.store, crowd, round1=60)
    text = shown(collector, plain)
    assert text.count('class="observer"') == 1
    assert "This campaign does not rely on a relay." in text
    both = shown(collector, crowd)
    assert both.count('class="observer"') == 2
    assert "The collector alone, which does not know who sent which report" in both
    assert "The collector together with the relay" in both
    assert "not rely on a relay" not in both
    assert ("for the collector alone" in both, "for the collector alone" in text) == (True, False)


def test_what_rounds_cost(collector: Collector) -> None:
    asked = campaign()
    create_campaign(collector.store, asked.to_bytes(), published=True)
    text = shown(collector, asked).split("What each round costs")[1]
    one, few, everything = re.findall("<tr><th scope=.row.>(.*?)</th><td>(.*?)</td></tr>", text)
    assert one == ("round", "0.4024 (exact)")
    assert few[0] == "10 rounds"
    assert everything == ("30 rounds", "8 (exact)")


def test_turns_and_who_the_reports_are_of(collector: Collector) -> None:
    """A page and the API say that people answer once; shares are of everybody who was active."""
    base = NoisyInnerProduct(bits=DECK.bits, eps=2.0)
    asked = campaign(mechanism=Fresh(base), guarantee=Guarantee(eps=2.0), rounds=8, turns=Turns(rounds=8))
    filled(collector.store, asked)
    text = html.unescape(shown(collector, asked))
    assert "answers once" in text
    assert "320,000" in text
    assert "all rounds together cost what one report costs" in text
    guarantee = collector.http.get(f"/campaigns/{asked.id}/guarantee").json()
    assert guarantee["turns"] == {"share": "1", "wipes": 0}
    assert guarantee["verified"]["eps"] == {"lower": 2.0, "upper": 2.0, "certainty": "exact"}
    estimate = collector.http.get(f"/campaigns/{asked.id}/rounds/1/estimate").json()
    alone = asked.mechanism.aggregator().add_saved(collector.store.sums(Round(asked.id, 1)) or b"").estimate()
    first = estimate["values"][0]
    assert first["standard_error"] > alone.standard_error[first["value"]]


def test_texts_of_a_campaign_are_isolated_from_the_direction_of_others(collector: Collector) -> None:
    asked = campaign(question="מה 1, 2?")
    filled(collector.store, asked, people=500)
    text = shown(collector, asked)
    assert "<h1><bdi>מה 1, 2?</bdi></h1>" in text
    assert text.count("<bdi>") == text.count("</bdi>") == 14
    assert text.count('<th scope="row" dir="auto">') == 12


TEXTS = r"(campaign\.|typed\.)?question|(bar|panel)\.label|search|detail|encoding\[0\]|campaign\.answers\[0\]"
TEXTS_OF_A_FILE = r"title|cell|note|source"


@pytest.mark.parametrize(
    ("folder", "files", "texts"),
    [("collector/dashboard/templates", "*.html", TEXTS), ("display", "page_shell.html", TEXTS_OF_A_FILE)],
)
def test_no_page_shows_such_a_text_without_isolating_it(folder: str, files: str, texts: str) -> None:
    """Titles and attributes have no place for the element, and stand alone."""
    result = 0
    for page in (Path(untrackable.__file__).parent / folder).glob(files):
        shown = re.sub(r'{% block title %}.*|<title>.*|="[^"]*"', "", page.read_text(encoding="utf-8"))
        for place in re.finditer(rf"(.*?){{{{ ({texts})(?!\w)", shown):
            result += 1
            assert place[1].endswith("<bdi>"), (page.name, place[0])
    assert result >= 4


def test_a_campaign_that_has_ended_says_so(collector: Collector) -> None:
    asked = campaign()
    create_campaign(collector.store, asked.to_bytes(), published=True)
    assert "ended" not in shown(collector, asked)
    collector.store.end_campaign(asked.id, 2)
    assert "Round 2 is its last one." in shown(collector, asked)
    collector.clock.now = asked.begins(3)
    text = shown(collector, asked)
    assert text.count("This campaign has ended: round 2 was its last one.") == 1


def test_one_round_or_all_pooled_and_their_trend(collector: Collector) -> None:
    asked = campaign()
    filled(collector.store, asked, people=600, rounds=3)
    pooled = shown(collector, asked)
    assert "1,800 reports of 3 rounds pooled, 1 to 3" in pooled
    assert '<option value="2">round 2</option>' in pooled
    assert "Band: holds for all 3 rounds and all values together, except with probability 0.05 (upper)" in pooled
    assert pooled.count('<polygon class="band"') == 6
    one = shown(collector, asked, "?round=2")
    assert "600 reports of round 2" in one
    assert '<option value="2" selected>' in one
    assert "download.csv?round=2" in one
    for wrong, why in (
        ("7", "Round 7 is not closed"),
        ("x", "Round must be the number"),
        ("0", "must be the number"),
    ):
        assert why in shown(collector, asked, f"?round={wrong}")
    assert "This question has one table only" in shown(collector, asked, "?table=x")


def test_a_round_without_enough_reports_says_so(collector: Collector) -> None:
    few, none = campaign(question="Few?"), campaign(question="None?")
    filled(collector.store, few, people=5)
    create_campaign(collector.store, none.to_bytes(), published=True)
    text = shown(collector, few)
    assert "No closed round has the 10 reports that an estimate needs." in text
    assert "whisker" not in text
    assert "Round 1 has fewer than 10 reports" in shown(collector, few, "?round=1")
    assert "No round is closed yet: answers appear here when the first one is over." in shown(collector, none)


def test_long_lists_are_cut_searched_and_shown_whole(collector: Collector) -> None:
    names = [f"thing {i}" for i in range(50)] + ["Straße <1>"]
    deck = Deck(bits=6, slots=30, eps_report=4.0)
    asked = collected(collector, deck, {1: answers(deck, np.arange(3000) % 7)}, Categories(names=names))
    text = shown(collector, asked)
    assert len(rows_of(text)) == 20
    assert f'<a href="/view/{asked.id}?all=1">Show all 51</a>' in text
    top = re.findall("<bdi>(thing [0-6])</bdi></th>", text)
    assert sorted(top) == [f"thing {i}" for i in range(7)]  # The most frequent ones come first.
    assert len(rows_of(shown(collector, asked, "?all=1"))) == 51
    rows = rows_of(shown(collector, asked, "?search=STRASSE"))
    assert ["Straße &lt;1&gt;" in row for row in rows] == [True]
    part = collector.http.get(f"/view/{asked.id}?search=thing+4&part=answers").text
    assert "<html" not in part
    assert len(rows_of(part)) == 11
    nothing = shown(collector, asked, "?search=%3Cb%3E")
    assert "No answer contains “<bdi>&lt;b&gt;</bdi>”." in nothing


def test_strings_are_named_by_the_reader(collector: Collector) -> None:
    encoding = HashedStrings(bits=6, salt=SALT, longest=20)
    deck = Deck(bits=6, slots=30, eps_report=4.0)
    sent = answers(deck, encoding.encode_many(["red", "green"] * 2000))
    asked = collected(collector, deck, {1: sent}, encoding)
    unnamed = shown(collector, asked)
    assert "Strings to look for, one on each line" in unnamed
    assert "these are buckets, each for many strings" in unnamed
    text = html.unescape(shown(collector, asked, "?strings=red%0D%0A+green%0Ared%0A"))
    assert [("red" in row, "green" in row) for row in rows_of(text)].count((True, False)) == 1
    assert len(rows_of(text)) == 2
    assert "these are buckets" not in text


def test_strings_that_nobody_listed_have_no_trend(collector: Collector) -> None:
    encoding = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4, 4), alphabet="abcdef", bucket_bits=12)
    mechanism = Dealt(encoding.local(5.0), 30)
    values = encoding.encode_many(["cafe"] * 2400 + ["bead"] * 1600)
    sent = {round: answers(mechanism, values, round=round, seed=round) for round in (1, 2)}
    text = shown(collector, collected(collector, mechanism, sent, encoding))
    assert "cafe" in text
    assert "Nobody listed these strings: each of them is held by somebody, except with probability 5 %" in text
    assert "Trend" not in text
    assert UNKNOWN_IF_DISCOVERED in text


def test_rounds_that_cannot_be_pooled_are_looked_at_one_by_one(collector: Collector) -> None:
    sketch = Memoized(CountMeanSketch(hashes=16, width=32, eps=4.0))
    names = Categories(names=NAMES)
    asked = collected(collector, sketch, {n: clients(sketch, [1] * 200, n) for n in (1, 2)}, names)
    pooled = shown(collector, asked)
    assert "Choose one round above instead of all." in pooled
    assert "200 reports of round 2" in shown(collector, asked, "?round=2")


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    """Light and dark, wide and narrow: nothing overflows, nothing is loaded from elsewhere, no complaint."""
    from playwright.sync_api import expect

    from tests import browsers

    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), on_now()
    filled(store, asked)
    store.close()
    with process(url) as server, browsers.started() as browser:
        for width, scheme in ((1280, "light"), (390, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            complaints: list[str] = []
            asked_for: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))  # noqa: B023
            page.on("request", lambda request: asked_for.append(request.url))  # noqa: B023
            page.goto(server.address)
            page.get_by_role("link", name=asked.question).click()
            assert page.locator("h1").inner_text() == asked.question
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            bars = page.locator(".bar .fill")
            widths = [bars.nth(i).bounding_box()["width"] for i in range(12)]  # type: ignore[index]
            assert widths[11] > widths[0]
            colour = "element => getComputedStyle(element).fill"
            filled_bar, pale_bar = page.locator(".bar:not(.pale) .fill").first, page.locator(".pale .fill").first
            assert filled_bar.evaluate(colour) != pale_bar.evaluate(colour)
            page.get_by_label("Search the answers").press_sequentially("page 11")
            expect(page.locator(".bars tbody tr")).to_have_count(1)
            assert complaints == []
            assert all(address.startswith((server.address, "data:")) for address in asked_for)


def test_numbers_have_a_mean_and_quantiles(collector: Collector) -> None:
    """With their intervals, and with the reason where they cannot be told."""
    asked = campaign(encoding=Buckets.equal_width(0, 12, 12, below="clamp", above="clamp"))
    filled(collector.store, asked, people=20_000, rounds=2)
    text = shown(collector, asked)
    numbers = collector.http.get(f"/campaigns/{asked.id}/estimate").json()["numbers"]
    rows = re.findall('<tr><th scope="row">([^<]*)</th><td class="strong">([^<]*)</td><td>([^<]*)</td></tr>', text)
    assert [row[0] for row in rows] == ["mean", "median", "95th percentile"]
    assert rows[0][1] == f"{numbers['mean']['value']:.3g}"
    for _, value, interval in rows:
        low, high = map(float, re.findall(r"between (\S+) and ([0-9.]+)", interval)[0])
        assert 0 <= low <= high <= 12
        assert value == "no single number" or low <= float(value) <= high
    assert "each holds alone, except with probability 0.05 (upper)" in text
    assert "Numbers below the range count as its nearest number." in text
    assert re.findall("<figcaption><bdi>(.*)</bdi>", text)[:3] == ["mean", "median", "95th percentile"]
    assert "Band: holds for both rounds and all values together, except with probability 0.05 (upper)" in text
    first = re.findall('<tr><th scope="row">1</th><td class="number">([^<]*)<span class="range">([^<]*)<', text)[0]
    low, high = map(float, first[1].split(" to "))
    assert low < float(first[0]) < high
    apart = campaign(question="Apart?", encoding=Buckets.equal_width(0, 10, 10, below="separate", above="separate"))
    filled(collector.store, apart)
    refused = shown(collector, apart)
    assert "Not given: " in refused
    assert '<th scope="row">mean</th>' not in refused
    assert '<th scope="row">median</th>' in refused


def test_every_kind_of_file_has_the_same_answers(collector: Collector) -> None:
    asked = campaign(question="Which <page>?")
    filled(collector.store, asked, people=400, rounds=2)
    path = f"/view/{asked.id}"
    expected = collector.http.get(f"/campaigns/{asked.id}/estimate?top=12").json()
    rows = sorted(expected["values"], key=lambda row: row["value"])
    files = {kind: collector.http.get(f"{path}/download.{kind}") for kind in ("csv", "json", "parquet")}
    assert files["json"].json() == {"campaign": asked.id, **expected, "values": rows}
    table = list(csv.DictReader(io.StringIO(files["csv"].text)))
    assert [row["label"] for row in table] == [row["label"] for row in rows]
    assert [float(row["upper"]) for row in table] == [row["upper"] for row in rows]
    columns = pyarrow.parquet.read_table(io.BytesIO(files["parquet"].content)).to_pylist()
    assert columns == [{name: row[name] for name in COLUMNS} for row in rows]
    for kind, response in files.items():
        assert f'filename="answers-{asked.id[:12]}-rounds-1-to-2.{kind}"' in response.headers["content-disposition"]
        assert response.headers["cache-control"] == "no-store"
    one = json.loads(collector.http.get(f"{path}/download.json?round=2").content)
    assert (one["rounds"], one["reports"]) == ([2], 400)


def test_pictures(collector: Collector) -> None:
    asked = campaign(question="Which <page>?")
    filled(collector.store, asked, people=400)
    drawn = collector.http.get(f"/view/{asked.id}/picture.svg")
    assert drawn.headers["content-security-policy"] == "default-src 'none'; sandbox"
    picture = ET.fromstring(drawn.text)  # noqa: S314 (our own)
    texts = [" ".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Which <page>? (400 reports of round 1)", "page 0", "page 11", "share of people"} <= set(texts)
    assert "an interval that holds for all values at once, except with probability 0.05 (upper)" in " ".join(texts)
    pixels = collector.http.get(f"/view/{asked.id}/picture.png")
    assert pixels.headers["content-type"] == "image/png"
    assert pixels.content.startswith(b"\x89PNG")


def test_no_spreadsheet_takes_an_answer_for_a_formula(collector: Collector) -> None:
    """Strings come from people who answer, or from an address that somebody sent. Other files are exact."""
    names = ["=1+1", "+1", "-1+1|x!A0", "@SUM(1)", "a=b", "'=1", '"=1', "ü"]
    asked = campaign(encoding=Categories(names=names))
    filled(collector.store, asked, people=400)
    answer = collector.http.get(f"/view/{asked.id}/download.csv").text
    labels = [row["label"] for row in csv.DictReader(io.StringIO(answer))]
    assert labels == ["'=1+1", "+1", "'-1+1|x!A0", "'@SUM(1)", "a=b", "''=1", '"=1', "ü"]
    assert [csv_text(label) for label in labels] == names
    exact = collector.http.get(f"/view/{asked.id}/download.json").json()
    assert [row["label"] for row in exact["values"]] == names
    numbers = campaign(encoding=IntegerRange(low=-3, high=3))
    filled(collector.store, numbers, people=400)
    answer = collector.http.get(f"/view/{numbers.id}/download.csv").text
    assert [row["label"] for row in csv.DictReader(io.StringIO(answer))][:4] == ["-3", "-2", "-1", "0"]


@pytest.mark.parametrize("odd", ["\x00", "\x01", "a\x1bb", "\ufffe", "\U0001f600", "\u202e"])
def test_pictures_of_any_string(collector: Collector, odd: str) -> None:
    """A character that no XML has would be a fault of the process that draws, with a line in its log."""
    asked = campaign(encoding=HashedStrings(bits=4, salt=bytes(16), longest=50))
    filled(collector.store, asked, people=400)
    drawn = collector.http.get(f"/view/{asked.id}/picture.svg", params={"strings": f"x{odd}y"})
    assert drawn.status_code == 200
    picture = ET.fromstring(drawn.text)  # noqa: S314 (our own)
    texts = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("x") and text.endswith("y") for text in texts)


def test_files_that_there_are_not(collector: Collector) -> None:
    asked = campaign()
    filled(collector.store, asked, people=5)
    for path, status, words in (
        ("download.exe", 409, "No closed round has the 10 reports"),
        ("picture.gif", 404, "Pictures are svg or png."),
        ("download.csv", 409, "No closed round has the 10 reports"),
        ("download.csv?round=1", 409, "Round 1 has fewer than 10 reports"),
    ):
        response = collector.http.get(f"/view/{asked.id}/{path}")
        assert response.status_code == status
        assert words in response.text
        assert response.headers["content-type"] == "text/html; charset=utf-8"


def test_changes_that_are_certain_are_marked_and_told(collector: Collector) -> None:
    names = Categories(names=NAMES)
    held = {1: np.arange(20_000) % 2, 2: np.ones(20_000, dtype=np.int64)}
    sent = {number: answers(DECK, values, round=number, seed=number) for number, values in held.items()}
    text = shown(collector, collected(collector, DECK, sent, names))
    assert re.findall(rf"<bdi>The share of ({NAMES[0]}|{NAMES[1]}) (fell|rose) in round 2: ", text) == [
        (NAMES[0], "fell"),
        (NAMES[1], "rose"),
    ]
    assert text.count('<path class="change rose"') == text.count('<path class="change fell"') == 1
    assert "are real, except with probability 0.05 (upper)" in text
    assert re.search(r"In one round: As few as [0-9,]+ invented reports? could move a share by", text)


def test_how_few_invented_reports_matter(collector: Collector) -> None:
    """It is said of shares and of people. With ballots, the page says who could invent reports."""
    turns, base = Turns(rounds=8), NoisyInnerProduct(bits=DECK.bits, eps=2.0)
    plain = campaign(Fresh(base), guarantee=Guarantee(eps=2.0), rounds=8, turns=turns)
    with_ballots = replace(plain, ballots=Mint().ballots)
    there = campaign(Fresh(Present()), encoding=Presence(), guarantee=Guarantee(eps=0.0), rounds=8, turns=turns)
    few = r"As few as [0-9,]+ invented reports could move a share by [0-9.]+ points, as far as its interval reaches"
    for asked in (plain, with_ballots, there):
        create_campaign(collector.store, asked.to_bytes(), published=True)
        values = np.zeros(9000, dtype=int) if asked is there else np.arange(9000) % 7
        sent = sealed(asked, answers(asked.mechanism, values))
        collector.store.add({Round(asked.id, 1): np.array([list(body[5:]) for body in sent], dtype=np.uint8)})
        close_round(collector.store, asked, 1)
    for asked in (plain, with_ballots):
        text = shown(collector, asked)
        assert re.search(few, text)
        assert ("Nothing tells them from real ones." in text) == (asked is plain)
        assert (BALLOTS_NEEDED in text) == (asked is with_ballots)
    deck = Dealt(OneBitMean(values=101, eps=3.0), 30)
    mean = collected(collector, deck, {1: answers(deck, np.arange(2000) % 101)}, IntegerRange(low=0, high=100))
    assert UNKNOWN_OF_NUMBERS in shown(collector, mean)
    text = shown(collector, there)
    assert UNKNOWN_OF_NUMBERS not in text
    assert re.search("As few as [0-9,]+ invented reports would add [0-9,]+ people", text)
    assert "could move a share" not in text
