"""Golden vectors of turns, for every client: `make vectors` writes tests/vectors/turns.json.

Each case has a campaign, the entropy of joining, and what follows from it: the life, the turn (null without one)
and the time of sending. Then the report of a round about a value, from entropy of its own: noise first, then the
nonce. Entropy is SHA-256 of a label in counter mode, with words spliced in where a rare branch must be taken.
"""

import json
from pathlib import Path
from typing import Any

from tests.browser.questions import FEATURES, PERCENT, STARTS, VISIT, about, in_a_crowd, question
from tests.vectors.make import HIGHEST_WORD, stream
from untrackable.encodings.bit import Bit
from untrackable.mechanisms.entropy import Entropy, Recorded
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.randomized_response import RandomizedResponse
from untrackable.mechanisms.local.subset_selection import SubsetSelection
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

PLACE = Path(__file__).parent.parent / "vectors" / "turns.json"
RESPONSE = RandomizedResponse(eps=1.0)
LONG = f"1/{10**18 - 1}"
"""The share of the smallest probability but one."""

CASES: list[tuple[Campaign, int, int, bytes]] = [
    (question(), 7, 3, b""),
    (question(RESPONSE, Bit(), rounds=52), 1, 52, b""),
    (question(RESPONSE, Bit(), rounds=7, share="1/2", wipes=1), 0, 1, b""),
    # Both words are at or above the last multiple of 3, so they are drawn again.
    (question(RESPONSE, Bit(), rounds=3, share="1/3"), 1, 2, bytes(16) + HIGHEST_WORD * 2),
    (question(RESPONSE, Bit(), rounds=99_999, share=LONG), 1, 99_999, HIGHEST_WORD * 3),
    (question(NoisyInnerProduct(bits=10, eps=4.0, width=5), Bit(), rounds=12), 1, 4, b""),
    (question(about(FEATURES, 1.0), FEATURES), 5, 2, b""),
    (question(about(VISIT, 1.5), VISIT, rounds=5, round_seconds=86400), 22, 5, b""),
    (question(NoisyInnerProduct(bits=VISIT.bits, eps=2.0), VISIT), 22, 1, b""),
    (question(Views.prefixes(bits=2, eps=1.0, width=2, weights=(3, 1)), STARTS), 3, 1, b""),
    (question(OneBitMean(values=101, eps=1.0), PERCENT, round_seconds=7), 33, 2, b""),
    (question(SubsetSelection(values=101, eps=3.0), PERCENT), 100, 4, b""),
    (in_a_crowd(question()), 11, 3, b""),
]
"""Campaigns, a value, the round of a report, and the first bytes of entropy."""


def drawn_below(limit: int, source: Entropy) -> int:
    """A number below the limit, by hand: 8 bytes, and numbers above the last multiple of the limit are redrawn."""
    while (number := int.from_bytes(source(8), "big")) >= (1 << 64) - (1 << 64) % limit:
        pass
    return number % limit


def joined(asked: Campaign, source: Entropy) -> dict[str, Any]:
    """What a client draws when it joins, by hand."""
    assert asked.turns is not None
    life, share = source(16).hex(), asked.turns.share
    has_one = drawn_below(share.denominator, source) < share.numerator
    turn = 1 + drawn_below(asked.turns.rounds, source)
    position = int.from_bytes(source(8), "big") / 2**64
    moment = asked.begins(turn) + asked.round_seconds * (0.05 + 0.9 * position)
    return {"life": life, "turn": turn if has_one else None, "moment": moment if has_one else None}


def case(asked: Campaign, value: int, round: int, first: bytes) -> dict[str, Any]:
    """One client."""
    label = f"turn/{asked.id}"
    joining, reporting = Recorded(first + stream(label, 4096)), Recorded(stream(f"{label}/report", 1 << 14))
    found = joined(asked, joining)
    assert isinstance(asked.mechanism, Fresh)
    report = asked.mechanism.base.draw(value, reporting)
    body = wire.of(asked.mechanism).encode(round=round, nonce=reporting(wire.NONCE), report=report)
    return {
        "campaign": asked.to_bytes().decode(),
        "entropy": (first + stream(label, 4096))[: joining.used].hex(),
        **found,
        "value": str(value),
        "round": round,
        "report_entropy": stream(f"{label}/report", 1 << 14)[: reporting.used].hex(),
        "body": body.hex(),
    }


def vectors() -> list[dict[str, Any]]:
    """All cases."""
    return [case(*given) for given in CASES]


if __name__ == "__main__":
    PLACE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
