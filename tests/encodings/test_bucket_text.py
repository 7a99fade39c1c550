"""Buckets in one line: edges and labels that a person can read, and what is refused."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrackable import Buckets
from untrackable.encodings.encoding import from_json, from_text
from untrackable.encodings.numbers import buckets_from_text
from untrackable.errors import EncodingError
from untrackable.units import UNITS, converted, in_words, read_quantity, scale_of


def test_a_log_scale_of_times() -> None:
    found = buckets_from_text("50ms:20s:14:log", above="separate")
    assert found.unit == "ms"
    assert found.edges == (50, 77, 120, 180, 280, 420, 650, 1000, 1500, 2400, 3600, 5500, 8500, 13000, 20000)
    assert [found.label(value) for value in (0, 6, 13, 14)] == [
        "50 ms – 77 ms",
        "650 ms – 1 s",
        "13 s – 20 s",
        "above 20 s",
    ]
    assert found.describe().startswith("a number in ms, from 50 ms to 20 s; buckets: 14, the first 50 ms – 77 ms;")
    assert found.encode(1200) == 7
    assert from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("text", "unit", "edges"),
    [
        ("0:100:4", "", [0, 25, 50, 75, 100]),
        ("0:100:7", "", [0, 14, 29, 43, 57, 71, 86, 100]),
        ("0:1:3:equal", "", [0, 0.33, 0.67, 1]),
        ("0:20s:2", "s", [0, 10, 20]),
        ("0%:100%:2", "%", [0, 50, 100]),
        ("1s:3h:4:log", "s", [1, 10, 102, 1080, 10800]),
        ("1KB:1MB:3:log", "KB", [1, 10, 100, 1000]),
        ("10:20:4:log", "", [10, 12, 14, 17, 20]),
        (" 50 ms, 100ms,1.5min", "ms", [50, 100, 90000]),
        ("-5:5:2", "", [-5, 0, 5]),
    ],
)
def test_edges(text: str, unit: str, edges: list[float]) -> None:
    found = buckets_from_text(text)
    assert found.unit == unit
    assert list(found.edges) == edges


@settings(max_examples=40)
@given(st.integers(1, 10**6), st.integers(2, 10**6), st.integers(2, 60), st.sampled_from(["log", "equal"]))
def test_edges_are_nearly_even(low: int, times: int, count: int, scale: str) -> None:
    """No edge is off by more than a tenth of a bucket beside it, and the ends are as given."""
    high = low * times
    found = buckets_from_text(f"{low}ms:{high}ms:{count}:{scale}")
    exact = np.geomspace(low, high, count + 1) if scale == "log" else np.linspace(low, high, count + 1)
    assert (found.edges[0], found.edges[-1]) == (low, high)
    widths = np.diff(exact)
    room = np.minimum(widths[:-1], widths[1:]) * 0.1001
    assert np.all(np.abs(np.array(found.edges[1:-1]) - exact[1:-1]) <= room)
    labels = [found.label(value) for value in range(found.values)]
    assert len(set(labels)) == len(labels)
    for left, right in pairwise(labels):
        assert left.split(" – ")[1] == right.split(" – ")[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "buckets must be LOW:HIGH:COUNT"),
        ("1:2", "buckets must be LOW:HIGH:COUNT"),
        ("1:2:3:linear", "buckets must be LOW:HIGH:COUNT"),
        ("2:1:3", "must be below the highest"),
        ("1:1:3", "must be below the highest"),
        ("0:1:3:log", "must be above 0"),
        ("1ms:2MB:3", "MB cannot be turned into ms"),
        ("1ms:2:3", "a plain number cannot be turned into ms"),
        ("a:b:3", "must be written like 50ms"),
        ("1x:2x:3", "the units are ms, s, min"),
        ("nan:2:3", "must be written like 50ms"),
        ("1:1e999:2", "must be written like 50ms"),
        ("1:" + "9" * 50 + ":2", "must be written like 50ms"),
        ("1:2:0", "between 1 and 65536"),
        ("1:2:65537", "between 1 and 65536"),
        ("1:2:x", "must be an integer"),
        ("3,2", "must increase"),
        ("1,2,2", "must not overlap"),
        ("1s,500ms", "must increase"),
        ("0:1:1", "at least 2 values"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        buckets_from_text(text)


def test_units() -> None:
    assert read_quantity("1.5 min") == (Fraction(3, 2), "min")
    assert converted(Fraction(90), "s", "min") == Fraction(3, 2)
    assert [in_words(number, "ms") for number in (0, 0.5, 999, 1500, 90_000, 7.2e6)] == [
        "0 ms", "0.5 ms", "999 ms", "1.5 s", "1.5 min", "2 h",
    ]  # fmt: skip
    assert in_words(2500, "KB") == "2.5 MB"
    assert in_words(2500, "") == "2500"
    assert in_words(5, "%") == "5 %"
    for unit in UNITS:
        for other in scale_of(unit):
            assert converted(converted(Fraction(7), unit, other), other, unit) == 7


def test_the_unit_is_part_of_the_json_if_there_is_one() -> None:
    plain, timed = Buckets(edges=[0, 1, 2]), Buckets(edges=[0, 1, 2], unit="s")
    assert "unit" not in plain.to_json()
    assert timed.to_json()["unit"] == "s"
    assert from_json(plain.to_json()) == plain != timed
    for unit in ("", "parsec", 5, None):
        with pytest.raises(EncodingError, match="unit"):
            from_json({**plain.to_json(), "unit": unit})


def test_answers_may_have_a_unit() -> None:
    timed = Buckets(edges=[0, 1, 2], unit="s")
    assert from_text(timed, "1500 ms") == from_text(timed, "1.5") == 1.5
    for text in ("1500 MB", "s3cr3t", "", "1" * 60):
        with pytest.raises(ValueError, match=r"a number in s; the given one \(not shown\) is not") as refused:
            from_text(timed, text)
        assert refused.value.__context__ is None
