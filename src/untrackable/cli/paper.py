"""`untrackable paper`: the paper's numbers beside ours."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.terminal import print_json, progress
from untrackable.extras import require

if TYPE_CHECKING:
    from rich.console import Console

    from untrackable.brackets import Bracket
    from untrackable.paper.paper_statement import PaperStatement
    from untrackable.paper.reproduce import Reproduction


@click.command(cls=PlainCommand)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--plots", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write the two figures to DIR."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the percentiles."
)
def paper(as_json: bool, plots: Path | None, seed: int) -> None:
    """Recompute the paper's numbers and show both side by side.

    The paper is Naor and Vexler, "Can Two Walk Together". If a number differs, its entry in docs/errata.md is
    named. Exits with 1 if a number differs without an entry.

    Example: untrackable paper --plots figures
    """
    if plots is not None:
        require("plots")
        _prepare(plots)
    from untrackable.paper.reproduce import reproduce

    with progress() as show:
        found = reproduce(seed, show)
        written = _write(plots, found) if plots else []
    if as_json:
        print_json(
            {
                "rows": [dataclasses.asdict(row) for row in found.rows],
                "percentiles": [dataclasses.asdict(point) for point in found.points],
                "plots": [str(path) for path in written],
            }
        )
    else:
        _print(found, written)
    if any(row.verdict == "differs" and not row.erratum for row in found.rows):
        raise SystemExit(1)


def _prepare(plots: Path) -> None:
    """Make the folder before the work, so that a bad place is known at once."""
    try:
        plots.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot write figures to {plots}: {error.strerror}") from None


def _write(plots: Path, found: Reproduction) -> list[Path]:
    from untrackable.paper import paper_figures

    try:
        return paper_figures.write_figures(plots, found.points)
    except OSError as error:
        raise click.ClickException(f"cannot write figures to {plots}: {error.strerror}") from None


def _print(found: Reproduction, written: list[Path]) -> None:
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
    for path in written:
        console.print(f"wrote {path}")


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
