"""`untrackable audit-client`: make many clients of any implementation, and find out what their reports reveal."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.checks import MOST_ROUNDS
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors

if TYPE_CHECKING:
    from untrackable.auditing.evidence.client_audit import ClientAudit


@click.command("audit-client", cls=PlainCommand)
@click.argument("where", metavar="MODULE:FACTORY")
@click.option("--value", "values", multiple=True, required=True, help="A value of clients; give two or more.")
@click.option("--text", is_flag=True, help="Pass values as text even if they look like integers.")
@click.option(
    "--reports", type=click.IntRange(2, MOST_ROUNDS), required=True, metavar="K", help="Reports from each client."
)
@click.option("--claimed-eps", type=click.FloatRange(min=0), help="The eps claimed for all K reports together.")
@click.option("--claimed-eps-one", type=click.FloatRange(min=0), help="The eps claimed for one report.")
@click.option(
    "--claimed-delta",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="The delta claimed with eps and gamma.",
)
@click.option("--claimed-advantage", type=click.FloatRange(0, 1), help="The tracking advantage claimed.")
@click.option("--claimed-gamma", type=click.FloatRange(min=0), help="The gamma claimed for tracking.")
@click.option(
    "--clients", type=click.IntRange(min=64), default=2000, show_default=True, help="Clients made for each value."
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.99,
    show_default=True,
    help="Confidence of each bound.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed that picks the test clients.",
)
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
    from untrackable.auditing.evidence import client_audit
    from untrackable.display.client_audit_words import failed_check, verdict
    from untrackable.display.notebook_columns import columns_of

    with one_line_errors(), progress() as show, contextlib.redirect_stdout(sys.stderr):
        found = client_audit.audit_client(factory, held, reports=reports, progress=show, **options)
    output.give(
        words=lambda: _print(where, found),
        data=lambda: {**found.as_dict(), "verdict": " ".join(verdict(found))},
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
    )
    if check and (why := failed_check(found)):
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


def _print(where: str, found: ClientAudit) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display.client_audit_words import COLUMNS, cells, measures, verdict

    console = Console(highlight=False)
    console.print(
        f"\n[bold]{where}[/bold]: {found.clients:,} clients of each of {found.values} values, "
        f"{found.reports} reports from each client\n"
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in COLUMNS:
        number = title in ("lower", "sampled", "claimed")
        table.add_column(title, justify="right" if number else "left", no_wrap=title != "by")
    for measure in measures(found):
        table.add_row(*cells(measure))
    console.print(table)
    for name, test in (("something stays the same", found.persistence), ("randomness is shared", found.sharing)):
        answer = "yes" if test.found else "not found"
        console.print(
            f"  {name + ':':26} {answer} ({test.positive} of {test.decided} signs, p = {test.p_value:.2g})"
        )
    console.print()
    for sentence in verdict(found):
        console.print(f"  {sentence}", soft_wrap=not console.is_terminal)
    console.print()
