"""`untrackable paper`: the paper's numbers beside ours."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from untrackable.brackets import Bracket
    from untrackable.paper.paper_statement import PaperStatement
    from untrackable.paper.reproduce import Reproduction


def _old_plots(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError("--plots DIR is now --plot FILE: one picture with both figures")


@click.command(cls=PlainCommand)
@click.option("--plots", hidden=True, expose_value=False, callback=_old_plots, help="Now --plot.")
@result_options("export", "plot")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the percentiles."
)
def paper(output: ResultOutput, seed: int) -> None:
    """Recompute the paper's numbers and show both side by side.

    The paper is Naor and Vexler, "Can Two Walk Together". If a number differs, its entry in docs/errata.md is
    named. The picture has the paper's two figures. Exits with 1 if a number differs without an entry.

    Example: untrackable paper --plot figures.png
    """
    from untrackable.paper.reproduce import reproduce

    with progress() as show:
        found = reproduce(seed, show)
    output.give(
        words=lambda: _print(found),
        data=lambda: {
            "rows": [dataclasses.asdict(row) for row in found.rows],
            "percentiles": [dataclasses.asdict(point) for point in found.points],
        },
        columns=lambda: _columns(found),
        draw=lambda path: _draw(path, found),
    )
    if any(row.verdict == "differs" and not row.erratum for row in found.rows):
        raise SystemExit(1)


def _columns(found: Reproduction) -> dict[str, list[Any]]:
    names = [field.name for field in dataclasses.fields(found.rows[0])]
    return {name: [getattr(row, name) for row in found.rows] for name in names}


def _draw(path: Path, found: Reproduction) -> None:
    from untrackable.paper.paper_figures import paper_picture

    paper_picture(found.points).save(path, force=True)


def _print(found: Reproduction) -> None:
    from rich.console import Console

    console = Console()
    percentiles = {row.statement for row in found.rows if row.section.endswith("τ") and " for " in row.statement}
    by_section: dict[str, list[PaperStatement]] = {}
    for row in found.rows:
        if row.statement not in percentiles:
            by_section.setdefault(row.section, []).append(row)
    for section, rows in by_section.items():
        _section(console, section, rows)
    _points(console, found)
    differs = [row for row in found.rows if row.verdict == "differs"]
    console.print(
        f"[bold]{len(found.rows) - len(differs)} pass, {len(differs)} differ[/bold]; "
        "each difference is explained in docs/errata.md under its number."
    )


def _section(console: Console, section: str, rows: list[PaperStatement]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(
        title=section,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    table.add_column("statement")
    wide = console.width >= 78
    table.add_column("published", justify="right", no_wrap=wide)
    table.add_column("ours", justify="right", min_width=18 if wide else None)
    table.add_column("is", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        table.add_row(row.statement, row.published, row.ours, row.kind, _verdict(row))
    console.print(table)
    console.print()


def _points(console: Console, found: Reproduction) -> None:
    from rich import box
    from rich.table import Table

    verdicts = {row.statement: row for row in found.rows}
    table = Table(
        title="RAPPOR, percentiles of τ, point by point",
        title_justify="left",
        title_style="bold",
        caption=(
            "k reports; published and sampled are 95 % intervals of 10,000 draws; signed and absolute are the true "
            "quantiles, known to the given ±; the verdict is on published against signed"
        ),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    wide = console.width >= 78
    for name in ("k", "at", "published", "signed", "absolute", "sampled")[: 6 if wide else 5]:
        table.add_column(name, justify="right", no_wrap=wide or name in ("k", "at"))
    table.add_column("verdict", no_wrap=True)
    for point in found.points:
        name = "median" if point.level == 0.5 else "90th percentile"
        cells = [
            str(point.reports),
            f"{point.level:.0%}",
            f"{_five(point.plotted[1])} – {_five(point.plotted[2])}",
            _short(point.signed),
            _short(point.absolute),
            f"{_five(point.sampled.lower)} – {_five(point.sampled.upper)}",
        ]
        table.add_row(*cells[: 6 if wide else 5], _verdict(verdicts[f"{name} for {point.reports} reports"]))
    console.print(table)


def _short(bracket: Bracket) -> str:
    middle = _five((bracket.lower + bracket.upper) / 2)
    return middle if bracket.certainty == "exact" else f"{middle} ±{math.ceil(500 * bracket.width) / 1000:.3f}"


def _five(number: float) -> str:
    """Five characters, whatever the size."""
    return f"{number:.3f}" if number < 9.9995 else f"{number:.2f}"


def _verdict(row: PaperStatement) -> str:
    return "[green]pass[/green]" if row.verdict == "pass" else f"[yellow]differs[/yellow] {row.erratum}"
