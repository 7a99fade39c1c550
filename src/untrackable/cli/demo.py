"""`untrackable demo`: the whole system at work on this machine, and an observer who tries to follow its people."""

from __future__ import annotations

import dataclasses
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

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from untrackable.auditing.confidence import Matched
    from untrackable.demo.demo_run import Collected, DemoResult


@click.command(cls=PlainCommand)
@click.option("--once", is_flag=True, help="Exit when done; otherwise the collector keeps running.")
@click.option(
    "--clients", type=click.IntRange(min=1), default=2000, show_default=True, help="People with a real client."
)
@click.option(
    "--simulated", type=click.IntRange(min=100), default=1_000_000, show_default=True, help="Simulated people."
)
@click.option("--browser/--no-browser", default=True, help="Open the pages where there is a screen.")
@result_options("export", "plot")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed of the simulation."
)
def demo(once: bool, clients: int, simulated: int, browser: bool, output: ResultOutput, seed: int) -> None:
    """See everything work: people, a collector and an observer.

    Starts a collector and a relay on this machine and asks 1,002,000 people which of 1,024 homepages is theirs, in
    two ways: with noise that needs no trust, and with less noise in a crowd. They answer about one day in twenty.
    Shows both estimates beside the truth, and how often an observer can match people at home with people at work:
    with RAPPOR every day, Deck every day, and Deck one day in twenty. The collector keeps running until Ctrl-C:
    its dashboard opens in your browser, and so does a page on which you can answer and see your own report go out.

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
    """One row for each homepage that is shown: the truth, and both estimates with their intervals."""
    ways = {"alone": outcome.alone, "crowd": outcome.crowd}
    names = ("frequency", "tells", "lower", "upper")
    return {
        "value": [outcome.alone.values[value]["label"] for value in outcome.shown],
        "truth": [float(outcome.truth[value]) for value in outcome.shown],
        **{
            f"{way}_{name}": [found.values[value][name] for value in outcome.shown]
            for way, found in ways.items()
            for name in names
        },
    }


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

    from untrackable.demo.homepage_question import DAYS, DELTA, HOMEPAGES, ROUNDS

    alone, crowd = outcome.alone, outcome.crowd
    eps, promised = alone.campaign.guarantee.eps, outcome.promised
    console.print(
        f"\n[bold]{outcome.people:,} people, {DAYS} days[/bold]: which of {len(HOMEPAGES):,} homepages is yours?\n"
        f"Each answers about one day in {1 / alone.campaign.participation}, by a secret coin. The same question is "
        "asked in two ways:\n"
        f"- [bold]alone[/bold]: each report is so noisy that nobody has to be trusted. {outcome.clients:,} people "
        "have a client that sends over HTTP; the others are simulated. "
        f"{_counted(alone)} All reports of all {ROUNDS} rounds of a person keep the answer private, even one that "
        f"changes: eps = {eps:.2f}, delta = {DELTA:g} (exact).\n"
        f"- [bold]in a crowd[/bold]: clients seal quieter noise for the collector and send it through a relay "
        f"({outcome.relayed:,} real clients). {_counted(crowd)} The collector sees all reports, but not who sent "
        f"which: then eps = {promised.eps:.2f}, delta = {DELTA:g}, among {promised.people:,} people or more "
        "(upper). This trusts the relay: if it worked with the collector, the two could learn far more, "
        f"eps = {crowd.campaign.guarantee.eps:.3g} (upper).\n"
    )
    width = min(50, console.width - 67) if console.width >= 90 else 0
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption=f"{'│ truth, ─ interval alone, █ interval in a crowd, ╪ both. ' if width else ''}"
        f"All {len(HOMEPAGES):,} intervals of each way hold at once with {1 - alone.beta:.0%} (upper).\n"
        "* Stands out from the noise: the interval excludes 0.",
        caption_justify="left",
    )
    table.add_column("homepage", no_wrap=True)
    for title in ("truth", "alone", "in a crowd"):
        table.add_column(title, justify="right", no_wrap=True)
    if width:
        table.add_column("", no_wrap=True)
    top = max(alone.values[value]["upper"] for value in outcome.shown)
    for value in outcome.shown:
        truth, rows = float(outcome.truth[value]), (alone.values[value], crowd.values[value])
        cells = [rows[0]["label"], f"{truth:.3f}", *map(_interval, rows)]
        if width:
            cells.append(_bar(*rows, truth, top, width))
        table.add_row(*cells)
    console.print(table)


def _counted(collected: Collected) -> str:
    return f"The collector accepted {collected.accepted:,} reports and counted {collected.reports:,}."


def _interval(row: dict[str, Any]) -> str:
    """An estimate and its interval. The mark says that it stands out from the noise."""
    mark = "*" if row["stands_out"] else " "
    share = "cannot tell" if row["frequency"] is None else f"{row['frequency']:.3f}"
    return f"{share} ({_end(row['lower'])} to {_end(row['upper'])}){mark}"


def _print_followed(console: Console, outcome: DemoResult) -> None:
    from rich import box
    from rich.table import Table

    from untrackable.demo.homepage_question import HOME_AND_WORK, RECOGNITION, ROUNDS, recognised_if_kept
    from untrackable.demo.observer import LINKED
    from untrackable.display.percentages import percent

    home, work = (f"{100 * float(share):.0f} %" for share in HOME_AND_WORK)
    console.print(
        f"[bold]Can people be followed?[/bold] {LINKED:,} people with the same homepage are at home on {home} of "
        f"{ROUNDS} days, and at work on {work}. An observer matches those seen at home with those seen at work. "
        f"A guess is right for {_share(1 / LINKED)} of them. Shares are sampled; 95 % intervals are in brackets."
    )
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for title in ("matched", "by their reports", "by attendance alone"):
        table.add_column(title, no_wrap=True)
    for name, *shares in outcome.followed:
        table.add_row(name, *(_rate(matched) for matched in shares))
    console.print(table)
    console.print(
        "Attendance is the days on which somebody answers, and from where. Nobody answers one day from two places, "
        "so answering every day gives people away, whatever the reports say.\n"
        "Alone, the collector above uses Deck, one day in twenty, with the same eps as RAPPOR for all reports ever "
        "sent. "
        "Its campaign declares that an observer of two places recognises a person among 1,000 with probability at "
        f"most {_share(RECOGNITION)}, by reports and attendance together (upper), if where people are is "
        f"independent from day to day. With places kept for a week: {percent(recognised_if_kept(7), 'up')}, for a "
        f"month: {percent(recognised_if_kept(30), 'up')} (upper).\n"
    )


def _rate(matched: Matched) -> str:
    share, lower, upper = (_share(end) for end in (matched.sampled, matched.lower, matched.upper))
    return f"{share:>6} ({lower.removesuffix(' %')} to {upper.removesuffix(' %')})"


def _share(share: float) -> str:
    digits = 3 if share >= 0.1 else 2
    return f"{100 * share:.{digits}g} %" if share >= 1e-3 else f"{100 * share:.2f} %"


def _end(share: float) -> str:
    """An end of an interval. One above 0 is never shown as 0.000."""
    return f"{share:.3f}" if share >= 1e-3 or share == 0 else f"{share:.0e}"


def _bar(alone: dict[str, Any], crowd: dict[str, Any], truth: float, top: float, width: int) -> str:
    """Truth and both intervals on one line of text."""

    def place(x: float) -> int:
        return min(width - 1, max(0, round(x / top * (width - 1))))

    line = [" "] * width
    for row, mark in ((alone, "─"), (crowd, "█")):
        for i in range(place(row["lower"]), place(row["upper"]) + 1):
            line[i] = mark
    line[place(truth)] = "╪" if line[place(truth)] == "█" else "│"
    return "".join(line)


def _as_json(outcome: DemoResult) -> dict[str, object]:
    from untrackable.demo.homepage_question import DAYS, ROUNDS, recognised_if_kept

    return {
        "people": outcome.people,
        "clients": outcome.clients,
        "relayed_clients": outcome.relayed,
        "days": DAYS,
        "address": outcome.address,
        "alone": _collected_json(outcome, outcome.alone),
        "crowd": _collected_json(outcome, outcome.crowd),
        "followed_days": ROUNDS,
        "matched_sampled": [
            {
                "client": name,
                "by_reports": dataclasses.asdict(by_reports),
                "by_attendance": dataclasses.asdict(by_attendance),
            }
            for name, by_reports, by_attendance in outcome.followed
        ],
        "recognition_upper": {str(stay): recognised_if_kept(stay) for stay in (1, 7, 30)},
    }


def _collected_json(outcome: DemoResult, collected: Collected) -> dict[str, object]:
    rows = [collected.values[value] for value in outcome.shown]
    return {
        "campaign": {"id": collected.campaign.id, **collected.campaign.to_json()},
        "accepted": collected.accepted,
        "reports": collected.reports,
        "beta": collected.beta,
        "intervals": "upper, for all values at once",
        "values": [{**row, "truth": float(outcome.truth[row["value"]])} for row in rows],
    }
