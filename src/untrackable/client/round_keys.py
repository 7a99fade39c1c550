"""A key for every round. Each is made from the one before, which the client then forgets.

Everything random about a round (the report's time of sending, nonce and noise) is drawn from its key. So a client
that was killed, or put back to an earlier state, makes the same bytes for a round again. And a key that somebody
finds later reveals nothing about earlier reports. If the answer changes, fresh randomness is added, so the bytes
are others. The time of sending does not use it, because it must not reveal the change.

With turns there is one round only, and one key. Which round it is follows from the key, too.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace

from untrackable.mechanisms.entropy import Entropy, below, word
from untrackable.theory.turns import Turns

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

    def turn(self, turns: Turns) -> int | None:
        """The round of the turn, uniform over all rounds; None if there is none. It depends on the key alone.

        Two numbers are drawn: one says whether there is a turn, with probability `share`, the other which round.
        """
        source = self._drawn("turn", b"")
        has_one = below(turns.share.denominator, source) < turns.share.numerator
        round = 1 + below(turns.rounds, source)
        return round if has_one else None

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
