"""The gateway's suite finds what pyhpke's own finds, for the vectors of RFC 9180 and for random inputs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, OpenError

from untrackable.oblivious.sealing import RecipientKey, RecipientSuite

CIPHERS = [AEADId.AES128_GCM, AEADId.CHACHA20_POLY1305]
TEXT = b"Beauty is truth, truth beauty"


def usual(aead: AEADId) -> CipherSuite:
    return CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, aead)


@pytest.mark.parametrize(
    ("aead", "secret", "encapsulated", "sealed", "exported"),
    [
        (  # Appendix A.1.1
            AEADId.AES128_GCM,
            "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
            "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
            "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
            "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee",
        ),
        (  # Appendix A.2.1
            AEADId.CHACHA20_POLY1305,
            "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
            "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
            "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
            "4bbd6243b8bb54cec311fac9df81841b6fd61f56538a775e7c80a9f40160606e",
        ),
    ],
)
def test_the_vectors_of_rfc_9180(aead: AEADId, secret: str, encapsulated: str, sealed: str, exported: str) -> None:
    context = RecipientSuite(aead).create_recipient_context(
        bytes.fromhex(encapsulated), RecipientKey(bytes.fromhex(secret)), info=b"Ode on a Grecian Urn"
    )
    assert context.open(bytes.fromhex(sealed), b"Count-0") == TEXT
    assert context.export(b"", 32).hex() == exported


@given(
    st.sampled_from(CIPHERS),
    st.binary(min_size=32, max_size=32),
    st.binary(max_size=40),
    st.sampled_from([b"", b"a key that both sides have, 32 bytes"]),
    st.lists(st.binary(max_size=2000), min_size=1, max_size=3),
    st.binary(max_size=40),
    st.integers(1, 100),
)
def test_the_same_as_pyhpke_alone(
    aead: AEADId, secret: bytes, info: bytes, psk: bytes, texts: list[bytes], label: bytes, size: int
) -> None:
    sender, key = usual(aead), RecipientKey(secret)
    names: dict[str, Any] = {"info": info, "psk": psk, "psk_id": psk[:5]}
    public = sender.kem.deserialize_public_key(key.public_bytes)
    encapsulated, sealing = sender.create_sender_context(public, **names)
    plain = sender.create_recipient_context(encapsulated, sender.kem.deserialize_private_key(secret), **names)
    suite = RecipientSuite(aead)
    contexts = [suite.create_recipient_context(encapsulated, key, **names) for _ in range(2)]
    contexts.append(
        suite.create_recipient_context(encapsulated, suite.kem.deserialize_private_key(secret), **names)
    )
    sealed = [sealing.seal(text, label) for text in texts]
    for context in (plain, *contexts):
        assert [context.open(text, label) for text in sealed] == texts
        assert context.export(label, size) == sealing.export(label, size)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=200))
def test_other_information_and_another_key_open_nothing(info: bytes, other: bytes, text: bytes) -> None:
    sender, key, wrong = usual(AEADId.AES128_GCM), RecipientKey(b"k" * 32), RecipientKey(b"w" * 32)
    public = sender.kem.deserialize_public_key(key.public_bytes)
    encapsulated, sealing = sender.create_sender_context(public, info=info)
    sealed = sealing.seal(text)
    suite = RecipientSuite(AEADId.AES128_GCM)
    assert suite.create_recipient_context(encapsulated, key, info=info).open(sealed) == text
    for context in (
        suite.create_recipient_context(encapsulated, wrong, info=info),
        suite.create_recipient_context(encapsulated, key, info=b"x" + info),
        suite.create_recipient_context(encapsulated, key, info=info, psk=b"p" * 32, psk_id=b"p"),
    ):
        with pytest.raises(OpenError):
            context.open(sealed)
    if other != info:
        with pytest.raises(OpenError):
            suite.create_recipient_context(encapsulated, key, info=other).open(sealed)


def test_a_sender_can_authenticate_as_usual() -> None:
    sender, key = usual(AEADId.AES128_GCM), RecipientKey(b"k" * 32)
    own = sender.kem.deserialize_private_key(b"s" * 32)
    proof = sender.kem.deserialize_public_key(own.raw.public_key().public_bytes_raw())
    public = sender.kem.deserialize_public_key(key.public_bytes)
    encapsulated, sealing = sender.create_sender_context(public, sks=own)
    suite = RecipientSuite(AEADId.AES128_GCM)
    assert suite.create_recipient_context(encapsulated, key, pks=proof).open(sealing.seal(TEXT)) == TEXT
