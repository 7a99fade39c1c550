"""What was decoded, as a picture."""

import warnings
from pathlib import Path

import numpy as np

from untrackable.extras import extra
from untrackable.rappor_decode.decoded import Decoded

with extra("plots"):
    from matplotlib.figure import Figure

_FOUND, _SHOWN, _LONGEST = "#1b6ca8", 40, 24


def write(path: Path, decoded: Decoded) -> None:
    """Proportions of those found with their intervals; the ending of the file's name chooses the format."""
    shown = decoded.found[:_SHOWN]
    figure = Figure(figsize=(7, 1.4 + 0.22 * max(4, len(shown))), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(shown))
    shares = np.array([one.proportion for one in shown])
    sides = np.array([[one.proportion - one.lower, one.upper - one.proportion] for one in shown]).reshape(-1, 2).T
    axes.barh(places, shares, color=_FOUND, alpha=0.35)
    axes.errorbar(shares, places, xerr=np.maximum(0.0, sides), fmt=".", color=_FOUND, capsize=2)
    axes.set_yticks(places, [_label(one.name) for one in shown])
    axes.invert_yaxis()
    more = f", the first {len(shown)}" if len(decoded.found) > len(shown) else ""
    axes.set(
        xlabel=f"share of people (sampled; bars: {100 * decoded.level:g} % interval of each)",
        title=f"{len(decoded.found):,} of {decoded.listed:,} candidates found{more}",
    )
    axes.grid(alpha=0.3, axis="x")
    axes.spines[["top", "right"]].set_visible(False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # scripts that the font lacks are drawn as boxes
        figure.savefig(path, dpi=140, metadata={"Software": None} if path.suffix == ".png" else None)


def _label(name: str) -> str:
    """A name that a picture can show: no formulas, nothing unprintable, not too long."""
    plain = "".join(mark if mark.isprintable() else "�" for mark in name)
    return (plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…").replace("$", r"\$")
