"""Integers and buckets: edges, ends, and floats that are not like others."""

import math
import sys
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.encodings.samples import FINITE, buckets, integer_ranges
from untrackable import Buckets, IntegerRange
from untrackable.encodings.numbers import LARGEST_COUNT, LARGEST_INTEGER

TINY = sys.float_info.min * sys.float_info.epsilon
"""The smallest float above zero, a subnormal one."""


@given(integer_ranges(), st.data())
def test_integers_come_back(encoding: IntegerRange, data: st.DataObject) -> None:
    number = data.draw(st.integers(encoding.low, encoding.high))
    value = encoding.encode(number)
    assert 0 <= value < encoding.values
    assert encoding.decode(value) == number
    assert encoding.label(value) == str(number)


@given(integer_ranges(), st.integers() | st.integers(-(2**63) - 2, 2**64 + 2))
def test_integers_out_of_range(encoding: IntegerRange, number: int) -> None:
    assume(not encoding.low <= number <= encoding.high)
    outside, end = ("above", encoding.high) if number > encoding.high else ("below", encoding.low)
    match getattr(encoding, outside):
        case "error":
            with pytest.raises(ValueError, match="not shown"):
                encoding.encode(number)
        case "clamp":
            assert encoding.encode(number) == encoding.encode(end)
        case "separate":
            value = encoding.encode(number)
            assert value == (encoding.values - 1 if number > end else 0)
            assert encoding.decode(value) == encoding.label(value) == f"{outside} {end}"


@given(integer_ranges(), st.data())
def test_arrays_of_integers_are_encoded_as_each(encoding: IntegerRange, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["int8", "uint8", "int64", "uint64"]))
    info = np.iinfo(dtype)
    near = st.sampled_from([encoding.low - 1, encoding.low, encoding.high, encoding.high + 1])
    number = st.integers(int(info.min), int(info.max)) | near.filter(lambda n: info.min <= n <= info.max)
    numbers = data.draw(st.lists(number, max_size=8))
    _same(encoding, numbers, np.array(numbers, dtype=dtype))


def _same(encoding: IntegerRange | Buckets, numbers: list[Any], array: Any) -> None:
    try:
        each = [encoding.encode(number) for number in numbers]
    except ValueError:
        with pytest.raises(ValueError, match="number must"):
            encoding.encode_many(array)
        with pytest.raises(ValueError, match="number must"):
            encoding.encode_many(numbers)
    else:
        assert encoding.encode_many(array).tolist() == each
        assert encoding.encode_many(numbers).tolist() == each


@pytest.mark.parametrize("raw", [True, 1.0, "1", None, Decimal(1), Fraction(1), np.float64(1), np.True_, [1], 1j])
def test_what_is_no_integer(raw: Any) -> None:
    with pytest.raises(TypeError, match="whole number"):
        IntegerRange(low=0, high=9, below="clamp", above="clamp").encode(raw)


def test_whole_floats_in_arrays_are_refused_as_single_ones_are() -> None:
    with pytest.raises(TypeError, match="whole number"):
        IntegerRange(low=0, high=9).encode_many(np.array([1.0]))
    with pytest.raises(TypeError, match="whole number"):
        IntegerRange(low=0, high=9).encode_many(np.array([True]))
    with pytest.raises(TypeError, match="integer or a float"):
        Buckets(edges=[0, 1, 2]).encode_many(np.array([True]))


def test_integer_ranges_are_checked() -> None:
    assert IntegerRange(low=0, high=0, above="separate").values == 2
    widest = IntegerRange(low=-LARGEST_INTEGER, high=LARGEST_INTEGER)
    assert widest.decode(widest.encode(LARGEST_INTEGER)) == LARGEST_INTEGER
    assert widest.bits == 54
    for low, high in ((0, 0), (1, 0), (0, 1 << 53), (-(1 << 53), 0)):
        with pytest.raises(ValueError, match="must be"):
            IntegerRange(low=low, high=high)
    for wrong in (0.0, "0", None, True):
        with pytest.raises(TypeError, match="low must be an integer"):
            IntegerRange(low=wrong, high=9)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="below must be one of error, clamp, separate"):
        IntegerRange(low=0, high=9, below="wrap")  # type: ignore[arg-type]


