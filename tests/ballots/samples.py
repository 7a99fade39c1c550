"""Registers, requests and ballots for tests."""

import math
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384

from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.ballots.signing import SigningKey
from untrackable.protocol.ballots import EXPONENT, NUMBER, SALT, BallotRequest, CampaignBallots
from untrackable.randomizers.randomness import system

CAMPAIGN = "5d" * 32
START = 1_800_000_000
EXPIRES = START + 30 * 86400


def register(folder: Path, entitled: Entitled = Entitled.CODES, name: str = "a.ballots") -> Register:
    """A new register."""
    return Register.make(folder / name, entitled, EXPIRES)


def request(issuer: Register) -> BallotRequest:
    """A new request."""
    return BallotRequest.draw(issuer.key, CAMPAIGN, system)


class Mint:
    """A key whose ballots are made at once, without an issuer: the same bytes, in a tenth of the time."""

    def __init__(self, signing: SigningKey | None = None) -> None:
        self.signing = signing or SigningKey.new()
        primes = (self.signing.p, self.signing.q)
        private = pow(EXPONENT, -1, math.lcm(*(prime - 1 for prime in primes)))
        first, second = (pow(EXPONENT, -1, prime - 1) for prime in primes)
        public = rsa.RSAPublicNumbers(EXPONENT, self.signing.public.modulus)
        inverse = pow(primes[1], -1, primes[0])
        self._key = rsa.RSAPrivateNumbers(*primes, private, first, second, inverse, public).private_key()

    @property
    def ballots(self) -> CampaignBallots:
        """What a campaign says of them."""
        return CampaignBallots("https://issuer.example", self.signing.public, EXPIRES)

    def ballot(self, campaign: str) -> bytes:
        """A ballot of a campaign."""
        number = system(NUMBER)
        scheme = padding.PSS(padding.MGF1(SHA384()), SALT)
        return number + self._key.sign(number + bytes.fromhex(campaign), scheme, SHA384())
