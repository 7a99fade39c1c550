"""`untrackable simulate`: the reports of a simulated population, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.checks import MOST_ROUNDS
from untrackable.cli.bucket_options import bucket_options
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.mechanism_options import PRESET
from untrackable.cli.new_file import NewFile
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import JSON
from untrackable.cli.terminal import echo, one_line_errors, print_json, read_encoding
from untrackable.cli.typed_numbers import Count

if TYPE_CHECKING:
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
@click.option("--values", default="zipf:1.3", show_default=True, metavar="WHAT", help="What they hold: see above.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON", help="What values mean, as JSON or a JSON file.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed gives the same file."
)
@JSON
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
    as_json: bool,
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
        from untrackable.reports.population import population
        from untrackable.reports.simulation import simulate_file

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
            found = simulate_file(
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
    if as_json:
        print_json(_as_dict(found, made, meant, turns))
    else:
        _print(found, made, meant)


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
    from untrackable.encodings.discovered_strings import DiscoveredStrings
    from untrackable.mechanisms.demands import Budget

    if isinstance(encoding, DiscoveredStrings) and ":" not in name:
        if preset is not None:
            raise ValueError("strings to be discovered have no preset")
        return resolve_strings(name, parameters, encoding)
    asked = {} if encoding is None else {"values": max(2, encoding.values)}
    wanted = not parameters and preset is None and ":" not in name
    goal = Budget(**asked, reports=max(2, rounds), people=max(1, people or 1)) if wanted else None
    return resolve(name, parameters, preset, goal)


def _as_dict(found: Simulated, mechanism: Any, encoding: Any, turns: Turns | None) -> dict[str, Any]:
    written = found.written
    return {
        "path": str(written.path),
        "people": found.people,
        "rounds": len(written.rounds),
        "reports": written.reports,
        "bytes": written.bytes,
        "mechanism": mechanism.to_json(),
        "encoding": None if encoding is None else encoding.to_json(),
        "turns": None if turns is None else {"rounds": turns.rounds, "share": str(turns.share)},
        "most_held_exact": [{"value": _label(encoding, value), "share": share} for value, share in found.most_held],
    }


def _print(found: Simulated, mechanism: Any, encoding: Any) -> None:
    written = found.written
    size = written.bytes / max(1, written.reports)
    echo(
        f"wrote {written.path}: {written.reports:,} reports of {found.people:,} people in {len(written.rounds):,} "
        f"round{'' if len(written.rounds) == 1 else 's'}, {written.bytes:,} bytes ({size:.2f} a report)"
    )
    echo(f"mechanism: {mechanism!r}")
    if found.most_held:
        held = ", ".join(f"{_label(encoding, value)} {100 * share:.2f} %" for value, share in found.most_held)
        echo(f"most held (exact): {held}")
    command = "discover" if getattr(encoding, "kind", "") == "discovered-strings" else "estimate"
    echo(f"next: untrackable {command} {written.path}")


def _label(encoding: Any, value: Any) -> str:
    return str(value) if encoding is None or isinstance(value, str) else str(encoding.label(value))
