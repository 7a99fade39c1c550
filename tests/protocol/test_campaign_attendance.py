"""Campaigns that are answered by chance: version 2 of the document, its declaration, and what is recomputed."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.collector.samples import campaign
from untrackable import Bitwise, Categories, Deck, InnerProduct
from untrackable.accounting import client_check
from untrackable.accounting.verification import recognition, verify
from untrackable.encodings.bit import Bit
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance

TWENTIETH = Attendance(Fraction(1, 20))
GOLDEN = (
    b'{"attendance":{"one_network":false,"participation":"1/20","persistence":1,"places":["1/2","1/2"]},'
    b'"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    b'"first_round":1800000000,"guarantee":{"delta":1e-06,"eps":1,"gamma":0,"recognition":0.002,'
    b'"tracking_delta":0,"values":"any"},'
    b'"mechanism":{"bits":1,"eps_report":0.05,"mechanism":"deck","slots":365,"when_empty":"stop","width":1},'
    b'"question":"Ja oder nein?","round_seconds":86400,"rounds":365,"version":2}'
)


def declared(**given: Any) -> Guarantee:
    usual = {"eps": 1.0, "delta": 1e-6, "values": "any", "gamma": 0.0, "tracking_delta": 0.0, "recognition": 0.002}
    return Guarantee(**{**usual, **given})


def asked(**given: Any) -> Campaign:
    usual: dict[str, Any] = {
        "question": "Ja oder nein?",
        "encoding": Categories(names=["no", "yes"]),
        "mechanism": Deck(bits=1, slots=365, eps_report=0.05, width=1),
        "first_round": 1_800_000_000,
        "round_seconds": 86_400,
        "rounds": 365,
        "guarantee": declared(),
        "attendance": TWENTIETH,
    }
    return Campaign(**{**usual, **given})


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    assert asked().to_bytes() == GOLDEN
    assert asked().id == "b935d296e6b91b0681c5b87c70db70723921b8bd8201ff6d13a8b2949318ec6b"
    assert Campaign.from_bytes(GOLDEN) == asked()


def test_campaigns_without_attendance_stay_as_they_are() -> None:
    old = campaign()
    assert json.loads(old.to_bytes())["version"] == 1
    assert old.attendance is None
    assert old.participation == 1
    assert Campaign.from_bytes(old.to_bytes()) == old
    assert verify(old).recognition.upper == pytest.approx(old.attending.recognition(old.rounds or 1).upper)


def altered(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(GOLDEN)
    change(document)
    return canonical(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("attendance"), "lacks attendance"),
        (lambda d: d.update(version=1), "no field 'attendance'"),
        (lambda d: d["guarantee"].pop("recognition"), "exactly the fields"),
        (lambda d: d["guarantee"].update(recognition=2), "recognition must be between 0 and 1"),
        (lambda d: d["attendance"].update(participation="0"), "nobody would answer"),
        (lambda d: d["attendance"].update(participation="2/40"), "not canonical"),
        (lambda d: d["attendance"].update(participation=0.05), "must be a text"),
        (lambda d: d["attendance"].update(participation="1/0"), "fraction such as 1/20"),
        (lambda d: d["attendance"].update(participation="1/" + "9" * 50), "at most 40 characters"),
        (lambda d: d["attendance"].update(participation="-1/2"), "between 0 and 1"),
        (lambda d: d["attendance"].update(places=["1/2", "2/3"]), "at most 1 in all"),
        (lambda d: d["attendance"].update(places=["1/2"]), "2 to 64 shares"),
        (lambda d: d["attendance"].update(places="1/2"), "list of fractions"),
        (lambda d: d["attendance"].update(persistence=0), "persistence must be at least 1"),
        (lambda d: d["attendance"].update(one_network=1), "True or False"),
        (lambda d: d["attendance"].update(more=1), "exactly the fields"),
        (lambda d: d.update(attendance=None), "exactly the fields"),
    ],
)  # fmt: skip
def test_what_is_no_campaign(change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        Campaign.from_bytes(altered(change))


def test_attendance_and_recognition_go_together() -> None:
    with pytest.raises(ValueError, match="both attendance and a guarantee with recognition, or neither"):
        asked(attendance=None)
    with pytest.raises(ValueError, match="or neither"):
        asked(guarantee=declared(recognition=None))
    with pytest.raises(TypeError, match="must be of type Attendance"):
        asked(attendance="1/20")


def test_privacy_counts_absence() -> None:
    """A deck that is too loud for every round keeps the budget at one round in twenty."""
    loud = asked(mechanism=Deck.for_budget(bits=1, slots=365, eps=1.0, delta=1e-6, participation="1/20"))
    assert verify(loud).holds
    assert not client_check.recompute(loud).problems
    always = replace(loud, attendance=Attendance(), guarantee=declared(recognition=1.0))
    assert not verify(always).holds
    assert client_check.recompute(always).problems


@pytest.mark.parametrize(
    ("attendance", "rounds", "most"),
    [
        (TWENTIETH, 365, 0.00186),
        (TWENTIETH.with_persistence(7), 365, 0.0202),
        (Attendance(Fraction(1)), 3, 0.0081),
        (Attendance(Fraction(1)), 30, 1.0),
        (Attendance(Fraction(1), one_network=True), 365, 0.001),
        (Attendance(Fraction(1, 10), (Fraction(4, 5), Fraction(1, 5))), 365, 0.0043),
    ],
)
def test_recognition_is_recomputed(attendance: Attendance, rounds: int, most: float) -> None:
    """By the engine and by a client, who may be a little less sharp; a stronger declaration is refused."""
    quiet = Deck(bits=1, slots=365, eps_report=0.01, width=1)
    found = asked(mechanism=quiet, attendance=attendance, rounds=rounds, guarantee=declared(recognition=most))
    exact, client = recognition(found).upper, client_check.recognition(found)
    assert exact * (1 - 1e-9) <= client <= min(1.0, exact * 1.01)
    assert client <= most
    assert not verify(found).problems
    assert not client_check.recompute(found).problems
    if most > 0.001:
        bold = replace(found, guarantee=declared(recognition=0.99 * recognition(found).lower))
        assert "recognised among 1,000" in verify(bold).problems[0]
        assert "recognised among 1,000" in client_check.recompute(bold).problems[0]


def test_reports_that_can_be_linked_count_too() -> None:
    """Those of a kept bit raise the recognition. So it is never declared by attendance alone."""
    for mechanism in (Bitwise(eps_report=1.0, eps_state=1.0), InnerProduct(bits=1, slots=40, eps_report=0.1)):
        found = asked(mechanism=mechanism, encoding=Bit(), rounds=30, guarantee=declared(values="fixed"))
        alone = TWENTIETH.recognition(30).lower
        assert recognition(found).upper > alone * 1.01
        assert client_check.recognition(found) >= alone


def test_without_a_last_round() -> None:
    endless = asked(rounds=None, guarantee=declared(recognition=1.0))
    assert recognition(endless).upper == client_check.recognition(endless) == 1.0
    anchored = replace(endless, attendance=Attendance(one_network=True))
    assert recognition(anchored).upper == client_check.recognition(anchored) == 0.001


def test_the_smallest_declaration_is_confirmed_by_everybody() -> None:
    found = client_check.declaring_recognition(asked(guarantee=declared(recognition=1.0)))
    assert found.guarantee.recognition == 0.00185
    assert not client_check.recompute(found).problems
    assert verify(found).holds


def test_drafts_carry_attendance() -> None:
    draft = CampaignDraft(
        encoding=Bit(), mechanism=asked().mechanism, rounds=365, guarantee=declared(), attendance=TWENTIETH
    )
    assert CampaignDraft.from_json(json.loads(json.dumps(draft.to_json()))) == draft
    assert draft.campaign(question="?", first_round=0, round_seconds=1).attendance == TWENTIETH
    with pytest.raises(CampaignError, match="exactly the fields"):
        CampaignDraft.from_json({**draft.to_json(), "guarantee": declared(recognition=None).to_json()})
