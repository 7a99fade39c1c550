"""What follows from the key of a turn, by hand, as somebody would write it in another language."""

import hmac
import itertools
import os

from untrackable.mechanisms.local import Fresh
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign
from untrackable.randomizers.randomness import Entropy


def drawn(key: bytes, purpose: bytes, fresh: bytes = b"") -> Entropy:
    """The bytes for a purpose."""
    blocks = (hmac.digest(key, purpose + n.to_bytes(8, "big") + fresh, "sha256") for n in itertools.count())
    left = itertools.chain.from_iterable(blocks)
    return lambda size: bytes(itertools.islice(left, size))


def drawn_below(limit: int, source: Entropy) -> int:
    """A number below the limit. Numbers at or above the last multiple of the limit are redrawn."""
    while (number := int.from_bytes(source(8), "big")) >= (1 << 64) - (1 << 64) % limit:
        pass
    return number % limit


def turn_of(asked: Campaign, key: bytes) -> int | None:
    """The turn, if there is one."""
    assert asked.turns is not None
    source, share = drawn(key, b"turn"), asked.turns.share
    has_one = drawn_below(share.denominator, source) < share.numerator
    turn = 1 + drawn_below(asked.turns.rounds, source)
    return turn if has_one else None


def key_of(asked: Campaign, turn: int | None) -> bytes:
    """A random key from which this turn follows, or none."""
    return next(key for _ in itertools.count() if turn_of(asked, key := os.urandom(32)) == turn)


def moment_of(asked: Campaign, key: bytes, turn: int) -> float:
    """The time of sending, in seconds since 1970."""
    position = int.from_bytes(drawn(key, b"moment")(8), "big") / 2**64
    return asked.begins(turn + 1) - asked.look_seconds * (0.95 - 0.9 * position)


def report_of(asked: Campaign, key: bytes, turn: int, value: int, fresh: bytes) -> bytes:
    """The bytes of the report."""
    assert isinstance(asked.mechanism, Fresh)
    answer = asked.mechanism.base.draw(value, drawn(key, b"noise", fresh))
    nonce = drawn(key, b"nonce", fresh)(wire.NONCE)
    return wire.of(asked.mechanism).encode(round=turn, nonce=nonce, report=answer)
