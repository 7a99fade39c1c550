"""An answer as a picture: the most frequent values with error bars, and over the rounds if there are several."""

from pathlib import Path
from typing import Any

import numpy as np

from untrackable.answers.answer import Answer
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
from untrackable.estimation.rounds import Rounds
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
_COLORS = (BLUE, RED, AMBER, TEAL, VIOLET, GREY)
_LONGEST, _FEWEST_ROUNDS = 28, 3


def write(path: Path, answer: Answer, *, top: int = 20) -> None:
    """Write the picture. The ending of the file's name chooses the format."""
    series = len(answer.rounds) >= _FEWEST_ROUNDS
    rows = answer.best.top(top)
    figure = Figure(figsize=(12 if series else 7.5, 1.6 + 0.24 * max(8, len(rows))), layout="constrained")
    if series:
        left, right = figure.subplots(1, 2, width_ratios=(5, 6))
        _series(right, answer, [row.value for row in rows[: len(_COLORS)]])
    else:
        left = figure.subplots()
    _bars(left, answer, rows)
    save_figure(figure, path)


def _bars(axes: Axes, answer: Answer, rows: list[Any]) -> None:
    places = np.arange(len(rows))
    shares = np.array([row.frequency for row in rows])
    sides = np.array([[row.frequency - row.lower, row.upper - row.frequency] for row in rows]).T
    colors = [_COLORS[0] if row.stands_out else FAINT for row in rows]
    axes.barh(places, np.maximum(0.0, shares), color=colors, alpha=0.45)
    axes.errorbar(shares, places, xerr=np.maximum(0.0, sides), fmt=".", color=INK, capsize=2, lw=1)
    axes.set_yticks(places, [axis_label(answer.label(row.value), _LONGEST) for row in rows])
    axes.invert_yaxis()
    beta = answer.best.beta
    axes.set_xlabel(
        f"share of people; error bars hold for all values at once\nexcept with probability {beta:.3g} (upper)"
    )
    pooled = "" if len(answer.rounds) == 1 else ", all rounds pooled" if answer.pooled else ", last round"
    axes.set_title(f"{answer.best.n:,} reports{pooled}; the interval of grey bars includes 0", fontsize=10)
    plain_axes(axes, "x")


def _series(axes: Axes, answer: Answer, values: list[Any]) -> None:
    """Each value over the rounds: its trend with a band if rounds can be pooled, or else error bars."""
    numbers = list(answer.rounds)
    try:
        rounds: Rounds | None = Rounds(answer.mechanism, answer.rounds)
    except ValueError:
        rounds = None
    for value, color in zip(values, _COLORS, strict=False):
        first = next(iter(answer.rounds.values()))
        place = value if first.values is None else list(first.values).index(value)
        shares = np.array([estimate.frequencies[place] for estimate in answer.rounds.values()])
        name = axis_label(answer.label(value), _LONGEST)
        if rounds is None:
            radius = [estimate.radius[place] for estimate in answer.rounds.values()]
            axes.errorbar(numbers, shares, yerr=radius, fmt=".-", color=color, capsize=2, label=name)
            continue
        line = rounds.series(place, beta=first.beta)
        axes.plot(numbers, shares, ".", color=color, alpha=0.6)
        axes.plot(numbers, line.trend, color=color, label=name)
        axes.fill_between(numbers, line.trend_lower, line.trend_upper, color=color, alpha=0.13, lw=0)
    about = "round alone" if rounds is None else "trend at all rounds"
    axes.set(xlabel="round", ylabel="share of people")
    axes.set_title(f"Dots: each round; band: error of the {about} (upper)", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    plain_axes(axes, "y")
