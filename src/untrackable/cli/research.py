"""`untrackable simulate`: the reports of a simulated population, in a file.

`untrackable paper`: the paper's numbers beside ours.

`untrackable demo`: the whole system at work on this machine, and an observer who tries to follow its people.
"""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.checks import MOST_ROUNDS
from untrackable.cli.options import PRESET, SEED, Count, ResultOutput, bucket_options, result_options
from untrackable.cli.terminal import NewFile, PlainCommand, one_line_errors, progress, read_encoding

if TYPE_CHECKING:
    from untrackable.display.view import View
    from untrackable.protocol.campaign import Campaign
    from untrackable.reports.simulation import Simulated
    from untrackable.theory.turns import Turns


@click.command(cls=PlainCommand)
@click.argument("mechanism")
@click.argument("parameters", nargs=-1)
@PRESET
@click.option("--out", type=NewFile(), required=True, metavar="FILE", help="Where to write.")
@click.option("--people", type=Count(low=0), show_default="all of --values", help="Number of people.")
@click.option(
    "--rounds",
    type=click.IntRange(1, MOST_ROUNDS),
    show_default="1, or all that have turns",
    help="Number of rounds.",
)
@click.option("--values", default="zipf:1.3", metavar="WHAT", help="What they hold: see above.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON", help="What values mean, as JSON or a JSON file.")
@click.option("--seed", type=SEED, default=1, help="The same seed gives the same file.")
@result_options()
def simulate(
    mechanism: str,
    parameters: tuple[str, ...],
    preset: str | None,
    out: Path,
    people: int | None,
    rounds: int | None,
    values: str,
    encoding: str | None,
    seed: int,
    output: ResultOutput,
) -> None:
    r"""Write the reports of simulated people to a file.

    MECHANISM is the file of a campaign, to see what it will tell you before you ask anybody. Or it is a name that
    `untrackable audit --list` shows, with key=value PARAMETERS or a --preset; without either, its parameters are
    chosen to suit the question. The ending of FILE chooses the format: .parquet, .arrow, .arrows (a stream), .csv,
    .csv.gz or .npz.

    In a campaign with turns, each person answers once, in a round that is drawn. Otherwise everybody answers every
    round.

    --values says what people hold: `uniform`, `zipf:EXPONENT`, or a CSV file with lines value,count. After the
    first two, `:K` uses only the first K values.

    With an --encoding for strings to be discovered, MECHANISM is fresh, memoized, deck or rnip without bits=…, and
    --values is a file.

    Example: untrackable simulate campaign.json --people 100000 \
                 --out reports.parquet
             untrackable simulate deck bits=8 slots=30 eps_report=1 \
                 --people 1000000 --out reports.parquet
    """
    with one_line_errors():
        from untrackable.cli.mechanism_argument import campaign_in
        from untrackable.reports.simulation import population, simulate_file

        asked = campaign_in(mechanism)
        if asked is not None:
            if parameters or preset or encoding:
                raise ValueError("a campaign says how reports are made: give no parameters, preset or encoding")
            made, meant, turns = asked.mechanism, asked.encoding, asked.turns
            rounds = _rounds(asked, rounds)
        else:
            meant, turns, rounds = read_encoding(encoding), None, rounds or 1
            made = _resolve(mechanism, parameters, preset, meant, people, rounds)
        held = population(values, made, meant)
        with progress() as show:
            simulated = simulate_file(
                out,
                made,
                held,
                people=people,
                rounds=rounds,
                encoding=meant,
                turns=turns,
                seed=seed,
                progress=show,
            )
    view = _simulated_view(simulated, made, meant, turns)
    output.give(simulated, view=view)


def _rounds(asked: Campaign, given: int | None) -> int:
    """The rounds that are written: of a campaign with turns all, unless fewer are asked for."""
    if asked.turns is None:
        return given or 1
    if given is not None and given > asked.turns.rounds:
        raise ValueError(f"--rounds must be at most {asked.turns.rounds}, the rounds of this campaign, got {given}")
    return given or asked.turns.rounds


