"""The demonstration as a picture: what is learned, and who is followed."""

from pathlib import Path

import numpy as np

from untrackable.demo.demo_run import Outcome
from untrackable.demo.homepage_question import DAYS, ROUNDS
from untrackable.extras import extra
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.rnip import InnerProduct

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECK, _RAPPOR, _STORED, _TRUTH = "#1b6ca8", "#d1495b", "#e09f3e", "#222222"


def write(path: Path, outcome: Outcome) -> None:
    """Write the picture; the ending of the file's name chooses the format."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _learned(left, outcome)
    _followed(right, outcome)
    figure.savefig(path, dpi=140, metadata={"Software": None} if path.suffix == ".png" else None)


def _learned(axes: Axes, outcome: Outcome) -> None:
    places = np.arange(len(outcome.values))
    columns = {name: np.array([row[name] for row in outcome.values]) for name in ("frequency", "lower", "upper")}
    value, lower, upper = columns.values()
    held = [outcome.truth[row["value"]] for row in outcome.values]
    beyond = np.maximum(0, [value - lower, upper - value])
    axes.errorbar(
        places, value, yerr=beyond, fmt=".", color=_DECK, capsize=2, label=f"estimate, {DAYS} days pooled"
    )
    axes.plot(places, held, "_", ms=14, mew=1.6, color=_TRUTH, label="truth", zorder=1)
    axes.set_xticks(places, [row["label"] for row in outcome.values], rotation=45, ha="right")
    level = f"{1 - outcome.beta:.0%}"
    axes.set(ylabel="share of people", title=f"What the collector learns (bars: all at once, {level}, upper)")
    axes.legend(frameon=False, fontsize=9)
    _finish(axes)


def _followed(axes: Axes, outcome: Outcome) -> None:
    """Exact advantage of an observer who asks: one person or two?"""
    reports = list(range(2, ROUNDS + 1))
    deck = outcome.campaign.mechanism
    assert isinstance(deck, Deck)  # noqa: S101
    stored = InnerProduct(bits=deck.bits, slots=deck.slots, eps_report=deck.eps_report, width=deck.width)
    for mechanism, color, name, at in (
        (outcome.rappor, _RAPPOR, "RAPPOR\n", (2.3, 0.8)),
        (stored, _STORED, "the same cards, replayed\nat random: RNIP ", (9.0, 0.4)),
        (deck, _DECK, "Deck ", (13.0, 0.04)),
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
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
