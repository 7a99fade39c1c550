"""An audit as a picture: how well people are picked out of a crowd as reports grow, and how private they are."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.auditing.mechanism_audit import Audit
from untrackable.brackets import Bracket
from untrackable.display.figure_style import (
    AMBER,
    BLUE,
    FEWEST_ROWS,
    GREY,
    INK,
    RED,
    VIOLET,
    legend_below,
    named_rows,
    panels,
    plain_axes,
    shares_on,
    titled,
)
from untrackable.display.numbers import cell
from untrackable.display.picture import Picture
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

_FOLLOWED_HEIGHT = 5.0


class _Attack(NamedTuple):
    """An attack that was carried out: what it is called, after how many rounds, and how many it matched."""

    name: str
    reports: int
    matched: Matched
    mark: str
    color: str


def audit_picture(audit: Audit) -> Picture:
    """Who can be followed, and below it eps against the observers that the audit knows."""
    amounts = list(_amounts(audit))
    figure, (above, *below) = panels(
        _FOLLOWED_HEIGHT, *([1.4 + 0.26 * max(FEWEST_ROWS, len(amounts))] if amounts else [])
    )
    words = f"How well a person is picked out of {audit.crowd:,}, as reports grow"
    _draw_followed(above, audit, words)
    for panel in below:
        _draw_privacy(panel, amounts, audit.delta)
    return Picture(figure, words + (", and how private the reports are" if amounts else ""))


def _draw_followed(panel: SubFigure, audit: Audit, title: str) -> None:
    axes = titled(panel, title)
    guess = 1 / audit.crowd
    lines = (
        ("what reports say", BLUE, [(point.reports, point.recognised) for point in audit.curves.points]),
        ("attendance alone", RED, [(point.rounds, point.recognised) for point in audit.attended.curve]),
    )
    marks: list[Any] = []
    for name, color, points in lines:
        rounds = [at for at, _ in points]
        axes.plot(rounds, [found.upper for _, found in points], color=color, lw=2, zorder=3)
        marks.append(Line2D([], [], color=color, lw=2, label=f"by {name}: at most (upper)"))
    axes.axhline(guess, color=GREY, ls=":", lw=1.5)
    marks.append(Line2D([], [], color=GREY, ls=":", lw=1.5, label="by guessing (exact)"))
    beside = max(audit.rounds, audit.reports) / 20
    for place, attack in enumerate(_attacks(audit)):
        marks.append(_draw_attack(axes, attack, attack.reports + place * beside, guess / 2))
    axes.set_yscale("log")
    axes.set_ylim(guess / 2, 1.35)
    shares_on(axes, "y")
    axes.set_ylabel("picked out")
    same = audit.rounds == audit.reports
    axes.set_xlabel("reports, half from each of two places" if same else "reports, or rounds of attendance")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    plain_axes(axes)
    legend_below(panel, marks)


def _attacks(audit: Audit) -> Iterable[_Attack]:
    if audit.linked is not None:
        yield _Attack("the same value", 2 * audit.linked.reports, audit.linked.top1, "D", BLUE)
    if audit.linked_apart is not None:
        apart = audit.linked_apart
        yield _Attack("different values", 2 * apart.reports, apart.top1, "s", AMBER)
    if audit.attended.matched is not None:
        matched = audit.attended.matched
        yield _Attack("attendance alone", audit.attended.rounds, matched.alone, "o", RED)
        if matched.together is not None:
            yield _Attack("reports and attendance", audit.attended.rounds, matched.together, "^", VIOLET)


def _draw_attack(axes: Axes, attack: _Attack, at: float, least: float) -> Any:
    """A mark with its interval, beside those of other attacks; nothing is drawn below `least`."""
    found = attack.matched
    low, share, high = (max(least, number) for number in (found.lower, found.sampled, found.upper))
    axes.plot([at, at], [low, high], color=attack.color, lw=1.5, zorder=4)
    axes.plot(at, share, attack.mark, color=attack.color, mec=INK, ms=8, zorder=5)
    label = f"attack, {attack.name} (sampled; {100 * found.level:g} % interval)"
    return Line2D([], [], marker=attack.mark, color=attack.color, mec=INK, ms=7, lw=1.5, label=label)


def _amounts(audit: Audit) -> Iterable[tuple[str, Bracket]]:
    """The eps of one report and of more and more, at the audit's delta."""
    rounds = f"{audit.rounds:,} rounds"
    if audit.one_report is not None:
        yield "one report", audit.one_report
    if audit.in_crowd is not None and audit.in_crowd.eps is not None:
        yield f"{rounds}, in the crowd", audit.in_crowd.eps
    for name, found in (
        (rounds, audit.lasting),
        (f"{rounds}, value changes", audit.lasting_any),
        ("for ever", audit.everlasting),
        ("for ever, value changes", audit.everlasting_any),
    ):
        if found is not None:
            yield name, found.gamma


def _draw_privacy(panel: SubFigure, amounts: list[tuple[str, Bracket]], delta: float) -> None:
    """Bars of eps. One without a bound goes over the edge."""
    axes = titled(panel, f"eps at delta = {delta:g}: less is more private")
    finite = [found.upper for _, found in amounts if math.isfinite(found.upper)]
    edge = 1.25 * max(finite, default=1.0) or 1.0
    places = np.arange(len(amounts))
    colors = [_color(found) for _, found in amounts]
    axes.barh(places, [min(edge, found.upper) for _, found in amounts], color=colors, alpha=0.5, height=0.7)
    for place, (_, found) in zip(places, amounts, strict=True):
        axes.annotate(
            _text(found),
            (0 if math.isinf(found.upper) else found.upper, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    named_rows(axes, [name for name, _ in amounts])
    axes.set_xlim(0, edge)
    axes.set_xlabel("eps")
    plain_axes(axes, "x")
    meanings = ((BLUE, "exact"), (AMBER, "upper bound"), (RED, "no bound"))
    legend_below(panel, [Patch(color=c, alpha=0.5, label=label) for c, label in meanings if c in colors])


def _text(found: Bracket) -> str:
    if math.isinf(found.upper):
        return "∞" if math.isinf(found.lower) else "no bound is known"
    return cell(found)


def _color(found: Bracket) -> str:
    if math.isinf(found.upper):
        return RED
    return AMBER if cell(found).startswith("≤") else BLUE
