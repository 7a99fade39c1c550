"""An answer as a picture: the values with the largest estimates and their intervals, and values round by round."""

from collections.abc import Callable
from typing import Any

from untrackable.answers.answer import Answer
from untrackable.answers.number_trend import share_trends
from untrackable.answers.people_trend import people_trend
from untrackable.display.figure_style import panels
from untrackable.display.percentages import order_notes
from untrackable.display.picture import Picture
from untrackable.display.share_bars import Bar, BarWords, bars_height, draw_bars
from untrackable.display.trend_figure import MOST_TRENDS, draw_trends, trend_picture, trends_height
from untrackable.estimation.estimate import Estimate, Ranked
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.figure import SubFigure

_FEWEST_ROUNDS = 3


def estimate_picture(estimate: Estimate, *, top: int = 20) -> Picture:
    """The values with the largest estimates, with intervals that hold for all values at once."""
    rows = estimate.top(top)
    figure, (panel,) = panels(bars_height(len(rows)))
    return Picture(figure, _draw(panel, estimate, rows, str, ""))


def answer_picture(answer: Answer, *, top: int = 20) -> Picture:
    """The same with the names of values, and below it the first of them over the rounds, from three rounds on.

    If nothing was asked, it is how many people were active.
    """
    if answer.only_counts:
        return trend_picture(people_trend(answer, beta=answer.best.beta))
    rows = answer.best.top(top)
    drawn = answer.best.top(min(top, MOST_TRENDS)) if len(answer.rounds) >= _FEWEST_ROUNDS else []
    figure, (bars, *below) = panels(bars_height(len(rows)), *([trends_height(len(drawn))] if drawn else []))
    pooled = "" if len(answer.rounds) == 1 else " of all rounds" if answer.pooled else " of the last round"
    words = _draw(bars, answer.best, _in_order(answer, rows), answer.label, pooled)
    for panel in below:
        first = share_trends(answer, [row.value for row in _in_order(answer, drawn)], beta=answer.best.beta)
        few = "" if len(drawn) == len(rows) else f"with the {len(drawn)} largest estimates, "
        draw_trends(panel, first, f"The values {few}round by round")
    return Picture(figure, words)


def _in_order(answer: Answer, rows: list[Ranked]) -> list[Ranked]:
    """Numbers from the lowest to the highest, if all are shown; else those that are certainly frequent first."""
    whole = answer.encoding is not None and answer.encoding.ordered and len(rows) == answer.best.frequencies.size
    return sorted(rows, key=lambda row: row.value) if whole else rows


def _order(rows: list[Ranked]) -> str:
    return "".join(f"; {note}" for note in order_notes([(row.lower, row.upper) for row in rows]))


def _draw(
    panel: SubFigure, estimate: Estimate, rows: list[Ranked], label: Callable[[Any], str], pooled: str
) -> str:
    bars = [Bar(label(row.value), row.frequency, row.lower, row.upper, row.stands_out) for row in rows]
    count = estimate.frequencies.size
    shown = f"{count:,} values"
    if len(rows) < count:
        which = "most frequent" if estimate.certainly_top(rows) else "largest estimates"
        shown = f"the {len(rows)} {which} of {count:,} values"
    words = f"Shares of {shown}, from {estimate.n:,} reports{pooled}"
    draw_bars(
        panel,
        bars,
        BarWords(
            words,
            "stands out: the interval excludes 0",
            "may be noise: the interval includes 0",
            "estimate (sampled), and an interval that holds for all values at once, except with probability "
            f"{estimate.beta:.3g} (upper){_order(rows)}",
        ),
    )
    return words
