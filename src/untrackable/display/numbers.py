"""Numbers as people and JSON read them, each with how well it is known; shares are percentages."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from untrackable.brackets import ROUNDINGS, Bracket, Side, at_most, rounded, shortest_decimal
from untrackable.estimation.intervals import MOST_RADIUS
from untrackable.theory.accuracy import Matched

_DIGITS, _POWER_DIGITS = 4, 3
"""Significant digits of a number, and of one that is written with a power of ten."""
_WHOLE: dict[Side, Callable[[float], int]] = {"up": math.ceil, "down": math.floor, "nearest": round}


def number(value: float, side: Side = "nearest") -> str:
    """A number for people: four digits, ∞ for infinity. Upper bounds are rounded up, lower ones down."""
    if math.isinf(value):
        return "∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{rounded(value, _DIGITS, side):.{_DIGITS}g}"
        return f"{_WHOLE[side](value):,}" if "e" in text else text
    return f"{rounded(value, _POWER_DIGITS, side):.{_POWER_DIGITS - 1}e}"


def all_of(count: int, noun: str) -> str:
    """All of several things: `both rounds`, or `all 12 rounds`."""
    return f"both {noun}" if count == 2 else f"all {count:,} {noun}"


def odds_factor(exponent: float) -> str:
    """e^exponent for people, rounded up; as a power if it is very large."""
    if exponent >= 50:
        return f"e^{at_most(exponent)}"
    return at_most(math.nextafter(math.exp(exponent), math.inf), 4) if exponent else "1"


def upper(value: float) -> str:
    """An upper bound for people, rounded up."""
    return number(value, "up")


def lower(value: float) -> str:
    """A lower bound for people, rounded down."""
    return number(value, "down")


def shown(bracket: Bracket) -> tuple[str, str]:
    """A bracket as a number and how well it is known: exact, upper, lower, or exact up to the given ±."""
    match bracket.certainty:
        case "exact":
            return number(bracket.upper), "exact"
        case "lower":
            return lower(bracket.lower), "lower"
        case "bracket" if math.isfinite(bracket.upper):
            middle = number(bracket.lower + bracket.width / 2)
            return f"{middle} ± {_reach(bracket, middle)}", "exact up to ±"
        case _:
            return upper(bracket.upper), "upper"


def _reach(bracket: Bracket, middle: str) -> str:
    """How far the ends are from the middle that is printed, its rounding included, rounded up."""
    printed = Fraction(middle.replace(",", ""))
    farthest = max(Fraction(bracket.upper) - printed, printed - Fraction(bracket.lower))
    return f"{rounded(math.nextafter(float(farthest), math.inf), 1, 'up'):.1g}"


def cell(bracket: Bracket) -> str:
    """A bracket in a table: a number that is exact in all its digits, or an upper bound."""
    if bracket.certainty == "lower":
        return f"≥ {lower(bracket.lower)}"
    nearest = number(bracket.upper)
    exact = bracket.certainty == "exact" or (bracket.certainty == "bracket" and number(bracket.lower) == nearest)
    return nearest if exact else f"≤ {upper(bracket.upper)}"


def said(bracket: Bracket) -> str:
    """A bracket within a sentence."""
    text, certainty = shown(bracket)
    return f"{text} (exact)" if certainty == "exact up to ±" else f"{text} ({certainty})"


def as_dict(result: Any) -> Any:
    """Anything an audit holds, as JSON can say it: numbers with their certainty, and fractions as text."""
    if isinstance(result, Bracket):
        return {"lower": result.lower, "upper": result.upper, "certainty": result.certainty}
    if isinstance(result, Matched):
        return {**dataclasses.asdict(result), "certainty": "sampled"}
    if isinstance(result, Fraction):
        return str(result)
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {f.name: as_dict(getattr(result, f.name)) for f in dataclasses.fields(result)}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return {name: as_dict(getattr(result, name)) for name in result._fields}
    if isinstance(result, Mapping):
        return {str(key): as_dict(item) for key, item in result.items()}
    if isinstance(result, (list, tuple)):
        return [as_dict(item) for item in result]
    return result


CANNOT_TELL = "cannot tell"
"""What stands in place of a number that the reports do not tell."""
NOT_TOLD = (
    f"{CANNOT_TELL}: the error of this share may be more than {100 * MOST_RADIUS:g} points either way (upper)"
)
"""Why a share is not shown."""
_ORDER = (
    "where intervals overlap, it is not certain which answer is more frequent; such answers stand in the order of "
    "the question"
)

STRING_ORDER = (
    "strings are in the order of their estimates; where intervals overlap, it is not certain which is more frequent"
)
"""What is not certain about the order of strings that nobody listed."""


def shown_share(share: float | None) -> str:
    """A share as a percentage, or that the reports do not tell it (None or NaN)."""
    return CANNOT_TELL if share is None or math.isnan(share) else percent(share)


def order_notes(
    intervals: Sequence[tuple[float, float]], *, others: bool = False, listed: bool = True
) -> list[str]:
    """What is not certain about the order of rows with these intervals, and whether `others` may be as frequent.

    The rows are answers that a question lists, or strings that nobody listed.
    """
    overlap = any(low <= high for (low, _), (_, high) in pairwise(intervals))
    return [_ORDER if listed else STRING_ORDER] * overlap + [
        "answers that are not shown may be as frequent as some of these"
    ] * others


def percent(share: float, side: Side = "nearest") -> str:
    """A share as a percentage with two decimals, or with two digits if it is tiny."""
    hundredfold = shortest_decimal(share).scaleb(2)
    if abs(share) >= 1e-4 or share == 0:
        return f"{hundredfold.quantize(Decimal('0.01'), ROUNDINGS[side])} %"
    return f"{Context(prec=2, rounding=ROUNDINGS[side]).plus(hundredfold):.1e} %"


def range_words(lower: float, upper: float) -> str:
    """An interval, rounded outwards."""
    return f"{percent(lower, 'down').removesuffix(' %')} to {percent(upper, 'up')}"
