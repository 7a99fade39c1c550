"""What a person is shown before anything is sent: the report in bytes and words, and what it can tell."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.built import ask, script
from tests.browser.people import Asking, refusal
from tests.browser.questions import BEGIN, FEATURES, PERCENT, about, in_a_crowd, question
from tests.browser.test_refusals import KEPT
from untrackable.encodings.encoding import Bit, Categories, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.strings import HashedStrings
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, Present, RandomizedResponse, SubsetSelection
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

COLOURS = Categories(names=["red", "green"], unknown="other")
SPEEDS = Buckets(edges=[0, 50, 200], below="separate", above="separate", unit="ms")
THIRDS = IntegerRange(low=3, high=5, below="separate", above="separate")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("preview"))


def shown(program: Path, asked: Campaign, report: int, eps: float = 4, accounts: Any = None) -> Any:
    """The preview of a report."""
    body = wire.of(asked.mechanism).encode(round=1, nonce=bytes(16), report=report)
    task = {"task": "preview", "campaign": asked.to_bytes().decode(), "body": body.hex()}
    (found,) = ask(program, [{**task, "policy": {"eps": eps}, "accounts": accounts or {}}])
    assert found["report"] == body.hex()
    return found


@pytest.mark.parametrize(
    ("asked", "report", "says", "untrue"),
    [
        (question(Present(), Presence()), 0, "It says only that somebody is there.", None),
        (question(RandomizedResponse(eps=1), Bit()), 1, f"It says “{Bit().one}”.", 1 / (1 + math.e)),
        (question(RandomizedResponse(eps=1), Bit()), 0, f"It says “{Bit().zero}”.", 1 / (1 + math.e)),
        (
            question(SubsetSelection(values=3, eps=2, size=2), COLOURS),
            0b101,
            "It names 2 of 3 answers: “red”, “another”.",
            1 / (2 * math.exp(2) + 1),
        ),
        (
            question(SubsetSelection(values=4, eps=2, size=2), SPEEDS),
            0b1001,
            "“below 0 ms”, “above 200 ms”.",
            2 / (2 * math.exp(2) + 2),
        ),
        (
            question(SubsetSelection(values=4, eps=2, size=2), SPEEDS),
            0b0110,
            "“0 to 50 ms”, “50 to 200 ms”.",
            2 / (2 * math.exp(2) + 2),
        ),
        (
            question(SubsetSelection(values=5, eps=2, size=5 - 1), THIRDS),
            0b11101,
            "“below 3”, “4”, “5”, “above 5”.",
            1 / (4 * math.exp(2) + 1),
        ),
        (
            question(SubsetSelection(values=4, eps=1, size=1), HashedStrings(bits=2, salt=bytes(16), longest=9)),
            0b1000,
            "“a text of group 3”.",
            3 / (math.e + 3),
        ),
        (
            question(NoisyInnerProduct(bits=4, eps=2, width=1)),
            3,
            "It names a random half of all possible answers, and says whether",
            1 / (1 + math.exp(2)),
        ),
        (
            question(NoisyInnerProduct(bits=4, eps=2, width=2)),
            1,
            "It names 2 random halves of all possible answers, and says for each",
            3 / (3 + math.exp(2)),
        ),
        (question(OneBitMean(values=101, eps=1), PERCENT), 1, "It says “yes”, and nothing else", None),
        (question(about(FEATURES, 1), FEATURES), 1, "parts of your answer, drawn at random", None),
        (question(SubsetSelection(values=8, eps=1), FEATURES), 1, "parts of your answer, drawn at random", None),
    ],
)
def test_a_report_in_words(program: Path, asked: Campaign, report: int, says: str, untrue: float | None) -> None:
    """With the names of answers, and how often a report is untrue, as a percentage of two digits."""
    found = shown(program, asked, report)["says"]
    assert says in found
    told = re.search(r"about ([\d.]+) %", found)
    assert (told is None) == (untrue is None)
    if told is not None and untrue is not None:
        assert float(told[1]) == pytest.approx(100 * untrue, rel=0.05)


@pytest.mark.parametrize("eps", [0.01, 0.5, 1.0, 2.0, math.log(5), 3.3, 7.0, 19.9, 25.0])
def test_what_it_can_tell_is_an_upper_bound(program: Path, eps: float) -> None:
    """The factor is rounded up, by less than a percent."""
    (telling,) = (
        words for words in shown(program, question(eps=eps + 9), 0)["words"] if "changes the odds" in words
    )
    found = re.search(r"factor of at most (e\^)?([\d.e+]+) \(eps ([\d.]+), upper\)", telling)
    assert found
    factor = float(found[2]) if found[1] is None else math.exp(float(found[2]))
    assert math.exp(eps + 9) <= factor * (1 if found[1] is None else 1.001)
    assert factor < 1.01 * math.exp(eps + 9)


def test_words_about_a_campaign(program: Path) -> None:
    """When a report leaves, through whom, how often, and what is left of the budget."""
    asked = question(wipes=1, share="1/20", rounds=2, round_seconds=14 * 86400)
    found = shown(program, in_a_crowd(asked), 0, eps=9.5, accounts={"other": {"eps": 2.5}, "this": {"eps": 4}})
    sending, relay, telling = found["words"]
    assert "one of 2 periods of 2 weeks, drawn in secret, from 15 January 2027 to 12 February 2027." in sending
    assert "Only a part of those asked answer at all: 1/20" in sending
    assert "sealed and sent through a relay" in relay
    assert "at least 1,000 reports" in relay
    assert "also if you delete what is stored once and answer again" in telling
    assert found["budget"] == "It takes eps 4 of the 9.5 allowed for all campaigns together, and leaves 3."
    assert (found["eps_upper"], found["eps_left"]) == (4, 3)
    few = shown(program, asked, 0, eps=4, accounts={"other": {"eps": 2}})
    assert "more than is left of the 4 allowed for all campaigns together, so nothing is sent" in few["budget"]
    assert few["eps_left"] == -2
    assert len(few["words"]) == 2
    one = shown(program, question(Present(), Presence(), rounds=1), 0)["words"]
    assert "in one of 1 hour," in one[0]
    assert "Only a part" not in one[0]
    assert one[1] == "It tells nothing about you but that somebody is there."


def test_a_preview_changes_nothing(browser: Browser, asking: Asking) -> None:
    """Before joining and after it. It shows neither the turn nor the noise that will be sent."""
    asked = asking.ask(question(rounds=40))
    layout = wire.of(asked.mechanism)
    context = browser.new_context()
    asking.clock.now = asked.first_round - 100
    page = asking.page(context, asked)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)

    def looked(answer: str = "") -> list[bytes]:
        found = page.evaluate(
            f"async () => (await Promise.all(Array.from({{ length: 20 }}, () => client.preview({answer}))))"
            ".map(each => each.report)"
        )
        return [bytes.fromhex(each) for each in found]

    def rounds(bodies: list[bytes]) -> set[int]:
        return {int(layout.decode(body).rounds[0]) for body in bodies}

    assert len(rounds(looked("'page 3'"))) > 3
    assert page.evaluate(KEPT) == {}
    assert refusal(page, "client.preview()") == "the answer must be text"
    assert refusal(page, "client.preview('private')") == "the answer must be one of the list"
    page.evaluate("client.answer('page 3')")
    before = page.evaluate(KEPT)
    looked("'page 3'")
    assert page.evaluate(KEPT) == before

    asking.join(asked, page, turn=2)
    before = page.evaluate(KEPT)
    bodies = looked()
    assert len(rounds(bodies)) > 3
    assert len(set(bodies)) == 20
    assert page.evaluate(KEPT) == before
    assert posts == []
    asking.late_in(asked, 2, page)
    assert bytes(page.evaluate("async () => [...await client.report()]")) not in bodies
    assert page.evaluate("client.preview('page 3')") is None  # Nothing more is answered.
    other = asking.ask(question(first_round=BEGIN + 10**7))
    asking.load(page, other)
    page.evaluate("() => Object.defineProperty(navigator, 'doNotTrack', { value: '1' })")
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    assert page.evaluate("client.preview('page 3')") is None
    assert urls == []
    assert asking.complaints == []
    context.close()
