"""Several answers at once in a crowd: a client checks the guarantee, and its reports go through the relay."""

from pathlib import Path

import numpy as np
import pytest

from tests.client.samples import DAY, HOME, SERVER, START, Clock, client
from tests.client.test_crowd_campaigns import GATEWAY, KEYS, Gone, sealed_answer
from tests.client.test_sealed_post import Relay
from untrackable import plan
from untrackable.accounting import client_check
from untrackable.answers.question import Question
from untrackable.encodings import Choices, Record
from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.errors import CampaignRefused
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.sealing import open_request
from untrackable.protocol import wire

FEATURES = Choices(names=["search", "export", "share"])
PERSON = Record(attributes={"dark": Bit(), "new": Bit(), "paid": Bit()}, tables=[["dark", "new"], ["new", "paid"]])


@pytest.mark.parametrize(
    ("encoding", "held"),
    [(FEATURES, ["share", "search"]), (PERSON, {"dark": 1, "new": 0, "paid": 1})],
    ids=["choices", "record"],
)
def test_answers_go_through_the_relay(
    encoding: Encoding, held: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    found = plan(encoding=encoding, people=5_000, rounds=4, crowd_eps=0.5, eps=64.0, one_network=True)
    asked = found.campaign().campaign(question="Which?", first_round=START, round_seconds=DAY, gateway=GATEWAY)
    monkeypatch.setattr(client_check, "_ENGINE", "no_such_module")
    assert client_check.recompute(asked).problems == ()
    relay, clock = Relay(sealed_answer), Clock()
    given = {"relays": (f"http://127.0.0.1:{relay.port}/gateways/study",), "eps": 999.0}
    try:
        with pytest.raises(CampaignRefused, match="does not know who sent which"):
            client(tmp_path / "strict", asked, clock, crowd_eps=0.45, **given).answer(held)
        person = client(tmp_path / "c", asked, clock, crowd_eps=0.5, **given)
        person.answer(held)
        due = person.due()
        assert due is not None
        clock.now = due + 0.5
        sent = person.send(SERVER, post=Gone(), look=lambda host, port: HOME, sleep=clock.sleep)
        assert sent.name == "ACCEPTED"
        (sealed,) = relay.bodies()
    finally:
        relay.close()
    body = BinaryRequest.from_bytes(open_request(KEYS, sealed).content).content
    (payload,) = wire.of(asked.mechanism).decode(body).payloads
    report = int.from_bytes(bytes(payload), "little")
    question = Question(asked.mechanism, encoding)
    estimate = question.estimate(question.prepare(asked.mechanism.aggregator(1)).add([report]), 0.05)
    assert np.isfinite(estimate.frequencies).all()
