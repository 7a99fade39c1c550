"""`untrackable rappor-decode`: the strings behind counts that google/rappor collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors, printable

if TYPE_CHECKING:
    from untrackable.rappor_decode.decode_result import Decoded

_FILE = click.Path(path_type=Path)
_SHOWN = 40
"""How many strings the picture has."""


@click.command("rappor-decode", cls=PlainCommand)
@click.argument("params", type=_FILE)
@click.argument("counts", type=_FILE)
@click.argument("map_file", metavar="[MAP]", type=_FILE, required=False)
@click.option("--candidates", type=_FILE, metavar="FILE", help="Candidate strings, one per line, instead of MAP.")
@click.option("--reports", "from_reports", is_flag=True, help="COUNTS is a file of single reports.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Chance that any string found is false.",
)
@click.option("--fdr", is_flag=True, help="Let --alpha be the expected share of false strings.")
@click.option("--complete", is_flag=True, help="Assume that everyone holds one of the candidates.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of each interval.",
)
@result_options("export", "plot")
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
    output: ResultOutput,
) -> None:
    r"""Find the strings behind data that RAPPOR collected.

    Says which of the candidate strings people hold, and how many people hold each. PARAMS, COUNTS and MAP are
    google/rappor's params.csv, counts.csv and map.csv. Without MAP, the candidates are hashed as its clients do.

    Example: untrackable rappor-decode params.csv counts.csv \
                 --candidates words.txt --plot found.png
    """
    if (map_file is None) == (candidates is None):
        raise click.UsageError("give either MAP or --candidates FILE")
    from untrackable.display import decoded_words
    from untrackable.display.notebook_columns import columns_of
    from untrackable.rappor_decode.candidate_map import CandidateMap, read_map
    from untrackable.rappor_decode.decode import decode
    from untrackable.rappor_decode.decoding_work import decoding_seconds
    from untrackable.rappor_decode.rappor_files import read_candidates, read_counts, read_params, read_reports

    with one_line_errors(params, counts):
        mechanism = read_params(params)
        listed = read_map(map_file, mechanism) if map_file else read_candidates(candidates or Path())
        counted = None if from_reports else read_counts(counts, mechanism)
        many = len(listed.names if isinstance(listed, CandidateMap) else listed)
        with progress(decoding_seconds(mechanism, many, counts if counted is None else counted.total)) as show:
            found = decode(
                mechanism,
                read_reports(counts, mechanism, progress=show) if counted is None else counted,
                listed,
                alpha=alpha,
                correction="fdr" if fdr else "bonferroni",
                unlisted=not complete,
                level=level,
                progress=show,
            )
    output.give(
        words=lambda: _print(found),
        data=lambda: {
            **found.as_dict(),
            "verdict": decoded_words.verdict(found),
            "notes": decoded_words.notes(found),
        },
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True, top=_SHOWN),
    )


def _print(found: Decoded) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from untrackable.display import decoded_words

    console = Console(highlight=False)
    wrap = not console.is_terminal
    console.print()
    for sentence in decoded_words.verdict(found):
        console.print(printable(sentence), soft_wrap=wrap, markup=False)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption="All numbers are sampled. Intervals and p-values are for each string alone.",
        caption_justify="left",
    )
    for title in decoded_words.columns(found):
        table.add_column(title, justify="left" if title == "string" else "right", overflow="fold")
    for row in decoded_words.cells(found):
        table.add_row(*(Text(printable(cell)) for cell in row))
    if found.candidates:
        console.print(table)
    for note in decoded_words.notes(found):
        console.print(f"  {printable(note)}", soft_wrap=wrap, markup=False)
    console.print()
