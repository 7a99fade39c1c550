"""Shares of people as bars with their intervals: of values, and of strings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from untrackable.display.figure_style import (
    BLUE,
    FAINT,
    FEWEST_ROWS,
    INK,
    legend_below,
    named_rows,
    plain_axes,
    shares_on,
    titled,
)
from untrackable.display.percentages import shown_share
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


class Bar(NamedTuple):
    """A share (None if the reports do not tell it) with its interval, and whether somebody certainly holds it."""

    name: str
    share: float | None
    lower: float
    upper: float
    certain: bool


class BarWords(NamedTuple):
    """What the marks mean: bars of what somebody holds, bars of what may be nobody's, and the intervals."""

    title: str
    certain: str
    uncertain: str
    interval: str


def bars_height(count: int) -> float:
    """Inches of a panel with so many bars."""
    return 1.9 + 0.25 * max(FEWEST_ROWS, count)


def draw_bars(panel: SubFigure, bars: Sequence[Bar], words: BarWords, *, axis: str = "share of people") -> None:
    """Draw the bars, the first at the top. Each says its share, and none is longer than its interval."""
    axes = titled(panel, words.title)
    places = np.arange(len(bars))
    lower, upper = (np.array([getattr(bar, name) for bar in bars]) for name in ("lower", "upper"))
    told = np.array([bar.share is not None for bar in bars], dtype=bool)
    # An estimate beyond its interval is drawn at the interval's end.
    shares = np.clip([0.0 if bar.share is None else bar.share for bar in bars], lower, upper)
    colors = [BLUE if bar.certain else FAINT for bar in bars]
    axes.barh(places, np.where(told, shares, 0.0), color=colors, alpha=0.45, height=0.7)
    axes.hlines(places, lower, upper, color=INK, lw=1.2)
    axes.plot(shares[told], places[told], "o", color=INK, ms=4)
    for place, bar in zip(places, bars, strict=True):
        axes.annotate(
            shown_share(bar.share),
            (bar.upper, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
    named_rows(axes, [bar.name for bar in bars])
    high = max(upper, default=1.0) or 1.0
    axes.set_xlim(-0.02 * high, (1.18 if told.all() else 1.25) * high)
    axes.set_xlabel(axis)
    shares_on(axes, "x")
    axes.locator_params(axis="x", nbins=5)
    plain_axes(axes, "x")
    marks: list[Patch | Line2D] = []
    if any(bar.certain for bar in bars):
        marks.append(Patch(color=BLUE, alpha=0.45, label=words.certain))
    if not all(bar.certain for bar in bars):
        marks.append(Patch(color=FAINT, alpha=0.45, label=words.uncertain))
    if bars:
        marks.append(Line2D([], [], color=INK, marker="o", ms=4, lw=1.2, label=words.interval))
    legend_below(panel, marks)
