"""Strings by the hashes of their prefixes: what is hashed, written down a second time, and what does not fit."""

import hashlib
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.encodings.samples import TEXT, discovered
from tests.mechanisms import exact_laws
from untrackable import Dealt, DiscoveredStrings
from untrackable.mechanisms import Levelled

SALT = bytes(range(16))
WHOLE = 1 << 64


def splitmix(word: int) -> int:
    """Steele, Lea, Flood 2014."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WHOLE
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WHOLE
    return word ^ word >> 31


def by_definition(encoding: DiscoveredStrings, text: str) -> list[int]:
    """The page's words, from the string as it is taken."""
    symbols = [encoding.alphabet.index(c) for c in text] if encoding.alphabet else list(text.encode())
    numbers = [symbol + 2 for symbol in symbols] + [1] * (len(symbols) < encoding.longest)
    head = b"untrackable discovered strings 1" + bytes([len(encoding.salt)]) + encoding.salt
    keys = [
        int.from_bytes(hashlib.sha256(head + bytes([i])).digest()[:8], "big")
        for i in range(len(encoding.prefixes) + 1)
    ]
    found = []
    for key, length in zip(keys[1:], encoding.prefixes, strict=True):
        state = keys[0]
        for number in numbers[:length]:
            state = splitmix((state + 0x9E3779B97F4A7C15 * number) % WHOLE)
        found.append(splitmix(state ^ key) >> (64 - encoding.bucket_bits))
    return found


@given(discovered(), TEXT)
def test_hashes_by_definition(encoding: DiscoveredStrings, text: str) -> None:
    try:
        taken = encoding.prepared_text(text)
    except ValueError as error:
        assert text not in str(error) or len(text) < 3  # noqa: PT017
        return
    assert len(taken if encoding.alphabet else taken.encode()) == encoding.length(text)
    assert encoding.shortest <= encoding.length(text) <= encoding.longest
    buckets = by_definition(encoding, taken)
    assert list(encoding.buckets(text)) == buckets
    assert encoding.encode(text) == sum(b << encoding.bucket_bits * i for i, b in enumerate(buckets))
    assert encoding.encode_many([text, text]).tolist() == [buckets] * 2
    words = encoding.label(encoding.encode(text)).removeprefix("buckets ").split()
    assert [int(word, 16) for word in words] == buckets


@pytest.mark.parametrize(
    ("parameters", "string", "buckets"),
    [
        ({"longest": 8, "prefixes": [2, 5, 7, 8, 8]}, "", [602311, 302549, 517606, 622010, 624670]),
        ({"longest": 8, "prefixes": [2, 5, 7, 8, 8]}, "hello", [875109, 97866, 908092, 546504, 498704]),
        ({"longest": 8, "prefixes": [2, 5, 7, 8, 8]}, "日本", [645707, 367992, 868022, 372549, 615231]),
        ({"longest": 4, "prefixes": [2, 4], "alphabet": "абвг"}, "вага", [564798, 252598]),
    ],
)
def test_golden_vectors(parameters: dict[str, Any], string: str, buckets: list[int]) -> None:
    assert list(DiscoveredStrings(salt=SALT, **parameters).buckets(string)) == buckets


def test_what_shares_a_prefix_shares_its_bucket() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=9, prefixes=[3, 6, 9, 9], bucket_bits=24)
    first, second = encoding.buckets("catalogue"), encoding.buckets("catalysis")
    assert first[0] == second[0]
    assert all(a != b for a, b in zip(first[1:], second[1:], strict=True))
    assert first[2] != first[3]  # the same prefix, another hash
    assert encoding.buckets("cat")[0] == first[0]  # whose end does not show yet
    assert encoding.buckets("cat")[1] != first[1]


def test_composed_form_is_what_counts() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=9, prefixes=[3, 6, 9], bucket_bits=24)
    assert encoding.encode("e\u0301") == encoding.encode("é")
    assert encoding.prepared_text("e\u0301") == "é"
    assert encoding.length("é") == 2


def test_what_does_not_fit() -> None:
    letters: dict[str, Any] = {"salt": SALT, "longest": 4, "prefixes": [2, 4], "alphabet": "abc"}
    strict, lenient = (
        DiscoveredStrings(**letters),
        DiscoveredStrings(**letters, too_long="truncate", unknown="omit"),
    )
    with pytest.raises(ValueError, match="at most 4 characters; the given one has more"):
        strict.encode("abcab")
    with pytest.raises(ValueError, match="characters of the alphabet; the given one has others"):
        strict.encode("axb")
    assert lenient.prepared_text("a-b-c-a-b") == "abca"
    with pytest.raises(ValueError, match="at least 2 characters; the given one has fewer"):
        DiscoveredStrings(**letters, shortest=2).encode("a")
    with pytest.raises(TypeError, match="string must be a string"):
        strict.encode(3)
    octets = DiscoveredStrings(salt=SALT, longest=4, prefixes=[2, 4], too_long="truncate")
    assert octets.prepared_text("日本") == "日"
    assert octets.prepared_text("abcdef") == "abcd"
    assert octets.prepared_text("abé") == "abé"
    with pytest.raises(ValueError, match="at most 4 bytes"):
        DiscoveredStrings(salt=SALT, longest=4, prefixes=[2, 4]).encode("日本")


