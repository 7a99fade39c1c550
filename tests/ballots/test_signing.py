"""Private keys: what they sign, what they refuse, and that a wrong result is never given out."""

import math

import pytest

from untrackable.ballots import signing
from untrackable.ballots.signing import SigningKey
from untrackable.errors import BallotError
from untrackable.protocol.ballots import EXPONENT, KEY

ISSUER = SigningKey.new()


def test_a_signature_is_the_root_of_the_request() -> None:
    """Every time the same, although the work is blinded anew."""
    modulus = ISSUER.public.modulus
    private = pow(EXPONENT, -1, math.lcm(ISSUER.p - 1, ISSUER.q - 1))
    for number in (2, 3, modulus - 2, ISSUER.p, modulus // 7):
        wanted = pow(number, private, modulus).to_bytes(KEY, "big")
        assert {ISSUER.sign(number.to_bytes(KEY, "big")) for _ in range(3)} == {wanted}


@pytest.mark.parametrize(
    "blinded",
    [b"", bytes(KEY), b"\x01".rjust(KEY, b"\x00"), ISSUER.public.to_bytes(), b"\xff" * KEY, b"\x02" * 255],
)
def test_other_requests_are_refused(blinded: bytes) -> None:
    with pytest.raises(BallotError):
        ISSUER.sign(blinded)


def test_a_wrong_result_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature that is right for one prime only would reveal the other one."""
    right = signing._root
    monkeypatch.setattr(signing, "_root", lambda base, prime: right(base, prime) ^ (prime == ISSUER.p))
    with pytest.raises(RuntimeError, match="wrong"):
        ISSUER.sign(b"\x02" * KEY)


def test_keys_are_kept_as_bytes() -> None:
    assert SigningKey.from_bytes(ISSUER.to_bytes()) == ISSUER
    assert SigningKey.new().public != ISSUER.public
    with pytest.raises(ValueError, match="256 bytes"):
        SigningKey.from_bytes(ISSUER.to_bytes()[1:])
    for p, q in ((ISSUER.p, ISSUER.p), (ISSUER.p, ISSUER.q + 2), (ISSUER.p, 3)):
        with pytest.raises(ValueError, match=r"primes|modulus"):
            SigningKey(p, q)
