"""A plan as a picture: the options beside each other, and the error of the recommended one by number of people."""

import math
from typing import Any, NamedTuple

import numpy as np

from untrackable.display.figure_style import (
    BLUE,
    FAINT,
    FEWEST_ROWS,
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
from untrackable.display.numbers import number, upper
from untrackable.display.percentages import percent
from untrackable.display.picture import Picture
from untrackable.extras import extra
from untrackable.planning.forecast import errors
from untrackable.planning.goals import FOREVER, USABLE_ERROR, Goals
from untrackable.planning.plans import Option, Plan
from untrackable.planning.rounding import counted

with extra("plots"):
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import LogLocator, NullLocator

_POINTS = 25
"""The curve is drawn at this many numbers of people, from a hundredth to a hundred times as many as planned."""


class _Row(NamedTuple):
    """A bar: its name, its length, how that is written, and whether it is recommended."""

    name: str
    length: float
    text: str
    recommended: bool


def plan_picture(plan: Plan) -> Picture:
    """What the options reach, the recommended one marked; and what fewer or more people would mean."""
    best = plan.recommended
    if best is None:
        return _refused(plan)
    title, rows = _options(plan)
    figure, (above, below) = panels(1.7 + 0.26 * max(FEWEST_ROWS, len(rows)), 3.9)
    _draw_rows(above, title, rows, plan, of_errors=plan.unknown in (None, "error"))
    _draw_people(below, best, plan.goals)
    return Picture(figure, f"{title}; {best.name} is recommended")


def _refused(plan: Plan) -> Picture:
    """The errors that are too large, and the limit, where no mechanism meets the goals."""
    known = [(refusal.name, refusal.error_upper) for refusal in plan.refusals if refusal.error_upper is not None]
    rows = [
        _Row(name, min(1.0, error), _error_text(error, plan.goals), False)
        for name, error in sorted(known, key=_second)
    ]
    if not rows:
        raise ValueError("there is nothing to draw: no mechanism meets these goals; see refusals")
    title = "No mechanism meets these goals: errors, at most (upper)"
    figure, (panel,) = panels(1.9 + 0.26 * max(FEWEST_ROWS, len(rows)))
    _draw_rows(panel, title, rows, plan, of_errors=True)
    return Picture(figure, title)


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


def _options(plan: Plan) -> tuple[str, list[_Row]]:
    """What the plan solved for, or the error, of each option."""
    titles = {
        "people": "People that each mechanism needs (upper)",
        "eps": "Everlasting eps that each mechanism needs (upper)",
        "rounds": "Rounds that each mechanism allows (lower)",
    }
    title = titles.get(plan.unknown or "", _error_title(plan.goals))
    return title, [_row(option, plan) for option in plan.options]


def _row(option: Option, plan: Plan) -> _Row:
    goals, best = option.goals, option is plan.recommended
    match plan.unknown:
        case "people":
            return _Row(option.name, float(goals.people or 0), counted(goals.people or 0), best)
        case "eps":
            return _Row(option.name, goals.eps or 0.0, upper(goals.eps or 0.0), best)
        case "rounds" if goals.rounds == FOREVER:
            return _Row(option.name, math.inf, "for ever", best)
        case "rounds":
            return _Row(option.name, float(goals.rounds or 0), number(float(goals.rounds or 0)), best)
    return _Row(option.name, option.error_upper, _error_text(option.error_upper, goals), best)


def _error_text(error: float, goals: Goals) -> str:
    sign = "±" if goals.discovered is None else ""
    return f"{sign}{percent(error, 'up')}" if error <= 1 else f"above {sign}100 %"


def _error_title(goals: Goals) -> str:
    if goals.discovered is not None:
        return "The share of people from which on a string is found (predicted)"
    what = {
        "frequencies": "a published share",
        "quantiles": "a share up to a number",
        "mean": "the mean, of its range",
    }
    return f"The error of {what[goals.want]}, at most (upper)"


def _limit(plan: Plan) -> float | None:
    """The largest error that was asked for, or that is usable where no mechanism has one."""
    return plan.goals.error if plan.options else plan.goals.error or USABLE_ERROR


def _draw_rows(panel: SubFigure, title: str, rows: list[_Row], plan: Plan, *, of_errors: bool) -> None:
    """A bar for each row, or where they differ much a mark on a logarithmic axis."""
    axes = titled(panel, title)
    limit = _limit(plan) if of_errors else None
    places, colors = np.arange(len(rows)), [BLUE if row.recommended else FAINT for row in rows]
    finite = [row.length for row in rows if math.isfinite(row.length)] + ([] if limit is None else [limit])
    begin, edge = length_axis(axes, finite)
    lengths = [min(row.length, edge) for row in rows]
    if begin > 0:
        axes.hlines(places, begin, lengths, color=colors, lw=2)
        axes.scatter(lengths, places, color=colors, s=40, zorder=3)
    else:
        axes.barh(places, lengths, color=colors, alpha=0.7, height=0.7)
    for place, row in zip(places, rows, strict=True):
        end = (row.length if math.isfinite(row.length) else max(finite, default=1.0), place)
        axes.annotate(row.text, end, xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)
    named_rows(axes, [row.name for row in rows])
    plain_axes(axes, "x")
    if of_errors:
        shares_on(axes, "x")
    elif plan.unknown == "people":
        counts_on(axes, "x")
    marks: list[Any] = []
    if any(row.recommended for row in rows):
        marks.append(Patch(color=BLUE, alpha=0.7, label="recommended"))
    if not all(row.recommended for row in rows):
        others = "meets the goals as well" if plan.options else "does not meet the goals"
        marks.append(Patch(color=FAINT, alpha=0.7, label=others))
    if limit is not None:
        axes.axvline(limit, color=RED, ls="--", lw=1.5)
        marks.append(_limit_mark(limit, plan.goals))
    legend_below(panel, marks)


def _limit_mark(limit: float, asked: Goals) -> Any:
    why = "asked for" if asked.error is not None else "a larger error says little"
    return Line2D([], [], color=RED, ls="--", lw=1.5, label=f"{why}: at most {_error_text(limit, asked)}")


def _draw_people(panel: SubFigure, best: Option, asked: Goals) -> None:
    """The error of the recommended option with fewer and with more people."""
    goals, planned = best.goals, best.goals.people or 1
    what, certainty = "error of a figure, at most", "upper"
    if goals.discovered is not None:
        what, certainty = "share from which on a string is found", "predicted"
    drawn = what.partition(" ")[0]
    axes = titled(panel, f"{best.name}: the {drawn} with fewer or more people")
    people = np.unique(np.geomspace(max(10.0, planned / 100), planned * 100, _POINTS).round().astype(np.int64))
    found = np.array([errors(best.mechanism, goals, int(count)).figure for count in people])
    usable = np.isfinite(found) & (found <= 1.0)
    axes.plot(people[usable], found[usable], color=BLUE, lw=2)
    axes.plot(planned, best.error_upper, "o", color=INK, ms=7, zorder=4)
    marks: list[Any] = [
        Line2D([], [], color=BLUE, lw=2, label=f"{what} ({certainty})"),
        Line2D(
            [],
            [],
            marker="o",
            color=INK,
            ms=6,
            lw=0,
            label=f"the plan: {counted(planned)} people, {_error_text(best.error_upper, goals)} ({certainty})",
        ),
    ]
    if asked.error is not None:
        axes.axhline(asked.error, color=RED, ls="--", lw=1.5)
        marks.append(_limit_mark(asked.error, asked))
    if goals.crowd_eps is not None:
        fewer = axes.axvspan(people[0], planned, color=RED, alpha=0.08, lw=0)
        fewer.set_label("too few people: the crowd would hide less than was promised")
        marks.append(fewer)
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    counts_on(axes, "x")
    axes.set_xlabel("people")
    axes.set_ylabel(drawn)
    shares_on(axes, "y")
    plain_axes(axes)
    legend_below(panel, marks)
