"""An answer round by round as a picture: estimates, the band for all rounds together, and the changes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from untrackable.answers.number_trend import NumberTrend
from untrackable.display.figure_style import (
    AMBER,
    BLUE,
    FAINT,
    GREY,
    INK,
    RED,
    TEAL,
    VIOLET,
    axis_label,
    plain_axes,
    save_figure,
)
from untrackable.display.trend_table import Trends
from untrackable.display.trend_words import trend_name
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator, PercentFormatter

_COLORS = (BLUE, RED, AMBER, TEAL, VIOLET, GREY)
_LONGEST = 28


def write(path: Path, found: Trends) -> None:
    """Write the picture: the most frequent values, and below them mean and quantiles, if there are any."""
    panels = [found.shares[: len(_COLORS)], *([found.numbers] if found.numbers else [])]
    figure = Figure(figsize=(10, 4.6 * len(panels)), layout="constrained")
    for axes, trends in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        _draw(axes, trends, found.beta)
    shares = figure.axes[0]
    left_out = len(found.shares) - len(panels[0])
    more = f" ({left_out} less frequent values are not drawn)" if left_out else ""
    shares.set_ylabel("share of people")
    shares.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    shares.set_title(f"Shares by round{more}", fontsize=10)
    if found.numbers:
        figure.axes[1].set_ylabel(found.unit or "number")
        figure.axes[1].set_title("Mean and quantiles by round", fontsize=10)
    save_figure(figure, path)


def _draw(axes: Axes, trends: Sequence[NumberTrend], beta: float) -> None:
    marks: set[bool] = set()
    ends = np.concatenate([end for trend in trends for end in (trend.lower, trend.upper)])
    least, most = ends[np.isfinite(ends)].min(), ends[np.isfinite(ends)].max()
    # Numbers out of range have no bound: their band is drawn a little beyond all others.
    drawn = partial(np.clip, min=least - (most - least) / 10, max=most + (most - least) / 10)
    for trend, color in zip(trends, _COLORS, strict=False):
        axes.plot(
            trend.rounds, trend.estimates, ".-", color=color, lw=1.2, label=axis_label(trend_name(trend), _LONGEST)
        )
        axes.fill_between(trend.rounds, drawn(trend.lower), drawn(trend.upper), color=color, alpha=0.13, lw=0)
        for change in trend.changes:
            at = trend.rounds.index(change.at)
            axes.plot(
                change.at, trend.estimates[at], "^" if change.rose else "v", color=color, ms=10, mec=INK, zorder=4
            )
            axes.hlines(trend.estimates[at], change.first, change.last, color=color, lw=4, alpha=0.5, zorder=3)
            marks.add(change.rose)
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    plain_axes(axes, "y")
    handles, _ = axes.get_legend_handles_labels()
    handles.append(
        Patch(color=FAINT, alpha=0.4, label=f"band: all rounds together,\nexcept with prob. {beta:.3g} (upper)")
    )
    for rose, mark, word in ((True, "^", "rose"), (False, "v", "fell")):
        if rose in marks:
            handles.append(Line2D([], [], marker=mark, color="none", mfc=FAINT, mec=INK, ms=10, label=word))
    if marks:
        handles.append(Line2D([], [], color=FAINT, lw=4, label="for certain within these rounds"))
    axes.legend(handles=handles, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
