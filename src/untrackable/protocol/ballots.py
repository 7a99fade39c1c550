"""Ballots: one person, one voice, without anybody knowing whose (blind signatures, RFC 9474).

An issuer that knows who is entitled signs one blinded ballot for each person. The person removes the blinding, and
shows the ballot with a report. The variant is RSABSSA-SHA384-PSS-Randomized with 2048 bits. The standard library is
enough, and everybody who has the campaign can verify a ballot.

    32 bytes   number, random: it is new for every ballot, and each number counts once
    256 bytes  signature of number ‖ campaign id

**Blinding is perfect.** For every signed request and every ballot there is exactly one blinding that connects them,
and blindings are uniform. So whoever has seen all requests and all ballots of a campaign knows nothing about which
ones belong together, whatever they can compute. That also holds for a key that was made in malice, of which no two
factors need to be prime: a request that gets no valid signature is never followed by a ballot.
"""

import hashlib
import math
import re
from dataclasses import dataclass, field
from typing import Any

from untrackable import checks
from untrackable.errors import BallotError, CampaignError
from untrackable.randomizers.randomness import Entropy

BITS = 2048
"""The number of bits of a key."""
KEY = BITS // 8
"""The number of bytes of a key, of a request and of a signature."""
EXPONENT = 65537
"""The public exponent of every key."""
NUMBER = 32
"""The number of bytes of a ballot's number. It is the prefix of RFC 9474."""
SALT = 48
"""The number of bytes of a signature's salt."""
BALLOT = NUMBER + KEY
"""The number of bytes of a ballot."""
_KEY = re.compile(f"[0-9a-f]{{{2 * KEY}}}")
_LAST_SECOND = 1 << 40
_ID = 32
_HASH = 48
_PADDING = b"\x00" * 8
_TRAILER = 0xBC