@given(buckets(), st.data())
def test_a_number_is_in_its_bucket(encoding: Buckets, data: st.DataObject) -> None:
    edges = encoding.edges
    number = data.draw(st.floats(edges[0], edges[-1]) | st.sampled_from(edges))
    value = encoding.encode(number)
    low, high = encoding.decode(value)
    last = high == edges[-1]
    assert low <= number < high or (last and number == high)
    assert value - (encoding.below == "separate") == min(bisect_right(edges, number), len(edges) - 1) - 1


@given(buckets())
def test_an_edge_belongs_to_the_bucket_that_it_begins(encoding: Buckets) -> None:
    for place, edge in enumerate(encoding.edges[:-1]):
        assert encoding.decode(encoding.encode(edge)) == (edge, encoding.edges[place + 1])
        if place:
            assert encoding.decode(encoding.encode(math.nextafter(edge, -math.inf)))[1] == edge
    assert encoding.encode(encoding.edges[-1]) == encoding.encode(encoding.edges[-2])


@given(buckets(), st.floats(allow_nan=False) | st.integers() | st.just(10**400) | st.just(-(10**400)))
def test_numbers_out_of_range(encoding: Buckets, number: float) -> None:
    assume(not encoding.edges[0] <= number <= encoding.edges[-1])
    try:
        compared = float(number)
    except OverflowError:
        compared = math.inf if number > 0 else -math.inf
    assume(not encoding.edges[0] <= compared <= encoding.edges[-1])
    is_above = compared > encoding.edges[-1]
    match encoding.above if is_above else encoding.below:
        case "error":
            with pytest.raises(ValueError, match="not shown"):
                encoding.encode(number)
        case "clamp":
            assert encoding.encode(number) == encoding.encode(encoding.edges[-1 if is_above else 0])
        case "separate":
            value = encoding.encode(number)
            assert encoding.decode(value)[is_above] == (math.inf if is_above else -math.inf)
            assert encoding.label(value).startswith("above" if is_above else "below")


@given(buckets(), st.lists(st.floats(allow_nan=False) | FINITE, max_size=6), st.data())
def test_arrays_of_floats_are_encoded_as_each(encoding: Buckets, numbers: list[float], data: st.DataObject) -> None:
    numbers += data.draw(st.lists(st.sampled_from(encoding.edges), max_size=4))
    _same(encoding, numbers, np.array(numbers, dtype=np.float64))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_arrays_of_integers_are_compared_as_floats_too(numbers: list[int]) -> None:
    encoding = Buckets(edges=[0, 2**53, 2**53 + 2, 2**63, 2**64], below="clamp")
    _same(encoding, numbers, np.array(numbers, dtype=np.uint64))


def test_not_a_number_is_refused_whatever_is_declared() -> None:
    encoding = Buckets(edges=[0, 1, 2], below="clamp", above="separate")
    for raw in (math.nan, np.float32("nan"), Decimal("NaN")):
        with pytest.raises(ValueError, match="NaN"):
            encoding.encode(raw)
    with pytest.raises(ValueError, match="NaN"):
        encoding.encode_many(np.array([0.5, math.nan]))
    for wrong in ("1", None, True, b"1", 1j, [1.0]):
        with pytest.raises(TypeError, match="integer or a float"):
            encoding.encode(wrong)


