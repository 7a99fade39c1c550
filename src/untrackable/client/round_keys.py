"""A key for every round. Each is made from the one before, which the client then forgets.

Everything random about a round (whether it is answered, and the report's time of sending, nonce and noise) is
drawn from its key. So a client that was killed, or put back to an earlier state, makes the same bytes for a round
again, or leaves it out again. And a key that somebody finds later reveals nothing about earlier reports. If the
answer changes, fresh randomness is added, so the bytes are others. The coin and the time of sending do not use it,
because they must not reveal the change.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from fractions import Fraction

from untrackable.mechanisms.entropy import Entropy, below, word

SIZE = 32
_NEXT = b"untrackable/next"


@dataclass(frozen=True, slots=True, repr=False)
class Ratchet:
    """The key of a round. All later keys follow from it. `fresh` was drawn when the answer last changed."""

    key: bytes
    round: int
    fresh: bytes = b""

    def at(self, round: int) -> "Ratchet":
        """The key of this or of a later round: SHA-256("untrackable/next" ‖ key) as often as needed."""
        if round < self.round:
            raise ValueError(f"the key of round {round} is forgotten: the earliest left is that of {self.round}")
        key = self.key
        for _ in range(round - self.round):
            key = hashlib.sha256(_NEXT + key).digest()
        return replace(self, key=key, round=round)

    def entropy(self, purpose: str) -> Entropy:
        """Bytes for one purpose: HMAC-SHA-256(key, purpose ‖ counter in 8 bytes ‖ fresh) for counter 0, 1, …"""
        return self._drawn(purpose, self.fresh)

    def answers(self, participation: Fraction) -> bool:
        """Toss the round's secret coin: True with exactly this probability. It depends on the key alone."""
        return below(participation.denominator, self._drawn("coin", b"")) < participation.numerator

    def moment(self) -> float:
        """The position of the sending time in the round, from 0 to 1. It depends on the key alone."""
        return word(self._drawn("moment", b"")) / (1 << 64)

    def _drawn(self, purpose: str, fresh: bytes) -> Entropy:
        left, counter = b"", 0

        def draw(size: int) -> bytes:
            nonlocal left, counter
            while len(left) < size:
                message = purpose.encode() + counter.to_bytes(8, "big") + fresh
                left, counter = left + hmac.digest(self.key, message, "sha256"), counter + 1
            drawn, left = left[:size], left[size:]
            return drawn

        return draw
