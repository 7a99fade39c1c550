"""`untrackable rappor-decode`: the strings behind counts that google/rappor collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.terminal import print_json, progress
from untrackable.extras import require

if TYPE_CHECKING:
    from untrackable.rappor_decode.decoded import Decoded

_FORMATS = (".png", ".svg", ".pdf")
_FILE = click.Path(path_type=Path)


@click.command("rappor-decode")
@click.argument("params", type=_FILE)
@click.argument("counts", type=_FILE)
@click.argument("map_file", metavar="[MAP]", type=_FILE, required=False)
@click.option("--candidates", type=_FILE, metavar="FILE", help="Candidates, one a line, instead of MAP.")
@click.option("--reports", "from_reports", is_flag=True, help="COUNTS is a file of reports, to be counted first.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Probability of a false string; with --fdr, expected share of false ones.",
)
@click.option("--fdr", is_flag=True, help="Benjamini–Hochberg instead of Bonferroni.")
@click.option("--complete", is_flag=True, help="Everyone holds one of the candidates.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of each interval.",
)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def rappor_decode(
    params: Path,
    counts: Path,
    map_file: Path | None,
    candidates: Path | None,
    from_reports: bool,
    alpha: float,
    fdr: bool,
    complete: bool,
    level: float,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Decode RAPPOR data: which of the candidate strings do people hold, and how many?

    PARAMS, COUNTS and MAP are google/rappor's params.csv, counts.csv and map.csv. Without MAP, candidates are
    hashed as its clients do.

    Example: untrackable rappor-decode params.csv counts.csv --candidates words.txt --plot found.png
    """
    if (map_file is None) == (candidates is None):
        raise click.UsageError("give either MAP or --candidates FILE")
    if plot is not None and (plot.suffix not in _FORMATS or not plot.parent.is_dir()):
        raise click.BadParameter(
            f"{plot} must end in one of {', '.join(_FORMATS)} and be in a folder that exists", param_hint="--plot"
        )
    if plot is not None:
        require("plots")
    from untrackable.errors import UntrackableError
    from untrackable.rappor_decode.candidate_map import read_map
    from untrackable.rappor_decode.decode import decode
    from untrackable.rappor_decode.rappor_files import read_candidates, read_counts, read_params, read_reports

    try:
        with progress() as told:
            mechanism = read_params(params)
            told("reading the files")
            sums = (read_reports if from_reports else read_counts)(counts, mechanism)
            listed = read_map(map_file, mechanism) if map_file else read_candidates(candidates or Path())
            found = decode(
                mechanism,
                sums,
                listed,
                alpha=alpha,
                correction="fdr" if fdr else "bonferroni",
                unlisted=not complete,
                level=level,
                progress=told,
            )
    except (UntrackableError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if plot is not None:
        _plot(plot, found)
    if as_json:
        print_json(found.as_dict())
        return
    _print(found)
    if plot is not None:
        click.echo(f"wrote {plot}")


def _plot(path: Path, found: Decoded) -> None:
    from untrackable.display.decoded_figure import write

    try:
        write(path, found)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


def _print(found: Decoded) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    wrap = not console.is_terminal
    console.print()
    for sentence in found.verdict():
        console.print(sentence, soft_wrap=wrap, markup=False)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption="sampled; intervals and p-values are for each string alone; those not found did not pass",
        caption_justify="left",
    )
    for title in found.columns():
        table.add_column(title, justify="left" if title == "string" else "right", overflow="fold")
    for row in found.table():
        table.add_row(*(Text("".join(mark if mark.isprintable() else "�" for mark in cell)) for cell in row))
    if found.candidates:
        console.print(table)
    for note in found.notes:
        console.print(f"  {note}", soft_wrap=wrap, markup=False)
    console.print()
