"""The private key of an issuer, and its signatures (RFC 9474, section 4.3).

`cryptography` draws the primes. It has no signature without padding, so the power is Python's own, by the Chinese
remainder theorem in a quarter of the time. Its time depends on its numbers, so nobody knows them: the base is
blinded with a random factor, and a random multiple is added to the exponent. A result that is not a signature is
never given out, because a fault in it would reveal the primes.
"""

import math
import secrets
from dataclasses import dataclass, field

from untrackable.errors import BallotError
from untrackable.extras import extra
from untrackable.protocol.ballots import BITS, EXPONENT, KEY, BallotKey

_PRIME = KEY // 2
_EXTRA_BITS = 64
"""The number of random bits that blind an exponent."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An issuer's private key: two primes."""

    p: int = field(repr=False)
    q: int = field(repr=False)

    def __post_init__(self) -> None:
        if any(math.gcd(prime - 1, EXPONENT) != 1 for prime in (self.p, self.q)):
            raise ValueError("one of the primes cannot be used with the exponent of ballots")
        if self.p == self.q or any(pow(2, prime - 1, prime) != 1 for prime in (self.p, self.q)):
            raise ValueError("p and q must be two different primes")
        BallotKey(self.p * self.q)

    @staticmethod
    def new() -> "SigningKey":
        """A new key."""
        with extra("collector"):
            from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

        numbers = generate_private_key(EXPONENT, BITS).private_numbers()
        return SigningKey(numbers.p, numbers.q)

    @property
    def public(self) -> BallotKey:
        """The key that campaigns pin."""
        return BallotKey(self.p * self.q)

    def to_bytes(self) -> bytes:
        """The primes, which are secret."""
        return self.p.to_bytes(_PRIME, "big") + self.q.to_bytes(_PRIME, "big")

    @staticmethod
    def from_bytes(data: bytes) -> "SigningKey":
        """The key of these bytes."""
        if len(data) != KEY:
            raise ValueError(f"a signing key must be {KEY} bytes")
        return SigningKey(int.from_bytes(data[:_PRIME], "big"), int.from_bytes(data[_PRIME:], "big"))

    def sign(self, blinded: bytes) -> bytes:
        """The signature of a request. The same request always has the same one."""
        modulus = self.p * self.q
        request = check_request(self.public, blinded)
        factor = 1 + secrets.randbelow(modulus - 1)
        base = request * pow(factor, EXPONENT, modulus) % modulus
        rest = _root(base, self.q)
        power = rest + (_root(base, self.p) - rest) * pow(self.q, -1, self.p) % self.p * self.q
        signature = power * pow(factor, -1, modulus) % modulus
        if pow(signature, EXPONENT, modulus) != request:
            raise RuntimeError("the computed signature is wrong, so it is not given out")
        return signature.to_bytes(KEY, "big")


def check_request(key: BallotKey, blinded: bytes) -> int:
    """The number that is to be signed."""
    request = int.from_bytes(blinded, "big")
    if len(blinded) != KEY or not 1 < request < key.modulus - 1:
        raise BallotError("a request must be a number below the modulus")
    return request


def _root(base: int, prime: int) -> int:
    """The number whose power is the base, modulo a prime."""
    exponent = pow(EXPONENT, -1, prime - 1) + secrets.randbits(_EXTRA_BITS) * (prime - 1)
    return pow(base, exponent, prime)
