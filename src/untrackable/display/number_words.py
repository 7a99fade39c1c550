"""Mean and quantiles in words for people: on the terminal and on pages."""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from untrackable.answers.number_summary import NumberSummary
from untrackable.brackets import Side, rounded
from untrackable.display.percentages import CANNOT_TELL
from untrackable.estimation.functional import Functional
from untrackable.estimation.ordered_values import Quantile
from untrackable.units import converted, readable_unit

_DIGITS = 3
_UNKNOWN = f"these reports {CANNOT_TELL}"
_GAPS = "perhaps with gaps"


class NumberRow(NamedTuple):
    """A number for people: its name, its value, and where it lies."""

    name: str
    value: str
    interval: str


def number_rows(summary: NumberSummary) -> list[NumberRow]:
    """Mean, median and other quantiles. A number that the reports do not tell has no value."""
    found = [] if summary.mean is None else [_row("mean", summary.mean, summary.unit)]
    return found + [_row(quantile_name(each.q), each, summary.unit) for each in summary.quantiles]


def number_notes(summary: NumberSummary) -> list[str]:
    """How certain the numbers are, and why some are not given."""
    found = []
    if summary.mean is not None or summary.quantiles:
        found.append(
            f"mean and quantiles: each holds alone, except with probability {summary.beta:.3g} (upper), for every "
            "population and wherever numbers are within their buckets"
        )
    if any(each.tells and each.gaps for each in summary.quantiles):
        found.append(
            f"{_GAPS}: it is not certain that somebody holds each of the numbers in that interval; a quantile is "
            "only named if somebody certainly holds it, with the same probability"
        )
    found += [f"numbers {side} the range count as its nearest number" for side in summary.clamped]
    return found + [f"not given: {reason}" for reason in summary.refusals]


def quantile_name(q: float) -> str:
    """`median` for 0.5, and `95th percentile` for 0.95."""
    if q == 0.5:
        return "median"
    percent = format((Decimal(repr(q)) * 100).normalize(), "f")
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(percent[-1], "th")
    teen = percent[-2:] in ("11", "12", "13") and "." not in percent[-2:]
    return f"{percent}{'th' if teen or '.' in percent else ending} percentile"


def quantity(number: float, unit: str, side: Side = "nearest") -> str:
    """A number with three digits in the unit that suits it. Upper ends are rounded up, lower ones down."""
    suited = readable_unit(Fraction(number), unit)
    return f"{quantity_in(number, unit, suited, side)} {suited}".rstrip()


def common_unit(numbers: Iterable[float], unit: str) -> str:
    """The unit in which the largest of these numbers is best read, for an axis or a column with all of them."""
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    return readable_unit(Fraction(largest), unit)


def quantity_in(number: float, unit: str, shown: str, side: Side = "nearest") -> str:
    """A number with three digits in the unit `shown`, which a heading names, if the reports tell it."""
    if math.isnan(number):
        return CANNOT_TELL
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    found = rounded(float(converted(Fraction(number), unit, shown)), _DIGITS, side)
    return format(Decimal(repr(found)).normalize(), ",f")


def _row(name: str, found: Functional | Quantile, unit: str) -> NumberRow:
    if not found.tells:
        return NumberRow(name, _UNKNOWN, "")
    low, high = found.lower, found.upper
    if math.isinf(low) or math.isinf(high):
        between = _open_ended(low, high, unit)
    else:
        between = f"between {quantity(low, unit, 'down')} and {quantity(high, unit, 'up')}" if low < high else ""
    gaps = f", {_GAPS}" if isinstance(found, Quantile) and found.gaps else ""
    return NumberRow(name, _value(found, unit), f"{between}{gaps}" if between else f"exactly {quantity(low, unit)}")


def _value(found: Functional | Quantile, unit: str) -> str:
    if math.isnan(found.value):
        return "no single number"
    if math.isinf(found.value):
        return "out of range"
    return quantity(found.value, unit)


def _open_ended(low: float, high: float, unit: str) -> str:
    return f"at most {quantity(high, unit, 'up')}" if math.isinf(low) else f"at least {quantity(low, unit, 'down')}"
