"""Ballots: the vectors of RFC 9474, perfect blinding by enumeration, and what is no ballot."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384

from tests.recorded_entropy import Recorded
from untrackable.ballots.signing import SigningKey
from untrackable.errors import BallotError
from untrackable.protocol import ballots
from untrackable.protocol.ballots import BALLOT, EXPONENT, KEY, NUMBER, SALT, BallotKey, BallotRequest, is_valid
from untrackable.randomizers.randomness import system

CAMPAIGN, OTHER = "5d" * 32, "6e" * 32
ISSUER = SigningKey.new()
VECTORS = json.loads((Path(__file__).parent.parent / "vectors/ballots/rfc9474.json").read_text(encoding="utf-8"))


def signed_ballot(campaign: str = CAMPAIGN, issuer: SigningKey = ISSUER) -> bytes:
    """A new ballot."""
    request = BallotRequest.draw(issuer.public, campaign, system)
    return request.ballot(issuer.sign(request.to_issuer()))


def numbers(vector: dict[str, str], *names: str) -> list[int]:
    """Numbers of a vector."""
    return [int(vector[name], 16) for name in names]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["variant"])
def test_the_vectors_of_rfc_9474(vector: dict[str, str]) -> None:
    """Their key has 4,096 bits, and every step is as for our keys."""
    modulus, inverse, p, q = numbers(vector, "modulus", "inverse", "p", "q")
    message = bytes.fromhex(vector["prefix"] + vector["message"])
    salt = bytes.fromhex(vector["salt"])
    encoded = ballots._encoded(message, salt, modulus.bit_length() - 1)
    assert vector.get("encoded", encoded.hex()) == encoded.hex()
    blinded = ballots._blinded(int.from_bytes(encoded, "big"), inverse, modulus)
    assert blinded == int(vector["blinded"], 16)
    private = pow(EXPONENT, -1, math.lcm(p - 1, q - 1))
    assert pow(blinded, private, modulus) == int(vector["blind_signature"], 16)
    signature = ballots._unblinded(int(vector["blind_signature"], 16), inverse, modulus)
    assert signature == int(vector["signature"], 16)
    opened = pow(signature, EXPONENT, modulus).to_bytes(len(encoded), "big")
    assert ballots._is_encoded(message, opened, modulus.bit_length() - 1)
    assert not ballots._is_encoded(message + b"\x00", opened, modulus.bit_length() - 1)


def views(modulus: int, exponent: int, blindings: list[int]) -> Counter[tuple[int, int, int, int]]:
    """How many blindings connect a request and its answer with a message and its signature, for each four of them.

    A malicious issuer may answer a request with any of its roots.
    """
    units = [number for number in range(modulus) if math.gcd(number, modulus) == 1]
    roots: dict[int, list[int]] = {unit: [] for unit in units}
    for root in units:
        roots[pow(root, exponent, modulus)].append(root)
    found: Counter[tuple[int, int, int, int]] = Counter()
    for message, inverse in itertools.product(units, blindings):
        request = ballots._blinded(message, inverse, modulus, exponent)
        for answer in roots[request]:
            found[request, answer, message, ballots._unblinded(answer, inverse, modulus)] += 1
    return found


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("modulus", [3, 8, 9, 15, 21, 25, 33, 35])
def test_every_request_fits_every_ballot_exactly_once(modulus: int, exponent: int) -> None:
    """Whatever the issuer answered, and whether or not the modulus and the exponent are those of an honest key.

    So given all requests and answers, the distribution of the ballot is the same for each of them.
    """
    units = [number for number in range(modulus) if math.gcd(number, modulus) == 1]
    signed = [(pow(root, exponent, modulus), root) for root in units]
    found = views(modulus, exponent, units)
    assert found == Counter({(*sent, *shown): 1 for sent in signed for shown in signed})


def test_blindings_that_are_not_uniform_would_be_seen() -> None:
    units = [number for number in range(35) if math.gcd(number, 35) == 1]
    assert len(set(views(35, 3, units[1:]).values()) | {0}) == 2
    assert len(views(35, 3, units[1:])) < len(views(35, 3, units))


def test_a_ballot_is_valid_in_its_campaign_and_for_its_key_alone() -> None:
    ballot = signed_ballot()
    assert len(ballot) == BALLOT
    assert is_valid(ISSUER.public, CAMPAIGN, ballot)
    assert not is_valid(ISSUER.public, OTHER, ballot)
    assert not is_valid(SigningKey.new().public, CAMPAIGN, ballot)


def test_openssl_verifies_the_same() -> None:
    """Also what is nearly a ballot: every byte counts."""
    public = rsa.RSAPublicNumbers(EXPONENT, ISSUER.public.modulus).public_key()
    scheme = padding.PSS(padding.MGF1(SHA384()), SALT)
    ballot = signed_ballot()
    public.verify(ballot[NUMBER:], ballot[:NUMBER] + bytes.fromhex(CAMPAIGN), scheme, SHA384())
    for place in (0, NUMBER - 1, NUMBER, NUMBER + 100, BALLOT - 1):
        changed = ballot[:place] + bytes([ballot[place] ^ 1]) + ballot[place + 1 :]
        assert not is_valid(ISSUER.public, CAMPAIGN, changed)
    for size in (0, 20, SALT):
        private = rsa.RSAPrivateNumbers(
            p=ISSUER.p,
            q=ISSUER.q,
            d=pow(EXPONENT, -1, math.lcm(ISSUER.p - 1, ISSUER.q - 1)),
            dmp1=pow(EXPONENT, -1, ISSUER.p - 1),
            dmq1=pow(EXPONENT, -1, ISSUER.q - 1),
            iqmp=pow(ISSUER.q, -1, ISSUER.p),
            public_numbers=public.public_numbers(),
        ).private_key()
        message = bytes(NUMBER) + bytes.fromhex(CAMPAIGN)
        signature = private.sign(message, padding.PSS(padding.MGF1(SHA384()), size), SHA384())
        assert is_valid(ISSUER.public, CAMPAIGN, bytes(NUMBER) + signature) == (size == SALT)


@pytest.mark.parametrize(
    "ballot",
    [
        b"",
        bytes(BALLOT),
        bytes(BALLOT - 1),
        bytes(NUMBER) + ISSUER.public.to_bytes(),
        bytes(NUMBER) + b"\xff" * KEY,
        bytes(NUMBER) + (1).to_bytes(KEY, "big"),
    ],
)
def test_other_bytes_are_no_ballot(ballot: bytes) -> None:
    assert not is_valid(ISSUER.public, CAMPAIGN, ballot)


def test_a_signature_has_one_form() -> None:
    """A signature plus the modulus, if it fits into the bytes, is none."""
    while (issuer := SigningKey.new()).public.modulus > 3 << 2046:
        pass
    for _ in range(80):  # The probability that it never fits is below (2/3)^80, or 1e-14.
        ballot = signed_ballot(issuer=issuer)
        larger = int.from_bytes(ballot[NUMBER:], "big") + issuer.public.modulus
        if larger < 1 << (8 * KEY):
            assert not is_valid(issuer.public, CAMPAIGN, ballot[:NUMBER] + larger.to_bytes(KEY, "big"))
            return
    pytest.fail("no signature was small enough")


def test_the_same_entropy_makes_the_same_request() -> None:
    entropy = system(NUMBER + SALT) + b"\xff" * KEY + bytes(KEY) + b"\x01" * KEY
    source = Recorded(entropy)
    request = BallotRequest.draw(ISSUER.public, CAMPAIGN, source)
    assert source.used == len(entropy)  # What is no blinding is drawn again.
    assert request.inverse == int.from_bytes(b"\x01" * KEY, "big")
    again = BallotRequest.draw(ISSUER.public, CAMPAIGN, Recorded(entropy))
    assert again.to_issuer() == request.to_issuer()
    assert again.ballot(ISSUER.sign(again.to_issuer())) == request.ballot(ISSUER.sign(request.to_issuer()))


def test_an_answer_that_is_no_signature_is_refused() -> None:
    request = BallotRequest.draw(ISSUER.public, CAMPAIGN, system)
    right = ISSUER.sign(request.to_issuer())
    marked = SigningKey.new().sign((int.from_bytes(request.to_issuer(), "big") >> 2).to_bytes(KEY, "big"))
    for wrong in (b"", right[1:], bytes(KEY), request.to_issuer(), b"\xff" * KEY, marked):
        with pytest.raises(BallotError):
            request.ballot(wrong)
    assert is_valid(ISSUER.public, CAMPAIGN, request.ballot(right))


def test_a_key_with_a_small_factor_gives_no_request_away() -> None:
    """Some requests are refused before anything is sent, and no request has a factor in common with the key."""
    modulus = next(
        number for number in range((1 << 2047) + 1, 1 << 2048, 2) if math.gcd(number, 3 * 5 * 7 * 11) == 1155
    )
    key, refused = BallotKey(modulus), 0
    for _ in range(40):
        try:
            sent = BallotRequest.draw(key, CAMPAIGN, system).to_issuer()
        except BallotError:
            refused += 1
        else:
            assert math.gcd(int.from_bytes(sent, "big"), modulus) == 1
    assert 5 < refused < 39  # 58 % are refused; a false alarm has a probability of about 1e-7.


@pytest.mark.parametrize("modulus", [0, 2**2047 - 1, 2**2048 + 1, 2**2047 + 2])
def test_keys_have_2048_bits_and_are_odd(modulus: int) -> None:
    with pytest.raises(ValueError, match="modulus"):
        BallotKey(modulus)


def test_keys_and_requests_show_nothing() -> None:
    assert BallotKey.from_bytes(ISSUER.public.to_bytes()) == ISSUER.public
    with pytest.raises(ValueError, match="256 bytes"):
        BallotKey.from_bytes(ISSUER.public.to_bytes()[1:])
    request: Any = BallotRequest.draw(ISSUER.public, CAMPAIGN, system)
    for shown in (repr(request), repr(ISSUER)):
        assert not any(str(secret) in shown for secret in (request.inverse, request.encoded, ISSUER.p, ISSUER.q))
