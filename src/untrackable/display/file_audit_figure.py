"""The audit of a file as a picture: how well its people can be followed, by reports and by attendance."""

from typing import Any

import numpy as np

from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.brackets import at_least
from untrackable.display.figure_style import (
    FAINT,
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
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


def file_audit_picture(audit: FileAudit) -> Picture:
    """The advantage of each attack: what it certainly has, and what was seen."""
    found = list(audit.attacks.values())
    between = "two halves of their reports" if audit.windows is None else "two windows"
    words = f"How well {audit.people:,} people can be followed between {between}, from a guess to certainty"
    figure, (panel,) = panels(2.6)
    axes = titled(panel, words)
    places = np.arange(len(found))
    axes.barh(places, 1.0, color=FAINT, alpha=0.2, height=0.5)
    axes.barh(places, [attack.lower for attack in found], color=RED, alpha=0.7, height=0.5)
    axes.plot([attack.sampled for attack in found], places, "o", color=INK, ms=7)
    for place, attack in zip(places, found, strict=True):
        at = (max(attack.lower, attack.sampled, 0.0), place)
        text = f"at least {at_least(attack.lower, 3)}"
        beyond = at[0] < 0.7
        axes.annotate(
            text,
            at if beyond else (0.02, place),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
    named_rows(axes, [f"by {name}" for name in audit.attacks])
    axes.set_xlim(min(-0.02, *(attack.sampled - 0.03 for attack in found)), 1.02)
    axes.axvline(0.0, color=GREY, ls=":", lw=1.5)
    axes.set_xlabel("advantage")
    plain_axes(axes, "x")
    marks: list[Any] = [
        Patch(color=RED, alpha=0.7, label=f"at least (lower, {100 * audit.level:.12g} %)"),
        Line2D([], [], marker="o", color=INK, ms=6, lw=0, label="seen among people who were held out (sampled)"),
        Line2D([], [], color=GREY, ls=":", lw=1.5, label="0: a guess (exact); 1: certainty"),
    ]
    legend_below(panel, marks)
    return Picture(figure, words)
