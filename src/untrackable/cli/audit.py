"""`untrackable audit`: how well do a mechanism's reports identify a person?

`untrackable compare`: all mechanisms at the same everlasting privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.options import HELD_REPORTS, PRESET, SEED, Count, ResultOutput, result_options
from untrackable.cli.terminal import Seconds, one_line_errors, print_json, progress

if TYPE_CHECKING:
    from untrackable.auditing.audit import Audit, TurnsAudit


_DELTA = click.option("--delta", type=float, default=1e-6, help="Probability that eps or gamma fails.")
_PEOPLE = click.option(
    "--people", "--users", "people", type=Count(low=1), default=100_000, help="People who take part."
)
_CROWD = click.option("--crowd", type=Count(low=2), default=1000, help="Size of the crowd to hide in.")


@click.command(cls=PlainCommand)
@click.argument("mechanism", required=False)
@click.argument("parameters", nargs=-1)
@PRESET
@click.option("--reports", type=HELD_REPORTS, show_default="20, or all", help="Reports that the observer holds.")
@_DELTA
@_PEOPLE
@_CROWD
@click.option("--distribution", metavar="W,…", help="Also attack people with values of these weights.")
@click.option("--rounds", type=HELD_REPORTS, show_default="as --reports", help="Rounds of the campaign.")
@click.option("--no-attack", is_flag=True, help="Skip the simulated attacks.")
@click.option("--seed", type=SEED, default=1, help="Random seed of the simulations.")
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
        from untrackable.auditing.audit import REPORTS, audit_turns, held_reports
        from untrackable.auditing.audit import audit as examine
        from untrackable.cli.mechanism_argument import campaign_in, resolve
        from untrackable.display.view import charts_of, view_of
        from untrackable.settings.demands import Budget

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
        from untrackable.auditing.audit import TurnsAudit
        from untrackable.display.page import audit_page

        said: dict[str, Any] = {"reports": reports, "delta": delta, "people": people, "crowd": crowd, "seed": seed}
        said |= {} if isinstance(found, TurnsAudit) else {"rounds": found.rounds}
        again = _command(mechanism, parameters, preset, said, distribution, no_attack)
        return audit_page(found, examined, mechanism, again)

    output.give(
        view_of(found),
        charts=lambda: charts_of(found),
        page=page,
    )


def _steps(mechanism: Any, reports: int, crowd: int, *, attack: bool) -> dict[str, float]:
    """The steps of an audit with their sizes. What is simulated is tried with few people first."""
    from untrackable.auditing.audit import attack_seconds
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
    options = _typed(asked)
    options += ["--distribution", distribution] if distribution else []
    return ["audit", mechanism, *parameters, *named, *options, *(["--no-attack"] if no_attack else [])]


def _typed(options: dict[str, Any]) -> list[str]:
    """Options as people type them."""
    return [text for name, value in options.items() for text in (f"--{name}", str(value).removesuffix(".0"))]


def _list(as_json: bool) -> None:
    from untrackable.settings.catalogue import CATALOGUE

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


@click.command(cls=PlainCommand)
@click.option("--eps", type=float, default=2.0, help="Privacy of all reports ever sent.")
@_DELTA
@click.option("--values", type=click.IntRange(2, 4096), default=16, help="Number of possible answers.")
@click.option("--reports", type=HELD_REPORTS, default=20, help="Rounds, which the observer sees.")
@_PEOPLE
@_CROWD
@result_options("export", "plot", "html")
def compare(output: ResultOutput, **asked: Any) -> None:
    """Compare all mechanisms at the same level of privacy.

    Sets every mechanism so that all reports ever sent have the same eps and delta. Lists the mechanisms,
    the hardest to follow first, with the error of their estimates. The first row is one turn: each person answers
    once, in a secret round. People who answer every round are recognised by that alone, whatever the mechanism.

    Example: untrackable compare --eps 1 --reports 30 --html compare.html
             untrackable compare --values 2 --eps 8 --reports 12
    """
    with one_line_errors():
        from untrackable.auditing.comparison import compare as rank
        from untrackable.display.view import charts_of, view_of

        with progress() as show:
            found = rank(**asked, progress=lambda what, done: show("comparing", done))

    def page() -> str:
        from untrackable.display.page import comparison_page

        names = ("eps", "delta", "values", "reports", "people", "crowd")
        return comparison_page(found, ["compare", *_typed({name: asked[name] for name in names})])

    output.give(
        view_of(found),
        charts=lambda: charts_of(found),
        page=page,
    )
