"""The form of a new campaign: what is typed becomes goals, and each wrong field says what is wrong with it."""

from fractions import Fraction

import pytest

from tests.collector.samples import BEGIN
from untrackable import Bit, Buckets, Categories, HashedStrings, IntegerRange
from untrackable.collector.dashboard.campaign_form import (
    DEFAULTS,
    OTHER,
    CampaignForm,
    empty_form,
    levels,
    read_campaign_form,
)
from untrackable.encodings import Choices, Encoding, Record
from untrackable.encodings.numbers import buckets_from_text
from untrackable.planning.goals import Goals
from untrackable.protocol.campaign import HoldingRelay

NOW = BEGIN
RELAY = "https://relay.example/gateways/study"


def typed(**fields: str) -> CampaignForm:
    """A form with the defaults and these fields; the answers are yes and no unless another kind is given."""
    first = empty_form(NOW).typed
    return read_campaign_form({**first, "kind": "yes-no", "question": "Why?", **fields}, NOW, campaign=False)


def goals(**fields: str) -> Goals:
    form = typed(**fields)
    assert form.errors == {}
    assert form.asked is not None
    return form.asked.goals


def test_the_defaults_are_goals() -> None:
    result = goals()
    assert result == Goals(people=10**5, rounds=12, eps=2.0, encoding=Bit(), looks=1)


@pytest.mark.parametrize(
    ("fields", "encoding"),
    [
        ({"kind": "categories", "names": " a \r\n\r\nb\nc "}, Categories(names=["a", "b", "c"])),
        ({"kind": "categories", "names": "a", "others": "on"}, Categories(names=["a"], unknown="other")),
        ({"kind": "numbers", "low": "-3", "high": "7"}, IntegerRange(low=-3, high=7, below="clamp", above="clamp")),
        (
            {"kind": "buckets", "buckets": " 0:9:3 ", "outside": "separate"},
            Buckets(edges=[0, 3, 6, 9], below="separate", above="separate"),
        ),
        (
            {"kind": "buckets", "buckets": "50ms:20s:14:log", "outside": "error"},
            buckets_from_text("50ms:20s:14:log"),
        ),
        ({"kind": "choices", "names": "a\nb\n\nc"}, Choices(names=["a", "b", "c"])),
        (
            {"kind": "record", "attributes": "system: linux, mac\r\n dark mode : yes / no \nstart:0s:2s:2"},
            Record(
                attributes={
                    "system": Categories(names=["linux", "mac"]),
                    "dark mode": Bit(),
                    "start": buckets_from_text("0s:2s:2", below="clamp", above="clamp"),
                }
            ),
        ),
        (
            {"kind": "record", "attributes": "a: x, y\nb: x, y\nc: yes/no", "tables": "c, a\nb"},
            Record(
                attributes={"a": Categories(names=["x", "y"]), "b": Categories(names=["x", "y"]), "c": Bit()},
                tables=[("a", "c"), ("b",)],
            ),
        ),
        ({"kind": "strings", "bits": "8", "longest": "20"}, HashedStrings(bits=8, salt=bytes(16), longest=20)),
        ({"kind": "nonsense", "names": "a\nb"}, Categories(names=["a", "b"])),
    ],
)
def test_every_kind_of_answer(fields: dict[str, str], encoding: Encoding) -> None:
    assert goals(**fields).encoding == encoding


@pytest.mark.parametrize("text", ["1000000", "1,000,000", "1 000 000", "1e6", " 1_000_000 ", "1\u202f000\u202f000"])
def test_numbers_as_people_write_them(text: str) -> None:
    assert goals(people=text).people == 10**6


def test_shares() -> None:
    assert goals(error="1 %").error == 0.01
    assert goals(share="0.1").share == Fraction(1, 10)


def test_one_of_four_may_be_empty() -> None:
    for name in ("people", "rounds", "eps", "error"):
        others = {"error": "0.05", "protection": OTHER, "eps": "1"} | {name: ""}
        assert goals(**others).unknown == name


def test_levels_of_protection_are_an_eps() -> None:
    for eps in ("1", "2", "4"):
        assert goals(protection=eps, eps="nonsense").eps == float(eps)
    assert goals(protection=OTHER, eps="0.7").eps == 0.7
    assert goals(protection="nonsense").eps == 2.0


def test_levels_say_their_odds() -> None:
    assert levels() == {"1": "2.719", "2": "7.39", "4": "54.6"}


def test_pages_forget_once() -> None:
    assert goals(where="programs").wipes == 0
    assert goals(where="pages").wipes == 1
    assert goals(where="pages", wipes=" 3 ").wipes == 3


def test_a_relay_is_asked_for() -> None:
    result = goals(relay="on", crowd_delta="1e-7", margin="10 %")
    assert (result.relay, result.crowd_delta, result.margin) == (True, 1e-7, Fraction(1, 10))
    assert not goals().relay


