"""`untrackable audit-client`: make many clients of any implementation, and find out what their reports reveal.

`untrackable audit-file`: how well can the people in a file of reports be followed?
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.options import (
    HELD_REPORTS,
    PROBABILITY,
    SEED,
    SHARE,
    ResultOutput,
    engine_options,
    mechanism_options,
    result_options,
    spark_session,
)
from untrackable.cli.terminal import one_line_errors, print_sentences, print_table, progress

if TYPE_CHECKING:
    from untrackable.auditing.client_audit import ClientAudit
    from untrackable.auditing.file_audit import FileAudit
    from untrackable.display.view import View


@click.command("audit-client", cls=PlainCommand)
@click.argument("where", metavar="MODULE:FACTORY")
@click.option("--value", "values", multiple=True, required=True, help="A value of clients; give two or more.")
@click.option("--text", is_flag=True, help="Pass values as text even if they look like integers.")
@click.option("--reports", type=HELD_REPORTS, required=True, metavar="K", help="Reports from each client.")
@click.option("--claimed-eps", type=click.FloatRange(min=0), help="The eps claimed for all K reports together.")
@click.option("--claimed-eps-one", type=click.FloatRange(min=0), help="The eps claimed for one report.")
@click.option("--claimed-delta", type=PROBABILITY, default=0.0, help="The delta claimed with eps and gamma.")
@click.option("--claimed-advantage", type=PROBABILITY, help="The tracking advantage claimed.")
@click.option("--claimed-gamma", type=click.FloatRange(min=0), help="The gamma claimed for tracking.")
@click.option("--clients", type=click.IntRange(min=64), default=2000, help="Clients made for each value.")
@click.option("--level", type=SHARE, default=0.99, help="Confidence of each bound.")
@click.option("--seed", type=SEED, default=0, help="Random seed that picks the test clients.")
@click.option("--check", is_flag=True, help="Fail if a claim is wrong or clients can be linked.")
@result_options("export", "plot")
def audit_client(
    where: str,
    values: tuple[str, ...],
    text: bool,
    reports: int,
    output: ResultOutput,
    check: bool,
    **options: Any,
) -> None:
    r"""Test any client as a black box: what do its reports reveal?

    Makes many clients, collects their reports and says how much they reveal at least. FACTORY(value) in MODULE
    must return a client: a function that returns one report after another, or an object with .report(round). MODULE
    is in the current folder or installed. Reports are integers, strings, bytes, lists of integers, or tuples of
    these.

    With --check, the exit status is 1 if a claim is certainly wrong, or if clients share randomness. Without a
    claim about tracking, it is also 1 if the tracking advantage is certainly above 0.1: then the reports of one
    client can be linked. Status 0 says that nothing of this was found. It proves nothing.

    Example: untrackable audit-client mine:make_client --value 0 --value 1 \
                 --reports 20 --claimed-eps 2 --claimed-advantage 0 --check
    """
    if len(set(values)) < 2:
        raise click.BadParameter("give at least two different values", param_hint="--value")
    factory = _factory(where)
    held = [int(value) if not text and re.fullmatch(r"-?\d{1,1000}", value) else value for value in values]
    from untrackable.auditing import client_audit
    from untrackable.display.evidence import client_failed
    from untrackable.display.view import charts_of, view_of

    with one_line_errors(), progress() as show, contextlib.redirect_stdout(sys.stderr):
        found = client_audit.audit_client(factory, held, reports=reports, progress=show, **options)
    view = view_of(found)
    output.give(
        view,
        words=lambda: _print_client(where, found, view),
        charts=lambda: charts_of(found),
    )
    if check and (why := client_failed(found)):
        raise click.ClickException(f"the check failed: {why}")


def _factory(where: str) -> Callable[[Any], Any]:
    name, _, attribute = where.partition(":")
    if not name or not attribute:
        raise click.BadParameter("must be MODULE:FACTORY, such as mine:make_client", param_hint="MODULE:FACTORY")
    if name.endswith(".py") or "/" in name:
        raise click.BadParameter(
            "give the name of the module, not of its file: mine:make_client for mine.py",
            param_hint="MODULE:FACTORY",
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise click.ClickException(f"there is no module {error.name} in this folder or installed") from None
    except (Exception, SystemExit) as error:
        raise click.ClickException(f"importing {name} raised {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(Path.cwd()))
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise click.ClickException(f"the module {name} has no {attribute}")
        found = getattr(found, part)
    if not callable(found):
        raise click.ClickException(f"{where} must be callable, but it is of type {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _print_client(where: str, found: ClientAudit, view: View) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(
        f"\n[bold]{where}[/bold]: {found.clients:,} clients of each of {found.values} values, "
        f"{found.reports} reports from each client"
    )
    print_table(console, view.tables[0])
    console.print()
    for name, test in (("something stays the same", found.persistence), ("randomness is shared", found.sharing)):
        answer = "yes" if test.found else "not found"
        console.print(
            f"  {name + ':':26} {answer} ({test.positive} of {test.decided} signs, p = {test.p_value:.2g})"
        )
    console.print()
    print_sentences(console, [*view.sentences, ""], indent="  ")


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
    help="auto, integer, hex, bits or text.",
)
@click.option("--level", type=SHARE, default=0.99, help="Confidence of the bound.")
@click.option("--people", type=click.IntRange(min=16), default=10_000, help="Most people to look at.")
@click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=0, help="Random seed that picks the people.")
@engine_options("local", "spark")
@mechanism_options("Attack this: 'NAME key=value …'.")
@click.option("--value", help="The value that everyone is assumed to hold.")
@click.option("--claimed-advantage", type=PROBABILITY, help="The tracking advantage claimed.")
@click.option("--check", is_flag=True, help="Fail if people are followed better than claimed.")
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
    from untrackable.auditing import file_audit

    with one_line_errors(file):
        by = None if mechanism is None else mechanism()
        held = int(value) if value is not None and re.fullmatch(r"\d{1,1000}", value) else value
        options |= {"windows": two, "mechanism": by, "value": held}
        with spark_session(engine, master) as session, progress() as show:
            if session is None:
                found = file_audit.audit_file(file, progress=show, **options)
            else:
                from untrackable.engines.spark import audit_on_spark

                found = audit_on_spark(session, [file], progress=show, **options)
    from untrackable.display.evidence import file_failed
    from untrackable.display.view import charts_of, view_of

    view = view_of(found)
    output.give(
        view,
        words=lambda: _print_file(found, view),
        charts=lambda: charts_of(found),
    )
    if check and (why := file_failed(found)):
        raise click.ClickException(f"the check failed: {why}")


def _print_file(found: FileAudit, view: View) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    first, *others = view.sentences
    about = f"{found.path}: {found.rows:,} rows, {found.malformed:,} malformed; reports are {found.format}"
    print_sentences(console, ["", about, first])
    print_table(console, view.tables[1])
    print_sentences(console, ["", *others, ""], indent="  ")