def test_zeros_and_the_smallest_and_largest_floats() -> None:
    encoding = Buckets(edges=[-TINY, 0, TINY, sys.float_info.max], above="separate")
    assert encoding.encode(0.0) == encoding.encode(-0.0) == 1
    assert encoding.encode(-TINY) == 0
    assert encoding.encode(TINY) == encoding.encode(sys.float_info.max) == 2
    assert encoding.encode(math.inf) == encoding.encode(10**400) == encoding.encode(Fraction(10**400)) == 3
    assert encoding.encode_many(np.array([-TINY, -0.0, TINY, math.inf])).tolist() == [0, 1, 2, 3]
    assert (
        encoding.encode(Decimal("0.5")) == encoding.encode(Fraction(1, 2)) == encoding.encode(np.float32(0.5)) == 2
    )
    assert Buckets(edges=[-0.0, 1, 2]) == Buckets(edges=[0, 1.0, 2])
    assert math.copysign(1, Buckets(edges=[-0.0, 1, 2]).edges[0]) == 1


@given(st.floats(-1e300, 1e300), st.floats(1e-300, 1e300), st.integers(2, 300))
def test_equal_width_is_exact_but_for_rounding(low: float, width: float, count: int) -> None:
    high = low + width
    assume(width / count > 2 * max(math.ulp(low), math.ulp(high)))  # room for so many floats
    exact = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / count for i in range(count + 1)]
    encoding = Buckets.equal_width(low, high, count)
    assert encoding.values == count
    assert (encoding.edges[0], encoding.edges[-1]) == (low, high)
    for edge, true in zip(encoding.edges, exact, strict=True):
        assert abs(Fraction(edge) - true) <= Fraction(math.ulp(edge)) / 2


def test_the_widest_range_does_not_overflow() -> None:
    largest = sys.float_info.max
    assert Buckets.equal_width(-largest, largest, 2).edges == (-largest, 0.0, largest)
    assert Buckets.log_scale(TINY, largest, 4).edges[0] == TINY
    assert Buckets.log_scale(TINY, largest, 4).edges[-1] == largest


@given(st.floats(1e-290, 1e300), st.floats(1.001, 1e300), st.integers(2, 300))
def test_log_scale_has_equal_ratios(low: float, ratio: float, count: int) -> None:
    high = min(low * ratio, sys.float_info.max)
    step = (math.log(high) - math.log(low)) / count
    assume(step > 1e-9)  # edges have 12 digits
    encoding = Buckets.log_scale(low, high, count)
    assert (encoding.edges[0], encoding.edges[-1]) == (low, high)
    np.testing.assert_allclose(np.diff(np.log(encoding.edges)), step, rtol=1e-6, atol=1e-10)


def test_decades_are_round() -> None:
    assert Buckets.log_scale(0.001, 1000, 6).edges == (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    assert Buckets.equal_width(0, 1, 10).edges == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert [Buckets.equal_width(0, 1, 4, below="separate").label(value) for value in (0, 1, 4)] == [
        "below 0",
        "[0, 0.25)",
        "[0.75, 1]",
    ]


@pytest.mark.parametrize(
    "edges", [[], [1], [1, 1], [2, 1], [0, 1], [0, math.nan], [0, math.inf], [-math.inf, 0, 1]]
)
def test_wrong_edges_are_refused(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="must"):
        Buckets(edges=edges)


@pytest.mark.parametrize("edges", ["012", b"012", 5, None, ["0", "1"], [None, 1, 2], {0, 1, 2}])
def test_edges_of_the_wrong_kind_are_refused(edges: Any) -> None:
    with pytest.raises(TypeError, match="edges must be"):
        Buckets(edges=edges)


def test_wrong_scales_are_refused() -> None:
    for low, high in ((0, 1), (-1, 1), (1, 1), (2, 1), (1, math.inf)):
        with pytest.raises(ValueError, match="must"):
            Buckets.log_scale(low, high, 3)
    for count in (0, -1, LARGEST_COUNT + 1):
        with pytest.raises(ValueError, match="count must be between"):
            Buckets.equal_width(0, 1, count)
