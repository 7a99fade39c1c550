"""The shapes of charts: where bars, lines and bands are. Templates draw them as SVG."""

import math
from collections.abc import Callable, Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

from untrackable.display.answer_words import range_words
from untrackable.display.percentages import percent, shown_share

_TICKS = 4
"""About how many marks an axis has."""
_LETTER = 6.8
"""How wide a letter of a mark is, in the units of the drawing."""


class Bar(NamedTuple):
    """One answer: its texts, and the bar and its whisker in percent of the widest."""

    label: str
    share: str
    range: str
    stands_out: bool
    length: float
    low: float
    high: float


class Panel(NamedTuple):
    """The trend of one answer: a band, and a dot for each round, in the units of the drawing."""

    label: str
    band: str
    line: str
    dots: list[tuple[float, float, str]]


class Panels(NamedTuple):
    """The trends of several answers at one scale: their panels, the marks of both axes, and room for these."""

    width: float
    height: float
    panels: list[Panel]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    left: float


def widest_share(rows: Sequence[dict[str, Any]]) -> float:
    """The scale of bars: the highest upper end of an interval."""
    return max((row["upper"] for row in rows), default=1.0) or 1.0


def bars(rows: Sequence[dict[str, Any]], all_rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """The bars of some answers, at the scale of all of them. None is longer than its interval."""
    widest = widest_share(all_rows)

    def place(share: float) -> float:
        return round(100 * share / widest, 2)

    return [
        Bar(
            row["label"],
            shown_share(row["frequency"]),
            range_words(row["lower"], row["upper"]),
            row["stands_out"],
            0.0 if row["frequency"] is None else place(min(row["upper"], max(row["lower"], row["frequency"]))),
            place(row["lower"]),
            place(row["upper"]),
        )
        for row in rows
    ]


def trend_panels(
    trend: dict[str, Any],
    *,
    width: float = 280,
    height: float = 110,
    words: Callable[[float], str] = percent,
) -> Panels:
    """The panels of a trend, with `rounds`, `labels`, and `frequencies`, `lower` and `upper` for each label.

    Ends that have no bound are drawn at the edge. A number that the reports do not tell has no dot.
    """
    rounds: list[int] = trend["rounds"]
    parts = [ends for of in ("frequencies", "lower", "upper") for ends in trend[of]]
    drawn: list[float] = [end for ends in parts for end in ends if end is not None and isfinite(end)]
    lowest, highest = min(0.0, *drawn), max(1e-9, *drawn)

    def across(number: float) -> float:
        return round(width * (number - rounds[0]) / (rounds[-1] - rounds[0]), 2)

    def up(share: float) -> float:
        within = min(highest, max(lowest, share))
        return round(height * (highest - within) / (highest - lowest), 2)

    panels = []
    for label, shares, lower, upper in zip(
        trend["labels"], trend["frequencies"], trend["lower"], trend["upper"], strict=True
    ):
        edge = [(across(number), up(end)) for number, end in zip(rounds, upper, strict=True)]
        edge += reversed([(across(number), up(end)) for number, end in zip(rounds, lower, strict=True)])
        dots = [
            (across(n), up(share), f"round {n}: {words(share)}")
            for n, share in zip(rounds, shares, strict=True)
            if share is not None and not isnan(share)
        ]
        panels.append(Panel(label, _points(edge), _points((x, y) for x, y, _ in dots), dots))
    places = [(up(tick), words(tick).replace(".00 %", " %")) for tick in ticks(lowest, highest)]
    ends = [(across(number), f"{number:,}") for number in (rounds[0], rounds[-1])]
    left = max(44.0, 14 + _LETTER * max(len(text) for _, text in places))
    return Panels(width, height, panels, ends, places, left)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return [round(step * i, 12) for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _points(found: Any) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in found)
