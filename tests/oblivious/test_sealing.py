"""Sealing: the vectors of RFC 9180 and RFC 9458, one length for all, and every altered or unknown request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyPair

from untrackable.errors import GatewayKeyUnknown, SealingError
from untrackable.oblivious import sealing
from untrackable.oblivious.key_config import KeyConfig, Suite
from untrackable.oblivious.sealing import OpeningKey, open_request, seal_request

SECRET = bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
CONFIG = bytes.fromhex("01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003")
EPHEMERAL = bytes.fromhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
REQUEST = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
SEALED = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c69"
    "5d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
ANSWER = bytes.fromhex("0140c8")
ANSWER_SALT = bytes.fromhex("c789e7151fcba46158ca84b04464910d")
SEALED_ANSWER = bytes.fromhex("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")

BOTH = (Suite(1, 1), Suite(1, 3))
KEYS = {1: OpeningKey.from_bytes(1, SECRET, BOTH)}
EXAMPLE = KeyConfig.from_bytes(CONFIG)


def key_pair(secret: bytes) -> KEMKeyPair:
    cipher = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
    private = cipher.kem.deserialize_private_key(secret)
    return KEMKeyPair(private, cipher.kem.deserialize_public_key(private.raw.public_key().public_bytes_raw()))


def test_the_example_of_rfc_9458() -> None:
    assert KEYS[1].config == EXAMPLE
    sealed = sealing._seal_request(EXAMPLE, REQUEST, key_pair(EPHEMERAL))
    assert sealed.body == SEALED
    opened = open_request(KEYS, SEALED)
    assert opened.content == REQUEST
    assert sealing._seal_answer(opened, ANSWER, ANSWER_SALT) == SEALED_ANSWER
    assert sealed.open_answer(SEALED_ANSWER) == ANSWER


def test_the_vectors_of_rfc_9180() -> None:
    """Appendix A.1.1: X25519, HKDF-SHA256, AES-128-GCM, base mode."""
    cipher = sealing._cipher(Suite(1, 1))
    info = b"Ode on a Grecian Urn"
    receiver = key_pair(bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
    sender = key_pair(bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"))
    encapsulated, context = cipher.create_sender_context(receiver.public_key, info=info, eks=sender)
    assert encapsulated.hex() == "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"
    text = b"Beauty is truth, truth beauty"
    ciphers = [
        "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
        "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6eab251c03d0c22a56b8ca42c2063b84",
    ]
    opening = cipher.create_recipient_context(encapsulated, receiver.private_key, info=info)
    for number, written in enumerate(ciphers):
        assert context.seal(text, b"Count-%d" % number).hex() == written
        assert opening.open(bytes.fromhex(written), b"Count-%d" % number) == text
    exported = [
        (b"", "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee"),
        (b"\x00", "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5"),
        (b"TestContext", "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931"),
    ]
    for what, secret in exported:
        assert context.export(what, 32).hex() == opening.export(what, 32).hex() == secret


@pytest.mark.parametrize("suite", BOTH)
def test_both_ciphers_there_and_back(suite: Suite) -> None:
    sealed = seal_request(KeyConfig(1, EXAMPLE.public_key, (suite,)), b"a request")
    opened = open_request(KEYS, sealed.body)
    assert opened.content.rstrip(b"\x00") == b"a request"
    assert sealed.open_answer(opened.seal_answer(b"an answer")).rstrip(b"\x00") == b"an answer"


@pytest.mark.parametrize("size", [0, 1, 100, sealing.REQUEST_LENGTH])
def test_all_sealed_requests_have_one_length(size: int) -> None:
    sealed = seal_request(EXAMPLE, bytes(size))
    assert len(sealed.body) == sealing.SEALED_LENGTH
    answer = open_request(KEYS, sealed.body).seal_answer(bytes(min(size, sealing.ANSWER_LENGTH)))
    assert len(answer) == sealing.SEALED_ANSWER_LENGTH


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SealingError, match="at most 1024 bytes"):
        seal_request(EXAMPLE, bytes(sealing.REQUEST_LENGTH + 1))
    with pytest.raises(SealingError, match="at most 768 bytes"):
        open_request(KEYS, SEALED).seal_answer(bytes(sealing.ANSWER_LENGTH + 1))


def test_the_same_request_is_never_sealed_to_the_same_bytes() -> None:
    first, second = seal_request(EXAMPLE, b"same"), seal_request(EXAMPLE, b"same")
    assert first.body[7:39] != second.body[7:39]
    opened = open_request(KEYS, first.body)
    assert opened.seal_answer(b"") != opened.seal_answer(b"")
    with pytest.raises(SealingError):
        second.open_answer(opened.seal_answer(b""))


def test_an_unknown_key_or_cipher_is_told_from_other_errors() -> None:
    assert open_request(KEYS, SEALED).content == REQUEST
    other = {1: OpeningKey.from_bytes(1, SECRET, (Suite(1, 3),))}
    for keys, body in [({}, SEALED), ({2: KEYS[1]}, SEALED), (other, SEALED), (KEYS, b"\x01\x00\x10" + SEALED[3:])]:
        with pytest.raises(GatewayKeyUnknown):
            open_request(keys, body)
    with pytest.raises(SealingError) as caught:
        open_request({1: OpeningKey.from_bytes(1, EPHEMERAL, BOTH)}, SEALED)
    assert not isinstance(caught.value, GatewayKeyUnknown)


def test_a_key_that_agrees_on_nothing_is_refused() -> None:
    with pytest.raises(SealingError, match="cannot be used"):
        seal_request(KeyConfig(1, bytes(32)), b"")
    with pytest.raises(SealingError):
        open_request(KEYS, SEALED[:7] + bytes(32) + SEALED[39:])
    with pytest.raises(ValueError, match="32 bytes"):
        OpeningKey.from_bytes(1, SECRET[:-1])


def test_nothing_secret_is_shown() -> None:
    sealed = seal_request(EXAMPLE, b"a secret")
    shown = repr(KEYS[1]) + repr(sealed) + repr(open_request(KEYS, sealed.body))
    assert "secret" not in shown
    assert SECRET.hex() not in shown


@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255))
def test_every_altered_request_is_refused(at: int, change: int) -> None:
    altered = SEALED[:at] + bytes([SEALED[at] ^ change]) + SEALED[at + 1 :]
    with pytest.raises(SealingError):
        open_request(KEYS, altered)


def test_the_unused_bit_of_an_encapsulated_key_is_no_second_form() -> None:
    """X25519 ignores the highest bit, but the sealed request depends on it all the same."""
    altered = SEALED[:38] + bytes([SEALED[38] ^ 0x80]) + SEALED[39:]
    with pytest.raises(SealingError):
        open_request(KEYS, altered)


@given(st.integers(0, len(SEALED_ANSWER) - 1), st.integers(1, 255))
def test_every_altered_answer_is_refused(at: int, change: int) -> None:
    sealed = sealing._seal_request(EXAMPLE, REQUEST, key_pair(EPHEMERAL))
    altered = SEALED_ANSWER[:at] + bytes([SEALED_ANSWER[at] ^ change]) + SEALED_ANSWER[at + 1 :]
    with pytest.raises(SealingError):
        sealed.open_answer(altered)


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    for body in (data, SEALED[:7] + data, SEALED[:39] + data):
        with pytest.raises(SealingError):
            open_request(KEYS, body)
    with pytest.raises(SealingError):
        seal_request(EXAMPLE, b"").open_answer(data)
