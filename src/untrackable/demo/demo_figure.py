"""The figure of the demonstration: the collector's estimates, and how well an observer can follow people."""

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.demo.demo_run import DemoResult
from untrackable.demo.homepage_question import DAYS, ROUNDS, recognised_if_kept
from untrackable.demo.observer import LINKED
from untrackable.display.figure_style import AMBER, BLUE, INK, plain_axes
from untrackable.display.percentages import percent
from untrackable.display.picture import Picture
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEFT = 0.05
"""The left end of the axis of shares, in percent: below that of a guess."""


def demo_picture(outcome: DemoResult) -> Picture:
    """The estimates above, and the shares of people who were followed below; as narrow as a phone needs it."""
    figure = Figure(figsize=(6.2, 8.6), layout="constrained")
    upper, lower = figure.subplots(2, 1)
    _learned(upper, outcome)
    _followed(lower, outcome)
    words = f"What the collector learns about {outcome.people:,} people, and how well an observer follows them"
    return Picture(figure, words)


def _learned(axes: Axes, outcome: DemoResult) -> None:
    """The estimates of both ways of asking, beside each other, and the truth."""
    places = np.arange(len(outcome.shown))
    ways = (
        (-0.16, AMBER, "alone: nobody is trusted", outcome.alone),
        (0.16, BLUE, "in a crowd: the relay is trusted", outcome.crowd),
    )
    for aside, color, name, collected in ways:
        rows = [collected.values[value] for value in outcome.shown]
        lower, upper = (np.array([row[name] for row in rows]) for name in ("lower", "upper"))
        told = [row["tells"] for row in rows]
        # A share that is not told has its interval only.
        value = np.array([row["frequency"] if row["tells"] else row["lower"] for row in rows])
        beyond = np.maximum(0, [value - lower, upper - value])
        axes.errorbar(places + aside, value, yerr=beyond, fmt="none", color=color, capsize=2)
        axes.plot((places + aside)[told], value[told], ".", color=color, label=name)
    axes.plot(places, outcome.truth[outcome.shown], "_", ms=13, mew=1.6, color=INK, label="truth", zorder=1)
    labels = [outcome.crowd.values[value]["label"] for value in outcome.shown]
    axes.set_xticks(places, labels, rotation=45, ha="right")
    level = f"{1 - outcome.alone.beta:.0%}"
    axes.set(ylabel="share of people", title=f"What the collector learns in {DAYS} days (bars: {level}, upper)")
    axes.legend(frameon=False, fontsize=9)
    plain_axes(axes)


def _followed(axes: Axes, outcome: DemoResult) -> None:
    """The shares of people who were matched, one row for each kind of client."""
    rows = len(outcome.followed)
    for row, followed in enumerate(outcome.followed):
        for lift, color, name, matched in (
            (0.13, AMBER, "by their reports", followed.by_reports),
            (-0.13, BLUE, "by attendance alone", followed.by_attendance),
        ):
            _mark(axes, rows - 1 - row + lift, matched, color, name if row == 0 else None)
    axes.axvline(100 / LINKED, color=INK, lw=1, ls=":", label="a guess")
    axes.set_yticks(range(rows), [followed.name.replace(", ", ",\n") for followed in reversed(outcome.followed)])
    axes.set(
        xscale="log",
        xlim=(_LEFT, 350),
        ylim=(-0.5, rows - 0.4),
        title="Can people be followed?",
    )
    caption = f"matched between home and work, among {LINKED:,}, in {ROUNDS} days (sampled)"
    axes.set_xlabel(f"{caption}\n{_model()}", loc="right", fontsize=9)
    axes.set_xticks([0.1, 1, 10, 100], ["0.1 %", "1 %", "10 %", "100 %"])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1.0, 0.2))
    plain_axes(axes)


def _model() -> str:
    """The model under which attendance hides people, and what other models give."""
    week, month = (percent(recognised_if_kept(days), "up") for days in (7, 30))
    return (
        "Deck, one day in twenty: if places are independent from day to day;\n"
        f"if they are kept for a week, at most {week}, for a month, {month} (upper)"
    )


def _mark(axes: Axes, height: float, matched: Matched, color: str, name: str | None) -> None:
    shares = [max(_LEFT, 100 * share) for share in (matched.sampled, matched.lower, matched.upper)]
    beyond = [[shares[0] - shares[1]], [shares[2] - shares[0]]]
    axes.errorbar(shares[:1], [height], xerr=beyond, fmt="o", color=color, capsize=2, label=name)
    axes.text(
        shares[2] * 1.25,
        height,
        f"{100 * matched.sampled:.2g} %" if matched.sampled < 0.1 else f"{100 * matched.sampled:.3g} %",
        color=color,
        fontsize=9,
        va="center",
    )
