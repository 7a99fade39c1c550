"""What the band of a trend means, and what changed, in sentences."""

import math
from collections.abc import Sequence

import numpy as np

from untrackable.answers.number_trend import NumberTrend
from untrackable.answers.people_trend import NAME as PEOPLE
from untrackable.brackets import Side
from untrackable.display.number_words import common_unit, quantile_name, quantity
from untrackable.display.numbers import all_of
from untrackable.display.percentages import CANNOT_TELL, percent
from untrackable.estimation.change_points import Change

Unit = str | None
"""The unit of numbers, empty if they have none; None for shares of people."""
_NAMED = 4
"""Values that are named in one sentence."""


def amount(value: float, unit: Unit, side: Side = "nearest") -> str:
    """A share as a percentage, or a number in its unit, if the reports tell it."""
    if math.isnan(value):
        return CANNOT_TELL
    if unit is None:
        return percent(value, side)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return quantity(value, unit, side)


def band_note(beta: float, rounds: int, *, all_values: bool) -> str:
    """What the band of a trend promises."""
    scope = all_of(rounds, "rounds") if rounds > 1 else "this round"
    values = " and all values" if all_values else ""
    return f"band: holds for {scope}{values} together, except with probability {beta:.3g} (upper)"


def change_note(trend: NumberTrend, *, all_values: bool = False) -> str:
    """What the changes promise, and how they were found."""
    values, beta = " of all values" if all_values else "", trend.beta
    how = "stretches of rounds were compared" if trend.independent else "single rounds were compared"
    if not trend.independent and trend.name != PEOPLE:
        how += ", as rounds share errors: clients keep their noise, or strings are hashed"
    return f"changes: all of them{values} are real, except with probability {beta:.3g} (upper); {how}"


def trend_name(trend: NumberTrend) -> str:
    """What a trend is called: a value's name, the mean, or a quantile such as the median."""
    return trend.name if trend.quantile is None else quantile_name(trend.quantile)


def trend_unit(trend: NumberTrend, unit: str) -> str:
    """The unit in which a trend is best read: its estimates, or its band if the reports tell none."""
    return common_unit(trend.upper if np.isnan(trend.estimates).all() else trend.estimates, unit)


def change_sentence(trend: NumberTrend, change: Change, unit: Unit) -> str:
    """When a number rose or fell, and by how much at least."""
    verb, side = ("rose", "above") if change.rose else ("fell", "below")
    when = f"in round {change.last}"
    if change.last > change.first + 1:
        when = f"between rounds {change.first} and {change.last}, most likely in round {change.at}"
    least = amount(change.lower if change.rose else -change.upper, unit, "down").replace(" %", " points")
    size = f"at least {least} {side}" if change.lower > 0 or change.upper < 0 else side
    after, before = _stretch(change.after), _stretch(change.before)
    return f"{_subject(trend, unit)} {verb} {when}: {after} {_are(change.after)} {size} {before}"


def _subject(trend: NumberTrend, unit: Unit) -> str:
    return f"the share of {trend_name(trend)}" if unit is None else f"the {trend_name(trend)}"


def unchanged_sentence(trends: Sequence[tuple[NumberTrend, Unit]]) -> str:
    """Which numbers have no change that is certain; empty if all have one."""
    still = [(trend_name(trend), unit) for trend, unit in trends if not trend.changes]
    if not still:
        return ""
    names = [f"the {name}" for name, unit in still if unit is not None]
    if shares := [name for name, unit in still if unit is None]:
        more = f" and {len(shares) - _NAMED} more" if len(shares) > _NAMED else ""
        names.append(f"the share{'s' * (len(shares) > 1)} of {', '.join(shares[:_NAMED])}{more}")
    return f"it is not certain that these changed: {', '.join(names)}"


def _stretch(rounds: tuple[int, int]) -> str:
    first, last = rounds
    return f"round {first}" if first == last else f"rounds {first} to {last}"


def _are(rounds: tuple[int, int]) -> str:
    return "is" if rounds[0] == rounds[1] else "together are"
