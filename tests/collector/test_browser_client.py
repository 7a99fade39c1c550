"""The client for web pages, as the collector serves it and shows how to embed it."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import pytest

from tests.browser.questions import about, in_a_crowd, question
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
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, Present, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.sketches import HadamardSketch
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
from untrackable.oblivious.key_config import KeyConfig, Suite
from untrackable.protocol.campaign import Gateway, GatewayKey

STORES = ("sqlite",)

CHOICES = Choices(names=["search", "export", "share"])
RECORD = Record(
    attributes={"system": Categories(names=["linux", "mac"]), "start": Buckets(edges=[0, 1000, 5000], unit="ms")}
)

PATH = AnswerPath(of=Buckets(edges=[0, 200, 1000], unit="ms"), looks=2)


def base_for(encoding: Encoding) -> Local:
    return about(encoding, 1.0) if encoding.asked is not None else NoisyInnerProduct(bits=encoding.bits, eps=1.0)


def test_files_are_served_for_ever_and_to_every_origin(collector: Collector) -> None:
    assert len(browser.files()) == 3
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
    assert f'campaign: "{asked.id}"' in lines
    assert 'policy: {"eps": 2},\n' in lines
    local = collector.http.get(f"/view/{asked.id}", headers={"host": "localhost:8080"}).text
    assert "http://localhost:8080/client/" in local


def test_lines_for_a_crowd_leave_the_relays_to_the_person() -> None:
    lines = browser.snippet(in_a_crowd(question()), "https://collect.example")
    assert 'policy: {"eps": 2, "relays": []}, // relays: addresses of those' in lines


@pytest.mark.parametrize(
    ("encoding", "call"),
    [
        (Bit(), "// True or false: client.answer(true)"),
        (IntegerRange(low=0, high=28), "// A whole number: client.answer(14)"),
        (Buckets(edges=[0, 200, 1000], unit="ms"), "// A number in ms: client.answer(200)"),
        (Buckets(edges=[0, 0.5, 1]), "// A number: client.answer(0.5)"),
        (Categories(names=["</script>", "b"]), r'// One of the list: client.answer("\u003c/script>")'),
        (HashedStrings(bits=8, salt=bytes(16), longest=20), '// A text: client.answer("example.org")'),
        (CHOICES, 'may be empty: client.answer(["search", "export"])'),
        (
            Record(attributes={"</script>": Buckets(edges=[0, 5, 9], unit="ms"), "new": Bit()}),
            r'attribute, \u003c/script> in ms: client.answer({"\u003c/script>": 5, "new": true})',
        ),
        (PATH, "// A number in ms, told again when it changes: client.answer(200)"),
        (RECORD, 'for each attribute, start in ms: client.answer({"system": "linux", "start": 1000})'),
    ],
)
def test_lines_show_the_call_for_each_kind_of_answer(encoding: Encoding, call: str) -> None:
    """The example is an answer that the encoding takes; the call itself has none."""
    lines = browser.snippet(question(base_for(encoding), encoding), "https://collect.example")
    assert f"{call}\n  await client.answer(null);\n  client.run(); // answers once" in lines
    example = json.loads(re.findall(r"client\.answer\((.*)\)", call)[0])
    encoding.encode([example] * encoding.looks if isinstance(encoding, AnswerPath) else example)
    assert lines.count("</script>") == 1


def test_lines_about_days_of_use_count_them() -> None:
    question_text, encoding = READY_QUESTIONS["active-days"]
    asked = replace(question(base_for(encoding), encoding), question=question_text)
    assert "  await client.used();\n  client.run();" in browser.snippet(asked, "https://collect.example")


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
