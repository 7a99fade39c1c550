"""What all matplotlib figures share: colours, axes, names that can be shown, and files without dates."""

import warnings
from pathlib import Path
from typing import Literal

from untrackable.extras import extra

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLUE, RED, AMBER, GREEN, TEAL, VIOLET = "#1b6ca8", "#d1495b", "#e09f3e", "#7a9e3f", "#2a9d8f", "#7b5ea7"
INK, GREY, FAINT = "#222222", "#555555", "#9aa5b1"


def plain_axes(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """A faint grid, and no frame at the top and the right."""
    axes.grid(alpha=0.3, axis=grid)
    axes.spines[["top", "right"]].set_visible(False)


def axis_label(name: str, longest: int) -> str:
    """A name that a figure can show: no formulas, nothing unprintable, not too long."""
    plain = "".join(mark if mark.isprintable() else "�" for mark in name)
    return (plain if len(plain) <= longest else plain[: longest - 1] + "…").replace("$", r"\$")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure; the ending of the name chooses the format, and the same numbers give the same PNG."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # scripts that the font lacks are drawn as boxes
        figure.savefig(path, dpi=140, metadata={"Software": None} if path.suffix == ".png" else None)
    return path
