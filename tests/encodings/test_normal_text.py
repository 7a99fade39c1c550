"""Bits, categories and hashed strings: one form of each text, and a hash that anyone can compute."""

import hashlib
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.encodings.samples import TEXT, categories, hashed
from tests.mechanisms import exact_laws
from untrackable import Bit, Categories, HashedStrings

SALT = bytes(range(16))
ACCENTED = ("é", "e\u0301")
"""The same to the eye: composed, and decomposed."""


def test_bits() -> None:
    bit = Bit()
    assert [bit.encode(raw) for raw in (False, True, 0, 1, np.False_, np.True_, np.int64(1))] == [
        0,
        1,
        0,
        1,
        0,
        1,
        1,
    ]
    assert [bit.decode(value) for value in (0, 1)] == [False, True]
    assert [Bit(zero="off", one="on").label(value) for value in (0, 1)] == ["off", "on"]
    assert bit.encode_many(np.array([True, False])).tolist() == [1, 0]
    for raw in (2, -1):
        with pytest.raises(ValueError, match="bit must be"):
            bit.encode(raw)
    others: list[Any] = ["yes", "", None, 1.0, []]
    for wrong in others:
        with pytest.raises(TypeError, match="bit must be"):
            bit.encode(wrong)
    with pytest.raises(ValueError, match="different names"):
        Bit(zero="é", one="e\u0301")
    with pytest.raises(TypeError, match="one must be a string"):
        Bit(one=1)  # type: ignore[arg-type]


@given(categories(), st.data())
def test_categories_come_back(encoding: Categories, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(encoding.names))
    for form in ("NFC", "NFD"):
        assert encoding.decode(encoding.encode(unicodedata.normalize(form, name))) == name
    unlisted = data.draw(TEXT.filter(lambda text: unicodedata.normalize("NFC", text) not in encoding.names))
    if encoding.unknown == "other":
        assert encoding.decode(encoding.encode(unlisted)) == "other"
        assert encoding.encode(unlisted) == encoding.values - 1 == len(encoding.names)
    else:
        with pytest.raises(ValueError, match=r"in the list; the given one \(not shown\) is not"):
            encoding.encode(unlisted)


def test_categories_are_checked() -> None:
    assert Categories(names=["a"], unknown="other").values == 2
    assert Categories(names=["a", "other"]).encode("other") == 1
    few, twice = "names must have", "names must be different"
    for names, message in (([], few), (["a"], few), (["a", "a"], twice), (list(ACCENTED), twice)):
        with pytest.raises(ValueError, match=message):
            Categories(names=names)
    with pytest.raises(ValueError, match="must not contain 'other'"):
        Categories(names=["a", "other"], unknown="other")
    with pytest.raises(ValueError, match="surrogate"):
        Categories(names=["a", "\ud800"])
    for wrong in ("ab", ["a", 1], [b"a", b"b"], [None, "a"], {"a", "b"}, 5, None):
        with pytest.raises(TypeError, match="names must be"):
            Categories(names=wrong)  # type: ignore[arg-type]
    for raw in (0, None, b"a", 1.5, ["a"]):
        with pytest.raises(TypeError, match="category must be a string"):
            Categories(names=["a", "b"], unknown="other").encode(raw)


def test_long_lists_are_described_by_their_beginning() -> None:
    assert "h and 2 more; anything else" in Categories(names=list("abcdefghij")).describe()
    assert Categories(names=list("ab"), unknown="other").describe() == "one of 2: a, b; all others count as other"


@pytest.mark.parametrize(
    ("string", "digest"),
    [  # of `printf '\x10\x00\x01…\x0f…' | sha256sum`
        ("", "7185dc4c2edbff64870131374d7751ad0db4f64f594476416617585a99511983"),
        ("hello", "eadafeb59318cedd6e39cde84ac58fcfdafdd38676314cecc2ed9e4b040c2e3b"),
        ("é", "7fcffaa28a505344bfd702dbaa378229687325904baade8004833265120b57ca"),
        ("e\u0301", "7fcffaa28a505344bfd702dbaa378229687325904baade8004833265120b57ca"),
        ("日本語", "254957e1965641fbbd9c2ab655494688192d32ff47dacb8d08d0f704c01fa15e"),
    ],
)
def test_hashes_are_the_first_bits_of_sha256(string: str, digest: str) -> None:
    for bits in range(1, 257):
        encoding = HashedStrings(bits=bits, salt=SALT, longest=9)
        assert encoding.encode(string) == int(f"{int(digest, 16):0256b}"[:bits], 2)


