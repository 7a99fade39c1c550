"""A program in Node.js answers a campaign that relies on a crowd, through a relay that is a process of its own."""

import time
from pathlib import Path

import pytest

from tests.browser.drawn_turns import key_of, moment_of
from tests.browser.questions import in_a_crowd, question
from tests.collector.servers import process
from tests.collector.test_faults import stored
from tests.node.programs import Asked, Installed
from tests.relay.gateways import relay_process
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import Gateway

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]

DAY = 86_400


def test_a_report_goes_through_the_relay(people: Installed, tmp_path: Path) -> None:
    """And not directly if there is none; its bytes are not given out."""
    keys = GatewayKeys().with_list(2, 30)
    write_keys(tmp_path / "gateway.keys", keys)
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    gateway = Gateway.from_json({"keys": keys.public_list(1)["keys"]})
    campaign = in_a_crowd(question(first_round=int(time.time()) - 40_000, round_seconds=DAY), gateway)
    create_campaign(store, campaign.to_bytes(), published=True)
    store.close()
    key, first = key_of(campaign, 1), campaign.first_round
    due = moment_of(campaign, key, 1)
    answers = [(first - DAY - 100, "answer", "page 3"), (first - 100, "answer", "page 3")]
    with (
        process(url, "--gateway-keys", str(tmp_path / "gateway.keys"), log=tmp_path / "log") as collector,
        relay_process("--gateway", f"study={collector.address}", log=tmp_path / "relay-log") as relay,
    ):
        alone = Asked(campaign, collector.address, tmp_path / "alone")
        assert "the policy names none" in people.does(alone, answers[0])[0]["refused"]
        policy = {"eps": 4, "relays": [f"{relay.address}/gateways/study"]}
        asked = Asked(campaign, collector.address, tmp_path / "mine", policy, "00" * 16 + key.hex())
        assert people.does(asked, *answers) == ["not yet", "kept"]
        report, outcome, again = people.does(asked, (due + 1, "report"), (due + 1, "send"), (due + 2, "send"))
        assert "through a relay only" in report["refused"]
        assert (outcome, again) == ("accepted", "nothing")
        late = Asked(campaign, collector.address, tmp_path / "late", policy, asked.entropy)
        assert people.does(late, *answers, (due + 60, "send")) == ["not yet", "kept", "nothing"]
        assert relay.end() == 0
        assert collector.end() == 0
    store = open_store(url)
    assert len(stored(store)) == 1
    store.close()
