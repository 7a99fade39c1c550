"""Buckets as people write them in one line: `50ms:20s:14:log`, `0:100:10`, or a list of edges."""

import math
from fractions import Fraction
from itertools import pairwise

from untrackable import checks
from untrackable.encodings.number_ranges import LARGEST_COUNT, Buckets, Outside
from untrackable.units import converted, read_quantity, readable_unit

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
