"""`untrackable audit-file`: how well can the people in a file of reports be followed?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.engine_options import engine_options, spark_session
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.mechanism_options import mechanism_options
from untrackable.cli.progress_display import progress
from untrackable.cli.renamed_options import renamed_options
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors, printable

if TYPE_CHECKING:
    from pathlib import Path

    from untrackable.auditing.evidence.file_audit import FileAudit


def _column(what: str, help: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names a column, by default one with a usual name."""
    help = help or f"Column with the {what}s."
    return click.option(f"--{what}-column", what, metavar="NAME", show_default="a usual name", help=help)


@click.command("audit-file", cls=PlainCommand)
@click.argument("file", type=click.Path())
@_column("pseudonym")
@_column("window", "Column of windows, or none.")
@_column("report")
@_column("round")
@click.option("--windows", metavar="A,B", show_default="all", help="The two windows to compare.")
@click.option(
    "--format",
    type=click.Choice(["auto", "integer", "hex", "bits", "text"]),
    metavar="F",
    default="auto",
    show_default=True,
    help="auto, integer, hex, bits or text.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.99,
    show_default=True,
    help="Confidence of the bound.",
)
@click.option(
    "--people",
    type=click.IntRange(min=16),
    default=10_000,
    show_default=True,
    help="Most people to look at.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 64) - 1),
    default=0,
    show_default=True,
    help="Random seed that picks the people.",
)
@engine_options("local", "spark")
@mechanism_options("Attack this: 'NAME key=value …'.")
@click.option("--value", help="The value that everyone is assumed to hold.")
@click.option("--claimed-advantage", type=click.FloatRange(0, 1), help="The tracking advantage claimed.")
@click.option("--check", is_flag=True, help="Fail if people are followed better than claimed.")
@renamed_options({f"--{what}": (f"--{what}-column", what) for what in ("pseudonym", "window", "report", "round")})
@result_options("export", "plot")
def audit_file(
    file: str,
    engine: str,
    master: str | None,
    windows: str | None,
    mechanism: Callable[[], Any] | None,
    value: str | None,
    check: bool,
    output: ResultOutput,
    **options: Any,
) -> None:
    r"""Test whether people in a file of reports can be followed.

    FILE is CSV, Parquet or Arrow and may be larger than memory. It has a column of pseudonyms (pseudonym, user,
    user_id or id), a column of reports (report or irr) and perhaps a column that says where a report was seen
    (window, place, network or device). The attack tries to match the people of one window with those of the other.

    A column is a window by itself only if it has two values, such as home and work. Otherwise, or with
    --window-column none, each person's reports are dealt into two halves at random. If you name a column with more
    values, such as day, the first of them are compared with the last, or two of them with --windows. The first
    sentence says what was compared, and how many rows were used.

    If the file also says in which round a report was seen (round, date, day, week, time or timestamp), the attack
    tries the same by the rounds alone. With --check, the exit status is 1 if an advantage is certainly above
    --claimed-advantage, or above 0.1 if nothing is claimed. Pseudonyms and reports are never printed.

    Example: untrackable audit-file reports.parquet \
                 --window-column place --windows home,work
             untrackable audit-file reports.csv --value 0 \
                 --mechanism 'rappor bloom_bits=16 hashes=2 f=0.5 p=0.5 q=0.75'
    """
    if mechanism is None and value is not None:
        raise click.UsageError("--value needs --mechanism")
    if mechanism is not None and value is None:
        raise click.UsageError("--mechanism needs --value: the value that everyone is assumed to hold")
    two = None if windows is None else tuple(window.strip() for window in windows.split(","))
    if two is not None and len(two) != 2:
        raise click.BadParameter("must be two windows with a comma between them", param_hint="--windows")
    from untrackable.auditing.evidence import file_audit

    with one_line_errors(file):
        by = None if mechanism is None else mechanism()
        held = int(value) if value is not None and re.fullmatch(r"\d{1,1000}", value) else value
        options |= {"windows": two, "mechanism": by, "value": held}
        with spark_session(engine, master) as session, progress() as show:
            if session is None:
                found = file_audit.audit_file(file, progress=show, **options)
            else:
                from untrackable.engines.spark_audit import audit_on_spark

                found = audit_on_spark(session, [file], progress=show, **options)
    from untrackable.display.evidence_table import file_audit_columns
    from untrackable.display.file_audit_words import failed_check, verdict

    output.give(
        words=lambda: _print(found),
        data=lambda: {**found.as_dict(), "verdict": " ".join(verdict(found))},
        columns=lambda: file_audit_columns(found),
        draw=lambda path: _draw(path, found),
    )
    if check and (why := failed_check(found)):
        raise click.ClickException(f"the check failed: {why}")


def _draw(path: Path, found: FileAudit) -> None:
    from untrackable.display.evidence_figure import file_audit_picture

    file_audit_picture(found).save(path, force=True)


def _print(found: FileAudit) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display.file_audit_words import parts, verdict

    console = Console(highlight=False)
    tracking, wrap = found.tracking, not console.is_terminal
    first, *others = verdict(found)
    console.print()
    for sentence in (
        f"{found.path}: {found.rows:,} rows, {found.malformed:,} malformed; reports are {found.format}",
        first,
    ):
        console.print(printable(sentence), soft_wrap=wrap, markup=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("taken for one person", "pairs", "sampled", f"{100 * found.level:.12g} % interval"):
        table.add_column(title, justify="left" if title.startswith("taken") else "right")
    tried = [("reports", tracking)]
    if found.attendance is not None:
        tried.append(("attendance", found.attendance.tracking))
    for by, result in tried:
        for whose, share in (("one person", result.same), ("two people", result.different)):
            interval = f"{share.lower:.3f} … {share.upper:.3f}"
            table.add_row(
                f"{parts(found)} of {whose}, by {by}", f"{share.trials:,}", f"{share.sampled:.3f}", interval
            )
    console.print(table)
    for sentence in others:
        console.print(f"  {printable(sentence)}", soft_wrap=wrap, markup=False)
    console.print()
