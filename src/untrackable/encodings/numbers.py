"""Encodings for numbers: every integer of a range, or buckets of any numbers.

`buckets_from_text` reads buckets as people write them in one line: `50ms:20s:14:log`, `0:100:10`, or a list of
edges.
"""

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, SupportsFloat

from untrackable import checks
from untrackable.encodings.encoding import Encoding, number_from_text
from untrackable.units import UNITS, converted, in_words, read_quantity, readable_unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.estimation.estimate import NumberEdges


Outside = Literal["error", "clamp", "separate"]
"""How a number out of range is treated: refused, counted as the nearest one within, or as a value of its own."""

LARGEST_INTEGER = (1 << 53) - 1
"""Every JSON reader represents the integers up to this one exactly."""
LARGEST_COUNT = 1 << 16
"""The largest number of buckets."""
_DIGITS = 12
"""Inner edges on a log scale are rounded to this number of digits."""


class _Numbers(Encoding):
    """Ordered values: those within the range, and one more at either end if that side is "separate"."""

    __slots__ = ()
    below: Outside
    above: Outside
    ordered: ClassVar[bool] = True
    _step: ClassVar[int] = 0
    """The distance of the next number from the end of the range."""

    def _check(self) -> None:
        for name in ("below", "above"):
            checks.choice(name, getattr(self, name), ("error", "clamp", "separate"))
        if self.values < 2:
            raise ValueError("there must be at least 2 values to ask about, got 1")

    @property
    @abstractmethod
    def _inside(self) -> int:
        """The number of values for numbers within the range."""

    @property
    @abstractmethod
    def _ends(self) -> tuple[str, str]:
        """The two ends of the range, in words."""

    @property
    def values(self) -> int:
        return (self.below == "separate") + self._inside + (self.above == "separate")

    def _outside(self, is_above: bool) -> int:
        """The value of a number out of range, or an error if that side is refused."""
        outside = self.above if is_above else self.below
        if outside == "error":
            raise self._refused()
        return self.values - 1 if is_above else 0

    def _refused(self) -> ValueError:
        low, high = self._ends
        allowed = [f"at least {low}"] * (self.below == "error") + [f"at most {high}"] * (self.above == "error")
        return ValueError(f"number must be {' and '.join(allowed)}; the given one (not shown) is not")

    def _place(self, value: int) -> int:
        """The position of a value within the range: -1 if it is below, and `_inside` if it is above."""
        return self._value(value) - (self.below == "separate")

    def _together(
        self, under: "NDArray[np.bool_]", over: "NDArray[np.bool_]", places: "NDArray[np.int64]"
    ) -> "NDArray[np.uint64]":
        """Encoded values from positions within the range, and from which numbers are under or over it."""
        import numpy as np

        if (self.below == "error" and under.any()) or (self.above == "error" and over.any()):
            raise self._refused()
        inside = places + (self.below == "separate")
        return np.where(under, 0, np.where(over, self.values - 1, inside)).astype(np.uint64)

    def numbers(self) -> "NumberEdges":
        """The numbers of each value. If numbers out of range are a value of their own, it has an infinite edge."""
        import numpy as np

        from untrackable.estimation.estimate import NumberEdges

        low, high = self._edges()
        before, after = [-math.inf] * (self.below == "separate"), [math.inf] * (self.above == "separate")
        return NumberEdges(
            np.concatenate((before, low, [float(high[-1]) + self._step] * len(after))),
            np.concatenate(([float(low[0]) - self._step] * len(before), high, after)),
        )

    @abstractmethod
    def _edges(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The lowest and the highest number of each value within the range."""

    def _outside_words(self) -> str:
        low, high = self._ends
        nearest = {"below": "the lowest", "above": "the highest"}
        words = {"error": "is refused", "separate": "counts as a value of its own"}
        return "; ".join(
            f"a number {side} {end} {words.get(outside, f'counts as {nearest[side]}')}"
            for side, end, outside in (("below", low, self.below), ("above", high, self.above))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange(_Numbers):
    """Encodes each integer from `low` to `high`. `below` and `above` say how integers out of range are treated."""

    low: int
    high: int
    below: Outside = "error"
    above: Outside = "error"

    kind = "integer-range"
    _step = 1

    def __post_init__(self) -> None:
        low = checks.integer("low", self.low, low=-LARGEST_INTEGER, high=LARGEST_INTEGER)
        checks.settle(self, low=low, high=checks.integer("high", self.high, low=low, high=LARGEST_INTEGER))
        self._check()

    @property
    def _inside(self) -> int:
        return self.high - self.low + 1

    def _edges(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        import numpy as np

        whole = np.arange(self.low, self.high + 1, dtype=np.float64)
        return whole, whole

    @property
    def _ends(self) -> tuple[str, str]:
        return _grouped(self.low), _grouped(self.high)

    def encode(self, raw: Any) -> int:
        """Encode an integer as its distance from the lowest value. Fractions and truth values are refused."""
        number = _whole(raw)
        if not self.low <= number <= self.high:
            return self._outside(number > self.high)
        return number - self.low + (self.below == "separate")

    def from_text(self, text: str) -> int | float:
        return number_from_text(int, text, "an integer")

    def _encode_array(self, raws: "NDArray[Any]") -> "NDArray[np.uint64]":
        if raws.dtype.kind not in "iu":
            return _Numbers._encode_array(self, raws)
        import numpy as np

        under, over = raws < self.low, raws > self.high
        within = np.where(under | over, 0, raws).astype(np.int64)
        return self._together(under, over, within - self.low)

    def decode(self, value: int) -> int | str:
        place = self._place(value)
        return self.low + place if 0 <= place < self._inside else self.label(value)

    def label(self, value: int) -> str:
        place = self._place(value)
        if place < 0:
            return f"below {self.low}"
        return f"above {self.high}" if place == self._inside else str(self.low + place)

    def describe(self) -> str:
        low, high = self._ends
        return f"a whole number from {low} to {high}; {self._outside_words()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets(_Numbers):
    """Encodes a number as the bucket it falls into. A bucket starts at one of the `edges` and ends before the next.

    The last bucket contains its upper edge. Numbers are compared as 64-bit floats. Infinite numbers are out of
    range like any other, and NaN is refused. JSON lists all edges, so that no two programs compute different ones.
    `unit` is that of edges and numbers; labels use the one that suits each edge.
    """

    edges: Sequence[float]
    below: Outside = "error"
    above: Outside = "error"
    unit: str = ""

    kind = "buckets"
    optional = ("unit",)

    def __post_init__(self) -> None:
        if isinstance(self.edges, (str, bytes)) or not isinstance(self.edges, Sequence):
            raise TypeError(f"edges must be a list of numbers, not {type(self.edges).__name__}")
        edges = tuple(_finite("edges", edge) for edge in self.edges)
        if not 2 <= len(edges) <= LARGEST_COUNT + 1:
            raise ValueError(f"edges must have between 2 and {LARGEST_COUNT + 1} entries, got {len(edges)}")
        for left, right in pairwise(edges):
            if not left < right:
                raise ValueError(f"edges must increase, got {left!r} before {right!r}")
        checks.settle(self, edges=edges)
        if self.unit not in UNITS:
            raise ValueError(f"unit must be one of {', '.join(UNITS[:-1])}, or empty")
        self._check()

    @classmethod
    def equal_width(
        cls, low: float, high: float, count: int, *, below: Outside = "error", above: Outside = "error"
    ) -> Self:
        """Make `count` buckets of equal width. Each edge is the float nearest to the exact one."""
        start, end = Fraction(_finite("low", low)), Fraction(_finite("high", high))
        count = checks.integer("count", count, low=1, high=LARGEST_COUNT)
        edges = [float(start + (end - start) * place / count) for place in range(count + 1)]
        return cls(edges=edges, below=below, above=above)

    @classmethod
    def log_scale(
        cls, low: float, high: float, count: int, *, below: Outside = "error", above: Outside = "error"
    ) -> Self:
        """Make `count` buckets with the same ratio of upper to lower edge. Inner edges are rounded to 12 digits."""
        low, high = checks.positive("low", low), checks.positive("high", high)
        count = checks.integer("count", count, low=1, high=LARGEST_COUNT)
        start, end = math.log(low), math.log(high)
        inner = (math.exp(start + (end - start) * place / count) for place in range(1, count))
        return cls(edges=[low, *(float(f"{edge:.{_DIGITS}g}") for edge in inner), high], below=below, above=above)

    @property
    def _inside(self) -> int:
        return len(self.edges) - 1

    def _edges(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        import numpy as np

        edges = np.array(self.edges, dtype=np.float64)
        return edges[:-1], edges[1:]

    @property
    def _ends(self) -> tuple[str, str]:
        return self._in_words(self.edges[0]), self._in_words(self.edges[-1])

    def _in_words(self, edge: float) -> str:
        return in_words(edge, self.unit) if self.unit else _shown(edge)

    def encode(self, raw: Any) -> int:
        number = _real(raw)
        if not self.edges[0] <= number <= self.edges[-1]:
            return self._outside(number > self.edges[-1])
        return min(bisect_right(self.edges, number), self._inside) - 1 + (self.below == "separate")

    def from_text(self, text: str) -> int | float:
        """A number. Its unit may be left out, or be another one that can be turned into that of the edges."""
        if not self.unit:
            return number_from_text(float, text, "a number")
        try:
            number, given = read_quantity(text)
            return float(converted(number, given or self.unit, self.unit))
        except (ValueError, OverflowError):
            pass  # As in `number_from_text`.
        raise ValueError(f"value must be a number in {self.unit}; the given one (not shown) is not")

    def _encode_array(self, raws: "NDArray[Any]") -> "NDArray[np.uint64]":
        if raws.dtype.kind not in "iuf":
            return _Numbers._encode_array(self, raws)
        import numpy as np

        numbers = raws.astype(np.float64)
        if np.isnan(numbers).any():
            raise _not_a_number()
        places = np.minimum(np.searchsorted(self.edges, numbers, side="right"), self._inside) - 1
        return self._together(numbers < self.edges[0], numbers > self.edges[-1], places)

    def decode(self, value: int) -> tuple[float, float]:
        place = self._place(value)
        low = self.edges[place] if place >= 0 else -math.inf
        return low, self.edges[place + 1] if place < self._inside else math.inf

    def label(self, value: int) -> str:
        place = self._place(value)
        if place < 0:
            return f"below {self._ends[0]}"
        if place == self._inside:
            return f"above {self._ends[1]}"
        if self.unit:
            return f"{self._in_words(self.edges[place])} – {self._in_words(self.edges[place + 1])}"
        closing = "]" if place == self._inside - 1 else ")"
        return f"[{_shown(self.edges[place])}, {_shown(self.edges[place + 1])}{closing}"

    def describe(self) -> str:
        low, high = self._ends
        first = self.label(int(self.below == "separate"))
        unit = f" in {self.unit}," if self.unit else ""
        buckets = f"buckets: {self._inside}, the first {first}"
        return f"a number{unit} from {low} to {high}; {buckets}; {self._outside_words()}"


def _whole(raw: Any) -> int:
    if isinstance(raw, bool) or not hasattr(raw, "__index__"):
        raise TypeError("number must be a whole number, given as an integer")
    return index(raw)


def _real(raw: Any) -> float:
    """A private number as a float. A number beyond the largest float becomes infinite."""
    if isinstance(raw, (bool, str, bytes)) or not hasattr(raw, "__float__"):
        raise TypeError("number must be an integer or a float")
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf if raw > 0 else -math.inf
    if math.isnan(number):
        raise _not_a_number()
    return number


def _not_a_number() -> ValueError:
    return ValueError("number must not be NaN")


def _finite(name: str, given: SupportsFloat) -> float:
    """A finite parameter. Minus zero becomes zero, so that equal parameters are written alike."""
    number = checks.real(name, given)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number + 0.0


def _shown(edge: float) -> str:
    return str(int(edge)) if edge.is_integer() and abs(edge) < 2**53 else repr(edge)


def _grouped(number: int) -> str:
    """The number with thousands separators, except below 10,000, since 2026 may be a year."""
    return f"{number:,}" if abs(number) >= 10_000 else str(number)


_FORMS = "LOW:HIGH:COUNT, LOW:HIGH:COUNT:log, or edges with commas, such as 50ms:20s:14:log"
_FEWEST_DIGITS, _MOST_DIGITS = 2, 12
_OFF = 10
"""A rounded edge is off by at most one over this of the smaller bucket beside it."""


def buckets_from_text(text: str, *, below: Outside = "error", above: Outside = "error") -> Buckets:
    """The buckets that one line describes.

    `LOW:HIGH:COUNT` has buckets of equal width, and with `:log` the edges of each have the same ratio. Edges
    between them are rounded to as few digits as nearly keep that. `50ms,100ms,1s` lists all edges. Numbers are in
    the unit of the first edge that has one.
    """
    if "," in text:
        edges, unit = _in_one_unit(text.split(","))
        return _made(edges, unit, below, above)
    low, high, count, scale = _parts(text)
    (start, end), unit = _in_one_unit([low, high])
    if not start < end:
        raise ValueError("the lowest edge of the buckets must be below the highest")
    if scale == "log" and start <= 0:
        raise ValueError("the lowest edge of buckets on a log scale must be above 0")
    return _made(_readable(_exact(start, end, count, scale), unit), unit, below, above)


def _parts(text: str) -> tuple[str, str, int, str]:
    parts = text.split(":")
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] not in ("log", "equal")):
        raise ValueError(f"buckets must be {_FORMS}")
    if not (parts[2].isascii() and parts[2].isdigit() and len(parts[2]) < 9):
        raise ValueError(f"the number of buckets must be an integer: {_FORMS}")
    count = checks.integer("the number of buckets", int(parts[2]), low=1, high=LARGEST_COUNT)
    return parts[0], parts[1], count, "equal" if len(parts) == 3 else parts[3]


def _in_one_unit(texts: list[str]) -> tuple[list[Fraction], str]:
    """All numbers in the unit of the first that has one. Only 0 needs no unit if others have one."""
    read = [read_quantity(text) for text in texts]
    unit = next((unit for _, unit in read if unit), "")
    return [number if number == 0 else converted(number, each, unit) for number, each in read], unit


def _exact(start: Fraction, end: Fraction, count: int, scale: str) -> list[Fraction]:
    if scale == "equal":
        return [start + (end - start) * place / count for place in range(count + 1)]
    low, high = math.log(start), math.log(end)
    inner = [Fraction(math.exp(low + (high - low) * place / count)) for place in range(1, count)]
    return [start, *inner, end]


def _readable(exact: list[Fraction], unit: str) -> list[Fraction]:
    """The edges, the inner ones rounded to as few digits as possible in the unit that suits each."""
    widths = [right - left for left, right in pairwise(exact)]
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        inner = []
        for edge, beside in zip(exact[1:-1], pairwise(widths), strict=True):
            inner.append(_rounded(edge, unit, digits))
            if abs(inner[-1] - edge) * _OFF > min(beside):
                break
        else:
            return [exact[0], *inner, exact[-1]]
    return exact


def _rounded(number: Fraction, unit: str, digits: int) -> Fraction:
    suited = readable_unit(number, unit)
    return converted(Fraction(f"{float(converted(number, unit, suited)):.{digits - 1}e}"), suited, unit)


def _made(edges: list[Fraction], unit: str, below: Outside, above: Outside) -> Buckets:
    if len(edges) < 2:
        raise ValueError(f"buckets must be {_FORMS}")
    if any(left >= right for left, right in pairwise(edges)):
        raise ValueError("the edges of buckets must increase: a bucket must not overlap another one or be empty")
    return Buckets(edges=[float(edge) for edge in edges], below=below, above=above, unit=unit)