def _resolve(
    name: str, parameters: tuple[str, ...], preset: str | None, encoding: Any, people: int | None, rounds: int
) -> Any:
    from untrackable.cli.mechanism_argument import resolve, resolve_strings
    from untrackable.encodings.strings import DiscoveredStrings
    from untrackable.settings.demands import Budget

    if isinstance(encoding, DiscoveredStrings) and ":" not in name:
        if preset is not None:
            raise ValueError("strings to be discovered have no preset")
        return resolve_strings(name, parameters, encoding)
    asked = {} if encoding is None else {"values": max(2, encoding.values)}
    wanted = not parameters and preset is None and ":" not in name
    goal = Budget(**asked, reports=max(2, rounds), people=max(1, people or 1)) if wanted else None
    return resolve(name, parameters, preset, goal)


def _simulated_view(simulated: Simulated, mechanism: Any, encoding: Any, turns: Turns | None) -> View:
    """What was written, and the command that reads it."""
    from untrackable.display.view import View, floats, texts

    written = simulated.written
    size = written.bytes / max(1, written.reports)
    title = (
        f"wrote {written.path}: {written.reports:,} reports of {simulated.people:,} people in "
        f"{len(written.rounds):,} round{'' if len(written.rounds) == 1 else 's'}, {written.bytes:,} bytes "
        f"({size:.2f} a report)"
    )
    most_held = [
        (str(value if encoding is None or isinstance(value, str) else encoding.label(value)), share)
        for value, share in simulated.most_held
    ]
    held = ", ".join(f"{label} {100 * share:.2f} %" for label, share in most_held)
    command = "discover" if getattr(encoding, "kind", "") == "discovered-strings" else "estimate"
    return View(
        title=title,
        sentences=[
            title,
            f"mechanism: {mechanism!r}",
            *[f"most held (exact): {held}"] * bool(held),
            f"next: untrackable {command} {written.path}",
        ],
        listing=True,
        data=lambda: {
            "value": texts(label for label, _ in most_held),
            "share_exact": floats(share for _, share in most_held),
        },
        json=lambda: {
            "path": str(written.path),
            "people": simulated.people,
            "rounds": len(written.rounds),
            "reports": written.reports,
            "bytes": written.bytes,
            "mechanism": mechanism.to_json(),
            "encoding": None if encoding is None else encoding.to_json(),
            "turns": None if turns is None else {"rounds": turns.rounds, "share": str(turns.share)},
            "most_held_exact": [{"value": label, "share": share} for label, share in most_held],
        },
    )


@click.command(cls=PlainCommand)
@result_options("export", "plot")
@click.option("--seed", type=SEED, default=1, help="Random seed of the percentiles.")
def paper(output: ResultOutput, seed: int) -> None:
    """Recompute the paper's numbers and show both side by side.

    The paper is Naor and Vexler, "Can Two Walk Together". If a number differs, its entry in docs/errata.md is
    named. The picture has the paper's two figures. Exits with 1 if a number differs without an entry.

    Example: untrackable paper --plot figures.png
    """
    from untrackable.paper.paper import reproduce

    with progress() as show:
        reproduction = reproduce(seed, show)
    output.give(reproduction)
    if any(row.verdict == "differs" and not row.erratum for row in reproduction.rows):
        raise SystemExit(1)


@click.command(cls=PlainCommand)
@click.option("--once", is_flag=True, help="Exit when done; otherwise the collector keeps running.")
@click.option("--clients", type=Count(low=1), default=1000, help="People with a real client.")
@click.option("--simulated", type=Count(low=20_000), default=99_000, help="Simulated people.")
@click.option("--browser/--no-browser", default=True, help="Open the pages where there is a screen.")
@result_options("export", "plot")
@click.option("--seed", type=SEED, default=1, help="Random seed of the simulation.")
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
    from untrackable.demo.demo import run, steps_of
    from untrackable.serving.server import end_on_signals

    end_on_signals()
    with ExitStack() as running:
        with progress(steps_of(clients, simulated)) as show:
            outcome = running.enter_context(run(clients=clients, simulated=simulated, seed=seed, progress=show))
        output.give(outcome)
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


def has_window() -> bool:
    """Whether a browser with a window can be shown. Others would take the terminal."""
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
