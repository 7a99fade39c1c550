"""The cookie of a session: nobody makes or changes one without the access key, whatever they read elsewhere."""

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from untrackable.collector.dashboard.session_cookie import SessionCookie, _cookie, new_cookie, read_cookie
from untrackable.collector.stores.records import StoredKey

ENDS = 1_800_043_210
ACCESS_KEY = "ut_0123456789ab_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE"
NONCE = bytes(range(12))


def stored_key(access_key: str = ACCESS_KEY) -> StoredKey:
    digest = hashlib.sha256(access_key.encode()).digest()
    return StoredKey(access_key.split("_")[1], "admin", digest, "2026-11-16", revoked=False)


def form_token(text: str, stored: StoredKey | None = None) -> str | None:
    found = read_cookie(text)
    return None if found is None else found.form_token(stored_key() if stored is None else stored)


def test_a_cookie_is_the_same_in_every_version_that_shares_a_store() -> None:
    text = _cookie(ACCESS_KEY, stored_key(), ENDS, NONCE)
    assert text == (
        "0123456789ab.1800043210.000102030405060708090a0b."
        "17f285933e573ee06b6e9f0aa48cecc811cb777bd5962a534a235408dfddd7a06e65208d90ba"
        "6d681a0e5b95d294488da623b217f624eab97c634686a96c47a28021150cc869a01d01d1d2"
    )  # fmt: skip
    assert form_token(text) == "bd52dacd08f1e0737c694e8955d9e8cef32da4cb7634e80109e2a2412c459a0d"


def test_no_character_of_a_cookie_can_be_changed() -> None:
    """A cookie has one spelling: capital digits, spare bits and leading zeros are refused too."""
    text = _cookie(ACCESS_KEY, stored_key(), ENDS, NONCE)
    assert form_token(text)
    for place, character in enumerate(text):
        for other in "0123456789abcdefABCDEF.- ٣":
            changed = text[:place] + other + text[place + 1 :]
            assert other == character or form_token(changed) is None
        assert form_token(text[:place] + text[place + 1 :]) is None
        assert form_token(text[:place] + "0" + text[place:]) is None
        assert form_token(text[:place]) is None
    for around in (f"{text}\n", f" {text}", f"{text}0", f"{text}00", f"{text}.00", f"{text}.{text}"):
        assert form_token(around) is None


def test_the_end_and_the_key_of_a_cookie_cannot_be_replaced() -> None:
    id, _, nonce, sealed = new_cookie(ACCESS_KEY, stored_key(), ENDS).split(".")
    assert form_token(f"{id}.{ENDS}.{nonce}.{sealed}")
    for ends in (ENDS + 1, ENDS - 1, ENDS * 10, f"0{ENDS}", 0, 999_999_999_999):
        assert form_token(f"{id}.{ends}.{nonce}.{sealed}") is None
    other = stored_key("ut_ba9876543210_" + "x" * 43)
    assert form_token(f"{other.id}.{ENDS}.{nonce}.{sealed}", other) is None
    assert form_token(f"{id}.{ENDS}.{nonce}.{sealed}", other) is None


@pytest.mark.parametrize(
    "inside",
    [b"", b"\xff", b"ut_0123456789ab_", stored_key().digest, stored_key().digest.hex().encode(),
     ACCESS_KEY.encode()[:-1], ACCESS_KEY.encode() + b"\n", b"x" * 200],
)  # fmt: skip
def test_the_digest_alone_makes_no_cookie(inside: bytes) -> None:
    """Whoever reads the store can seal anything, but not the access key, of which the store has a digest only."""
    stored = stored_key()
    cipher = AESGCM(hmac.digest(stored.digest, b"untrackable dashboard, session 2", hashlib.sha256))
    head = f"{stored.id}.{ENDS}"

    def sealed(content: bytes) -> str:
        return f"{head}.{NONCE.hex()}.{cipher.encrypt(NONCE, content, head.encode()).hex()}"

    assert form_token(sealed(ACCESS_KEY.encode()))
    assert form_token(sealed(inside)) is None


def test_a_cookie_shows_nothing_of_the_access_key() -> None:
    text = new_cookie(ACCESS_KEY, stored_key(), ENDS)
    secret = ACCESS_KEY.split("_", 2)[2].encode()
    assert secret[:4].hex() not in text
    assert stored_key().digest[:4].hex() not in text
    found = read_cookie(text)
    assert "digest" not in repr(stored_key())
    assert repr(found) == f"SessionCookie(key='0123456789ab', ends={ENDS})"


def test_every_cookie_is_new() -> None:
    made = {new_cookie(ACCESS_KEY, stored_key(), ENDS) for _ in range(100)}
    assert len({text.split(".")[2] for text in made}) == len({form_token(text) for text in made}) == 100


def test_a_key_that_does_not_exist_is_refused_alike() -> None:
    """Not even a cookie that is sealed with the digest that stands for a missing key is one."""
    nobody = StoredKey("0123456789ab", "admin", bytes(32), "2026-11-16", revoked=False)
    for text in (new_cookie(ACCESS_KEY, nobody, ENDS), new_cookie(ACCESS_KEY, stored_key(), ENDS)):
        found = read_cookie(text)
        assert isinstance(found, SessionCookie)
        assert found.form_token(None) is None
