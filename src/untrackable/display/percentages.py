"""Shares of people as percentages, if the reports tell them."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from itertools import pairwise
from typing import Protocol

from untrackable.brackets import ROUNDINGS, Side, shortest_decimal
from untrackable.estimation.intervals import MOST_RADIUS

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

_STRING_ORDER = (
    "strings are in the order of their estimates; where intervals overlap, it is not certain which is more frequent"
)


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
    return [_ORDER if listed else _STRING_ORDER] * overlap + [
        "answers that are not shown may be as frequent as some of these"
    ] * others


class _Shown(Protocol):
    """A string with its share and interval."""

    @property
    def share(self) -> float | None: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...


def string_notes(found: Sequence[_Shown]) -> list[str]:
    """Why some shares of strings are not shown, and what is not certain about the order of their estimates."""
    overlap = any(one.lower <= other.upper for one, other in pairwise(found))
    return [NOT_TOLD] * any(one.share is None for one in found) + [_STRING_ORDER] * overlap


def percent(share: float, side: Side = "nearest") -> str:
    """A share as a percentage with two decimals, or with two digits if it is tiny."""
    hundredfold = shortest_decimal(share).scaleb(2)
    if abs(share) >= 1e-4 or share == 0:
        return f"{hundredfold.quantize(Decimal('0.01'), ROUNDINGS[side])} %"
    return f"{Context(prec=2, rounding=ROUNDINGS[side]).plus(hundredfold):.1e} %"