@pytest.mark.parametrize(
    ("fields", "delay"),
    [
        ({}, 3600),  # The round ends at a full hour, and the release is at the next one.
        ({"first": "2027-01-31T11:40"}, 1200),
        ({"first": "2027-01-31T11:55"}, 3600 + 300),
        ({"release_after": "0"}, 0),
        ({"release_after": "90", "release_unit": "minutes"}, 5400),
        ({"release_after": "30", "release_unit": "days"}, 30 * 86400),
        ({"release_after": "2", "release_unit": "nonsense"}, 7200),
    ],
)
def test_a_relay_that_holds(fields: dict[str, str], delay: int) -> None:
    form = typed(relay="on", hold_at=f" {RELAY} ", **{"first": "2027-01-31T12:00", **fields})
    assert form.errors == {}
    assert form.asked is not None
    assert form.asked.relay == HoldingRelay(RELAY, delay)
    ends = form.asked.first_round + form.asked.round_seconds
    assert form.asked.relay == HoldingRelay.usual(RELAY, ends) or fields.get("release_after")


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"hold_at": RELAY}, ("hold_at", "Tick above that reports go through a relay, or name none.")),
        (
            {"relay": "on", "hold_at": "relay"},
            ("hold_at", "The relay's address must be an address that begins with"),
        ),
        ({"relay": "on", "hold_at": "http://relay.example"}, ("hold_at", "The relay's address must be https")),
        ({"relay": "on", "hold_at": "https://me@relay.example"}, ("hold_at", "must have no user name")),
        ({"relay": "on", "release_after": "2"}, ("hold_at", "Name the relay that holds reports, or leave")),
        (
            {"relay": "on", "hold_at": RELAY, "release_after": "x"},
            ("release_after", "The time until the release must"),
        ),
        ({"relay": "on", "hold_at": RELAY, "release_after": "1.5"}, ("release_after", "must be a whole number")),
        (
            {"relay": "on", "hold_at": RELAY, "release_after": "-1"},
            ("release_after", "within 30 days after a round"),
        ),
        (
            {"relay": "on", "hold_at": RELAY, "release_after": "721"},
            ("release_after", "within 30 days after a round"),
        ),
    ],
)
def test_errors_of_the_relay_that_holds_are_at_its_fields(fields: dict[str, str], wrong: tuple[str, str]) -> None:
    form = typed(**fields)
    assert form.asked is None
    assert list(form.errors) == [wrong[0]]
    assert wrong[1] in form.errors[wrong[0]]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"people": "many"}, {"people": "People must be a number, such as 100,000."}),
        ({"people": "1.5"}, {"people": "People must be a whole number."}),
        ({"people": "0"}, {"people": "People must be between 1 and 1000000000000000, got 0."}),
        ({"people": "1e400"}, {"people": "People must be a number of a usual size."}),
        ({"people": "1e999999999999999999"}, {"people": "People must be a number, such as 100,000."}),
        ({"people": "9" * 5000}, {"people": "People must be a number, such as 100,000."}),
        ({"protection": OTHER, "eps": "snan"}, {"eps": "Eps must be a number, such as 0.01."}),
        ({"protection": OTHER, "eps": "inf"}, {"eps": "Eps must be a number, such as 0.01."}),
        ({"protection": OTHER, "eps": "nan"}, {"eps": "Eps must be a number, such as 0.01."}),
        ({"protection": OTHER, "eps": "1e-999999"}, {"eps": "Eps must be a number, such as 0.01."}),
        ({"share": ""}, {"share": "The share must be given."}),
        ({"share": "0"}, {"share": "The share must be above 0: nobody would answer."}),
        ({"protection": OTHER, "eps": "-1"}, {"eps": "Eps must be positive and finite, got -1.0."}),
        (
            {"protection": OTHER, "eps": "99", "share": "2", "wipes": "-1", "error": "7", "people": "x"},
            dict.fromkeys(("eps", "share", "wipes", "error", "people")),
        ),
        ({"crowd_delta": "0", "margin": "1"}, dict.fromkeys(("crowd_delta", "margin"))),
        (
            {"people": "", "eps": "", "protection": OTHER, "error": "0.05"},
            {"people": "Leave at most one of people, rounds, eps and error empty: people and eps are."},
        ),
        ({"pooled": "13"}, {"pooled": "The number of pooled rounds must be at most rounds, 12, got 13."}),
        ({"every": ""}, {"every": "Say how long a round is."}),
        ({"every": "99"}, {"every": "A round must last between a minute and a year."}),
        ({"every": "0"}, {"every": "A round must last between a minute and a year."}),
        ({"first": "soon"}, {"first": "Give a date and a time, such as 2027-01-31T12:00."}),
        ({"first": "2001-01-01T00:00"}, {"first": "The first round would be over already. Choose a later time."}),
        ({"first": "0001-01-01T00:00"}, {"first": "The first round would be over already. Choose a later time."}),
        ({"question": "x" * 1001}, {"question": "The question must have at most 1,000 characters."}),
        (
            {"kind": "categories", "names": "only"},
            {"names": "Write at least two possible answers, each on a line of its own."},
        ),
        ({"kind": "categories", "names": "a\nb\na"}, {"names": "The answers must be different, got 'a' twice."}),
        (
            {"kind": "numbers", "low": "9", "high": "3"},
            {"high": "The highest number must be above the lowest."},
        ),
        ({"kind": "numbers", "low": ""}, {"low": "The lowest number must be given."}),
        (
            {"kind": "buckets", "buckets": "9:3:2"},
            {"buckets": "The lowest edge of the buckets must be below the highest."},
        ),
        (
            {"kind": "buckets", "buckets": "0:9:0"},
            {"buckets": "The number of buckets must be between 1 and 65536, got 0."},
        ),
        (
            {"kind": "buckets", "buckets": "0:9:3:log"},
            {"buckets": "The lowest edge of buckets on a log scale must be above 0."},
        ),
        ({"kind": "buckets", "buckets": ""}, {"buckets": None}),
        ({"kind": "buckets", "buckets": "0s:9kB:3"}, {"buckets": None}),
        (
            {"kind": "buckets", "buckets": "1:9:3:log", "want": "mean", "people": "x"},
            {
                "people": "People must be a number, such as 100,000.",
                "want": "What is published must not be mean: the answers must stand for numbers at equal "
                "distances, within a range.",
            },
        ),
        (
            {"kind": "choices", "names": "only"},
            {"names": "Write at least two possible answers, each on a line of its own."},
        ),
        ({"kind": "choices", "names": "a\na"}, {"names": "The answers must be different, got 'a' twice."}),
        (
            {"kind": "record", "attributes": "a: x, y"},
            {"attributes": "Write at least two attributes, each on a line of its own."},
        ),
        ({"kind": "record", "attributes": "a: x, y\nb"}, {"attributes": None}),
        ({"kind": "record", "attributes": "a: x, y\na: x, y"}, {"attributes": None}),
        ({"kind": "record", "attributes": "a: x, y\nb: 3:2:2"}, {"attributes": None}),
        (
            {"kind": "record", "attributes": "a: x\nb: yes/no"},
            {"attributes": "a: write at least two answers, with a comma between them."},
        ),
        (
            {"kind": "record", "attributes": "a: x, x\nb: yes/no"},
            {"attributes": "a: answers must be different, got 'x' twice."},
        ),
        ({"kind": "record", "attributes": "a=b: x, y\nb: yes/no"}, {"attributes": None}),
        (
            {"kind": "record", "attributes": "a: x, y\nb: yes/no", "tables": "a, c"},
            {"tables": "“c” is not one of the attributes: a, b."},
        ),
        ({"kind": "record", "attributes": "a: x, y\nb: yes/no", "tables": "a, a"}, {"tables": None}),
        ({"kind": "record", "attributes": "a: x, y\nb: yes/no", "tables": "a, b\nb, a"}, {"tables": None}),
        ({"kind": "record", "attributes": "a: 0:1:4096\nb: 0:1:4096"}, {"tables": None}),
        (
            {"kind": "record", "attributes": "\n".join(f"a{i}: yes/no" for i in range(257)) + "\nunread"},
            {"attributes": "All attributes together must have at most 256 bits."},
        ),
        ({"wipes": "often"}, {"wipes": None}),
        ({"rounds": "forever"}, {"rounds": None}),
        ({"kind": "strings", "bits": "999"}, {"bits": "The number of bits must be between 1 and 256, got 999."}),
    ],
)
def test_errors_stand_beside_their_fields(fields: dict[str, str], wrong: dict[str, str | None]) -> None:
    form = typed(**fields)
    assert form.asked is None
    assert set(form.errors) == set(wrong)
    for name, told in wrong.items():
        assert told is None or form.errors[name] == told
    for name, text in fields.items():
        assert form.typed[name] == text


