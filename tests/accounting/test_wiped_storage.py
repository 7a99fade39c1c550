"""What a person spends whose storage is wiped, against all outcomes of several states, one after the other."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.client.samples import campaign
from untrackable.accounting import client_check, wiped_storage
from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.accounting.verification import verify
from untrackable.client.account import Account
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.display.campaign_words import guarantee_words
from untrackable.errors import CampaignError
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.protocol.campaign import Campaign
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance

OFTEN = Attendance(Fraction(1))
BIT = Bitwise(eps_state=0.7, eps_report=1.1)


def kept(wipes: Any, **given: Any) -> Campaign:
    usual = {"rounds": 2, "eps": 0.5, "values": "fixed", "tracking_delta": 1.0}
    return campaign(BIT, attendance=OFTEN, wipes=wipes, **{**usual, **given})


def dealt(wipes: Any) -> Campaign:
    return campaign(Deck(bits=2, slots=30, eps_report=0.05), attendance=OFTEN, wipes=wipes)


def flip(eps: float) -> float:
    return 1 / (math.exp(eps) + 1)


def chances(bit: int, reports: int) -> dict[tuple[int, ...], float]:
    """The probabilities of all reports of one state."""
    lie, noise = flip(BIT.eps_state), flip(BIT.eps_report)
    return {
        seen: sum(
            (lie if state != bit else 1 - lie) * math.prod(noise if each != state else 1 - noise for each in seen)
            for state in (0, 1)
        )
        for seen in itertools.product((0, 1), repeat=reports)
    }


def hockey_stick(states: int, eps: float) -> float:
    """Delta at eps of several states, over all that they can report."""
    yes, no = chances(1, 2), chances(0, 2)
    worlds = [
        (math.prod(yes[one] for one in seen), math.prod(no[one] for one in seen))
        for seen in itertools.product(yes, repeat=states)
    ]
    return math.fsum(max(0.0, p - math.exp(eps) * q) for p, q in worlds)


@pytest.mark.parametrize("wipes", [1, 2])
def test_each_wipe_counts_as_one_more_state(wipes: int) -> None:
    asked = kept(wipes)
    assert asked.states == wipes + 1
    exact = hockey_stick(wipes + 1, 0.5)
    found = wiped_storage.delta_upper(asked)
    assert exact <= found <= 1.02 * exact
    assert found > 1.2 * hockey_stick(wipes, 0.5)  # One state fewer would be too few.
    verified = verify(replace(asked, guarantee=replace(asked.guarantee, delta=1.0)))
    assert verified.holds
    assert verified.delta is not None
    assert verified.delta.lower <= exact <= verified.delta.upper == pytest.approx(found)


def test_a_promise_is_confirmed_only_for_as_many_wipes() -> None:
    delta = wiped_storage.delta_upper(kept(1))
    for wipes, holds in ((None, True), (0, True), (1, True), (2, False), ("any", False)):
        asked = kept(wipes, delta=delta)
        recomputed, verified = client_check.recompute(asked), verify(asked)
        assert (not recomputed.problems) == verified.holds == holds, wipes
        if wipes == "any":
            assert "any number of wipes" in verified.problems[0]
            assert "any number of wipes" in recomputed.problems[0]


def test_recognition_and_tracking_grow_with_the_states() -> None:
    found = [client_check.recompute(kept(wipes, rounds=9)) for wipes in (0, 1)]
    for name in ("delta_upper", "tracking_delta_upper", "recognition_upper"):
        numbers = [getattr(each, name) for each in found]
        assert numbers == sorted(set(numbers)), name


def test_a_deck_keeps_its_promise_however_often_storage_is_wiped() -> None:
    plain = dealt(None)
    assert [dealt(wipes).states for wipes in (0, 3, "any")] == [1, 1, 1]
    for wipes in (0, 3, "any"):
        assert client_check.recompute(dealt(wipes)) == client_check.recompute(plain)
        assert verify(dealt(wipes)) == verify(plain)


def test_mechanisms_that_no_client_can_recompute_are_refused() -> None:
    unknown = campaign(Lgrr(values=4, keep=0.5, tell=0.6), attendance=OFTEN, wipes=1, values="fixed")
    assert not verify(unknown).holds
    fading = campaign(Fading(bits=4, eps=0.5, delta=1e-6), rounds=20, attendance=OFTEN, wipes="any")
    assert verify(fading).holds


def spent(asked: Campaign, *lives: tuple[int, int]) -> tuple[float, float, float]:
    """What a ledger with these lives charges: two deltas and recognition."""
    listed = tuple(Life(str(first), first, last, first - 1) for first, last in lives)
    joint = Ledger({asked.id: Account(asked.to_bytes(), listed)}).joint
    return joint.delta_by(0.5, ChargedRounds.privacy), joint.tracking_delta(0.0), joint.recognition()


def test_ledgers_count_a_campaign_as_a_whole_if_they_may_have_been_wiped() -> None:
    """A ledger that begins late charges what its predecessors may have spent, too."""
    for whole in (dealt("any"), kept(2, rounds=5)):
        late = spent(whole, (whole.rounds or 0, whole.rounds or 0))
        assert late == spent(whole, (1, whole.rounds or 0))
        assert late >= spent(replace(whole, guarantee=replace(whole.guarantee, wipes=None)), (1, whole.rounds or 0))
    forgetful = replace(whole, guarantee=replace(whole.guarantee, wipes=0))
    assert spent(forgetful, (5, 5)) < spent(forgetful, (1, 5))
    assert spent(whole, (1, 2), (4, 5)) > spent(whole, (1, 5))  # Leaving and joining anew makes one more state.
    asked = kept(2, rounds=5)
    declared = client_check.recompute(asked)
    assert spent(asked, (4, 5)) == pytest.approx(
        (declared.delta_upper, declared.tracking_delta_upper, declared.recognition_upper)
    )


GOLDEN = (
    b'{"attendance":{"one_network":false,"participation":"1","persistence":1,"places":["1/2","1/2"]},'
    b'"encoding":{"above":"error","below":"error","high":3,"low":0,"type":"integer-range","version":1},'
    b'"first_round":1800000000,"guarantee":{"delta":1e-06,"eps":1,"gamma":0,"recognition":1,'
    b'"tracking_delta":0,"values":"any","wipes":"any"},'
    b'"mechanism":{"bits":2,"eps_report":0.05,"mechanism":"deck","slots":30,"when_empty":"stop","width":1},'
    b'"question":"How many?","round_seconds":86400,"rounds":30,"version":4}'
)


def test_golden_bytes() -> None:
    """These bytes, and so this id, for ever: clients pin them."""
    assert dealt("any").to_bytes() == GOLDEN
    assert Campaign.from_bytes(GOLDEN) == dealt("any")
    assert json.loads(dealt(None).to_bytes())["version"] == 2


def test_documents_that_are_refused() -> None:
    for wipes in (-1, 101, 1.5, "some", None, True):
        document = json.loads(GOLDEN)
        document["guarantee"]["wipes"] = wipes
        with pytest.raises(CampaignError, match="wipes"):
            Campaign.from_bytes(canonical(document))
    document = json.loads(GOLDEN)
    del document["guarantee"]["wipes"]
    with pytest.raises(CampaignError, match="exactly the fields"):
        Campaign.from_bytes(canonical(document))
    with pytest.raises(ValueError, match="attendance"):
        campaign(wipes=1)
    network = replace(OFTEN, one_network=True)
    with pytest.raises(ValueError, match="forgets its network"):
        campaign(attendance=network, wipes=1)
    assert campaign(attendance=network, wipes=0).guarantee.wipes == 0


def test_words() -> None:
    said = {
        wipes: [words for words in guarantee_words(dealt(wipes), "{}") if "deleted" in words]
        for wipes in (None, 0, 1, 3, "any")
    }
    assert said[None] == []
    assert "however often" in said["any"][0]
    assert "is not deleted" in said[0][0]
    assert "deleted once" in said[1][0]
    assert "deleted 3 times" in said[3][0]
