"""`untrackable simulate`: the reports of a simulated population, in a file."""

from __future__ import annotations

from fractions import Fraction
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

if TYPE_CHECKING:
    from untrackable.reports.simulation import Simulated


@click.command(cls=PlainCommand)
@click.argument("mechanism")
@click.argument("parameters", nargs=-1)
@PRESET
@click.option("--out", type=NewFile(), required=True, metavar="FILE", help="Where to write.")
@click.option("--people", type=click.IntRange(min=0), show_default="all of --values", help="Number of people.")
@click.option(
    "--rounds", type=click.IntRange(1, MOST_ROUNDS), default=1, show_default=True, help="Number of rounds."
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
    rounds: int,
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
        from untrackable.theory.chance_of_answering import EVERY_ROUND

        asked = campaign_in(mechanism)
        if asked is not None:
            if parameters or preset or encoding:
                raise ValueError("a campaign says how reports are made: give no parameters, preset or encoding")
            made, meant, share = asked.mechanism, asked.encoding, asked.participation
        else:
            meant, share = read_encoding(encoding), EVERY_ROUND
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
                participation=share,
                seed=seed,
                progress=show,
            )
    if as_json:
        print_json(_as_dict(found, made, meant, share))
    else:
        _print(found, made, meant)


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


def _as_dict(found: Simulated, mechanism: Any, encoding: Any, participation: Fraction) -> dict[str, Any]:
    written = found.written
    return {
        "path": str(written.path),
        "people": found.people,
        "rounds": len(written.rounds),
        "reports": written.reports,
        "bytes": written.bytes,
        "mechanism": mechanism.to_json(),
        "encoding": None if encoding is None else encoding.to_json(),
        "participation": str(participation),
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