def test_a_plan_needs_no_question_and_a_campaign_does() -> None:
    assert typed(question="").errors == {}
    form = read_campaign_form({**typed().typed, "question": " "}, NOW, campaign=True)
    assert form.errors == {"question": "Write the question that people are asked."}
    assert "invisible" in typed(question="a\u202eb").errors["question"]


def test_a_round_that_goes_on_can_still_be_the_first() -> None:
    assert typed(first="2027-01-14T00:00", every="1", unit="weeks").errors == {}


def test_fields_that_nobody_sent_are_empty() -> None:
    form = read_campaign_form({}, NOW, campaign=True)
    assert form.asked is None
    assert "names" in form.errors
    assert set(form.typed) == {*DEFAULTS, "first", "others", "relay"}


def test_a_button_changes_one_field() -> None:
    assert goals(use="people=463,909").people == 463_909
    assert goals(use="protection=other&eps=2.5").eps == 2.5
    form = typed(use="token=x&question=y&people=5")
    assert form.typed["question"] == "Why?"
    assert form.typed["people"] == "5"


def test_what_is_published_counts_for_numbers_only() -> None:
    assert goals(kind="numbers", want="mean").want == "mean"
    assert goals(kind="buckets", want="quantiles").want == "quantiles"
    assert goals(kind="yes-no", want="mean").want == "frequencies"
    assert goals(kind="numbers", want="nonsense").want == "frequencies"
