"""A comparison as a picture: every mechanism in a row, how well people are followed beside how accurate it is."""

from typing import Any

import numpy as np

from untrackable.auditing.comparison import FOR_EVER, THESE_ROUNDS, Comparison
from untrackable.display.comparison_words import most_accurate_hidden
from untrackable.display.figure_style import (
    AMBER,
    BLUE,
    FAINT,
    FEWEST_ROWS,
    GREY,
    INK,
    legend_below,
    named_rows,
    panels,
    plain_axes,
    shares_on,
    titled_grid,
)
from untrackable.display.picture import Picture
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator


def comparison_picture(comparison: Comparison) -> Picture:
    """The mechanisms in the order of the comparison: the hardest to follow first."""
    rows = comparison.rows
    words = (
        f"Mechanisms at eps = {comparison.eps:g} side by side: who is followed after {comparison.reports} "
        f"rounds, and how accurate they are with {comparison.people:,} people"
    )
    figure, (panel,) = panels(3.0 + 0.24 * max(FEWEST_ROWS, len(rows)))
    followed, accurate = titled_grid(panel, words, 1, 2)
    places, guess = np.arange(len(rows)), 1 / comparison.crowd
    colors = [BLUE if row.lasts else AMBER for row in rows]
    recognised, attended = (
        np.array([getattr(row, name).upper for row in rows]) for name in ("recognised", "attended")
    )
    followed.hlines(places, recognised, attended, color=FAINT, lw=1)
    followed.plot(attended, places, "o", mfc="white", mec=GREY, ms=10, zorder=3)  # seen around a dot at its place
    followed.scatter(recognised, places, color=colors, s=36, zorder=4)
    followed.axvline(guess, color=GREY, ls=":", lw=1.5)
    _shares(followed, guess / 2, 1.6, f"picked out of {comparison.crowd:,}:\nat most (upper)")
    errors = np.array([row.all_rounds for row in rows])
    accurate.hlines(places, errors.min() / 1.5, errors, color=FAINT, lw=1)
    accurate.scatter(errors, places, color=colors, s=36, zorder=4)
    _shares(
        accurate,
        errors.min() / 1.5,
        errors.max() * 1.5,
        f"standard error after\n{comparison.reports} rounds (exact)",
    )
    named_rows(followed, [row.name for row in rows])
    marks: list[Any] = [
        Line2D([], [], marker="o", color=color, lw=0, label=f"{name}; left: by what reports say")
        for color, name in ((BLUE, FOR_EVER), (AMBER, THESE_ROUNDS))
        if color in colors
    ]
    by_both = "by reports and attendance together"
    marks.append(Line2D([], [], marker="o", mfc="white", mec=GREY, ms=10, lw=0, label=by_both))
    marks.append(Line2D([], [], color=GREY, ls=":", lw=1.5, label="by guessing (exact)"))
    best = most_accurate_hidden(comparison)
    if best is not None:
        accurate.plot(best.all_rounds, rows.index(best), "*", color=INK, ms=12, zorder=5)
        label = f"{best.name}: the most accurate whose reports cannot be linked"
        marks.append(Line2D([], [], marker="*", color=INK, ms=10, lw=0, label=label))
    legend_below(panel, marks)
    return Picture(figure, words)


def _shares(axes: Axes, low: float, high: float, title: str) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if high < 300 * low else (1.0,)))
    axes.xaxis.set_minor_locator(NullLocator())
    shares_on(axes, "x")
    axes.set_xlabel(title)
    plain_axes(axes, "x")
