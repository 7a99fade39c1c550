"""The figure of the demonstration: the collector's estimates, and how well an observer can follow people."""

import numpy as np

from untrackable.auditing.confidence import Matched
from untrackable.demo.demo_run import DemoResult, Learned
from untrackable.demo.homepage_question import HOMEPAGES, JOINED, LEFT, WEEKS
from untrackable.demo.observer import LINKED
from untrackable.display.figure_style import AMBER, BLUE, FAINT, INK, plain_axes, shares_on
from untrackable.display.picture import Picture
from untrackable.extras import extra
from untrackable.theory.turns import recognition_upper

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MultipleLocator

_LEAST = 0.0005
"""The left end of the axis of matched people: below that of a guess."""


def demo_picture(outcome: DemoResult) -> Picture:
    """The development, the year, and the shares of people who were followed; as narrow as a phone needs it."""
    figure = Figure(figsize=(6.2, 10.2), layout="constrained")
    development, year, followed = figure.subplots(3, 1, height_ratios=(1.1, 1.1, 0.8))
    _development(development, outcome)
    _year(year, outcome)
    _followed(followed, outcome)
    people = outcome.directly.people
    return Picture(
        figure, f"What a collector learns about {people:,} people, and how well an observer follows them"
    )


def _development(axes: Axes, outcome: DemoResult) -> None:
    """Two homepages over the year: the truth, and the estimates of weeks and quarters."""
    weeks = np.arange(1, WEEKS + 1)
    for value, color in ((LEFT, AMBER), (JOINED, BLUE)):
        truth = [learned.truth[value] for learned in outcome.weeks]
        guessed = [learned.values[value]["unclamped"] for learned in outcome.weeks]
        axes.plot(weeks, guessed, ".", ms=4, alpha=0.55, color=color)
        axes.plot(weeks, truth, color=color, lw=1.6)
        axes.annotate(
            HOMEPAGES[value],
            (WEEKS, truth[-1]),
            xytext=(4, 0),
            textcoords="offset points",
            color=color,
            va="center",
        )
        for learned in outcome.quarters:
            _bar(axes, (learned.first + learned.last) / 2 + (0.4 if value == LEFT else -0.4), learned, value, color)
    axes.plot([], [], color=INK, lw=1.6, label="truth")
    axes.plot([], [], ".", ms=4, color=INK, label="estimate of a week")
    axes.errorbar([], [], yerr=[], fmt="o", ms=4, color=INK, capsize=3, label="of a quarter")
    _title(axes, f"{outcome.directly.people:,} people answer once each, over a year")
    axes.set(xlabel="week", ylabel="share of people", ylim=(0, 0.31), xlim=(0, WEEKS + 6))
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="upper center", columnspacing=1.4, handlelength=1.4)
    _in_percent(axes)
    plain_axes(axes)


def _year(axes: Axes, outcome: DemoResult) -> None:
    """The estimates of all weeks together, beside those that fewer people give, and the truth."""
    truth = outcome.directly.spans["year"].truth
    order = np.argsort(-truth, kind="stable")
    for aside, color, collected in ((-0.17, BLUE, outcome.directly), (0.17, FAINT, outcome.few)):
        for place, value in enumerate(order):
            name = f"{collected.people:,} people" if place == 0 else None
            _bar(axes, place + aside, collected.spans["year"], value, color, name)
    axes.plot(range(len(order)), truth[order], "_", ms=13, mew=1.6, color=INK, label="truth", zorder=1)
    axes.set_xticks(range(len(order)), [HOMEPAGES[value] for value in order], rotation=45, ha="right")
    _title(axes, f"All {WEEKS} weeks together")
    axes.set(ylabel="share of people", ylim=(0, None))
    axes.set_xlabel(
        f"bars, also above: {100 * (1 - outcome.few.spans['year'].beta):g} % for all 16 at once (upper)"
    )
    axes.legend(frameon=False, fontsize=9)
    _in_percent(axes)
    plain_axes(axes, "y")


def _title(axes: Axes, words: str) -> None:
    axes.set_title(words, loc="left", fontsize=11, fontweight="bold")


def _in_percent(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MultipleLocator(0.05))
    shares_on(axes, "y")


def _bar(axes: Axes, place: float, learned: Learned, value: int, color: str, name: str | None = None) -> None:
    """An estimate and its interval."""
    row = learned.values[value]
    middle = min(max(row["unclamped"], row["lower"]), row["upper"])
    beyond = [[middle - row["lower"]], [row["upper"] - middle]]
    axes.errorbar([place], [middle], yerr=beyond, fmt="o", ms=4, color=color, capsize=3, label=name)


def _followed(axes: Axes, outcome: DemoResult) -> None:
    """The shares of people who were matched, one row for each kind of client."""
    rows = len(outcome.followed)
    for row, (_, by_reports, by_attendance) in enumerate(outcome.followed):
        height = rows - 1 - row
        if by_reports is not None:
            _mark(axes, height + 0.15, by_reports, AMBER, "by their reports" if row == 0 else None)
        _mark(axes, height - 0.15, by_attendance, BLUE, "by attendance" if row == 0 else None)
    axes.axvline(1 / LINKED, color=INK, lw=1, ls=":", label="a guess")
    axes.set_yticks(range(rows), [name.replace(", ", ",\n") for name, *_ in reversed(outcome.followed)])
    axes.set(xscale="log", xlim=(_LEAST, 3), ylim=(-0.5, rows - 0.4))
    _title(axes, "Who is recognised between home and work?")
    axes.set_xlabel(
        f"share of {LINKED:,} people who are matched in {WEEKS} weeks (sampled; bars: 95 %)\n"
        f"one turn: at most {100 * recognition_upper(LINKED):g} % (upper), however people move"
    )
    axes.set_xticks([0.001, 0.01, 0.1, 1])
    shares_on(axes, "x")
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    plain_axes(axes, "x")


def _mark(axes: Axes, height: float, matched: Matched, color: str, name: str | None) -> None:
    middle, lower, upper = (max(_LEAST, share) for share in (matched.sampled, matched.lower, matched.upper))
    axes.errorbar(
        [middle],
        [height],
        xerr=[[middle - lower], [upper - middle]],
        fmt="o",
        ms=5,
        color=color,
        capsize=3,
        label=name,
    )
    words = f"{100 * matched.sampled:.{2 if matched.sampled < 0.1 else 3}g} %"
    axes.text(upper * 1.25, height, words, color=color, fontsize=9, va="center")
