"""`untrackable audit`: how well do a mechanism's reports identify a person?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from untrackable.checks import MOST_ROUNDS
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.mechanism_options import PRESET
from untrackable.cli.progress_display import progress
from untrackable.cli.remaining_time import Seconds
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors, print_json
from untrackable.cli.typed_numbers import Count

if TYPE_CHECKING:
    from untrackable.auditing.mechanism_audit import Audit
    from untrackable.auditing.turns_audit import TurnsAudit


@click.command(cls=PlainCommand)
@click.argument("mechanism", required=False)
@click.argument("parameters", nargs=-1)
@PRESET
@click.option(
    "--reports",
    type=click.IntRange(2, MOST_ROUNDS),
    show_default="20, or all",
    help="Reports that the observer holds.",
)
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Probability that eps or gamma fails.")
@click.option(
    "--people",
    "--users",
    "people",
    type=Count(low=1),
    default=100_000,
    show_default=True,
    help="People who take part.",
)
@click.option("--crowd", type=Count(low=2), default=1000, show_default=True, help="Size of the crowd to hide in.")
@click.option("--distribution", metavar="W,…", help="Also attack people with values of these weights.")
@click.option(
    "--rounds",
    type=click.IntRange(2, MOST_ROUNDS),
    show_default="as --reports",
    help="Rounds of the campaign.",
)
@click.option("--no-attack", is_flag=True, help="Skip the simulated attacks.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the simulations."
)
@result_options("export", "plot", "html")
@click.option("--list", "listing", is_flag=True, help="List the mechanisms, their parameters and presets.")
def audit(
    mechanism: str | None,
    parameters: tuple[str, ...],
    preset: str | None,
    reports: int | None,
    delta: float,
    people: int,
    crowd: int,
    distribution: str | None,
    rounds: int | None,
    no_attack: bool,
    seed: int,
    output: ResultOutput,
    listing: bool,
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
        _list(output.as_json)
        return
    with one_line_errors():
        from untrackable.auditing.mechanism_audit import REPORTS, held_reports
        from untrackable.auditing.mechanism_audit import audit as examine
        from untrackable.auditing.turns_audit import audit_turns
        from untrackable.cli.mechanism_argument import campaign_in, resolve
        from untrackable.display import audit_words
        from untrackable.display.notebook_columns import columns_of
        from untrackable.display.numbers import as_dict
        from untrackable.mechanisms.demands import Budget

        asked = campaign_in(mechanism)
        if asked is not None:
            rounds = rounds or asked.rounds
            reports = max(2, min(reports or REPORTS, rounds or REPORTS))
        goal = Budget(reports=reports or REPORTS, delta=delta, people=people)
        examined = resolve(mechanism, parameters, preset, goal)
        found: Audit | TurnsAudit
        if asked is not None and asked.turns is not None:
            found = audit_turns(examined, asked.turns, people=people, crowd=crowd, delta=delta)
        else:
            reports = held_reports(examined, reports)
            with progress(_steps(examined, reports, crowd, attack=not no_attack)) as show:
                found = examine(
                    examined,
                    reports=reports,
                    delta=delta,
                    people=people,
                    crowd=crowd,
                    attack=not no_attack,
                    distribution=None if distribution is None else [float(w) for w in distribution.split(",")],
                    rounds=rounds,
                    seed=seed,
                    progress=show,
                )

    def page() -> str:
        from untrackable.auditing.turns_audit import TurnsAudit
        from untrackable.display.audit_page import audit_page

        said: dict[str, Any] = {"reports": reports, "delta": delta, "people": people, "crowd": crowd, "seed": seed}
        said |= {} if isinstance(found, TurnsAudit) else {"rounds": found.rounds}
        again = _command(mechanism, parameters, preset, said, distribution, no_attack)
        return audit_page(found, examined, mechanism, again)

    output.give(
        words=lambda: _print(found),
        data=lambda: {"verdict": audit_words.verdict(found), **as_dict(found)},
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
        page=page,
    )


def _steps(mechanism: Any, reports: int, crowd: int, *, attack: bool) -> dict[str, float]:
    """The steps of an audit with their sizes. What is simulated is tried with few people first."""
    from untrackable.auditing.attack_trial import attack_seconds
    from untrackable.mechanisms.interface import Mechanism

    if not attack or not isinstance(mechanism, Mechanism):
        return {}
    tried = attack_seconds(mechanism, reports=reports, crowd=crowd)
    return {"guarantees": 1.0, **{step: Seconds(length) for step, length in tried.items()}, "changes": 1.0}


def _command(
    mechanism: str,
    parameters: tuple[str, ...],
    preset: str | None,
    asked: dict[str, Any],
    distribution: str | None,
    no_attack: bool,
) -> list[str]:
    """The command that makes the page again."""
    named = ["--preset", preset] if preset else []
    options = [text for name, value in asked.items() for text in (f"--{name}", str(value))]
    options += ["--distribution", distribution] if distribution else []
    return ["audit", mechanism, *parameters, *named, *options, *(["--no-attack"] if no_attack else [])]


def _list(as_json: bool) -> None:
    from untrackable.mechanisms.catalogue import CATALOGUE

    if as_json:
        print_json(
            [
                {
                    "name": entry.name,
                    "parameters": list(entry.parameters()),
                    "presets": {name: repr(make()) for name, make in entry.presets.items()},
                    "cost": entry.cost,
                }
                for entry in CATALOGUE.values()
            ]
        )
        return
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for entry in CATALOGUE.values():
        takes = " ".join(f"{name}=" for name in entry.parameters())
        presets = f"  presets: {', '.join(entry.presets)}" if entry.presets else ""
        console.print(f"[bold]{entry.name:19}[/bold] {takes}{presets}")


def _print(found: Audit | TurnsAudit) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display import audit_words

    console = Console(highlight=False)
    first, *others = audit_words.verdict(found)
    console.print(f"\n[bold]{first}[/bold]")
    for sentence in others:
        console.print(sentence)
    console.print()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(found.mechanism, overflow="fold", ratio=3)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("is", no_wrap=True)
    if console.width >= 110:
        table.add_column("")
    columns = len(table.columns)
    heading = ""
    for line in audit_words.lines(found):
        if line.heading != heading:
            heading = line.heading
            blank: list[Any] = [f"[bold]{heading}[/bold]", *[""] * (columns - 1)]
            table.add_row(*blank)
        table.add_row(*(f"  {line.what}", line.number, line.certainty, f"[dim]{line.meaning}[/dim]")[:columns])
    console.print(table)
    for what, why in found.missing.items():
        console.print(f"[dim]{what}: {why}[/dim]")
