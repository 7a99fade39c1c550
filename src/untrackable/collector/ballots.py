"""What a collector does with ballots: it takes reports with a valid one, and counts each ballot once.

A ballot is verified when its report arrives. Whether it was counted before is decided when a round is closed, in
the transaction that stores the sums: those of the round's ballots that an earlier closed round counted are left
out. So a ballot that is shown in several rounds counts in the one that is closed first, whatever is killed when,
and nobody who sends learns which one that is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384
from numpy.typing import NDArray

from untrackable.collector.store import Rows, Store
from untrackable.protocol.ballots import EXPONENT, NUMBER, SALT
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import NONCE

_HASH = SHA384()
_SCHEME = PSS(MGF1(_HASH), SALT)
_LEADING = 8
"""The number of bytes of a nonce that are compared first."""


class BallotVerifier:
    """Verifies the ballots of one campaign with OpenSSL, as `protocol.ballots.is_valid` does."""

    def __init__(self, campaign: Campaign) -> None:
        if campaign.ballots is None:
            raise ValueError("the campaign has no ballots")
        self._key = RSAPublicNumbers(EXPONENT, campaign.ballots.key.modulus).public_key()
        self._id = bytes.fromhex(campaign.id)

    def accepts(self, ballots: Sequence[bytes]) -> bool:
        """Whether all of these are ballots of the campaign."""
        try:
            for ballot in set(ballots):  # So that one ballot sent often costs no more than one.
                self._key.verify(ballot[NUMBER:], ballot[:NUMBER] + self._id, _SCHEME, _HASH)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True, eq=False)
class CountedBallots:
    """The nonces of all reports that the closed rounds of a campaign counted, and the number of these rounds."""

    rounds: int
    nonces: Rows
    _leading: NDArray[np.uint64]

    @staticmethod
    def of(store: Store, campaign: str) -> "CountedBallots":
        """Those in a store."""
        pieces = store.counted_ballots(campaign)
        nonces = np.frombuffer(b"".join(pieces.values()), dtype=np.uint8).reshape(-1, NONCE)
        leading = _leading(nonces)
        order = np.argsort(leading)
        return CountedBallots(len(pieces), nonces[order], leading[order])

    def new(self, rows: Rows) -> Rows:
        """The rows whose ballot was not counted before."""
        leading = _leading(rows)
        first, last = (np.searchsorted(self._leading, leading, side=side) for side in ("left", "right"))
        kept = first == last
        for place in np.flatnonzero(~kept):
            kept[place] = not (self.nonces[first[place] : last[place]] == rows[place, :NONCE]).all(axis=1).any()
        new: Rows = rows[kept]
        return new


def _leading(rows: Rows) -> NDArray[np.uint64]:
    """The first half of each nonce as a number."""
    return np.ascontiguousarray(rows[:, :_LEADING]).view(">u8").reshape(-1).astype(np.uint64)
