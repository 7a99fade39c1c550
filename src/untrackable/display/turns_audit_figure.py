"""The audit of one turn as a picture: how well somebody is recognised, by what an observer knows."""

from untrackable.auditing.turns_audit import TurnsAudit
from untrackable.display.figure_style import (
    AMBER,
    BLUE,
    GREY,
    legend_below,
    named_rows,
    panels,
    plain_axes,
    shares_on,
    titled,
)
from untrackable.display.numbers import lower, upper
from untrackable.display.picture import Picture
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


def turns_audit_picture(audit: TurnsAudit) -> Picture:
    """Bars of recognition: the bounds for one campaign, and below them the strongest attack on several."""
    words = f"How well a person with one turn is picked out of {audit.crowd:,}, by what an observer knows"
    rows = [
        ("nothing", audit.recognised_upper, BLUE),
        ("the person's habits", audit.habits_upper, BLUE),
        ("who could have been there", audit.whereabouts_upper, BLUE),
        ("the person's answer", audit.answer_upper, BLUE),
        *((f"{count} campaigns", found, AMBER) for count, found in audit.several_lower.items()),
    ]
    figure, (panel,) = panels(1.6 + 0.26 * len(rows))
    axes = titled(panel, words)
    guess = 1 / audit.crowd
    axes.barh(range(len(rows)), [found for _, found, _ in rows], color=[color for *_, color in rows], alpha=0.5)
    for place, (_, found, color) in enumerate(rows):
        told = f"≤ {upper(found)}" if color == BLUE else f"≥ {lower(found)}"
        axes.annotate(told, (found, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    named_rows(axes, [name for name, *_ in rows])
    axes.axvline(guess, color=GREY, ls=":", lw=1.5)
    axes.set_xscale("log")
    axes.set_xlim(guess / 2, 3)
    shares_on(axes, "x")
    axes.set_xlabel("picked out")
    plain_axes(axes, "x")
    marks = [
        Patch(color=BLUE, alpha=0.5, label="one campaign: at most (upper)"),
        Patch(color=AMBER, alpha=0.5, label="several: the strongest attack found (lower)"),
        Line2D([], [], color=GREY, ls=":", lw=1.5, label="by guessing (exact)"),
    ]
    legend_below(panel, marks)
    return Picture(figure, words)
