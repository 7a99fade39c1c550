"""The audit of a client as a picture: what its reports reveal at least, beside what was claimed."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.brackets import at_least
from untrackable.display.client_audit_words import Measure, measures, title
from untrackable.display.figure_style import (
    BLUE,
    GREY,
    INK,
    RED,
    legend_below,
    named_rows,
    panels,
    plain_axes,
    titled,
)
from untrackable.display.picture import Picture
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_CLAIM: dict[str, Any] = {"marker": "|", "color": BLUE, "mew": 3}
_GUESS: dict[str, Any] = {"marker": "|", "color": GREY, "mew": 2}


def client_audit_picture(found: ClientAudit) -> Picture:
    """The eps and gamma that reports have at least, and below how well people are followed and guessed."""
    rows = measures(found)
    figure, (above, below) = panels(3.2, 2.9)
    _draw_losses(above, rows[:3], found)
    _draw_shares(below, rows[3:], found)
    return Picture(figure, title(found))


def _draw_losses(panel: SubFigure, rows: Sequence[Measure], found: ClientAudit) -> None:
    """Lower bounds on eps and gamma, and the claims that they may refute."""
    axes = titled(panel, _titled(found, ("eps", "eps_one", "gamma"), "How large eps and gamma are at least"))
    known = [number for row in rows for number in (row.lower, row.sampled, row.claimed or 0.0)]
    edge = 1.3 * max((number for number in known if math.isfinite(number)), default=1.0) or 1.0
    _draw_bars(axes, rows)
    axes.set_xlim(min(0.0, *(row.sampled for row in rows)), edge)
    axes.set_xlabel("eps, or gamma")
    legend_below(panel, [*_marks(found), *_draw_claims(axes, rows)])


def _draw_shares(panel: SubFigure, rows: Sequence[Measure], found: ClientAudit) -> None:
    """How well the two halves of a client's reports are matched, and how often its value is guessed."""
    axes = titled(panel, _titled(found, ("advantage",), "How well clients are followed, and their values guessed"))
    _draw_bars(axes, rows)
    guesses = [0.0 if row.what == "tracking advantage" else found.chance for row in rows]
    axes.plot(guesses, range(len(rows)), lw=0, ms=22, zorder=2, **_GUESS)
    axes.set_xlim(min(-0.02, *(row.sampled - 0.03 for row in rows)), 1.25)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set_xlabel("advantage, or share of values that are guessed")
    without = Line2D([], [], lw=0, ms=12, label="without reports (exact)", **_GUESS)
    legend_below(panel, [*_marks(found), *_draw_claims(axes, rows), without])


def _titled(found: ClientAudit, claims: Sequence[str], otherwise: str) -> str:
    """The title of a panel: which of its claims are refuted, if any."""
    wrong = [claim.replace("eps_one", "eps of one report") for claim in claims if claim in found.refuted_claims]
    verb = "is" if len(wrong) == 1 else "are"
    return f"CLAIM REFUTED: {' and '.join(wrong)} {verb} larger than claimed" if wrong else otherwise


def _draw_claims(axes: Axes, rows: Sequence[Measure]) -> list[Any]:
    """What was claimed. The result is its mark in the legend, if there are claims."""
    claims = [(row.claimed, place) for place, row in enumerate(rows) if row.claimed is not None]
    if not claims:
        return []
    axes.plot(*zip(*claims, strict=True), lw=0, ms=22, zorder=4, **_CLAIM)
    return [Line2D([], [], lw=0, ms=12, label="claimed, at most", **_CLAIM)]


def _draw_bars(axes: Axes, rows: Sequence[Measure]) -> None:
    places = np.arange(len(rows))
    axes.barh(places, [row.lower for row in rows], color=RED, alpha=0.7, height=0.5)
    for place, row in zip(places, rows, strict=True):
        if math.isfinite(row.sampled):
            axes.plot(row.sampled, place, "o", color=INK, ms=6, zorder=3)
        reach = max(row.lower, row.sampled if math.isfinite(row.sampled) else 0.0, row.claimed or 0.0)
        told = f"≥ {at_least(row.lower, 3)}{'; seen: ∞' if math.isinf(row.sampled) else ''}"
        axes.annotate(told, (reach, place), xytext=(9, 0), textcoords="offset points", va="center", fontsize=8)
    named_rows(axes, [row.name for row in rows])
    plain_axes(axes, "x")


def _marks(found: ClientAudit) -> list[Any]:
    return [
        Patch(color=RED, alpha=0.7, label=f"at least (lower, {100 * found.level:.12g} %)"),
        Line2D([], [], marker="o", color=INK, ms=6, lw=0, label="seen among clients that were held out (sampled)"),
    ]