@given(st.text(max_size=8), st.integers(1, 9))
def test_bytes_are_cut_between_characters(text: str, longest: int) -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=longest, prefixes=range(1, longest + 1), too_long="truncate")
    taken = encoding.prepared_text(text)
    assert unicodedata.normalize("NFC", text).startswith(taken)
    rest = unicodedata.normalize("NFC", text)[len(taken) :]
    assert not rest or len((taken + rest[0]).encode()) > longest


def test_descriptions() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=4, prefixes=[2, 4], alphabet="abc", unknown="omit")
    assert encoding.describe() == (
        "a string of 0 to 4 characters of 'abc', by its first 2, 4, each hashed into 2^20 buckets under the public "
        "salt 000102030405060708090a0b0c0d0e0f; a longer one is refused, other characters left out"
    )
    assert encoding.decode(5) == encoding.label(5) == "buckets 00005 00000"


def test_mechanisms() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=4, prefixes=[2, 4, 4], alphabet="abc", bucket_bits=9)
    local = encoding.local(1.5)
    assert (local.base.bits, local.base.eps, local.levels) == (9, 1.5, 3)
    deck = encoding.deck(slots=20, eps=1.0, delta=1e-6)
    assert isinstance(deck, Dealt)
    assert isinstance(deck.base, Levelled)
    assert 0.5e-6 < deck.privacy().delta(1.0).upper <= 1e-6
    assert deck.tracking(reports=20).advantage().upper == 0
    deck.client(encoding.encode("abca")).report(1)


def test_arrays_have_a_last_axis_of_levels() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=4, prefixes=[2, 4, 4])
    assert encoding.encode_many(np.array([["a", "b"], ["c", "a"]])).shape == (2, 2, 3)
    assert encoding.encode_many([]).shape == (0, 3)
    with pytest.raises(TypeError, match="not one string"):
        encoding.encode_many("abc")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"salt": bytes(15)}, "salt must have 16 to 64 bytes, got 15"),
        ({"salt": "0" * 16}, "salt must be bytes, not str"),
        ({"longest": 0}, "longest must be between 1 and 255, got 0"),
        ({"shortest": 9}, "shortest must be between 0 and 8, got 9"),
        ({"bucket_bits": 27}, "bucket_bits must be between 1 and 26, got 27"),
        ({"prefixes": []}, "prefixes must be 1 to 16 lengths, got 0"),
        ({"prefixes": [2, 4]}, "prefixes must rise to longest, 8, and may repeat only that"),
        ({"prefixes": [4, 2, 8]}, "prefixes must rise to longest"),
        ({"prefixes": [4, 4, 8]}, "prefixes must rise to longest"),
        ({"prefixes": "8"}, "prefixes must be a list of lengths"),
        ({"prefixes": [2, 9]}, "prefixes must be between 1 and 8, got 9"),
        ({"prefixes": [2, 8]}, r"256\^6 are too many"),
        ({"bucket_bits": 15}, r"there are 256\^2 prefixes and only 2\^\(15·1\) combinations of buckets"),
        ({"alphabet": "aba"}, "alphabet must not have a character twice"),
        ({"alphabet": "a"}, "alphabet must have at least 2 characters"),
        ({"alphabet": "ae\u0301"}, "alphabet must be in Unicode's composed form"),
        ({"too_long": "hash"}, "too_long must be one of error, truncate"),
        ({"unknown": "hash"}, "unknown must be one of error, omit"),
    ],
)
def test_parameters_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        DiscoveredStrings(**{"salt": SALT, "longest": 8, "prefixes": [2, 4, 6, 8], **given})


def test_over_salts_strings_and_levels_fall_uniformly_and_independently() -> None:
    """Two strings with a common prefix, at two levels: fails by chance as rarely as `exact_laws.ALARM`."""
    law = np.full(32, 1 / 32)
    counts = np.zeros(32, dtype=np.int64)
    for number in range(40_000):
        encoding = DiscoveredStrings(
            salt=number.to_bytes(16, "big"), longest=4, prefixes=[2, 4], alphabet="ab", bucket_bits=2
        )
        one, other = encoding.buckets("abab"), encoding.buckets("abaa")
        assert one[0] == other[0]
        counts[8 * one[0] + 2 * one[1] + (other[1] >> 1)] += 1
    exact_laws.agrees(counts, law, exact_laws.tilted(law, 0.06))
