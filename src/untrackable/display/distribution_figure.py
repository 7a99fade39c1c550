"""The distribution of numbers as a picture: the share of people at or below each, with its bands."""

import numpy as np

from untrackable.display.figure_style import BLUE, GREY, legend_below, panels, plain_axes, shares_on, titled
from untrackable.display.picture import Picture
from untrackable.estimation.ordered_values import Distribution
from untrackable.extras import extra

with extra("plots"):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


def distribution_picture(found: Distribution) -> Picture:
    """The curve that does not decrease, its estimates, and the bands for one number and for all."""
    words = "The share of people at or below each number"
    figure, (panel,) = panels(4.6)
    axes = titled(panel, words)
    order = np.arange(found.edges.size)
    finite = np.isfinite(found.edges)
    edges = found.edges[finite]

    def drawn(numbers: np.ndarray) -> np.ndarray:
        return numbers[order[finite]]

    together = drawn(found.lower_simultaneous), drawn(found.upper_simultaneous)
    axes.fill_between(edges, *together, color=BLUE, alpha=0.15, lw=0)
    axes.fill_between(edges, drawn(found.lower), drawn(found.upper), color=BLUE, alpha=0.25, lw=0)
    axes.plot(edges, drawn(np.where(found.tells, found.curve, np.nan)), color=BLUE, lw=2)
    axes.plot(edges, drawn(np.where(found.tells, found.shares.clip(0, 1), np.nan)), ".", color=GREY)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("number")
    axes.set_ylabel("share of people")
    shares_on(axes, "y")
    plain_axes(axes)
    beta = f"except with probability {found.beta:.3g} (upper)"
    legend_below(
        panel,
        [
            Line2D([], [], color=GREY, marker=".", lw=0, label="estimates (sampled)"),
            Line2D([], [], color=BLUE, lw=2, label="the nearest curve that does not fall (sampled)"),
            Patch(color=BLUE, alpha=0.4, label=f"band for one number, {beta}"),
            Patch(color=BLUE, alpha=0.15, label=f"band for all numbers at once, {beta}"),
        ],
    )
    return Picture(figure, words)
