"""The paper's two figures, each with the published points and the computed curves."""

from pathlib import Path

from untrackable.display.figure_style import BLUE, GREEN, RED, plain_axes, save_figure
from untrackable.extras import extra
from untrackable.paper import rappor_rows
from untrackable.paper.paper_statement import published
from untrackable.paper.rappor_rows import PercentilePoint

with extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS, _PAPER, _OTHER = BLUE, RED, GREEN
"""The colours of computed curves, of published points, and of further computed curves."""


def write_figures(directory: Path, points: list[PercentilePoint]) -> list[Path]:
    """Write both figures as PNG files and return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    return [_worst_case(directory), _percentiles(directory, points)]


def _worst_case(directory: Path) -> Path:
    mechanism = rappor_rows.mechanism()
    plotted = published()["worst_case"]
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    reports = [point["reports"] for point in plotted]
    axes.plot(
        reports,
        [mechanism.tracking(reports=k).pure() for k in reports],
        color=_OURS,
        label="γ at δ = 0 (exact)",
    )
    axes.plot(
        reports, [p["gamma"] for p in plotted], "s", mfc="none", color=_PAPER, label="γ at δ = 0, as published"
    )
    bracket = [mechanism.tracking(reports=k).gamma(1e-6) for k in reports]
    axes.plot(reports, [b.upper for b in bracket], color=_OTHER, label="γ at δ = 10⁻⁶ (upper)")
    axes.set(
        xlabel="reports", ylabel="γ, one person against two", title="RAPPOR: worst case over splits", ylim=(0, None)
    )
    _finish(axes)
    return save_figure(figure, directory / "rappor-worst-case.png")


def _percentiles(directory: Path, points: list[PercentilePoint]) -> Path:
    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, level, name in ((left, 0.5, "median"), (right, 0.9, "90th percentile")):
        mine = [p for p in points if p.level == level]
        reports = [p.reports for p in mine]
        for brackets, color, label in (
            ([p.absolute for p in mine], _OTHER, "absolute, as defined"),
            ([p.signed for p in mine], _OURS, "signed"),
        ):
            middles = [(bracket.lower + bracket.upper) / 2 for bracket in brackets]
            known = max(bracket.width for bracket in brackets) / 2
            axes.plot(reports, middles, color=color, label=f"{label} (exact to ±{known:.1g})")
        axes.errorbar(
            reports,
            [p.plotted[0] for p in mine],
            yerr=[[p.plotted[0] - p.plotted[1] for p in mine], [p.plotted[2] - p.plotted[0] for p in mine]],
            fmt="s",
            mfc="none",
            ms=9,
            capsize=3,
            color=_PAPER,
            label="as published, 95 % interval",
        )
        axes.plot(
            reports,
            [p.sampled.sampled for p in mine],
            "x",
            color="black",
            ms=6,
            label="signed, 10,000 draws (sampled)",
        )
        axes.set(xlabel="reports", title=f"RAPPOR: {name} of τ")
        _finish(axes)
    left.set(ylabel="trackability τ", ylim=(0, None))
    return save_figure(figure, directory / "rappor-percentiles.png")


def _finish(axes: Axes) -> None:
    plain_axes(axes)
    axes.legend(frameon=False, loc="upper left", fontsize=9)