@given(hashed(), TEXT)
def test_hashes_by_definition(encoding: HashedStrings, text: str) -> None:
    plain = unicodedata.normalize("NFC", text)
    if len(plain) > encoding.longest and encoding.too_long == "error":
        with pytest.raises(ValueError, match="the given one has more"):
            encoding.encode(text)
        return
    hashed_bytes = bytes([len(encoding.salt)]) + encoding.salt + plain[: encoding.longest].encode("utf-8")
    value = encoding.encode(text)
    assert value == int(hashlib.sha256(hashed_bytes).hexdigest(), 16) >> (256 - encoding.bits)
    assert encoding.decode(value) == encoding.label(value)
    assert int(encoding.label(value).removeprefix("bucket "), 16) == value


@given(TEXT, st.integers(1, 6))
def test_cutting_counts_characters_and_leaves_them_whole(text: str, longest: int) -> None:
    encoding = HashedStrings(bits=64, salt=SALT, longest=longest, too_long="truncate")
    plain = unicodedata.normalize("NFC", text)
    assert encoding.encode(text) == encoding.encode(plain[:longest])
    assert unicodedata.is_normalized("NFC", plain[:longest])
    assert encoding.encode("😀" * (longest + 3)) == encoding.encode("😀" * longest)


@given(st.lists(TEXT, max_size=9))
def test_many_strings_at_once(texts: list[str]) -> None:
    encoding = HashedStrings(bits=64, salt=SALT, longest=99)
    each = [encoding.encode(text) for text in texts]
    assert encoding.encode_many(texts).tolist() == each
    assert encoding.encode_many(texts * 2).tolist() == each * 2
    assert encoding.encode_many(np.array(texts, dtype=object)).tolist() == each
    with pytest.raises(ValueError, match="bits must be at most 64"):
        HashedStrings(bits=65, salt=SALT, longest=99).encode_many(texts)


def test_hashed_strings_are_checked() -> None:
    with pytest.raises(TypeError, match="bits"):
        HashedStrings(salt=SALT, longest=9)  # type: ignore[call-arg]
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "bits must be between 1 and 256", {"bits": 0}),
        (ValueError, "bits must be between 1 and 256", {"bits": 257}),
        (ValueError, "salt must have 16 to 64 bytes, got 15", {"salt": bytes(15)}),
        (ValueError, "salt must have 16 to 64 bytes, got 65", {"salt": bytes(65)}),
        (TypeError, "salt must be bytes, not str", {"salt": "00" * 16}),
        (ValueError, "longest must be between 1", {"longest": 0}),
        (ValueError, "too_long must be one of error, truncate", {"too_long": "hash"}),
    ]
    for error, message, parameters in wrong:
        with pytest.raises(error, match=message):
            HashedStrings(**{"bits": 8, "salt": SALT, "longest": 9, **parameters})
    one, other = (HashedStrings.fresh(bits=8, longest=9, too_long="truncate") for _ in range(2))
    assert one.salt != other.salt
    assert len(one.salt) == 16


def test_over_salts_two_strings_fall_uniformly_and_independently() -> None:
    """Of the 16 pairs of buckets all are as likely: fails by chance with probability at most `exact_laws.ALARM`."""
    law = np.full(16, 1 / 16)
    counts = np.zeros(16, dtype=np.int64)
    for number in range(30_000):
        encoding = HashedStrings(bits=2, salt=number.to_bytes(16, "big"), longest=9)
        counts[4 * encoding.encode("first") + encoding.encode("second")] += 1
    exact_laws.agrees(counts, law, exact_laws.tilted(law, 0.06))
