"""The figure of the demonstration: the collector's estimates, and how well an observer can follow people."""

from pathlib import Path

import numpy as np

from untrackable.demo.demo_run import DemoResult
from untrackable.demo.homepage_question import DAYS, ROUNDS, homepage_deck
from untrackable.display.figure_style import AMBER, BLUE, INK, RED, plain_axes, save_figure
from untrackable.extras import extra
from untrackable.mechanisms.inner_product.rnip import InnerProduct

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write(path: Path, outcome: DemoResult) -> None:
    """Write the figure. The suffix of the file chooses the format."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _learned(left, outcome)
    _followed(right, outcome)
    save_figure(figure, path)


def _learned(axes: Axes, outcome: DemoResult) -> None:
    places = np.arange(len(outcome.values))
    columns = {name: np.array([row[name] for row in outcome.values]) for name in ("frequency", "lower", "upper")}
    value, lower, upper = columns.values()
    held = [outcome.truth[row["value"]] for row in outcome.values]
    beyond = np.maximum(0, [value - lower, upper - value])
    axes.errorbar(places, value, yerr=beyond, fmt=".", color=BLUE, capsize=2, label=f"estimate, {DAYS} days pooled")
    axes.plot(places, held, "_", ms=14, mew=1.6, color=INK, label="truth", zorder=1)
    axes.set_xticks(places, [row["label"] for row in outcome.values], rotation=45, ha="right")
    level = f"{1 - outcome.beta:.0%}"
    axes.set(ylabel="share of people", title=f"What the collector learns (all bars hold at once, {level}, upper)")
    axes.legend(frameon=False, fontsize=9)
    plain_axes(axes)


def _followed(axes: Axes, outcome: DemoResult) -> None:
    """The exact advantage of an observer who tells one person from two."""
    reports = list(range(2, ROUNDS + 1))
    cards = homepage_deck()
    stored = InnerProduct(bits=cards.bits, slots=cards.slots, eps_report=cards.eps_report, width=cards.width)
    for mechanism, color, name, at in (
        (outcome.rappor, RED, "RAPPOR\n", (2.3, 0.8)),
        (stored, AMBER, "the same cards, replayed\nat random: RNIP ", (9.0, 0.4)),
        (outcome.campaign.mechanism, BLUE, "Deck ", (13.0, 0.04)),
    ):
        edge = [mechanism.tracking(reports=k).advantage() for k in reports]
        known = max(bracket.width for bracket in edge) / 2
        certainty = "upper" if edge[-1].certainty == "upper" else f"exact to ±{known:.1g}" if known else "exactly 0"
        axes.plot(reports, [bracket.upper for bracket in edge], color=color, lw=2.2, clip_on=False)
        axes.text(*at, f"{name}({certainty})", color=color, fontsize=9)
    axes.set(
        xlabel="reports the observer holds",
        ylabel="advantage (0: a guess, 1: certainty)",
        title="One person or two? The best observer's edge",
        ylim=(0, 1),
    )
    axes.set_xticks(range(2, ROUNDS + 1, 3))
    plain_axes(axes)
