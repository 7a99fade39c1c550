"""`untrackable demo`: the whole system at work on this machine, and an observer who tries to follow its people."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import sys
import webbrowser
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.typed_numbers import Count

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from untrackable.auditing.confidence import Matched
    from untrackable.demo.demo_run import Collected, DemoResult, Learned


@click.command(cls=PlainCommand)
@click.option("--once", is_flag=True, help="Exit when done; otherwise the collector keeps running.")
@click.option("--clients", type=Count(low=1), default=1000, show_default=True, help="People with a real client.")
@click.option("--simulated", type=Count(low=20_000), default=99_000, show_default=True, help="Simulated people.")
@click.option("--browser/--no-browser", default=True, help="Open the pages where there is a screen.")
@result_options("export", "plot")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the simulation."
)
def demo(once: bool, clients: int, simulated: int, browser: bool, output: ResultOutput, seed: int) -> None:
    """See everything work: people, a collector and an observer.

    Starts a collector and a relay on this machine and asks 100,000 people which of 16 homepages is theirs, each
    week for a year. Each person answers once, in a week that their device draws in secret. Shows what the collector
    learns in a week, a quarter and the year, beside the truth and beside what 10,000 people would give; and how
    many people an observer matches who watches homes and an office: with RAPPOR every week, Deck every week, and
    one turn. The collector keeps running until Ctrl-C: its dashboard opens in your browser, and so does a page on
    which you can answer and see your own report go out.

    Example: untrackable demo --once --plot demo.png
    """
    from untrackable.demo.demo_run import run, steps_of
    from untrackable.serving.http_server import end_on_signals

    end_on_signals()
    with ExitStack() as running:
        with progress(steps_of(clients, simulated)) as show:
            outcome = running.enter_context(run(clients=clients, simulated=simulated, seed=seed, progress=show))
        output.give(
            words=lambda: _print(outcome),
            data=lambda: _as_json(outcome),
            columns=lambda: _columns(outcome),
            draw=lambda path: _draw(path, outcome),
        )
        if not once:
            click.echo(
                f"The collector is running at {outcome.address} (Ctrl-C ends it).\n"
                f"Its dashboard opens the pages for managers with the key {outcome.key}\n"
                f"Answer yourself, and see your report go out: {outcome.answer_address}",
                err=output.as_json,
            )
            if has_window() and browser:
                webbrowser.open(outcome.address)
                webbrowser.open(outcome.answer_address)
            signal.pause()


def _draw(path: Path, outcome: DemoResult) -> None:
    from untrackable.demo.demo_figure import demo_picture

    demo_picture(outcome).save(path, force=True)


def _columns(outcome: DemoResult) -> dict[str, list[Any]]:
    """One row for each homepage and each stretch of weeks: the truth, and the estimates with their intervals."""
    rows = [
        (way, span, learned.reports, float(learned.truth[value]), row)
        for way, collected in _ways(outcome).items()
        for span, learned in collected.spans.items()
        for value, row in learned.values.items()
    ]
    ways, spans, reports, truths, values = (list(column) for column in zip(*rows, strict=True))
    return {
        "way": ways,
        "span": spans,
        "reports": reports,
        "value": [row["label"] for row in values],
        "truth": truths,
        **{name: [row[name] for row in values] for name in ("frequency", "tells", "lower", "upper")},
    }


def _ways(outcome: DemoResult) -> dict[str, Collected]:
    return {"directly": outcome.directly, "relayed": outcome.relayed, "few": outcome.few}


def has_window() -> bool:
    """Whether a browser with a window can be shown. Others would take the terminal."""
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))


def _print(outcome: DemoResult) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    _print_learned(console, outcome)
    _print_followed(console, outcome)


def _print_learned(console: Console, outcome: DemoResult) -> None:
    from rich import box
    from rich.table import Table

    from untrackable.brackets import at_most
    from untrackable.demo.homepage_question import HOMEPAGES, WEEKS, promised_crowd

    directly, relayed, few = outcome.directly, outcome.relayed, outcome.few
    eps, crowd = directly.campaign.guarantee.eps, promised_crowd(relayed.people)
    week, quarter, year = directly.spans.values()
    console.print(
        f"\n[bold]{directly.people:,} people, {WEEKS} weeks[/bold]: which of {len(HOMEPAGES)} homepages is yours?\n"
        "Each person answers once, in a week that their device draws in secret. Nothing is sent in other weeks.\n"
        f"- [bold]directly[/bold]: nobody is trusted. {directly.clients:,} people have a client that sends over "
        f"HTTP; the others are simulated. {_counted(directly)} All that a person ever sends has eps = {eps:g} and "
        "delta = 0 (upper): it changes the odds between two answers by a factor of "
        f"{at_most(math.exp(eps), 2)} at most.\n"
        f"- [bold]through a relay[/bold]: the same noise, and so the same error ({relayed.clients} real clients). "
        f"{_counted(relayed)} What changes is the collector's view. It does not know who sent which of a week's "
        f"reports: eps = {at_most(crowd.eps, 2)}, delta = {crowd.delta:g}, among {crowd.reports:,} reports or more "
        f"(upper). If it worked with the relay, eps = {eps:g} would be left.\n\n"
        f"{week.reports:,} people answered in the last week, one in {WEEKS} of those who were active. So "
        f"{week.active['lower']:,.0f} to {week.active['upper']:,.0f} were active "
        f"({100 * (1 - week.active['beta']):g} %, upper); in truth {directly.people:,}.\n"
    )
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption=f"In percent. All {len(HOMEPAGES)} intervals of a column hold at once with "
        f"{100 * (1 - week.beta):g} % (upper).",
        caption_justify="left",
    )
    columns = {
        "\ntruth\nnow": [f"{100 * share:.1f}" for share in quarter.truth],
        "\nthe last\nweek": _intervals(week),
        "\nthe last\nquarter": _intervals(quarter),
        "truth\nall\nyear": [f"{100 * share:.1f}" for share in year.truth],
        "\nall year,\ndirectly": _intervals(year),
        "\nall year,\nrelayed": _intervals(relayed.spans["year"]),
        f"all year,\n{few.people:,}\npeople": _intervals(few.spans["year"]),
    }
    table.add_column("\n\nhomepage", no_wrap=True)
    for title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row in zip(HOMEPAGES, *columns.values(), strict=True):
        table.add_row(*row)
    console.print(table)


def _counted(collected: Collected) -> str:
    counted = collected.spans["year"].reports
    return f"The collector accepted {collected.accepted:,} reports and counted {counted:,}."


def _intervals(learned: Learned) -> list[str]:
    """The interval of each homepage, in percent."""
    rows = (learned.values[value] for value in sorted(learned.values))
    return [f"{100 * row['lower']:.1f}–{100 * row['upper']:.1f}" for row in rows]


def _print_followed(console: Console, outcome: DemoResult) -> None:
    from rich import box
    from rich.table import Table

    from untrackable.demo.homepage_question import WEEKS
    from untrackable.demo.observer import LINKED
    from untrackable.theory.turns import recognition_upper

    console.print(
        f"[bold]Can people be followed?[/bold] {LINKED:,} people with the same homepage are at home in half of the "
        f"{WEEKS} weeks, and else at work. An observer matches those seen at home with those seen at work. A "
        f"guess is right for {_share(1 / LINKED)} of them. Shares are sampled; 95 % intervals are in brackets."
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for title in ("matched", "by their reports", "by attendance alone"):
        table.add_column(title, no_wrap=True)
    for name, by_reports, by_attendance in outcome.followed:
        table.add_row(name, "no two to match" if by_reports is None else _rate(by_reports), _rate(by_attendance))
    console.print(table)
    console.print(
        "Attendance is when somebody answers, and from where. Nobody answers one week from two places. So "
        "answering every week gives people away, whatever the reports say. One turn only tells who somebody is "
        f"not, and finds hardly anybody: {_share(recognition_upper(LINKED))} at most (upper), however people move, "
        "for an observer who does not know their habits.\n"
    )


def _rate(matched: Matched) -> str:
    share, lower, upper = (_share(end) for end in (matched.sampled, matched.lower, matched.upper))
    return f"{share:>6} ({lower.removesuffix(' %')} to {upper.removesuffix(' %')})"


def _share(share: float) -> str:
    digits = 3 if share >= 0.1 else 2
    return f"{100 * share:.{digits}g} %" if share >= 1e-3 else f"{100 * share:.2f} %"


def _as_json(outcome: DemoResult) -> dict[str, object]:
    from untrackable.demo.homepage_question import WEEKS
    from untrackable.demo.observer import LINKED
    from untrackable.theory.turns import recognition_upper

    return {
        "weeks": WEEKS,
        "address": outcome.address,
        **{way: _collected_json(collected) for way, collected in _ways(outcome).items()},
        "quarters": [_learned_json(learned) for learned in outcome.quarters],
        "matched_sampled": [
            {
                "client": name,
                "by_reports": None if by_reports is None else dataclasses.asdict(by_reports),
                "by_attendance": dataclasses.asdict(by_attendance),
            }
            for name, by_reports, by_attendance in outcome.followed
        ],
        "recognition_upper": recognition_upper(LINKED),
    }


def _collected_json(collected: Collected) -> dict[str, object]:
    return {
        "campaign": {"id": collected.campaign.id, **collected.campaign.to_json()},
        "people": collected.people,
        "clients": collected.clients,
        "accepted": collected.accepted,
        **{span: _learned_json(learned) for span, learned in collected.spans.items()},
    }


def _learned_json(learned: Learned) -> dict[str, object]:
    return {
        "first_week": learned.first,
        "last_week": learned.last,
        "reports": learned.reports,
        "active": learned.active,
        "beta": learned.beta,
        "intervals": "upper, for all values at once",
        "values": [{**row, "truth": float(learned.truth[value])} for value, row in learned.values.items()],
    }
