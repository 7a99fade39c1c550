"""Golden vectors of turns, for every client: `make vectors` writes tests/vectors/turns.json.

Each case has a campaign, a value, the entropy of joining, and what follows from it: the life, the key, the turn,
the time of sending and the report (null without a turn). Then the value changes with new entropy, and the report
is another one. Entropy is SHA-256 of a label in counter mode.
"""

import hmac
import itertools
import json
from pathlib import Path
from typing import Any

from tests.browser.questions import FEATURES, PERCENT, STARTS, VISIT, about, in_a_crowd, question
from tests.vectors.make import stream
from untrackable.encodings.bit import Bit
from untrackable.mechanisms.entropy import Entropy
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
LONG = f"{10**18 - 2}/{10**18 - 1}"
"""A share whose coin has to be tossed again in two cases of a hundred."""

CASES: list[tuple[Campaign, int, int]] = [
    (question(), 7, 11),
    (question(RESPONSE, Bit(), rounds=52), 1, 0),
    (question(RESPONSE, Bit(), rounds=1), 0, 1),
    (question(RESPONSE, Bit(), rounds=7, share="1/2", wipes=1), 0, 1),
    (question(RESPONSE, Bit(), rounds=3, share="1/7"), 0, 1),
    (question(RESPONSE, Bit(), rounds=99_999, share=LONG), 1, 0),
    (question(NoisyInnerProduct(bits=10, eps=4.0, width=5), Bit(), rounds=12), 1, 0),
    (question(about(FEATURES, 1.0), FEATURES), 5, 0),
    (question(about(VISIT, 1.5), VISIT, rounds=5, round_seconds=86400), 22, 3),
    (question(NoisyInnerProduct(bits=VISIT.bits, eps=2.0), VISIT), 22, 3),
    (question(Views.prefixes(bits=2, eps=1.0, width=2, weights=(3, 1)), STARTS), 3, 2),
    (question(OneBitMean(values=101, eps=1.0), PERCENT, round_seconds=7), 33, 100),
    (question(SubsetSelection(values=101, eps=3.0), PERCENT), 100, 0),
    (in_a_crowd(question()), 11, 3),
]
"""Campaigns, a value, and the next one."""


def drawn(key: bytes, purpose: bytes, fresh: bytes = b"") -> Entropy:
    """The bytes for a purpose, by hand."""
    blocks = (hmac.digest(key, purpose + n.to_bytes(8, "big") + fresh, "sha256") for n in itertools.count())
    left = itertools.chain.from_iterable(blocks)
    return lambda size: bytes(itertools.islice(left, size))


def drawn_below(limit: int, source: Entropy) -> int:
    """A number below the limit, by hand: 8 bytes, and numbers above the last multiple of the limit are redrawn."""
    while (number := int.from_bytes(source(8), "big")) >= (1 << 64) - (1 << 64) % limit:
        pass
    return number % limit


def report(asked: Campaign, value: int, turn: int, key: bytes, fresh: bytes) -> str:
    """The bytes of a report."""
    assert isinstance(asked.mechanism, Fresh)
    answer = asked.mechanism.base.draw(value, drawn(key, b"noise", fresh))
    nonce = drawn(key, b"nonce", fresh)(wire.NONCE)
    return wire.of(asked.mechanism).encode(round=turn, nonce=nonce, report=answer).hex()


def turn_of(asked: Campaign, key: bytes) -> int | None:
    """The turn that follows from a key."""
    assert asked.turns is not None
    source, share = drawn(key, b"turn"), asked.turns.share
    has_one = drawn_below(share.denominator, source) < share.numerator
    turn = 1 + drawn_below(asked.turns.rounds, source)
    return turn if has_one else None


def moment_of(asked: Campaign, key: bytes, turn: int) -> float:
    """The time of sending that follows from a key."""
    position = int.from_bytes(drawn(key, b"moment")(8), "big") / 2**64
    return asked.begins(turn) + asked.round_seconds * (0.05 + 0.9 * position)


def case(asked: Campaign, value: int, changed: int, label: str) -> dict[str, Any]:
    """One client."""
    entropy, fresh = stream(label, 48), stream(f"{label}/changed", 32)
    life, key = entropy[:16], entropy[16:]
    turn = turn_of(asked, key)
    found: dict[str, Any] = dict.fromkeys(("turn", "moment", "body", "changed_body"))
    if turn is not None:
        bodies = report(asked, value, turn, key, b""), report(asked, changed, turn, key, fresh)
        found = dict(zip(found, (turn, moment_of(asked, key, turn), *bodies), strict=True))
    return {
        "campaign": asked.to_bytes().decode(),
        "value": str(value),
        "entropy": entropy.hex(),
        "life": life.hex(),
        "key": key.hex(),
        "changed": str(changed),
        "changed_entropy": fresh.hex(),
        **found,
    }


def label_of(number: int, asked: Campaign) -> str:
    """The label of a case's entropy. The coin of the long share is one that is tossed again."""
    assert asked.turns is not None
    limit = asked.turns.share.denominator
    labels = (f"turn/{number}/{n}" for n in itertools.count())
    return next(each for each in labels if limit < 10 or drawn(stream(each, 48)[16:], b"turn")(8) >= _last(limit))


def _last(limit: int) -> bytes:
    """The last multiple of the limit, as a word."""
    return ((1 << 64) - (1 << 64) % limit).to_bytes(8, "big")


def vectors() -> list[dict[str, Any]]:
    """All cases."""
    return [case(*given, label_of(i, given[0])) for i, given in enumerate(CASES)]


if __name__ == "__main__":
    PLACE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
