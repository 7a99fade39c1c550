"""Two worlds as a picture: delta by gamma, and the trade-off of the best observer."""

from typing import Any

import numpy as np

from untrackable.brackets import Bracket
from untrackable.display.delta_curve import SMALLEST_DELTA, delta_curve
from untrackable.display.figure_style import BLUE, GREY, INK, legend_below, panels, plain_axes, titled
from untrackable.display.numbers import said
from untrackable.display.picture import Picture
from untrackable.extras import extra
from untrackable.theory.world_pair import WorldPair

with extra("plots"):
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_RATES = 201
_WITHIN = "(exact, within the width of the line)"
_SMALL = 0.01
"""If delta falls below this, its axis is logarithmic."""


def experiment_picture(pair: WorldPair) -> Picture:
    """The bracket of delta(gamma), and below it how often one world is recognised at what price."""
    advantage = pair.advantage()
    words = f"How well an observer tells two worlds apart: advantage {said(advantage)}"
    figure, (above, below) = panels(3.6, 4.6)
    _draw_deltas(above, pair)
    _draw_trade_off(below, pair, advantage)
    return Picture(figure, words)


def _draw_deltas(panel: SubFigure, pair: WorldPair) -> None:
    axes = titled(panel, "How far the odds can exceed the factor e^gamma: delta")
    curve = delta_curve(pair)
    gammas, deltas = np.array([point.gamma for point in curve]), [point.delta for point in curve]
    upper, lower = (np.array([getattr(found, end) for found in deltas]) for end in ("upper", "lower"))
    marks: list[Any] = [Line2D([], [], color=BLUE, lw=2, label=_certainty(deltas))]
    if upper.max() > 0 and upper.min() < _SMALL:
        drawn = upper > 0
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST_DELTA, 2.0)
        axes.plot(gammas[drawn], upper[drawn], color=BLUE, lw=2)
    else:
        axes.set_ylim(-0.03, 1.03)
        axes.plot(gammas, upper, color=BLUE, lw=2)
    if _is_wide(deltas) and pair.has_lower_end:
        axes.fill_between(gammas, np.maximum(lower, SMALLEST_DELTA / 10), upper, color=BLUE, alpha=0.2, lw=0)
        marks.append(Patch(color=BLUE, alpha=0.2, label="where it lies: at least, at most"))
    axes.set_xlabel("gamma")
    axes.set_ylabel("delta")
    plain_axes(axes)
    legend_below(panel, marks)


def _certainty(deltas: list[Bracket]) -> str:
    if any(found.certainty == "upper" for found in deltas):
        return "delta, at most (upper)"
    return "delta, at most (upper)" if _is_wide(deltas) else f"delta {_WITHIN}"


def _is_wide(deltas: list[Bracket]) -> bool:
    """Whether a picture shows that the two ends differ."""
    return any(found.upper > SMALLEST_DELTA and found.upper > 1.02 * found.lower for found in deltas)


def _draw_trade_off(panel: SubFigure, pair: WorldPair, advantage: Bracket) -> None:
    axes = titled(panel, "The best observer's trade-off")
    curve = pair.roc(_RATES)
    exact = pair.has_lower_end and float(np.max(curve.upper - curve.lower)) < 0.01
    axes.plot(curve.fpr, curve.upper, color=BLUE, lw=2)
    axes.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1.5, zorder=3)
    best = f"the best observer {_WITHIN}" if exact else "any observer, at most (upper)"
    marks: list[Any] = [Line2D([], [], color=BLUE, lw=2, label=best)]
    if pair.has_lower_end and not exact:
        axes.fill_between(curve.fpr, curve.lower, curve.upper, color=BLUE, alpha=0.2, lw=0)
        marks.append(Patch(color=BLUE, alpha=0.2, label="where it lies: at least, at most"))
    marks.append(Line2D([], [], color=GREY, ls=":", lw=1.5, label="guessing (exact)"))
    place = int(np.argmax(curve.upper - curve.fpr))
    if advantage.upper > 0:
        at = float(curve.fpr[place])
        axes.plot([at, at], [at, at + advantage.upper], color=INK, lw=1.5, marker="_")
        marks.append(Line2D([], [], color=INK, lw=1.5, label=f"the advantage: {said(advantage)}"))
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes.set_xlabel("Q taken for P (false positives)")
    axes.set_ylabel("P recognised (true positives)")
    plain_axes(axes)
    legend_below(panel, marks)
