"""What all matplotlib figures share: colours, size, panels with titles and legends, and names that can be shown."""

import textwrap
from collections.abc import Sequence
from typing import Any, Literal

from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator


BLUE, RED, AMBER, GREEN, TEAL, VIOLET = "#1b6ca8", "#d1495b", "#e09f3e", "#7a9e3f", "#2a9d8f", "#7b5ea7"
INK, GREY, FAINT = "#222222", "#555555", "#9aa5b1"

_WIDTH = 5.2
"""Inches. On a phone of 390 pixels, letters are still 9 pixels high."""
_TITLE, _SMALL = 10, 9
"""Sizes of letters."""
FEWEST_ROWS = 2
"""Panels have room for at least this many rows."""
_LONGEST = 27
"""Letters of a name beside its row."""
_LINEAR = 30
"""If the largest length is more than this many times the smallest, their axis is logarithmic."""
_TITLE_LETTERS, _LEGEND_LETTERS = 58, 70
"""How many letters a line of a title or of a legend has."""


def panels(*heights: float) -> tuple[Figure, list[SubFigure]]:
    """A figure with panels below each other, of these heights in inches."""
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    made = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)
    return figure, list(made[:, 0])


def titled(panel: SubFigure, title: str) -> Axes:
    """The axes of a panel, below a title that says what is to be seen."""
    (axes,) = titled_grid(panel, title, 1, 1)
    return axes


def titled_grid(panel: SubFigure, title: str, rows: int, columns: int, *, one_scale: bool = True) -> list[Axes]:
    """Several axes below one title. All have one vertical scale, unless that is not wanted."""
    panel.suptitle(
        textwrap.fill(title, _TITLE_LETTERS), x=0.02, ha="left", fontsize=_TITLE, fontweight="bold", color=INK
    )
    made = panel.subplots(rows, columns, sharex="col", sharey=one_scale, squeeze=False)
    found: list[Axes] = list(made.flat)
    for axes in found:
        axes.tick_params(labelsize=_SMALL)
        axes.xaxis.label.set_fontsize(_SMALL)
        axes.yaxis.label.set_fontsize(_SMALL)
        axes.title.set_fontsize(_SMALL)
    return found


def legend_below(panel: SubFigure, marks: Sequence[Any]) -> None:
    """What every mark of a panel means, one to a line."""
    panel.legend(
        handles=list(marks),
        labels=[textwrap.fill(str(mark.get_label()), _LEGEND_LETTERS) for mark in marks],
        loc="outside lower left",
        frameon=False,
        fontsize=_SMALL,
        borderaxespad=0.2,
        labelspacing=0.35,
    )


def plain_axes(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """A faint grid, and no frame at the top and the right."""
    axes.grid(alpha=0.3, axis=grid)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def length_axis(axes: Axes, lengths: Sequence[float]) -> tuple[float, float]:
    """Set the axis of these lengths, and say where it begins and ends.

    It begins at 0, or later if the lengths differ so much that it is logarithmic. Behind the largest there is room
    for its number.
    """
    most = max(lengths, default=1.0) or 1.0
    least = min((length for length in lengths if length > 0), default=most)
    if most <= _LINEAR * least:
        ends = 0.0, most * 1.35
        axes.set_xlim(*ends)
        axes.locator_params(axis="x", nbins=6)
        return ends
    ends = least / 2, most * (most / least) ** 0.5
    axes.set_xscale("log")
    axes.set_xlim(*ends)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    return ends


def shares_on(axes: Axes, which: Literal["x", "y"]) -> None:
    """Shares as percentages on an axis, as many digits as they need."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))


def counts_on(axes: Axes, which: Literal["x", "y"]) -> None:
    """Large numbers of people on an axis: 10 k, 2 M, 5 bn."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda count, _: _short_count(count)))


def _short_count(count: float) -> str:
    for size, unit in ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count:.4g}"


def named_rows(axes: Axes, names: Sequence[str]) -> None:
    """A row for each name, the first at the top. One row alone is as high as if there were two."""
    axes.set_yticks(range(len(names)), [axis_label(name, _LONGEST) for name in names])
    axes.set_ylim(max(len(names), FEWEST_ROWS) - 0.5, -0.5)


def axis_label(name: str, longest: int) -> str:
    """A name that a figure can show: no formulas, nothing unprintable, not too long."""
    plain = "".join(mark if mark.isprintable() else "�" for mark in name)
    return (plain if len(plain) <= longest else plain[: longest - 1] + "…").replace("$", r"\$")
