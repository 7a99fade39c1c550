"""The turns and the reports of the Python client are those of the golden vectors, which browsers follow too."""

import json
from typing import Any

import pytest

from tests.client import turn_vectors
from untrackable.client.saved_state import State
from untrackable.mechanisms.entropy import Recorded
from untrackable.protocol.campaign import Campaign

CASES = json.loads(turn_vectors.PLACE.read_text(encoding="utf-8"))


def test_vectors_are_reproduced() -> None:
    assert turn_vectors.vectors() == CASES


@pytest.mark.parametrize("case", CASES)
def test_clients_draw_these_turns(case: dict[str, Any]) -> None:
    asked = Campaign.from_bytes(case["campaign"].encode())
    held = State.new(asked, int(case["value"]), 1, Recorded(bytes.fromhex(case["entropy"])))
    assert (held is None) == (case["turn"] is None)
    if held is None:
        return
    assert (held.life, held.ratchet.round) == (case["life"], case["turn"])
    changed = held.holding(asked, int(case["changed"]), Recorded(bytes.fromhex(case["changed_entropy"])))
    for each, name in ((held, "body"), (changed, "changed_body")):
        prepared = each.answered(asked, case["turn"]).prepared
        assert prepared is not None
        assert prepared.body.hex() == case[name]
