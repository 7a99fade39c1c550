"""`untrackable simulate`: the reports of a simulated population, in a file.

`untrackable paper`: the paper's numbers beside ours.

`untrackable demo`: the whole system at work on this machine, and an observer who tries to follow its people.
"""

from __future__ import annotations

import dataclasses
import math
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
from untrackable.cli.terminal import NewFile, PlainCommand, one_line_errors, print_lines, progress, read_encoding

if TYPE_CHECKING:
    from untrackable.brackets import Bracket
    from untrackable.demo.demo import Collected, DemoResult, Learned
    from untrackable.display.view import Table, View
    from untrackable.paper.paper import PaperStatement, Reproduction
    from untrackable.protocol.campaign import Campaign
    from untrackable.reports.simulation import Simulated
    from untrackable.theory.accuracy import Matched
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
    view = _simulated_view(found, made, meant, turns)
    output.give(view, words=lambda: print_lines(view))


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


def _simulated_view(found: Simulated, mechanism: Any, encoding: Any, turns: Turns | None) -> View:
    """What was written, and the command that reads it."""
    from untrackable.display.view import View, floats, texts

    written = found.written
    size = written.bytes / max(1, written.reports)
    title = (
        f"wrote {written.path}: {written.reports:,} reports of {found.people:,} people in {len(written.rounds):,} "
        f"round{'' if len(written.rounds) == 1 else 's'}, {written.bytes:,} bytes ({size:.2f} a report)"
    )
    most_held = [(_label(encoding, value), share) for value, share in found.most_held]
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
        tables=[],
        data=lambda: {
            "value": texts(label for label, _ in most_held),
            "share_exact": floats(share for _, share in most_held),
        },
        json=lambda: {
            "path": str(written.path),
            "people": found.people,
            "rounds": len(written.rounds),
            "reports": written.reports,
            "bytes": written.bytes,
            "mechanism": mechanism.to_json(),
            "encoding": None if encoding is None else encoding.to_json(),
            "turns": None if turns is None else {"rounds": turns.rounds, "share": str(turns.share)},
            "most_held_exact": [{"value": label, "share": share} for label, share in most_held],
        },
    )


def _label(encoding: Any, value: Any) -> str:
    return str(value) if encoding is None or isinstance(value, str) else str(encoding.label(value))


