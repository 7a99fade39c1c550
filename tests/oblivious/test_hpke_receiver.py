"""The receiver gives what pyhpke gives, and what RFC 9180 has."""

import os

import pytest

from untrackable.errors import SealingError
from untrackable.oblivious.hpke_receiver import HpkeReceiver, cipher_suite
from untrackable.oblivious.key_config import Suite

SUITES = (Suite(1, 1), Suite(1, 3))


def receiver(secret: bytes, suite: Suite, info: bytes) -> HpkeReceiver:
    return HpkeReceiver(cipher_suite(suite).kem.deserialize_private_key(secret), suite, info)


@pytest.mark.parametrize(
    ("suite", "secret", "encapsulated", "exporter", "exported"),
    [
        (
            Suite(1, 1),  # Appendix A.1.1
            "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
            "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
            "45ff1c2e220db587171952c0592d5f5ebe103f1561a2614e38f2ffd47e99e3f8",
            "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931",
        ),
    ],
)
def test_the_secrets_of_rfc_9180(
    suite: Suite, secret: str, encapsulated: str, exporter: str, exported: str
) -> None:
    """Its ciphertexts have associated data, which Oblivious HTTP does not, so the message is sealed here."""
    info, sent = b"Ode on a Grecian Urn", bytes.fromhex(encapsulated)
    opening = receiver(bytes.fromhex(secret), suite, info)
    key, nonce = bytes.fromhex("4531685d41d65f03dc48f6b8302c05b0"), bytes.fromhex("56d890e5accaaf011cff4b7d")
    sealed = cipher_suite(suite).aead.import_key(key).seal(b"a message", nonce)
    content, found = opening.open(sent, sealed)
    assert content == b"a message"
    assert found.hex() == exporter
    assert opening.export(found, b"TestContext", 32).hex() == exported


@pytest.mark.parametrize("suite", SUITES)
def test_the_same_as_pyhpke(suite: Suite) -> None:
    cipher = cipher_suite(suite)
    for number in range(30):
        secret, info, message = os.urandom(32), os.urandom(number), os.urandom(7 * number)
        private = cipher.kem.deserialize_private_key(secret)
        public = cipher.kem.deserialize_public_key(private.raw.public_key().public_bytes_raw())
        encapsulated, sender = cipher.create_sender_context(public, info=info)
        sealed = sender.seal(message)
        opening = receiver(secret, suite, info)
        content, exporter = opening.open(encapsulated, sealed)
        assert content == message == cipher.create_recipient_context(encapsulated, private, info=info).open(sealed)
        for size in (12, 16, 32):
            assert opening.export(exporter, info, size) == sender.export(info, size)


@pytest.mark.parametrize("suite", SUITES)
def test_another_key_info_or_message_is_refused(suite: Suite) -> None:
    cipher = cipher_suite(suite)
    secret = os.urandom(32)
    private = cipher.kem.deserialize_private_key(secret)
    public = cipher.kem.deserialize_public_key(private.raw.public_key().public_bytes_raw())
    encapsulated, sender = cipher.create_sender_context(public, info=b"info")
    sealed = sender.seal(b"a message")
    assert receiver(secret, suite, b"info").open(encapsulated, sealed)[0] == b"a message"
    for other in (receiver(os.urandom(32), suite, b"info"), receiver(secret, suite, b"other")):
        with pytest.raises(SealingError, match="altered"):
            other.open(encapsulated, sealed)
    for given in (sealed[:-1], sealed[:5], b"", sealed + b"\x00"):
        with pytest.raises(SealingError):
            receiver(secret, suite, b"info").open(encapsulated, given)
    with pytest.raises(SealingError, match="cannot be used"):
        receiver(secret, suite, b"info").open(bytes(32), sealed)
