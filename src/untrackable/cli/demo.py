"""`untrackable demo`: collect from a simulated population, then try to follow it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from untrackable.cli.terminal import print_json, progress

_FORMATS = (".png", ".svg", ".pdf")

if TYPE_CHECKING:
    from untrackable.auditing.linking import Matched
    from untrackable.demo.collection import Outcome


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a picture to FILE."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="For the simulation.")
def demo(as_json: bool, plot: Path | None, seed: int) -> None:
    """Ask 100,000 simulated people for 20 rounds, with Deck and with RAPPOR, at the same everlasting privacy.

    Shows what the collector learns, and how often an observer matches a person's reports from home with those from
    work.

    Example: untrackable demo --plot demo.png
    """
    if plot is not None and (plot.suffix not in _FORMATS or not plot.parent.is_dir()):
        raise click.BadParameter(
            f"{plot} must end in {', '.join(_FORMATS)} and be in a folder that exists", param_hint="--plot"
        )
    from untrackable.demo.collection import run

    with progress() as told:
        outcome = run(seed, told)
    if as_json:
        print_json(_as_json(outcome))
    else:
        _print(outcome)
    if plot is not None:
        _plot(plot, outcome)
        if not as_json:
            click.echo(f"wrote {plot}")


def _plot(path: Path, outcome: Outcome) -> None:
    from untrackable.demo.figure import write

    try:
        write(path, outcome)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


def _print(outcome: Outcome) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.demo.collection import DELTA, HOMEPAGES, PEOPLE, ROUNDS

    console = Console()
    eps = outcome.rappor.privacy().pure()
    console.print(
        f"\n[bold]{PEOPLE:,} people, {ROUNDS} rounds[/bold]: which of {len(HOMEPAGES)} homepages?\n"
        f"Both mechanisms keep every answer private for ever: eps = {eps:.2f} (exact), "
        f"for Deck with delta = {DELTA:g}.\n"
    )
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        caption="│ truth, █ estimate, ╪ both; ─ and ±: no further off, 95 % for each value (upper)",
        caption_justify="left",
    )
    width = min(40, (console.width - 54) // 2) if console.width >= 76 else 0
    table.add_column("homepage", no_wrap=True)
    table.add_column("truth", justify="right", no_wrap=True)
    for title in (f"Deck, {ROUNDS} rounds pooled", f"RAPPOR, round {ROUNDS}"):
        table.add_column(title, justify="right", min_width=13)
        if width:
            table.add_column("", no_wrap=True)
    top = float(max(outcome.truth)) * 1.25
    for i, name in enumerate(HOMEPAGES):
        cells = [name, f"{outcome.truth[i]:.3f}"]
        for estimate in (outcome.deck_pooled, outcome.rappor_round):
            value, radius = float(estimate.frequencies[i]), float(estimate.radius[i])
            cells.append(f"{value:.3f} ± {radius:.3f}")
            if width:
                cells.append(_bar(value, radius, float(outcome.truth[i]), top, width))
        table.add_row(*cells)
    console.print(table)
    console.print(
        f"One round of Deck alone is off by at most {outcome.deck_round.radius[0]:.3f} (upper, 95 %); its rounds "
        "are independent and pool. RAPPOR's share one state per person and do not.\n"
    )
    console.print(
        f"[bold]Following people[/bold]: {outcome.deck_matched.people:,} people with the same homepage, "
        f"{ROUNDS // 2} reports from home and {ROUNDS // 2} from work, each matched to its likeliest counterpart:"
    )
    for name, matched in (("RAPPOR", outcome.rappor_matched), ("Deck", outcome.deck_matched)):
        console.print(f"  {name:7} {_rate(matched)}")
    console.print()


def _rate(matched: Matched) -> str:
    return f"{matched.sampled:6.1%} matched (sampled; 95 % interval {matched.lower:.1%} to {matched.upper:.1%})"


def _bar(value: float, radius: float, truth: float, top: float, width: int) -> str:
    """Truth, estimate and radius on one line of text."""

    def place(x: float) -> int:
        return min(width - 1, max(0, round(x / top * (width - 1))))

    line = [" "] * width
    for i in range(place(value - radius), place(value + radius) + 1):
        line[i] = "─"
    line[place(value)] = "█"
    line[place(truth)] = "╪" if place(truth) == place(value) else "│"
    return "".join(line)


def _as_json(outcome: Outcome) -> dict[str, object]:
    from untrackable.demo.collection import DELTA, HOMEPAGES, PEOPLE, ROUNDS

    estimates = {
        "deck_pooled": outcome.deck_pooled,
        "deck_round": outcome.deck_round,
        "rappor_round": outcome.rappor_round,
    }
    return {
        "people": PEOPLE,
        "rounds": ROUNDS,
        "everlasting_eps_exact": outcome.rappor.privacy().pure(),
        "deck_delta": DELTA,
        "mechanisms": {"deck": repr(outcome.deck), "rappor": repr(outcome.rappor)},
        "homepages": list(HOMEPAGES),
        "truth": outcome.truth.tolist(),
        "estimates": {
            name: {
                "frequencies": estimate.frequencies.tolist(),
                "radius_upper": estimate.radius.tolist(),
                "beta": estimate.beta,
                "reports": estimate.n,
            }
            for name, estimate in estimates.items()
        },
        "matched_sampled": {
            "deck": dataclasses.asdict(outcome.deck_matched),
            "rappor": dataclasses.asdict(outcome.rappor_matched),
        },
    }
