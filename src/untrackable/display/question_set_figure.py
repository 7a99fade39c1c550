"""Several questions with one budget as a picture: the error of each, and the part of eps that it has."""

from typing import Any

import numpy as np

from untrackable.brackets import at_most, shortest_decimal
from untrackable.display.figure_style import (
    BLUE,
    FAINT,
    FEWEST_ROWS,
    GREY,
    INK,
    RED,
    TEAL,
    legend_below,
    length_axis,
    named_rows,
    panels,
    plain_axes,
    shares_on,
    titled,
)
from untrackable.display.numbers import upper
from untrackable.display.picture import Picture
from untrackable.display.question_set_words import errors, question_eps, spending, title
from untrackable.extras import extra
from untrackable.planning.question_set import QuestionSet

with extra("plots"):
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_LOOKS: dict[str, dict[str, Any]] = {
    "planned": {"marker": "o", "color": BLUE, "ms": 6},
    "alone": {"marker": "o", "mfc": "none", "mec": GREY, "ms": 11},
    "record": {"marker": "D", "mfc": "none", "mec": TEAL, "mew": 1.8, "ms": 8},
    "wanted": {"marker": "|", "color": RED, "ms": 14, "mew": 2.5},
}
"""The mark of each error that a question may have. One that lies upon another hides nothing of it."""


def question_set_picture(found: QuestionSet) -> Picture:
    """A row for each question: its errors above, and its part of the budget below."""
    height = 0.3 * max(FEWEST_ROWS, len(found.parts))
    figure, (above, below) = panels(2.3 + height, 1.9 + height)
    _draw_errors(above, found)
    _draw_parts(below, found)
    return Picture(figure, title(found))


def _draw_errors(panel: SubFigure, found: QuestionSet) -> None:
    """The error of each question, beside what was asked for and what other plans would have."""
    axes = titled(panel, "The error of each question's figures")
    series = errors(found)
    drawn = [error for each in series for error in each.errors if error is not None]
    begin, _ = length_axis(axes, drawn)
    axes.hlines(range(len(found.parts)), begin, [part.error for part in found.parts], color=FAINT, lw=1)
    marks = []
    for each in series:
        known = [(error, row) for row, error in enumerate(each.errors) if error is not None]
        axes.plot(*zip(*known, strict=True), lw=0, zorder=3, **_LOOKS[each.kind])
        marks.append(Line2D([], [], lw=0, label=each.label, **_LOOKS[each.kind]))
    for row, part in enumerate(found.parts):
        last = max(each.errors[row] or 0.0 for each in series)
        about = "≤" if part.goals.discovered is None else "≈"
        told = f"{about} {at_most(float(shortest_decimal(part.error).scaleb(2)), 3)} %"
        axes.annotate(told, (last, row), xytext=(9, 0), textcoords="offset points", va="center", fontsize=8)
    named_rows(axes, [part.name for part in found.parts])
    plain_axes(axes, "x")
    shares_on(axes, "x")
    legend_below(panel, marks)


def _draw_parts(panel: SubFigure, found: QuestionSet) -> None:
    """The eps of each question by itself, and of all of them together."""
    where, _, spent = spending(found)
    axes = titled(panel, f"The part of eps that each question has{where}")
    lengths = [*(question_eps(part) for part in found.parts), spent]
    places, colors = np.arange(len(lengths)), [*(BLUE for _ in found.parts), INK]
    axes.set_xlim(0, 1.35 * max(lengths))
    axes.barh(places, lengths, color=colors, alpha=0.7, height=0.7)
    for place, length in zip(places, lengths, strict=True):
        axes.annotate(
            upper(length), (length, place), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8
        )
    named_rows(axes, [*(part.name for part in found.parts), "all together"])
    plain_axes(axes, "x")
    legend_below(
        panel,
        [
            Patch(color=BLUE, alpha=0.7, label="this question by itself (upper)"),
            Patch(color=INK, alpha=0.7, label="all questions together, as a client's ledger adds them up (upper)"),
        ],
    )
