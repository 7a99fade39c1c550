"""Numbers round by round as a picture: estimates, the band for all rounds together, and the changes."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from untrackable.answers.number_trend import NumberTrend
from untrackable.display.figure_style import (
    BLUE,
    INK,
    RED,
    TEAL,
    axis_label,
    legend_below,
    panels,
    plain_axes,
    shares_on,
    titled_grid,
)
from untrackable.display.picture import Picture
from untrackable.display.trend_table import Trends
from untrackable.display.trend_words import trend_name, trend_unit
from untrackable.estimation.intervals import FloatArray
from untrackable.extras import extra
from untrackable.units import converted

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

MOST_TRENDS = 6
"""The largest number of trends in a picture."""
_LONGEST = 28


def trend_picture(trend: NumberTrend) -> Picture:
    """One number round by round."""
    figure, (panel,) = panels(trends_height(1))
    words = f"The {'share of ' if trend.unit is None else ''}{trend_name(trend)}, round by round"
    draw_trends(panel, [trend], words)
    return Picture(figure, words)


def trends_picture(found: Trends) -> Picture:
    """How many were active, mean and quantiles, as far as known, and the values with the largest estimates."""
    shares = found.shares[:MOST_TRENDS]
    left_out = len(found.shares) - len(shares)
    more = f" ({left_out} more values are not drawn)" if left_out else ""
    parts: list[tuple[tuple[NumberTrend, ...], str]] = []
    parts += [((found.people,), "People active by round")] if found.people else []
    parts += [(found.numbers, "Mean and quantiles by round")] if found.numbers else []
    parts += [(shares, f"Shares by round{more}")] if shares else []
    figure, made = panels(*(trends_height(len(trends)) for trends, _ in parts))
    for panel, (trends, title) in zip(made, parts, strict=True):
        draw_trends(panel, trends, title)
    return Picture(figure, "; ".join(title for _, title in parts))


def trends_height(count: int) -> float:
    """Inches of a panel with so many trends."""
    return 3.9 if count == 1 else 1.9 + 1.45 * _rows(count)


def _rows(count: int) -> int:
    return -(-count // 2)


def draw_trends(panel: SubFigure, trends: Sequence[NumberTrend], title: str) -> None:
    """Draw each trend for itself, two beside each other: its band, and the changes that are certain."""
    columns, shares = min(2, len(trends)), trends[0].unit is None
    grid = titled_grid(panel, title, _rows(len(trends)) if columns > 1 else 1, columns, one_scale=shares)
    for axes, trend in zip(grid, trends, strict=False):
        _draw(axes, trend)
        if len(trends) > 1:
            axes.set_title(axis_label(trend_name(trend), _LONGEST), fontsize=9, loc="left")
    for axes in grid[len(trends) :]:
        axes.set_axis_off()
    for axes in grid[max(0, len(trends) - columns) : len(trends)]:
        axes.set_xlabel("round", fontsize=9)
        axes.tick_params(labelbottom=True)
    for axes in grid[: len(trends) : columns] if shares else ():
        axes.set_ylabel("share", fontsize=9)
    legend_below(panel, _meanings(trends))


def _draw(axes: Axes, trend: NumberTrend) -> None:
    ends = np.concatenate([trend.lower, trend.upper, trend.estimates])  # Shares are within 0 and 1 already.
    finite = ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.zeros(1)
    # Numbers out of range have no bound: their band is drawn a little beyond all others.
    beyond = float(np.ptp(finite)) / 10 or 1.0
    unit = trend.unit and trend_unit(trend, trend.unit)
    scale = float(converted(Fraction(1), trend.unit, unit)) if trend.unit and unit else 1.0

    def drawn(numbers: FloatArray | float) -> FloatArray:
        return np.clip(numbers, min=finite.min() - beyond, max=finite.max() + beyond) * scale

    axes.fill_between(trend.rounds, drawn(trend.lower), drawn(trend.upper), color=BLUE, alpha=0.18, lw=0)
    axes.plot(trend.rounds, drawn(trend.estimates), ".-", color=BLUE, lw=1.2)
    for change in trend.changes:
        height = drawn(_height(trend, trend.rounds.index(change.at)))
        color = TEAL if change.rose else RED
        axes.plot(change.at, height, "^" if change.rose else "v", color=color, ms=9, mec=INK, zorder=4)
        axes.hlines(height, change.first, change.last, color=color, lw=4, alpha=0.5, zorder=3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.locator_params(axis="y", nbins=5)
    if trend.unit is None:
        shares_on(axes, "y")
    else:
        axes.set_ylabel(unit or "number", fontsize=9)
    plain_axes(axes, "y")


def _height(trend: NumberTrend, at: int) -> float:
    """Where a change is marked: at the estimate, or in the middle of the band if the reports do not tell one."""
    estimate, ends = float(trend.estimates[at]), (float(trend.lower[at]), float(trend.upper[at]))
    return sum(ends) / 2 if np.isnan(estimate) else estimate


def _meanings(trends: Sequence[NumberTrend]) -> list[Any]:
    """What all marks mean."""
    beta, changes = trends[0].beta, [change for trend in trends for change in trend.changes]
    band = f"holds for all rounds together, except with probability {beta:.3g} (upper)"
    found: list[Any] = [
        Line2D([], [], marker=".", color=BLUE, lw=1.2, label="estimates (sampled)"),
        Patch(color=BLUE, alpha=0.18, label=band),
    ]
    for rose, mark, color, word in ((True, "^", TEAL, "rose"), (False, "v", RED, "fell")):
        if any(change.rose == rose for change in changes):
            label = f"{word}, for certain within the rounds of its bar, most likely at the mark"
            found.append(Line2D([], [], marker=mark, color=color, mec=INK, ms=8, lw=4, alpha=0.7, label=label))
    return found
