"""`untrackable audit`: how well do a mechanism's reports identify a person?

`untrackable compare`: all mechanisms at the same everlasting privacy.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli import options
from untrackable.cli.terminal import PlainCommand, Seconds, one_line_errors, progress

if TYPE_CHECKING:
    from untrackable.auditing.audit import Audit, TurnsAudit


_DELTA = click.option("--delta", type=float, default=1e-6, help="Probability that eps or gamma fails.")
_PEOPLE = click.option(
    "--people", "--users", "people", type=options.Count(low=1), default=100_000, help="People who take part."
)
_CROWD = click.option("--crowd", type=options.Count(low=2), default=1000, help="Size of the crowd to hide in.")


@click.command(cls=PlainCommand)
@click.argument("mechanism", required=False)
@click.argument("parameters", nargs=-1)
@options.PRESET
@click.option(
    "--reports", type=options.HELD_REPORTS, show_default="20, or all", help="Reports that the observer holds."
)
@_DELTA
@_PEOPLE
@_CROWD
@click.option("--distribution", metavar="W,…", help="Also attack people with values of these weights.")
@click.option("--rounds", type=options.HELD_REPORTS, show_default="as --reports", help="Rounds of the campaign.")
@click.option("--no-attack", is_flag=True, help="Skip the simulated attacks.")
@click.option("--seed", type=options.SEED, default=1, help="Random seed of the simulations.")
@options.result_options("export", "plot", "html")
@click.option("--list", "listing", is_flag=True, help="List the mechanisms, their parameters and presets.")
def audit(
    mechanism: str | None,
    parameters: tuple[str, ...],
    preset: str | None,
    reports: int | None,
    distribution: str | None,
    rounds: int | None,
    no_attack: bool,
    seed: int,
    output: options.ResultOutput,
    listing: bool,
    **observer: Any,
) -> None:
    r"""Show how well a mechanism's reports identify people.

    Prints how private the reports are, whether an observer can link those of one person, whether people who answer
    every round are given away by that alone, and how accurate the estimates are. MECHANISM is a name from --list
    with key=value PARAMETERS or a --preset, the file of a campaign, or MODULE:NAME for a mechanism of your own. If
    the people of a campaign have one turn each, the audit is about that, and nothing is simulated.

    Example: untrackable audit rappor --preset paper --html rappor.html
             untrackable audit campaign.json --people 10000
    """
    if listing or mechanism is None:
        _list(output)
        return
    with one_line_errors():
        from untrackable.auditing.audit import REPORTS, audit_turns, held_reports
        from untrackable.auditing.audit import audit as examine
        from untrackable.cli.mechanism_argument import campaign_in, resolve
        from untrackable.settings.demands import Budget

        asked = campaign_in(mechanism)
        if asked is not None:
            rounds = rounds or asked.rounds
            reports = max(2, min(reports or REPORTS, rounds or REPORTS))
        goal = Budget(reports=reports or REPORTS, delta=observer["delta"], people=observer["people"])
        examined = resolve(mechanism, parameters, preset, goal)
        examination: Audit | TurnsAudit
        if asked is not None and asked.turns is not None:
            examination = audit_turns(examined, asked.turns, **observer)
        else:
            reports = held_reports(examined, reports)
            with progress(_steps(examined, reports, observer["crowd"], attack=not no_attack)) as show:
                examination = examine(
                    examined,
                    reports=reports,
                    attack=not no_attack,
                    distribution=None if distribution is None else [float(w) for w in distribution.split(",")],
                    rounds=rounds,
                    seed=seed,
                    progress=show,
                    **observer,
                )

    again = options.typed_command()

    def page() -> str:
        from untrackable.display.audit import audit_page

        return audit_page(examination, examined, mechanism, again)

    output.give(examination, page=page)


def _steps(mechanism: Any, reports: int, crowd: int, *, attack: bool) -> dict[str, float]:
    """The steps of an audit with their sizes. What is simulated is tried with few people first."""
    from untrackable.auditing.audit import attack_seconds
    from untrackable.mechanisms.interface import Mechanism

    if not attack or not isinstance(mechanism, Mechanism):
        return {}
    tried = attack_seconds(mechanism, reports=reports, crowd=crowd)
    return {"guarantees": 1.0, **{step: Seconds(length) for step, length in tried.items()}, "changes": 1.0}


def _list(output: options.ResultOutput) -> None:
    from untrackable.settings.catalogue import CATALOGUE

    lines = []
    for entry in CATALOGUE.values():
        takes = " ".join(f"{name}=" for name in entry.parameters())
        presets = f"  presets: {', '.join(entry.presets)}" if entry.presets else ""
        lines.append(f"{entry.name:19} {takes}{presets}")
    told = [
        {
            "name": entry.name,
            "parameters": list(entry.parameters()),
            "presets": {name: repr(make()) for name, make in entry.presets.items()},
            "cost": entry.cost,
        }
        for entry in CATALOGUE.values()
    ]
    output.tell(told, *lines)


@click.command(cls=PlainCommand)
@click.option("--eps", type=float, show_default="2 (floor: 1)", help="Privacy of all reports ever sent.")
@_DELTA
@click.option("--values", type=click.IntRange(2, 4096), default=16, help="Number of possible answers.")
@click.option("--reports", type=options.HELD_REPORTS, default=20, help="Rounds, which the observer sees.")
@_PEOPLE
@_CROWD
@click.option("--floor", is_flag=True, help="Compare with the least tracking that is possible.")
@options.result_options("export", "plot", "html")
def compare(output: options.ResultOutput, eps: float | None, floor: bool, **asked: Any) -> None:
    """Compare all mechanisms at the same level of privacy.

    Sets every mechanism so that all reports ever sent have the same eps and delta. Lists the mechanisms,
    the hardest to follow first, with the error of their estimates. The first row is one turn: each person answers
    once, in a secret round. People who answer every round are recognised by that alone, whatever the mechanism.

    With --floor, it shows for a yes/no question how many people mechanisms need and how well they can be tracked,
    in 20 rounds, in 365 and for ever, beside the least tracking of anything as private and accurate.

    Example: untrackable compare --eps 1 --reports 30 --html compare.html
             untrackable compare --values 2 --eps 8 --reports 12
             untrackable compare --floor --plot floor.png
    """
    if floor:
        _floor(output, 1.0 if eps is None else eps, asked["delta"])
        return
    asked["eps"] = 2.0 if eps is None else eps
    with one_line_errors():
        from untrackable.auditing.comparison import compare as rank

        with progress() as show:
            comparison = rank(**asked, progress=lambda what, done: show("comparing", done))

    again = options.typed_command()

    def page() -> str:
        from untrackable.display.comparison import comparison_page

        return comparison_page(comparison, again)

    output.give(comparison, page=page)


def _floor(output: options.ResultOutput, eps: float, delta: float) -> None:
    for name in ("values", "reports", "people", "crowd"):
        if options.was_given(name):
            raise click.UsageError(f"--{name} has no meaning with --floor, which is about yes/no questions")
    with one_line_errors():
        from untrackable.auditing.floor import compare_with_floor

        with progress() as show:
            found = compare_with_floor(eps=eps, delta=delta, progress=lambda what, done: show("comparing", done))

    again = options.typed_command()

    def page() -> str:
        from untrackable.display.floor import floor_page

        return floor_page(found, again)

    output.give(found, page=page)


@click.command("audit-client", cls=PlainCommand)
@click.argument("where", metavar="MODULE:FACTORY")
@click.option("--value", "values", multiple=True, required=True, help="A value of clients; give two or more.")
@click.option("--text", is_flag=True, help="Pass values as text even if they look like integers.")
@click.option("--reports", type=options.HELD_REPORTS, required=True, metavar="K", help="Reports from each client.")
@click.option("--claimed-eps", type=click.FloatRange(min=0), help="The eps claimed for all K reports together.")
@click.option("--claimed-eps-one", type=click.FloatRange(min=0), help="The eps claimed for one report.")
@click.option(
    "--claimed-delta", type=options.PROBABILITY, default=0.0, help="The delta claimed with eps and gamma."
)
@click.option("--claimed-advantage", type=options.PROBABILITY, help="The tracking advantage claimed.")
@click.option("--claimed-gamma", type=click.FloatRange(min=0), help="The gamma claimed for tracking.")
@click.option("--clients", type=click.IntRange(min=64), default=2000, help="Clients made for each value.")
@click.option("--level", type=options.SHARE, default=0.99, help="Confidence of each bound.")
@click.option("--seed", type=options.SEED, default=0, help="Random seed that picks the test clients.")
@click.option("--check", is_flag=True, help="Fail if a claim is wrong or clients can be linked.")
@options.result_options("export", "plot")
def audit_client(
    where: str,
    values: tuple[str, ...],
    text: bool,
    reports: int,
    output: options.ResultOutput,
    check: bool,
    **asked: Any,
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
    from untrackable.auditing import black_box
    from untrackable.display.evidence import client_failed

    with one_line_errors(), progress() as show, contextlib.redirect_stdout(sys.stderr):
        result = black_box.audit_client(factory, held, reports=reports, progress=show, **asked)
    output.give(result)
    if check and (why := client_failed(result)):
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
    with one_line_errors():
        from untrackable.cli.mechanism_argument import imported

        named = imported(name, attribute)
    if not callable(named):
        raise click.ClickException(f"{where} must be callable, but it is of type {type(named).__name__}")
    return named  # type: ignore[no-any-return]


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
@click.option("--level", type=options.SHARE, default=0.99, help="Confidence of the bound.")
@click.option("--people", type=click.IntRange(min=16), default=10_000, help="Most people to look at.")
@click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), default=0, help="Random seed that picks the people.")
@options.engine_options("local", "spark")
@options.mechanism_options("Attack this: 'NAME key=value …'.")
@click.option("--value", help="The value that everyone is assumed to hold.")
@click.option("--claimed-advantage", type=options.PROBABILITY, help="The tracking advantage claimed.")
@click.option("--check", is_flag=True, help="Fail if people are followed better than claimed.")
@options.result_options("export", "plot")
def audit_file(
    file: str,
    engine: str,
    master: str | None,
    windows: str | None,
    mechanism: Callable[[], Any] | None,
    value: str | None,
    check: bool,
    output: options.ResultOutput,
    **asked: Any,
) -> None:
    r"""Test whether people in a file of reports can be followed.

    FILE is CSV, Parquet or Arrow and may be larger than memory. It has a column of pseudonyms (pseudonym, user,
    user_id or id), a column of reports (report or irr) and perhaps a column that says where a report was seen
    (window, place, network or device). The attack tries to match the people of one window with those of the other.

    A column is a window by itself only if it has two values, such as home and work. Otherwise, or with
    --window-column none, each person's reports are dealt into two halves at random. If you name a column with more
    values, such as day, the first of them are compared with the last, or two of them with --windows. The first
    sentences say what was compared, and how many rows were used.

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
        asked |= {"windows": two, "mechanism": by, "value": held}
        with options.spark_session(engine, master) as session, progress() as show:
            if session is None:
                result = file_audit.audit_file(file, progress=show, **asked)
            else:
                from untrackable.engines.spark import audit_on_spark

                result = audit_on_spark(session, [file], progress=show, **asked)
    from untrackable.display.evidence import file_failed

    output.give(result)
    if check and (why := file_failed(result)):
        raise click.ClickException(f"the check failed: {why}")