def _old_plots(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError("--plots DIR is now --plot FILE: one picture with both figures")


@click.command(cls=PlainCommand)
@click.option("--plots", hidden=True, expose_value=False, callback=_old_plots, help="Now --plot.")
@result_options("export", "plot")
@click.option("--seed", type=SEED, default=1, help="Random seed of the percentiles.")
def paper(output: ResultOutput, seed: int) -> None:
    """Recompute the paper's numbers and show both side by side.

    The paper is Naor and Vexler, "Can Two Walk Together". If a number differs, its entry in docs/errata.md is
    named. The picture has the paper's two figures. Exits with 1 if a number differs without an entry.

    Example: untrackable paper --plot figures.png
    """
    from untrackable.paper.paper import paper_charts, reproduce

    with progress() as show:
        found = reproduce(seed, show)
    output.give(_paper_view(found), charts=lambda: paper_charts(found.points))
    if any(row.verdict == "differs" and not row.erratum for row in found.rows):
        raise SystemExit(1)


def _paper_view(found: Reproduction) -> View:
    """All numbers of the paper beside ours, and below them the percentiles point by point."""
    from untrackable.display.view import Table, View

    by_statement = {row.statement: row for row in found.rows}
    percentiles = {row.statement for row in found.rows if row.section.endswith("τ") and " for " in row.statement}
    statements = Table(
        ("section", "statement", "published", "ours", "is", "verdict"),
        [
            (row.section, row.statement, row.published, row.ours, row.kind, _verdict(row))
            for row in found.rows
            if row.statement not in percentiles
        ],
        grouped=True,
    )
    rows = []
    for point in found.points:
        name = "median" if point.level == 0.5 else "90th percentile"
        cells = (
            str(point.reports),
            f"{point.level:.0%}",
            f"{_five(point.plotted[1])} – {_five(point.plotted[2])}",
            _short(point.signed),
            _short(point.absolute),
            f"{_five(point.sampled.lower)} – {_five(point.sampled.upper)}",
        )
        rows.append((*cells, _verdict(by_statement[f"{name} for {point.reports} reports"])))
    points = Table(
        ("k", "at", "published", "signed", "absolute", "sampled", "verdict"),
        rows,
        "RAPPOR, percentiles of τ, point by point: k reports; published and sampled are 95 % intervals of 10,000 "
        "draws; signed and absolute are the true quantiles, known to the given ±; the verdict is on published "
        "against signed",
        narrow=(0, 1, 2, 3, 4, 6),
        wide=range(7),
        wide_from=78,
    )
    differing = sum(row.verdict == "differs" for row in found.rows)
    title = f"{len(found.rows) - differing} pass, {differing} differ"
    names = [field.name for field in dataclasses.fields(found.rows[0])]
    return View(
        title=title,
        sentences=[f"{title}; each difference is explained in docs/errata.md under its number."],
        tables=[statements, points],
        data=lambda: {name: [getattr(row, name) for row in found.rows] for name in names},
        json=lambda: {
            "rows": [dataclasses.asdict(row) for row in found.rows],
            "percentiles": [dataclasses.asdict(point) for point in found.points],
        },
    )


def _short(bracket: Bracket) -> str:
    middle = _five((bracket.lower + bracket.upper) / 2)
    return middle if bracket.certainty == "exact" else f"{middle} ±{math.ceil(500 * bracket.width) / 1000:.3f}"


def _five(number: float) -> str:
    """Five characters, whatever the size."""
    return f"{number:.3f}" if number < 9.9995 else f"{number:.2f}"


def _verdict(row: PaperStatement) -> str:
    return "pass" if row.verdict == "pass" else f"differs {row.erratum}"


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
    from untrackable.demo.demo import demo_charts, run, steps_of
    from untrackable.serving.server import end_on_signals

    end_on_signals()
    with ExitStack() as running:
        with progress(steps_of(clients, simulated)) as show:
            outcome = running.enter_context(run(clients=clients, simulated=simulated, seed=seed, progress=show))
        output.give(_demo_view(outcome), charts=lambda: demo_charts(outcome))
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


def _outcome_columns(outcome: DemoResult) -> dict[str, list[Any]]:
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


def _demo_view(outcome: DemoResult) -> View:
    """What the collector learns beside the truth, and how many people an observer follows."""
    from untrackable.demo.demo import LINKED, WEEKS
    from untrackable.display.view import Table, View
    from untrackable.theory.turns import recognition_upper

    followed = [
        (name, "no two to match" if by_reports is None else _rate(by_reports), _rate(by_attendance))
        for name, by_reports, by_attendance in outcome.followed
    ]
    title = f"{outcome.directly.people:,} people, {WEEKS} weeks"
    return View(
        title=title,
        sentences=[
            *_learned_sentences(outcome, title),
            f"Can people be followed? {LINKED:,} people with the same homepage are at home in half of the {WEEKS} "
            "weeks, and else at work. An observer matches those seen at home with those seen at work. A guess is "
            f"right for {_share(1 / LINKED)} of them. Shares are sampled; 95 % intervals are in brackets.",
        ],
        tables=[_learned_table(outcome), Table(("matched", "by their reports", "by attendance alone"), followed)],
        data=lambda: _outcome_columns(outcome),
        notes=[
            "Attendance is when somebody answers, and from where. Nobody answers one week from two places. So "
            "answering every week gives people away, whatever the reports say. One turn only tells who somebody is "
            f"not, and finds hardly anybody: {_share(recognition_upper(LINKED))} at most (upper), however people "
            "move, for an observer who does not know their habits."
        ],
        json=lambda: _as_json(outcome),
    )


def _learned_sentences(outcome: DemoResult, title: str) -> list[str]:
    from untrackable.brackets import at_most
    from untrackable.demo.demo import HOMEPAGES, WEEKS, promised_crowd

    directly, relayed = outcome.directly, outcome.relayed
    eps, crowd = directly.campaign.guarantee.eps, promised_crowd(relayed.people)
    week = directly.spans["week"]
    return [
        f"{title}: which of {len(HOMEPAGES)} homepages is yours?",
        "Each person answers once, in a week that their device draws in secret. Nothing is sent in other weeks.",
        f"- directly: nobody is trusted. {directly.clients:,} people have a client that sends over HTTP; the "
        f"others are simulated. {_counted(directly)} All that a person ever sends has eps = {eps:g} and delta = 0 "
        f"(upper): it changes the odds between two answers by a factor of {at_most(math.exp(eps), 2)} at most.",
        f"- through a relay: the same noise, and so the same error ({relayed.clients} real clients). "
        f"{_counted(relayed)} What changes is the collector's view. It does not know who sent which of a week's "
        f"reports: eps = {at_most(crowd.eps, 2)}, delta = {crowd.delta:g}, among {crowd.reports:,} reports or more "
        f"(upper). If it worked with the relay, eps = {eps:g} would be left.",
        f"{week.reports:,} people answered in the last week, one in {WEEKS} of those who were active. So "
        f"{week.active['lower']:,.0f} to {week.active['upper']:,.0f} were active "
        f"({100 * (1 - week.active['beta']):g} %, upper); in truth {directly.people:,}.",
    ]


def _learned_table(outcome: DemoResult) -> Table:
    """The interval of each homepage, of more and more weeks, beside the truth."""
    from untrackable.demo.demo import HOMEPAGES
    from untrackable.display.view import Table

    week, quarter, year = outcome.directly.spans.values()
    columns = {
        "truth now": [f"{100 * share:.1f}" for share in quarter.truth],
        "the last week": _intervals(week),
        "the last quarter": _intervals(quarter),
        "truth all year": [f"{100 * share:.1f}" for share in year.truth],
        "all year, directly": _intervals(year),
        "all year, relayed": _intervals(outcome.relayed.spans["year"]),
        f"all year, {outcome.few.people:,} people": _intervals(outcome.few.spans["year"]),
    }
    return Table(
        ("homepage", *columns),
        list(zip(HOMEPAGES, *columns.values(), strict=True)),
        f"In percent. All {len(HOMEPAGES)} intervals of a column hold at once with {100 * (1 - week.beta):g} % "
        "(upper)",
    )


def _counted(collected: Collected) -> str:
    counted = collected.spans["year"].reports
    return f"The collector accepted {collected.accepted:,} reports and counted {counted:,}."


def _intervals(learned: Learned) -> list[str]:
    """The interval of each homepage, in percent."""
    rows = (learned.values[value] for value in sorted(learned.values))
    return [f"{100 * row['lower']:.1f}–{100 * row['upper']:.1f}" for row in rows]


def _rate(matched: Matched) -> str:
    share, lower, upper = (_share(end) for end in (matched.sampled, matched.lower, matched.upper))
    return f"{share:>6} ({lower.removesuffix(' %')} to {upper.removesuffix(' %')})"


def _share(share: float) -> str:
    digits = 3 if share >= 0.1 else 2
    return f"{100 * share:.{digits}g} %" if share >= 1e-3 else f"{100 * share:.2f} %"


def _as_json(outcome: DemoResult) -> dict[str, object]:
    from untrackable.demo.demo import LINKED, WEEKS
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
