"""Campaigns: canonical bytes, an id that pins them, a schedule, and a declaration that is verified."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.samples import BEGIN, DECK, HOUR, campaign
from tests.encodings.samples import one_of_each
from tests.mechanisms.test_clients import ONE_OF_EACH
from untrackable import Bitwise, Categories, Deck, Fading, Rappor
from untrackable.campaign import LARGEST, Campaign, Directory, Guarantee, canonical, identify
from untrackable.encodings.base import Encoding
from untrackable.encodings.bit import Bit
from untrackable.errors import CampaignError
from untrackable.mechanisms.base import Mechanism
from untrackable.verification import verify

ASKED = campaign()
GOLDEN = (
    b'{"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    b'"first_round":1800000000,"guarantee":{"delta":1e-06,"eps":1,"gamma":0,"tracking_delta":0,"values":"any"},'
    b'"mechanism":{"bits":1,"eps_report":0.25,"mechanism":"deck","slots":4,"when_empty":"stop","width":1},'
    b'"question":"Ja oder nein \xe2\x80\x93 welches?","round_seconds":86400,"rounds":4,"version":1}'
)


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    asked = Campaign(
        question="Ja oder nein – welches?",
        encoding=Categories(names=["no", "yes"]),
        mechanism=Deck(bits=1, slots=4, eps_report=0.25),
        first_round=1_800_000_000,
        round_seconds=86_400,
        rounds=4,
        guarantee=Guarantee(eps=1.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )
    assert asked.to_bytes() == GOLDEN
    assert asked.id == "dbe904c2a7116759805aa677efa6b47a7e145725bd031d59c2b61b1f6022dbe6"
    assert Campaign.from_bytes(GOLDEN) == asked


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_mechanism_there_and_back(name: str) -> None:
    asked = campaign(ONE_OF_EACH[name][0], rounds=None)
    assert Campaign.from_bytes(asked.to_bytes()) == asked


@pytest.mark.parametrize("encoding", one_of_each(), ids=lambda e: type(e).__name__)
def test_every_encoding_there_and_back(encoding: Encoding) -> None:
    asked = campaign(encoding=encoding)
    assert Campaign.from_bytes(asked.to_bytes()) == asked
    assert asked.id == identify(asked.to_bytes())


def altered(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = ASKED.to_json()
    change(document)
    return canonical(document)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 10_000, "is not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"version":1,"version":1}', "lacks"),
        (b'{"version":NaN}', "is not JSON"),
        (altered(lambda d: d.update(version=2)), "version of a campaign must be 1"),
        (altered(lambda d: d.update(version=True)), "version of a campaign must be 1"),
        (altered(lambda d: d.update(extra=1)), "has no field 'extra'"),
        (altered(lambda d: d.pop("question")), "lacks question"),
        (altered(lambda d: d["guarantee"].update(more=1)), "must have exactly the fields"),
        (altered(lambda d: d["mechanism"].update(more=1)), "has no field 'more'"),
        (altered(lambda d: d["encoding"].update(more=1)), "has no field 'more'"),
        (altered(lambda d: d.update(question="two\nlines")), "printable characters"),
        (altered(lambda d: d.update(question="")), "printable characters"),
        (altered(lambda d: d.update(round_seconds=0)), "round_seconds must be"),
        (altered(lambda d: d.update(rounds=0)), "rounds must be"),
        (altered(lambda d: d.update(first_round=-1)), "first_round must be"),
        (altered(lambda d: d["guarantee"].update(eps=-1)), "eps must be"),
        (altered(lambda d: d["guarantee"].update(values="some")), "values must be"),
        (json.dumps(ASKED.to_json()).encode(), "not written as `to_bytes` writes it"),
        (ASKED.to_bytes() + b"\n", "not written as `to_bytes` writes it"),
        (ASKED.to_bytes().replace(b'"eps":8', b'"eps":8.0'), "not written as `to_bytes` writes it"),
        (ASKED.to_bytes().replace(b"Which", b"\\u0057hich"), "not written as `to_bytes` writes it"),
        (b" " * (LARGEST + 1), "at most 1048576 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_campaign(data: bytes, message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        Campaign.from_bytes(data)


@given(st.data())
def test_one_byte_changed_is_another_campaign_or_none(data: st.DataObject) -> None:
    body = bytearray(ASKED.to_bytes())
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        other = Campaign.from_bytes(bytes(body))
    except CampaignError:
        return
    assert other.id != ASKED.id
    assert other.to_bytes() == bytes(body)


def test_rounds_by_the_clock() -> None:
    assert ASKED.begins(1) == BEGIN
    assert ASKED.begins(3) == BEGIN + 2 * HOUR
    assert [ASKED.round_at(BEGIN + t) for t in (-0.001, 0, HOUR - 0.001, HOUR, 30 * HOUR - 1, 30 * HOUR)] == [
        None, 1, 1, 2, 30, None,
    ]  # fmt: skip
    assert campaign(rounds=None).round_at(BEGIN + 10**9 * 3) == 10**9 * 3 // HOUR + 1


def promise(eps: float, delta: float = 1e-6, **others: Any) -> Guarantee:
    return Guarantee(**{"eps": eps, "delta": delta, "values": "any", "gamma": 0.0, "tracking_delta": 0.0, **others})


REPLAYED = Deck(bits=4, slots=3, eps_report=0.5, when_empty="replay")
RAPPOR = Rappor(bloom_bits=16, hashes=1, f=0.5, p=0.5, q=0.75)
FADING = Fading(bits=2, eps=4.0, delta=0.01)


@pytest.mark.parametrize(
    ("mechanism", "guarantee", "rounds", "problems"),
    [
        (DECK, promise(8.0), 30, []),
        (DECK, promise(8.1), 30, []),
        (DECK, promise(7.9), 30, ["declares delta = 1e-06 at eps = 7.9"]),
        (DECK, promise(8.0, 1e-7), 30, ["declares delta = 1e-07 at eps = 8"]),
        (DECK, promise(7.0), 20, []),  # fewer rounds than cards
        (REPLAYED, promise(1.5, 0.0), 4, ["untrackability cannot be recomputed"]),
        (FADING, promise(4.0, 0.01), None, []),
        (FADING, promise(3.9, 0.01), None, ["declares delta = 0.01"]),
        (RAPPOR, promise(0.1, 0.0, values="fixed"), 2, ["delta", "tracking"]),
    ],
)  # fmt: skip
def test_a_declaration_is_no_stronger_than_the_truth(
    mechanism: Mechanism, guarantee: Guarantee, rounds: int | None, problems: list[str]
) -> None:
    names = Categories(names=["a", "b", "c", "d"])
    found = verify(campaign(mechanism, encoding=names, rounds=rounds, guarantee=guarantee))
    assert found.holds == (not problems)
    assert len(found.problems) == len(problems)
    for said, expected in zip(found.problems, problems, strict=True):
        assert expected in said


def test_an_encoding_that_does_not_fit_is_a_problem() -> None:
    assert "does not take all 12 values" in verify(campaign(Deck(bits=3, slots=2, eps_report=0.1))).problems[0]
    bitwise = Bitwise(eps_state=1.0, eps_report=1.0)
    assert "does not take all" in verify(campaign(bitwise, rounds=2)).problems[0]
    assert verify(
        campaign(bitwise, encoding=Bit(), rounds=2, guarantee=promise(1.0, 0.0, values="fixed", gamma=3.0))
    ).holds


def test_a_directory_lists_campaigns_in_one_way() -> None:
    other = campaign(question="Another?")
    listed = Directory((ASKED.id, other.id, ASKED.id))
    assert listed.ids == tuple(sorted({ASKED.id, other.id}))
    assert Directory.from_bytes(listed.to_bytes()) == listed
    assert Directory((ASKED.id,)).with_ids([other.id]).digest == listed.digest
    assert listed.digest == identify(listed.to_bytes())
    for wrong in (
        b"{}",
        canonical({"campaigns": [ASKED.id.upper()], "version": 1}),
        canonical({"campaigns": [ASKED.id, ASKED.id], "version": 1}),
        canonical({"campaigns": "x", "version": 1}),
        canonical({"campaigns": [], "version": 1, "more": 1}),
        canonical({"campaigns": [], "version": 2}),
    ):
        with pytest.raises(CampaignError):
            Directory.from_bytes(wrong)
