"""Campaigns that rely on a crowd: a second guarantee, and the gateway's keys."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from untrackable import Bitwise, Categories, Deck, Fresh, Memoized, NoisyInnerProduct, RandomizedResponse
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, GatewayKey, Guarantee, HoldingRelay
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.strict_json import canonical
from untrackable.theory.turns import Turns


def key(id: int, first_round: int) -> GatewayKey:
    """A key configuration of X25519 with the two ciphers that clients know."""
    public = bytes(range(32))
    return GatewayKey(
        bytes([id]) + b"\x00\x20" + public + b"\x00\x08" + bytes.fromhex("0001000100010003"), first_round
    )


CROWD = CrowdGuarantee(eps=1.0, delta=1e-6, reports=5_000)
GATEWAY = Gateway((key(1, 1), key(2, 180)))
PUBLIC = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
GOLDEN = (
    '{"encoding":{"names":["no","yes"],"type":"categories","unknown":"error","version":1},'
    '"first_round":1800000000,'
    f'"gateway":{{"keys":[{{"config":"010020{PUBLIC}00080001000100010003","first_round":1}},'
    f'{{"config":"020020{PUBLIC}00080001000100010003","first_round":180}}]}},'
    '"guarantee":{"crowd":{"delta":1e-06,"eps":1,"reports":5000},"eps":4},'
    '"mechanism":{"base":{"bits":1,"eps":4,"mechanism":"noisy-inner-product","width":1},"mechanism":"fresh"},'
    '"question":"Ja oder nein?","round_seconds":86400,"rounds":365,"turns":{"share":"1","wipes":0},"version":1}'
).encode()


def declared(**given: Any) -> Guarantee:
    return Guarantee(**{"eps": 4.0, "crowd": CROWD, **given})


def asked(**given: Any) -> Campaign:
    usual: dict[str, Any] = {
        "question": "Ja oder nein?",
        "encoding": Categories(names=["no", "yes"]),
        "randomizer": Fresh(NoisyInnerProduct(bits=1, eps=4.0)),
        "first_round": 1_800_000_000,
        "round_seconds": 86_400,
        "rounds": 365,
        "guarantee": declared(),
        "turns": Turns(rounds=365),
        "gateway": GATEWAY,
    }
    return Campaign(**{**usual, **given})


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    assert asked().to_bytes() == GOLDEN
    assert Campaign.from_bytes(GOLDEN) == asked()


RELAY = HoldingRelay("https://relay.example/gateways/study", 3600)
HELD_GOLDEN = GOLDEN.replace(
    b'"first_round":180}]}',
    b'"first_round":180}],"relay":{"address":"https://relay.example/gateways/study","delay":3600}}',
)


def test_golden_bytes_with_a_relay_that_holds() -> None:
    held = asked(gateway=Gateway(GATEWAY.keys, RELAY))
    assert held.to_bytes() == HELD_GOLDEN
    assert Campaign.from_bytes(HELD_GOLDEN) == held
    assert held.relay == RELAY
    assert [held.leaves(round) - held.begins(round + 1) for round in (1, 365)] == [3600, 3600]


def of_relay(**given: Any) -> Callable[[dict[str, Any]], object]:
    usual = RELAY.to_json()
    return lambda document: document["gateway"].update(relay={**usual, **given})


EVERY_ROUND = {"randomizer": Deck(bits=1, slots=365, eps_report=2.5, width=1), "turns": None}


def test_campaigns_of_every_round_may_rely_on_a_crowd_too() -> None:
    every = asked(**EVERY_ROUND, guarantee=declared(eps=40.0, delta=1e-6))
    assert Campaign.from_bytes(every.to_bytes()) == every
    assert every.fewest_reports == 5_000


def test_campaigns_without_a_crowd() -> None:
    plain = replace(asked(), gateway=None, guarantee=declared(crowd=None))
    document = json.loads(plain.to_bytes())
    assert "crowd" not in document["guarantee"]
    assert "gateway" not in document
    assert Campaign.from_bytes(plain.to_bytes()) == plain
    assert (plain.fewest_reports, asked().fewest_reports) == (0, 5_000)


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
        (lambda d: d.pop("gateway"), "both a gateway and a guarantee in a crowd, or neither"),
        (lambda d: d.update(gateway=None), "gateway must have exactly the fields keys"),
        (lambda d: d["gateway"].update(more=1), "gateway must have exactly the fields keys"),
        (lambda d: d["gateway"].update(relay=None), "relay must have exactly the fields address, delay"),
        (of_relay(more=1), "relay must have exactly the fields address, delay"),
        (of_relay(address="http://relay.example"), "the relay's address must be https"),
        (of_relay(address=["x"]), "the relay's address must be a text"),
        (of_relay(delay=-1), "delay must be between 0 and 2592000, got -1"),
        (of_relay(delay=30 * 86_400 + 1), "delay must be between 0 and 2592000"),
        (of_relay(delay=1.5), "delay must be an integer"),
        (lambda d: d["gateway"].update(keys={}), "keys of a gateway must be a list"),
        (lambda d: d["gateway"].update(keys=[]), "first gateway key must serve from round 1"),
        (lambda d: d["guarantee"].pop("crowd"), "both a gateway and a guarantee in a crowd, or neither"),
        (lambda d: d["guarantee"].update(crowd=None), "crowd must have exactly the fields"),
        (in_crowd(more=1), "crowd must have exactly the fields eps, delta, reports"),
        (in_crowd(reports=1), "reports must be between 2 and 1000000000, got 1"),
        (in_crowd(reports=10**9 + 1), "reports must be between 2"),
        (in_crowd(reports=2.5), "reports must be an integer"),
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


@pytest.mark.parametrize(
    "mechanism",
    [
        Bitwise(eps_state=0.2, eps_report=0.1),
        Memoized(base=RandomizedResponse(eps=1.0)),
        Deck(bits=1, slots=300, eps_report=2.5, when_empty="replay"),
    ],
)
def test_reports_that_can_be_linked_are_not_hidden_by_a_crowd(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
        asked(randomizer=mechanism, turns=None)


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
        turns=asked().turns,
    )
    assert CampaignDraft.from_json(json.loads(json.dumps(draft.to_json()))) == draft
    times = {"question": "Ja oder nein?", "first_round": 1_800_000_000, "round_seconds": 86_400}
    assert draft.campaign(**times, gateway=GATEWAY) == asked()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both a gateway and a guarantee in a crowd"):
        draft.campaign(**times)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="can be linked"):
        replace(draft, turns=None, mechanism=Bitwise(eps_state=0.2, eps_report=0.1))
