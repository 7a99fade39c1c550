"""Campaigns that rely on a crowd: version 3 of the document, with a second guarantee and the gateway's keys."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from untrackable import Bitwise, Categories, Deck, Memoized, RandomizedResponse
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway, GatewayKey
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance


def key(id: int, first_round: int) -> GatewayKey:
    """A key configuration of X25519 with the two ciphers that clients know."""
    public = bytes(range(32))
    return GatewayKey(
        bytes([id]) + b"\x00\x20" + public + b"\x00\x08" + bytes.fromhex("0001000100010003"), first_round
    )


CROWD = CrowdGuarantee(eps=1.0, delta=1e-6, people=100_000)
GATEWAY = Gateway((key(1, 1), key(2, 180)))
PUBLIC = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
GOLDEN = (
    '{"attendance":{"one_network":false,"participation":"1/20","persistence":1,"places":["1/2","1/2"]},'
    '"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    '"first_round":1800000000,'
    f'"gateway":{{"keys":[{{"config":"010020{PUBLIC}00080001000100010003","first_round":1}},'
    f'{{"config":"020020{PUBLIC}00080001000100010003","first_round":180}}]}},'
    '"guarantee":{"crowd":{"delta":1e-06,"eps":1,"people":100000},"delta":1e-06,"eps":40,"gamma":0,'
    '"recognition":0.002,"tracking_delta":0,"values":"any"},'
    '"mechanism":{"bits":1,"eps_report":2.5,"mechanism":"deck","slots":365,"when_empty":"stop","width":1},'
    '"question":"Ja oder nein?","round_seconds":86400,"rounds":365,"version":3}'
).encode()


def declared(**given: Any) -> Guarantee:
    usual = {"eps": 40.0, "delta": 1e-6, "values": "any", "gamma": 0.0, "tracking_delta": 0.0}
    return Guarantee(**{**usual, "recognition": 0.002, "crowd": CROWD, **given})


def asked(**given: Any) -> Campaign:
    usual: dict[str, Any] = {
        "question": "Ja oder nein?",
        "encoding": Categories(names=["no", "yes"]),
        "mechanism": Deck(bits=1, slots=365, eps_report=2.5, width=1),
        "first_round": 1_800_000_000,
        "round_seconds": 86_400,
        "rounds": 365,
        "guarantee": declared(),
        "attendance": Attendance(Fraction(1, 20)),
        "gateway": GATEWAY,
    }
    return Campaign(**{**usual, **given})


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    assert asked().to_bytes() == GOLDEN
    assert asked().id == "dc7d5218a74ff85b579a83cd2f372263d2b25679eb81e8b60176b683975fba51"
    assert Campaign.from_bytes(GOLDEN) == asked()


def test_campaigns_without_a_crowd_stay_as_they_are() -> None:
    plain = replace(asked(), gateway=None, guarantee=declared(crowd=None))
    document = json.loads(plain.to_bytes())
    assert document["version"] == 2
    assert "crowd" not in document["guarantee"]
    assert "gateway" not in document
    assert Campaign.from_bytes(plain.to_bytes()) == plain
    assert plain.fewest_reports == 0


def test_the_fewest_reports_are_what_the_counted_crowd_sends_on_average() -> None:
    assert asked().fewest_reports == 5_000
    odd = asked(guarantee=declared(crowd=replace(CROWD, people=41)))
    assert odd.fewest_reports == 3  # 41/20, rounded up


def altered(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(GOLDEN)
    change(document)
    return canonical(document)


def of_keys(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda document: change(document["gateway"]["keys"])


def in_crowd(**given: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["guarantee"]["crowd"].update(given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("gateway"), "lacks gateway"),
        (lambda d: d.pop("attendance"), "lacks attendance"),
        (lambda d: d.update(version=2), "no field 'gateway'"),
        (lambda d: d.update(gateway=None), "gateway must have exactly the fields keys"),
        (lambda d: d["gateway"].update(more=1), "gateway must have exactly the fields keys"),
        (lambda d: d["gateway"].update(keys={}), "keys of a gateway must be a list"),
        (lambda d: d["gateway"].update(keys=[]), "first gateway key must serve from round 1"),
        (lambda d: d["guarantee"].pop("crowd"), "guarantee must have exactly the fields"),
        (lambda d: d["guarantee"].update(crowd=None), "crowd must have exactly the fields"),
        (in_crowd(more=1), "crowd must have exactly the fields eps, delta, people"),
        (in_crowd(people=1), "people must be between 2 and 1000000000, got 1"),
        (in_crowd(people=10**9 + 1), "people must be between 2"),
        (in_crowd(people=2.5), "people must be an integer"),
        (in_crowd(eps=0), "eps must be positive"),
        (in_crowd(delta=0), "delta must be strictly between 0 and 1"),
        (in_crowd(delta=1), "delta must be strictly between 0 and 1"),
        (in_crowd(eps="1"), "eps must be a number"),
        (of_keys(lambda keys: keys.reverse()), "first gateway key must serve from round 1"),
        (of_keys(lambda keys: keys[0].update(first_round=2)), "first gateway key must serve from round 1"),
        (of_keys(lambda keys: keys[1].update(first_round=1)), "in the order of their first rounds"),
        (of_keys(lambda keys: keys.append(dict(keys[0], first_round=100))), "in the order of their first rounds"),
        (of_keys(lambda keys: keys.append(dict(keys[0], first_round=300))), "may have the same id"),
        (of_keys(lambda keys: keys[1].update(first_round=0)), "first_round of a gateway key must be between 1"),
        (of_keys(lambda keys: keys[0].update(more=1)), "gateway key must have exactly the fields"),
        (of_keys(lambda keys: keys[0].update(config=7)), "lower-case hexadecimal"),
        (of_keys(lambda keys: keys[0].update(config=keys[0]["config"].upper())), "lower-case hexadecimal"),
        (of_keys(lambda keys: keys[0].update(config="0")), "lower-case hexadecimal"),
        (of_keys(lambda keys: keys[0].update(config=keys[0]["config"] + "00")), "RFC 9458: .* cut off"),
        (of_keys(lambda keys: keys[0].update(config=keys[0]["config"][:-2])), "RFC 9458: .* cut off"),
        (of_keys(lambda keys: keys[0].update(config="010021" + keys[0]["config"][6:])), "must be for X25519"),
        (of_keys(lambda keys: keys[0].update(config="010020" + PUBLIC + "0000")), "RFC 9458: .* cut off"),
        (lambda d: d["mechanism"].update(when_empty="replay", slots=300), "can be linked, so a crowd does not"),
    ],
)  # fmt: skip
def test_what_is_no_campaign(change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        Campaign.from_bytes(altered(change))


def test_gateway_and_crowd_go_together() -> None:
    with pytest.raises(ValueError, match="both a gateway and a guarantee in a crowd, or neither"):
        asked(gateway=None)
    with pytest.raises(ValueError, match="or neither"):
        asked(guarantee=declared(crowd=None))
    with pytest.raises(TypeError, match="must be of type Gateway"):
        asked(gateway="key")
    with pytest.raises(TypeError, match="must be of type CrowdGuarantee"):
        asked(guarantee=declared(crowd=(1.0, 1e-6, 1000)))
    with pytest.raises(ValueError, match="declares attendance too"):
        asked(attendance=None, guarantee=declared(recognition=None))


@pytest.mark.parametrize(
    "mechanism", [Bitwise(eps_state=0.2, eps_report=0.1), Memoized(base=RandomizedResponse(eps=1.0))]
)
def test_reports_that_can_be_linked_are_not_hidden_by_a_crowd(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
        asked(mechanism=mechanism)


def test_each_key_serves_until_the_next_one() -> None:
    first, second = GATEWAY.keys
    assert [GATEWAY.keys_from(round)[0] for round in (1, 179, 180, 365)] == [first, first, second, second]
    assert GATEWAY.keys_from(7) == (first, second)
    assert GATEWAY.keys_from(200) == (second,)
    assert (first.id, second.id) == (1, 2)


def test_drafts_carry_the_crowd_and_take_the_keys_later() -> None:
    draft = CampaignDraft(
        encoding=asked().encoding,
        mechanism=asked().mechanism,
        rounds=365,
        guarantee=declared(),
        attendance=asked().attendance,
    )
    assert CampaignDraft.from_json(json.loads(json.dumps(draft.to_json()))) == draft
    times = {"question": "Ja oder nein?", "first_round": 1_800_000_000, "round_seconds": 86_400}
    assert draft.campaign(**times, gateway=GATEWAY) == asked()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both a gateway and a guarantee in a crowd"):
        draft.campaign(**times)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="can be linked"):
        replace(draft, mechanism=Bitwise(eps_state=0.2, eps_report=0.1))
