"""Encodings of every kind, for tests that hold for all."""

import math
import unicodedata
from dataclasses import replace

from hypothesis import strategies as st

from untrackable import Bit, Buckets, Categories, DiscoveredStrings, HashedStrings, IntegerRange
from untrackable.encodings import Encoding
from untrackable.encodings.numbers import LARGEST_INTEGER, Outside

OUTSIDE: st.SearchStrategy[Outside] = st.sampled_from(["error", "clamp", "separate"])
TEXT = st.text(max_size=12)  # hypothesis makes no surrogates unless asked
SHOWN = (
    st.text(st.characters(exclude_categories=["Cc", "Cf", "Co", "Cs", "Zl", "Zp"]), max_size=12)
    .filter(lambda text: sum(unicodedata.category(mark)[0] == "M" for mark in text) <= 6)
    .map(lambda text: f"{text}.")  # Something must be seen.
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)


@st.composite
def integer_ranges(draw: st.DrawFn) -> IntegerRange:
    low = draw(INTEGERS)
    high = draw(st.integers(low, LARGEST_INTEGER) | st.integers(low, min(low + 50, LARGEST_INTEGER)))
    below, above = draw(OUTSIDE), draw(OUTSIDE)
    if low == high:
        above = "separate"
    return IntegerRange(low=low, high=high, below=below, above=above)


@st.composite
def buckets(draw: st.DrawFn) -> Buckets:
    edges = sorted(draw(st.sets(FINITE | st.integers(-9, 9).map(float), min_size=3, max_size=20)))
    unit = draw(st.sampled_from(["", "", "ms", "KB", "%"]))
    return Buckets(edges=edges, below=draw(OUTSIDE), above=draw(OUTSIDE), unit=unit)


@st.composite
def categories(draw: st.DrawFn) -> Categories:
    names = draw(
        st.lists(SHOWN, min_size=2, max_size=12, unique_by=lambda name: unicodedata.normalize("NFC", name))
    )
    unknown = "error" if "other" in names else draw(st.sampled_from(["error", "other"]))
    return Categories(names=names, unknown=unknown)  # type: ignore[arg-type]


@st.composite
def hashed(draw: st.DrawFn) -> HashedStrings:
    return HashedStrings(
        bits=draw(st.integers(1, 256)),
        salt=draw(st.binary(min_size=16, max_size=64)),
        longest=draw(st.integers(1, 100)),
        too_long=draw(st.sampled_from(["error", "truncate"])),
    )


@st.composite
def discovered(draw: st.DrawFn) -> DiscoveredStrings:
    alphabet = draw(st.sampled_from(["", "01", "abcdefghij", "äöüß-é"]))
    longest = draw(st.integers(1, 12))
    lengths = [length for length in range(1, longest) if draw(st.booleans()) or not alphabet]
    return DiscoveredStrings(
        longest=longest,
        prefixes=[*lengths, longest] + [longest] * draw(st.integers(0, 2))
        if longest < 3 or alphabet in ("", "01")
        else range(1, longest + 1),
        salt=draw(st.binary(min_size=16, max_size=64)),
        alphabet=alphabet,
        shortest=draw(st.integers(0, longest)),
        bucket_bits=draw(st.integers(12, 26)),
        too_long=draw(st.sampled_from(["error", "truncate"])),
        unknown=draw(st.sampled_from(["error", "omit"])),
    )


def encodings() -> st.SearchStrategy[Encoding]:
    return st.one_of(st.just(Bit()), integer_ranges(), buckets(), categories(), hashed(), discovered())


def one_of_each() -> list[Encoding]:
    return [
        Bit(zero="off", one="on"),
        IntegerRange(low=-3, high=12, below="clamp", above="separate"),
        Buckets.equal_width(0, math.pi, 7, below="separate", above="clamp"),
        replace(Buckets.log_scale(1e-3, 1e9, 12), unit="s"),
        Categories(names=["red", "grün", "青"], unknown="other"),
        HashedStrings(bits=20, salt=bytes(range(16)), longest=40, too_long="truncate"),
        DiscoveredStrings(
            salt=bytes(range(16)), longest=6, prefixes=[2, 4, 6, 6], alphabet="абвгд", unknown="omit"
        ),
    ]
