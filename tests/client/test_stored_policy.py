"""The policy is stored with the ledger: the first use decides, lowering is free, raising is a step of its own."""

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import START, Clock, campaign, client, policy, snapshot, turns_campaign
from tests.client.test_crashes import killed_at
from untrackable.client.client import members
from untrackable.client.folder import Folder
from untrackable.client.ledger import Ledger, read_ledger, store_policy
from untrackable.client.policy import LIMITS, Policy
from untrackable.errors import CampaignRefused, ClockBehind, PolicyRaised
from untrackable.mechanisms.deck import Deck
from untrackable.protocol.campaign import Campaign

SMALL = Deck(bits=2, slots=5, eps_report=0.01)


def small(number: int) -> Campaign:
    return campaign(SMALL, rounds=5, question=f"Number {number}?", eps=0.06, delta=0.0)


def test_the_first_use_decides(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    assert read_ledger(folder).policy is None
    client(folder, small(0), clock, turns_a_year=2).answer(1)
    assert read_ledger(folder).policy == policy(eps=1.0, delta=1e-6, turns_a_year=2)
    before = snapshot(folder)
    for more in (
        {"eps": 100.0},
        {"delta": 1e-3},
        {"gamma": 1.0},
        {"tracking_delta": 0.5},
        {"turns_a_year": 3},
        {"eps": 2.0, "delta": 0.0},
    ):
        for asked in (small(0), small(1)):
            with pytest.raises(PolicyRaised, match=r"nothing was changed.*untrackable policy set --"):
                client(folder, asked, clock, **{"turns_a_year": 2, **more}).answer(2)
    assert {path: data for path, data in snapshot(folder).items() if path.name != "lock"} == {
        path: data for path, data in before.items() if path.name != "lock"
    }


def test_lowering_is_always_allowed_and_stays(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, small(0), clock).answer(1)
    client(folder, small(1), clock, eps=0.5).answer(1)
    assert read_ledger(folder).policy == policy(eps=0.5, delta=1e-6)
    client(folder, small(1), clock, eps=0.25).answer(2)  # an answer to a campaign that was joined before
    assert read_ledger(folder).policy == policy(eps=0.25, delta=1e-6)
    with pytest.raises(PolicyRaised, match=r"eps 0\.5 instead of 0\.25"):
        client(folder, small(2), clock, eps=0.5).answer(1)


def test_a_refused_campaign_does_not_lower_the_policy(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, campaign(), clock).answer(1)
    with pytest.raises(CampaignRefused, match="your policy allows"):
        client(folder, campaign(question="Another?"), clock, eps=0.001).answer(1)
    assert read_ledger(folder).policy == policy(eps=1.0, delta=1e-6)


def test_raising_is_a_step_of_its_own(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    asked = campaign(Deck(bits=2, slots=5, eps_report=0.6), rounds=5, eps=3.0)
    client(folder, small(0), clock).answer(1)
    with pytest.raises(PolicyRaised):
        client(folder, asked, clock, eps=4.0).answer(1)
    assert store_policy(folder, policy(eps=4.0, delta=1e-6, pins=(asked.id,)), clock=clock) == policy(
        eps=1.0, delta=1e-6
    )
    assert read_ledger(folder).policy == policy(eps=4.0, delta=1e-6)
    client(folder, asked, clock, eps=4.0).answer(1)
    assert len(members(folder)) == 2


def test_limits_come_back_from_disk(tmp_path: Path) -> None:
    for number, limits in enumerate(
        [
            policy(eps=0.1, delta=0.0, every_round=False, turns_a_year=0),
            policy(eps=1 / 3, delta=1e-300, gamma=math.inf, tracking_delta=1.0),
        ]
    ):
        store_policy(tmp_path / str(number), replace(limits, pins=("a" * 64,)), clock=Clock())
        assert read_ledger(tmp_path / str(number)).policy == limits


def test_a_copied_folder_is_noticed_by_storing_a_policy_too(tmp_path: Path) -> None:
    clock, folder, copy = Clock(START + 500), tmp_path / "c", tmp_path / "copy"
    client(folder, small(0), clock).answer(1)
    shutil.copytree(folder, copy)
    clock.now = START + 2.5 * 86_400
    store_policy(copy, policy(eps=2.0, delta=1e-6), clock=clock)
    opened = Folder(copy)
    with opened.locked():
        account = Ledger.read(opened).accounts[small(0).id]
    assert account.through == 3  # no round that has begun is answered from the copy
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    with pytest.raises(ClockBehind):
        store_policy(other, policy(eps=2.0, delta=1e-6), clock=Clock(START))
    assert read_ledger(other).policy == policy(eps=1.0, delta=1e-6)


@pytest.mark.parametrize("torn", [False, True])
def test_killed_while_storing_there_is_the_one_policy_or_the_other(
    torn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, before, after = Clock(), policy(eps=1.0, delta=1e-6), policy(eps=2.0, delta=1e-6)
    number, seen = 0, []

    def storing(folder: Path) -> Any:
        return lambda step: store_policy(folder, after, clock=clock)

    killed = True
    while killed:
        folder = tmp_path / str(number)
        client(folder, small(0), clock).answer(1)
        killed = killed_at(number, storing(folder), monkeypatch, torn)
        seen.append(read_ledger(folder).policy)
        assert seen[-1] in (before, after)
        number += 1
    assert seen[0] == before
    assert seen[-1] == after
    assert number > 5


def test_every_round_is_allowed_on_purpose(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, turns_campaign(eps=1.0), clock, eps=2.0, every_round=False).answer(1)
    with pytest.raises(PolicyRaised, match="policy set --every-round`"):
        client(folder, small(0), clock, eps=2.0).answer(1)
    with pytest.raises(CampaignRefused, match="policy set --every-round`"):
        client(folder, small(0), clock, eps=2.0, every_round=False).answer(1)
    store_policy(folder, policy(eps=2.0), clock=clock)
    client(folder, small(0), clock, eps=2.0).answer(1)


def test_the_cautious_limits() -> None:
    assert Policy(eps=1.0) == Policy(**LIMITS)
    assert set(LIMITS) | {"relays", "pins"} == set(Policy.__slots__)
    assert Policy.from_limits(policy(turns_a_year=9).limits()) == policy(turns_a_year=9)


@pytest.mark.parametrize("wrong", [{"turns_a_year": -1}, {"eps": 0.0}, {"delta": 1.5}, {"gamma": -1}])
def test_what_is_no_limit(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        policy(**wrong)
    with pytest.raises(TypeError, match="every_round must be True or False"):
        policy(every_round=1)
