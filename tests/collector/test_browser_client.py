"""The client for web pages, as the collector serves it and shows how to embed it."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import pytest

from tests.browser.questions import BEGIN, HOUR, SET, about, in_a_crowd, question
from tests.collector.servers import Collector
from tests.collector.test_app import problem
from untrackable.collector import browser
from untrackable.encodings.days_of_use import READY_QUESTIONS
from untrackable.encodings.encoding import Bit, Categories, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.encodings.record import Record
from untrackable.encodings.strings import DiscoveredStrings, HashedStrings
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, Present, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.sketches import HadamardSketch
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
from untrackable.oblivious.key_config import KeyConfig, Suite
from untrackable.protocol.campaign import Gateway, GatewayKey, HoldingRelay

STORES = ("sqlite",)

CHOICES = Choices(names=["search", "export", "share"])
RECORD = Record(
    attributes={"system": Categories(names=["linux", "mac"]), "start": Buckets(edges=[0, 1000, 5000], unit="ms")}
)

PATH = AnswerPath(of=Buckets(edges=[0, 200, 1000], unit="ms"), looks=2)


def base_for(encoding: Encoding) -> Local:
    return about(encoding, 1.0) if encoding.asked is not None else NoisyInnerProduct(bits=encoding.bits, eps=1.0)


def test_files_are_served_for_ever_and_to_every_origin(collector: Collector) -> None:
    assert len(browser.files()) == 5
    for name, content in browser.files().items():
        digest = re.fullmatch(r"[a-z]+-([0-9a-f]{16})\.js", name)
        assert digest
        assert hashlib.sha256(content).hexdigest().startswith(digest[1])
        response = collector.http.get(f"/client/{name}")
        assert response.content == content
        assert response.headers["content-type"].startswith("text/javascript")
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["x-content-type-options"] == "nosniff"
    for name in ("untrackable.js", "nothing", "..%2Fapp.py"):
        assert problem(collector.http.get(f"/client/{name}")) == (404, "not-found")


def test_lines_to_embed_it_are_on_the_page(collector: Collector) -> None:
    asked = collector.create(question())
    lines = html.unescape(collector.http.get(f"/view/{asked.id}").text.split("<pre")[1].split("</pre>")[0])
    name, content = next(item for item in browser.files().items() if item[0].startswith("untrackable-"))
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
    address = f"https://testserver/client/{name}"
    assert f'href="{address}" integrity="sha384-{digest}"' in lines
    assert f'from "{address}"' in lines
    assert f'"{asked.id}": null,\n' in lines
    assert 'policy: {"eps": 2},\n' in lines
    local = collector.http.get(f"/view/{asked.id}", headers={"host": "localhost:8080"}).text
    assert "http://localhost:8080/client/" in local


def test_one_page_asks_several_campaigns(collector: Collector) -> None:
    """The page offers those that are on at other times, and gives one policy for all that are chosen."""
    asked = collector.create(question())
    end = asked.ends or 0
    later = collector.create(question(question="And <later>?", first_round=end))
    last = collector.create(question(question="And last?", first_round=end + 4 * HOUR, wipes=1))
    collector.create(question(question="At once?", first_round=end - 1))
    sketch = HadamardSketch(eps=1.0, hashes=4, width=64)
    collector.create(question(sketch, question="For programs?", first_round=end + 9 * HOUR))

    def shown(query: str) -> tuple[str, dict[str, str]]:
        text = html.unescape(collector.http.get(f"/view/{asked.id}{query}").text)
        section = text.split('id="embed-heading"')[1].split("</section>")[0]
        links = re.findall(r'href="([^"]*)#embed-heading"><bdi>(.*?)</bdi>', section)
        return section.split("<pre")[1].split("</pre>")[0], {name: query for query, name in links}

    lines, offered = shown("")
    assert offered.keys() == {"And <later>?", "And last?"}
    assert later.id not in lines
    lines, offered = shown(offered["And <later>?"])
    assert offered.keys() == {"And last?"}
    lines, offered = shown(offered["And last?"])
    assert offered == {}
    assert [lines.index(f'"{each.id}": null,') > 0 for each in (asked, later, last)] == [True] * 3
    assert 'policy: {"eps": 8},\n' in lines
    assert r'// "And \u003clater>?" One of the list, such as "page 0"' in lines
    assert lines.count("takePart({") == lines.count("untrackable-consent>") / 2 == 1
    assert collector.http.get(f"/view/{asked.id}?with=nothing").status_code == 200


def test_lines_allow_as_many_turns_a_year_as_they_ask_for() -> None:
    def lines(days: int, campaigns: int = 5) -> str:
        asked = [
            question(question=f"Question {i}?", first_round=BEGIN + i * days * 86_400) for i in range(campaigns)
        ]
        return browser.snippet(asked, "https://collect.example")

    assert 'policy: {"eps": 10, "turns_a_year": 5},' in lines(days=91)
    assert 'policy: {"eps": 10},' in lines(days=92)
    assert 'policy: {"eps": 14, "turns_a_year": 5},' in lines(days=91, campaigns=7)


def test_campaigns_at_the_same_time() -> None:
    first, hour = question(), 3600
    end = first.ends or 0
    for begin, both in ((end, False), (end - 1, True), (BEGIN - 4 * hour, False), (BEGIN - 4 * hour + 1, True)):
        other = question(first_round=begin)
        assert browser.overlap(first, other) == browser.overlap(other, first) == both
    assert browser.overlap(replace(first, turns=None, rounds=None), question(first_round=end + 10**9))


def test_lines_for_a_crowd_leave_the_relays_to_the_person() -> None:
    asked = in_a_crowd(question())
    lines = browser.snippet([asked], "https://collect.example")
    assert 'policy: {"eps": 2, "relays": []}, // relays: addresses of those' in lines
    relay = HoldingRelay("https://relay.example/gateways/study", 600)
    assert asked.gateway is not None
    lines = browser.snippet(
        [replace(asked, gateway=replace(asked.gateway, relay=relay))], "https://collect.example"
    )
    assert '"relays": ["https://relay.example/gateways/study"]}, // relays: ' in lines


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        (Bit(), "True or false, such as true"),
        (IntegerRange(low=0, high=28), "A whole number, such as 14"),
        (Buckets(edges=[0, 200, 1000], unit="ms"), "A number in ms, such as 200"),
        (Buckets(edges=[0, 0.5, 1]), "A number, such as 0.5"),
        (Categories(names=["</script>", "b"]), r'One of the list, such as "\u003c/script>"'),
        (HashedStrings(bits=8, salt=bytes(16), longest=20), 'A text, such as "example.org"'),
        (CHOICES, 'may be empty, such as ["search", "export"]'),
        (
            Record(attributes={"</script>": Buckets(edges=[0, 5, 9], unit="ms"), "new": Bit()}),
            r'attribute, \u003c/script> in ms, such as {"\u003c/script>": 5, "new": true}',
        ),
        (PATH, "A number in ms, told again when it changes, such as 200"),
        (RECORD, 'for each attribute, start in ms, such as {"system": "linux", "start": 1000}'),
    ],
)
def test_lines_show_an_example_of_each_kind_of_answer(encoding: Encoding, words: str) -> None:
    """It is an answer that the encoding takes; the line itself has none."""
    asked = question(base_for(encoding), encoding)
    lines = browser.snippet([asked], "https://collect.example")
    assert f'{words}\n      "{asked.id}": null,\n' in lines
    example = json.loads(words.split("such as ")[1])
    encoding.encode([example] * encoding.looks if isinstance(encoding, AnswerPath) else example)
    assert lines.count("</script>") == 1


def test_lines_about_days_of_use_count_them() -> None:
    question_text, encoding = READY_QUESTIONS["active-days"]
    asked = replace(question(base_for(encoding), encoding), question=question_text)
    lines = browser.snippet([asked], "https://collect.example")
    assert f'"{asked.id}": used,\n' in lines
    assert "import { takePart, used } from" in lines


def test_campaigns_that_the_client_cannot_answer_have_no_such_lines() -> None:
    strings = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4), alphabet="abcdef", bucket_bits=8)
    words = Record(attributes={"word": strings, "new": Bit()}, tables=[["new"]])
    short = DiscoveredStrings(salt=bytes(16), longest=2, prefixes=(1, 2), alphabet="ab", bucket_bits=1)
    paths = AnswerPath(of=short, looks=2)
    answered = [
        question(),
        question(RandomizedResponse(eps=1), Bit()),
        question(SubsetSelection(values=12, eps=1)),
        question(Present(), Presence()),
        question(about(CHOICES, 1), CHOICES),
        question(about(RECORD, 1), RECORD),
        question(about(PATH, 1), PATH),
        question(Views.prefixes(bits=4, eps=1)),
        question(OneBitMean(values=12, eps=1)),
        question(Divided(sizes=(1, 7), eps=1), SET),
        in_a_crowd(question()),
    ]
    other = KeyConfig(1, bytes(range(32)), (Suite(1, 3), Suite(1, 1))).to_bytes()
    others = [
        replace(question(), turns=None),
        replace(question(), turns=None, randomizer=Deck(bits=4, slots=4, eps_report=1)),
        question(HadamardSketch(eps=1.0, hashes=4, width=64)),
        question(Levelled(NoisyInnerProduct(bits=8, eps=1), 2), strings),
        question(Views.single_bits(bits=40, eps=1), words),
        question(about(paths, 1), paths),
        in_a_crowd(question(), Gateway((GatewayKey(other, first_round=1),))),
    ]
    assert all(map(browser.takes_part, answered))
    assert not any(map(browser.takes_part, others))