@dataclass(frozen=True, slots=True)
class BallotKey:
    """An issuer's public key: one for a campaign and for everybody, so that it cannot mark a person."""

    modulus: int = field(repr=False)

    def __post_init__(self) -> None:
        modulus = checks.integer("modulus", self.modulus, low=1 << (BITS - 1), high=(1 << BITS) - 1)
        if not modulus % 2:
            raise ValueError("modulus must be odd")
        checks.settle(self, modulus=modulus)

    @property
    def id(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """The modulus, its most significant byte first. The exponent is always the same."""
        return self.modulus.to_bytes(KEY, "big")

    @staticmethod
    def from_bytes(data: bytes) -> "BallotKey":
        """The key of these bytes."""
        if not isinstance(data, bytes) or len(data) != KEY:
            raise ValueError(f"a ballot key must be {KEY} bytes")
        return BallotKey(int.from_bytes(data, "big"))


@dataclass(frozen=True, slots=True)
class CampaignBallots:
    """The ballots that a campaign asks for: where they are issued, with which key, and until when.

    The campaign's id pins the key. `expires` is in seconds since 1970. Nobody joins later; ballots that were issued
    stay valid.
    """

    issuer: str
    key: BallotKey
    expires: int

    def __post_init__(self) -> None:
        from untrackable.web_address import WebAddress

        WebAddress.parse("the issuer's address", self.issuer)
        if not isinstance(self.key, BallotKey):
            raise TypeError(f"key must be of type BallotKey, not {type(self.key).__name__}")
        checks.settle(self, expires=checks.integer("expires", self.expires, low=1, high=_LAST_SECOND))

    def to_json(self) -> dict[str, Any]:
        """The ballots as JSON."""
        return {"expires": self.expires, "issuer": self.issuer, "key": self.key.to_bytes().hex()}

    @staticmethod
    def from_json(given: object) -> "CampaignBallots":
        """The ballots of this JSON: the three fields, and nothing else."""
        if not isinstance(given, dict) or set(given) != {"expires", "issuer", "key"}:
            raise CampaignError("the ballots must have exactly the fields expires, issuer, key")
        if not isinstance(given["key"], str) or not _KEY.fullmatch(given["key"]):
            raise CampaignError(f"the key of ballots must be {2 * KEY} lower-case hexadecimal digits")
        return CampaignBallots(given["issuer"], BallotKey.from_bytes(bytes.fromhex(given["key"])), given["expires"])


@dataclass(frozen=True, slots=True, repr=False)
class BallotRequest:
    """A person's side of one ballot, kept until the issuer has signed. It is secret: it connects both."""

    key: BallotKey
    number: bytes
    encoded: int
    inverse: int

    @staticmethod
    def draw(key: BallotKey, campaign: str, source: Entropy) -> "BallotRequest":
        """A new request. The same entropy makes the same one, which an issuer signs again.

        Entropy is taken for the number, then for the salt, then for the blinding: 256 bytes, again until they are
        an invertible number below the modulus.
        """
        number, salt = source(NUMBER), source(SALT)
        encoded = int.from_bytes(_encoded(_signed(number, campaign), salt, BITS - 1), "big")
        if math.gcd(encoded, key.modulus) != 1:
            raise BallotError("the ballot key cannot be used: it has a small factor")
        while True:
            inverse = int.from_bytes(source(KEY), "big")
            if inverse < key.modulus and math.gcd(inverse, key.modulus) == 1:
                return BallotRequest(key, number, encoded, inverse)

    def to_issuer(self) -> bytes:
        """What the issuer signs."""
        return _blinded(self.encoded, self.inverse, self.key.modulus).to_bytes(KEY, "big")

    def ballot(self, signed: bytes) -> bytes:
        """The ballot, if the issuer's answer is a signature with the pinned key."""
        answer = int.from_bytes(signed, "big")
        if len(signed) != KEY or answer >= self.key.modulus:
            raise BallotError("the issuer's answer is not a signature")
        signature = _unblinded(answer, self.inverse, self.key.modulus)
        if pow(signature, EXPONENT, self.key.modulus) != self.encoded:
            raise BallotError("the issuer's answer is not a signature with the campaign's key")
        return self.number + signature.to_bytes(KEY, "big")


def is_valid(key: BallotKey, campaign: str, ballot: bytes) -> bool:
    """Whether this is a ballot of a campaign. Whether it was shown before is for a store to say."""
    if len(ballot) != BALLOT:
        return False
    number, signature = ballot[:NUMBER], int.from_bytes(ballot[NUMBER:], "big")
    if signature >= key.modulus:
        return False
    encoded = pow(signature, EXPONENT, key.modulus).to_bytes(KEY, "big")
    return _is_encoded(_signed(number, campaign), encoded, BITS - 1)


def _signed(number: bytes, campaign: str) -> bytes:
    """The message of a ballot. So a ballot of one campaign is worth nothing in another."""
    id = bytes.fromhex(campaign)
    if len(id) != _ID:
        raise ValueError("campaign must be the id of a campaign")
    return number + id


def _blinded(encoded: int, inverse: int, modulus: int, exponent: int = EXPONENT) -> int:
    return encoded * pow(pow(inverse, -1, modulus), exponent, modulus) % modulus


def _unblinded(signed: int, inverse: int, modulus: int) -> int:
    return signed * inverse % modulus


def _encoded(message: bytes, salt: bytes, bits: int) -> bytes:
    """EMSA-PSS-ENCODE of RFC 8017 with SHA-384 and MGF1."""
    size = -(-bits // 8)
    digest = _digest(message, salt)
    block = b"\x01".rjust(size - len(salt) - _HASH - 1, b"\x00") + salt
    masked = bytearray(a ^ b for a, b in zip(block, _mask(digest, len(block)), strict=True))
    masked[0] &= 0xFF >> (8 * size - bits)
    return bytes(masked) + digest + bytes([_TRAILER])


def _is_encoded(message: bytes, encoded: bytes, bits: int) -> bool:
    """EMSA-PSS-VERIFY: encoding the message with the salt that is found gives the same bytes."""
    masked, digest = encoded[: -_HASH - 1], encoded[-_HASH - 1 : -1]
    block = bytes(a ^ b for a, b in zip(masked, _mask(digest, len(masked)), strict=True))
    return _encoded(message, block[-SALT:], bits) == encoded


def _digest(message: bytes, salt: bytes) -> bytes:
    return hashlib.sha384(_PADDING + hashlib.sha384(message).digest() + salt).digest()


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = [hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in range(-(-size // _HASH))]
    return b"".join(blocks)[:size]
