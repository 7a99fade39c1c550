"""`untrackable discover`: the strings that many people hold, from files of reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli.engine_options import engine_options, spark_session
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.round_options import round_numbers, round_options
from untrackable.cli.terminal import one_line_errors, print_sentences, printable, read_encoding

if TYPE_CHECKING:
    from untrackable.discovery.discovered import Discovered

_BYTES_PER_SECOND = 26e6
"""About how fast files are read, on one core."""
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(cls=PlainCommand)
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--alpha", type=_SHARE, default=0.05, show_default=True, help="Chance that any string found is false."
)
@click.option(
    "--leads", type=click.IntRange(min=0), default=5, show_default=True, help="Uncertain strings to show."
)
@click.option(
    "--beam",
    type=click.IntRange(min=1, max=1 << 20),
    default=4096,
    show_default=True,
    help="Prefixes kept at each length.",
)
@round_options
@engine_options("local", "cuda", "spark")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@result_options("export", "plot")
def discover(
    files: tuple[str, ...],
    engine: str,
    master: str | None,
    alpha: float,
    leads: int,
    beam: int,
    rounds: str | None,
    assume_round: int | None,
    encoding: str | None,
    output: ResultOutput,
) -> None:
    """Find strings that many people hold, without a list.

    FILES are Parquet, Arrow, CSV or NumPy files of reports about strings, and say how these were made. Reports of
    several files are counted together.

    Example: untrackable discover reports.parquet --alpha 0.01
             untrackable discover reports.parquet --plot found.svg
    """
    with one_line_errors(*files), spark_session(engine, master) as session:
        from untrackable.reports.file_answers import discover_files
        from untrackable.reports.summing import sum_files

        add_up: Any = sum_files
        if session is not None:
            from untrackable.engines.spark import SparkEngine

            add_up = SparkEngine(session)

        meant = read_encoding(encoding)
        with progress({} if session is not None else _steps(files, meant, assume_round, beam)) as show:
            found = discover_files(
                files,
                encoding=meant,
                assume_round=assume_round,
                rounds=round_numbers(rounds),
                alpha=alpha,
                leads=leads,
                beam=beam,
                engine="cuda" if engine == "cuda" else "local",
                progress=show,
                add_up=add_up,
            )
    from untrackable.display.notebook_columns import columns_of

    output.give(
        words=lambda: _print(found),
        data=lambda: strict_json.parse(found.to_json()),
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
    )


def _steps(files: tuple[str, ...], encoding: Any, assume_round: int | None, beam: int) -> dict[str, float]:
    """The steps, with about as many seconds as they take on one core."""
    from untrackable.discovery.search_work import search_seconds
    from untrackable.encodings.discovered_strings import DiscoveredStrings
    from untrackable.reports.summing import open_file

    opened = [open_file(file, encoding=encoding, assume_round=assume_round) for file in files]
    strings = opened[0].encoding
    if not isinstance(strings, DiscoveredStrings):
        return {}
    sizes = sum(Path(file).stat().st_size for file in files)
    return {"reading": sizes / _BYTES_PER_SECOND, "searching": search_seconds(strings, beam)}


def _findable(found: Discovered) -> str:
    """The smallest share at which a string is probably found."""
    of = f"a string of {found.longest} symbols"
    if found.findable is None:
        return (
            f"{of} cannot be found with these settings, even if everyone holds it: there are too few buckets for "
            "the number of possible strings; use more bucket_bits, or look at the whole string more often"
        )
    return (
        f"{of} held by fewer than {100 * found.findable:.2g} % of people is more likely missed than found "
        "(estimated); shorter strings need less"
    )


def _print(found: Discovered) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from untrackable.display.percentages import CANNOT_TELL, string_notes

    console = Console(highlight=False)
    said = (
        f"{found.n:,} reports; {len(found.strings)} strings that people hold (the probability that any is false is "
        f"at most {found.alpha:g}, upper); looked at {found.tried:,} prefixes in {found.passes} passes"
    )
    print_sentences(console, [said])
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("string", overflow="fold", min_width=12)
    for title in ("share", "std. error", "all within", "p-value", ""):
        table.add_column(title, justify="left" if not title else "right", no_wrap=True)
    # Leads are in the order of what all levels say about them, but a reader sees only the columns of the table.
    leads = sorted(found.leads, key=lambda lead: (lead.p_value, -lead.frequency / (lead.standard_error or 1)))
    for entry in (*found.strings, *leads):
        table.add_row(
            Text(printable(entry.string) or "(empty)"),
            CANNOT_TELL if entry.share is None else f"{100 * entry.share:.2f} %",
            "" if entry.share is None else f"{100 * entry.standard_error:.2f} %",
            f"{100 * entry.lower:.2f} … {100 * entry.upper:.2f} %",
            f"{entry.p_value:.1g}",
            "" if entry.p_value <= found.alpha else "may be noise",
        )
    console.print(table)
    notes = [
        "std. error: estimated; all within: holds for all strings at once (upper)",
        "p-value: adjusted for all possible strings (upper)",
        *string_notes(found.strings),
        _findable(found),
    ]
    print_sentences(console, notes, indent="  ")
    console.print()
