"""A plan as a picture: the errors of one round, a quarter and all rounds; and what other numbers of people mean."""

from typing import Any

import numpy as np

from untrackable.display.figure_style import (
    BLUE,
    FAINT,
    INK,
    RED,
    counts_on,
    legend_below,
    length_axis,
    named_rows,
    panels,
    plain_axes,
    shares_on,
    titled,
)
from untrackable.display.percentages import percent
from untrackable.display.picture import Picture
from untrackable.extras import extra
from untrackable.planning.goals import Goals
from untrackable.planning.plans import Plan
from untrackable.planning.rounding import counted

with extra("plots"):
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import LogLocator, NullLocator

_POINTS = 25
"""The curve is drawn at this many numbers of people, from a hundredth to a hundred times as many as planned."""


def plan_picture(plan: Plan) -> Picture:
    """The errors of figures, and the error of a round with fewer or more people."""
    title = _title(plan.solved)
    figure, (above, below) = panels(2.6, 3.9)
    _draw_rows(above, title, plan)
    _draw_people(below, plan)
    return Picture(figure, f"{title}, for one round, a quarter of the rounds and all rounds together")


def _title(goals: Goals) -> str:
    if goals.discovered is not None:
        return "The share of people from which on a string is found (predicted)"
    what = {"quantiles": "a share up to a number", "mean": "the mean, of its range"}.get(goals.want, "a share")
    return f"The error of {what}, at most (upper)"


def _draw_rows(panel: SubFigure, title: str, plan: Plan) -> None:
    axes = titled(panel, title)
    found = [
        ("one round", plan.one_round),
        ("a quarter of the rounds", plan.quarter),
        ("all rounds", plan.all_rounds),
    ]
    lengths = [min(1.0, promise.radius_upper) for _, promise in found]
    limit = plan.goals.error
    _, edge = length_axis(axes, [*lengths, *([] if limit is None else [limit])])
    places = np.arange(len(found))
    axes.hlines(places, axes.get_xlim()[0], lengths, color=BLUE, lw=7, alpha=0.7)
    shown = [min(edge, promise.standard_error) for _, promise in found]
    axes.scatter(shown, places, color=INK, marker="|", s=140, zorder=3)
    for place, length in zip(places, lengths, strict=True):
        text = percent(length, "up") if length < 1 else "above 100 %"
        axes.annotate(
            f"±{text}", (length, place), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8
        )
    named_rows(axes, [name for name, _ in found])
    plain_axes(axes, "x")
    shares_on(axes, "x")
    marks: list[Any] = [
        Patch(color=BLUE, alpha=0.7, label=f"error, at most (upper), except with probability {plan.goals.beta:g}"),
        Line2D([], [], color=INK, marker="|", lw=0, ms=10, label="standard error (upper)"),
    ]
    if limit is not None:
        axes.axvline(limit, color=RED, ls="--", lw=1.5)
        marks.append(
            Line2D([], [], color=RED, ls="--", lw=1.5, label=f"asked for: at most ±{percent(limit, 'up')}")
        )
    legend_below(panel, marks)


def _draw_people(panel: SubFigure, plan: Plan) -> None:
    """The errors of the same report with fewer and with more people."""
    goals, planned = plan.solved, plan.solved.people or 1
    axes = titled(panel, "The error with fewer or more people")
    people = np.unique(np.geomspace(max(10.0, planned / 100), planned * 100, _POINTS).round().astype(np.int64))
    marks: list[Any] = []
    for rounds, name, color in ((1, "one round", BLUE), (plan.all_rounds.rounds, "all rounds together", FAINT)):
        found = [plan.law.promise(goals.replace(people=int(count)), rounds).radius_upper for count in people]
        usable = np.array(found) <= 1
        axes.plot(people[usable], np.array(found)[usable], color=color, lw=2)
        marks.append(Line2D([], [], color=color, lw=2, label=f"{name}, at most ({'upper'})"))
    if plan.one_round.radius_upper <= 1:
        axes.plot(planned, plan.one_round.radius_upper, "o", color=INK, ms=7, zorder=4)
    marks.append(Line2D([], [], marker="o", color=INK, ms=6, lw=0, label=f"the plan: {counted(planned)} people"))
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    counts_on(axes, "x")
    axes.set_xlabel("people")
    axes.set_ylabel("error")
    shares_on(axes, "y")
    plain_axes(axes)
    legend_below(panel, marks)
