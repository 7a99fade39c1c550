"""`untrackable audit-file`: how well can the people in a file of reports be followed?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.engine_options import engine_options, spark_session
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.terminal import print_json, printable, progress

if TYPE_CHECKING:
    from untrackable.auditing.evidence.file_audit import FileAudit


@click.command("audit-file", cls=PlainCommand)
@click.argument("file", type=click.Path())
@click.option("--pseudonym", metavar="COLUMN", show_default="found by name", help="Column with the pseudonyms.")
@click.option("--window", metavar="COLUMN", show_default="found by name", help="Column with the windows.")
@click.option("--report", metavar="COLUMN", show_default="found by name", help="Column with the reports.")
@click.option("--round", metavar="COLUMN", show_default="found by name", help="Column with the rounds.")
@click.option("--windows", metavar="A,B", show_default="the largest", help="The two windows to compare.")
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
    help="Largest number of people to look at.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 64) - 1),
    default=0,
    show_default=True,
    help="Random seed that picks the people.",
)
@engine_options("local", "spark")
@click.option("--mechanism", metavar="NAME", help="Use the best attack against this mechanism.")
@click.option("--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="Parameter of --mechanism.")
@click.option("--preset", metavar="NAME", help="Published parameters of --mechanism.")
@click.option("--value", help="The value that everyone is assumed to hold.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def audit_file(
    file: str,
    engine: str,
    master: str | None,
    windows: str | None,
    mechanism: str | None,
    parameters: tuple[str, ...],
    preset: str | None,
    value: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Test whether people in a file of reports can be followed.

    FILE is CSV, Parquet or Arrow and may be larger than memory. It has a column of pseudonyms (pseudonym, user,
    user_id or id), a column of reports (report or irr) and perhaps a column that says in which window a report was
    seen (window, place, device or day). Without such a column, a person's reports go to two windows in turn. The
    attack then tries to match the people of one window with those of the other. If the file also says in which
    round a report was seen (round, date, day, time or timestamp), it tries the same by the rounds alone. Pseudonyms
    and reports are never printed.

    Example: untrackable audit-file reports.parquet \
                 --window place --windows home,work
    """
    if mechanism is None and (value is not None or parameters or preset):
        raise click.UsageError("--value, --parameter and --preset need --mechanism")
    if mechanism is not None and value is None:
        raise click.UsageError("--mechanism needs --value: the value that everyone is assumed to hold")
    two = None if windows is None else tuple(window.strip() for window in windows.split(","))
    if two is not None and len(two) != 2:
        raise click.BadParameter("must be two windows with a comma between them", param_hint="--windows")
    from untrackable.auditing.evidence import file_audit
    from untrackable.errors import UntrackableError

    try:
        by = None if mechanism is None else _resolve(mechanism, list(parameters), preset)
        held = int(value) if value is not None and re.fullmatch(r"\d{1,1000}", value) else value
        options |= {"windows": two, "mechanism": by, "value": held}
        with spark_session(engine, master) as session, progress() as show:
            if session is None:
                found = file_audit.audit_file(file, progress=show, **options)
            else:
                from untrackable.engines.spark_audit import audit_on_spark

                found = audit_on_spark(session, [file], progress=show, **options)
    except (UntrackableError, TypeError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        from untrackable.display.file_audit_words import verdict

        print_json({**found.as_dict(), "verdict": " ".join(verdict(found))})
    else:
        _print(found)


def _resolve(name: str, parameters: list[str], preset: str | None) -> Any:
    from untrackable.cli.mechanism_argument import resolve

    return resolve(name, parameters, preset)


def _print(found: FileAudit) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display.file_audit_words import verdict

    console = Console(highlight=False)
    tracking, wrap = found.tracking, not console.is_terminal
    windows = "alternate reports" if found.windows is None else " and ".join(found.windows)
    about = (
        f"{found.path}: {found.rows:,} rows, {found.malformed:,} malformed",
        f"{found.people:,} people with {found.reports:,} reports in both windows ({windows}), "
        f"out of {found.pseudonyms:,} pseudonyms{' (a uniform sample)' if found.sampled else ''}; "
        f"reports are {found.format}",
    )
    console.print()
    for sentence in about:
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
            table.add_row(f"windows of {whose}, by {by}", f"{share.trials:,}", f"{share.sampled:.3f}", interval)
    console.print(table)
    for sentence in verdict(found):
        console.print(f"  {printable(sentence)}", soft_wrap=wrap, markup=False)
    console.print()
