"""The strings that were decoded, as a figure."""

from pathlib import Path

import numpy as np

from untrackable.display.figure_style import BLUE, axis_label, plain_axes, save_figure
from untrackable.extras import extra
from untrackable.rappor_decode.decode_result import Decoded

with extra("plots"):
    from matplotlib.figure import Figure

_SHOWN, _LONGEST = 40, 24


def write(path: Path, decoded: Decoded) -> None:
    """Write the shares of the strings that were found, with their intervals."""
    shown = decoded.found[:_SHOWN]
    figure = Figure(figsize=(7, 1.4 + 0.22 * max(4, len(shown))), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(shown))
    shares = np.array([one.proportion for one in shown])
    sides = np.array([[one.proportion - one.lower, one.upper - one.proportion] for one in shown]).reshape(-1, 2).T
    axes.barh(places, shares, color=BLUE, alpha=0.35)
    axes.errorbar(shares, places, xerr=np.maximum(0.0, sides), fmt=".", color=BLUE, capsize=2)
    axes.set_yticks(places, [axis_label(one.name, _LONGEST) for one in shown])
    axes.invert_yaxis()
    more = f", the first {len(shown)}" if len(decoded.found) > len(shown) else ""
    axes.set(
        xlabel=f"share of people (sampled; bars: {100 * decoded.level:g} % interval of each)",
        title=f"{len(decoded.found):,} of {decoded.listed:,} candidates found{more}",
    )
    plain_axes(axes, "x")
    save_figure(figure, path)
