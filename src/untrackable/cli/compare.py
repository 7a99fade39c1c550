"""`untrackable compare`: all mechanisms at the same everlasting privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from untrackable.checks import MOST_ROUNDS
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.terminal import one_line_errors
from untrackable.cli.typed_numbers import Count

if TYPE_CHECKING:
    from untrackable.auditing.comparison import Comparison


@click.command(cls=PlainCommand)
@click.option("--eps", type=float, default=2.0, show_default=True, help="Privacy of all reports ever sent.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Probability that eps or gamma fails.")
@click.option(
    "--values", type=click.IntRange(2, 4096), default=16, show_default=True, help="Number of possible answers."
)
@click.option(
    "--reports",
    type=click.IntRange(2, MOST_ROUNDS),
    default=20,
    show_default=True,
    help="Rounds, which the observer sees.",
)
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
@result_options("export", "plot", "html")
def compare(
    eps: float,
    delta: float,
    values: int,
    reports: int,
    people: int,
    crowd: int,
    output: ResultOutput,
) -> None:
    """Compare all mechanisms at the same level of privacy.

    Sets every mechanism so that all reports ever sent have the same eps and delta. Lists the mechanisms,
    the hardest to follow first, with the error of their estimates. The first row is one turn: each person answers
    once, in a secret round. People who answer every round are recognised by that alone, whatever the mechanism.

    Example: untrackable compare --eps 1 --reports 30 --html compare.html
             untrackable compare --values 2 --eps 8 --reports 12
    """
    with one_line_errors():
        from untrackable.auditing.comparison import compare as rank
        from untrackable.display import comparison_words
        from untrackable.display.notebook_columns import columns_of
        from untrackable.display.numbers import as_dict

        with progress() as show:
            found = rank(
                values=values,
                eps=eps,
                delta=delta,
                reports=reports,
                people=people,
                crowd=crowd,
                progress=lambda what, done: show("comparing", done),
            )

    def page() -> str:
        from untrackable.display.audit_page import comparison_page

        again = ["compare", "--eps", f"{eps:g}", "--delta", f"{delta:g}", "--values", str(values)]
        again += ["--reports", str(reports), "--people", str(people), "--crowd", str(crowd)]
        return comparison_page(found, again)

    output.give(
        words=lambda: _print(found),
        data=lambda: {"verdict": comparison_words.verdict(found), **as_dict(found)},
        columns=lambda: columns_of(found),
        draw=lambda path: found.plot(path, force=True),
        page=page,
    )


def _print(found: Comparison) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from untrackable.display import comparison_words

    console = Console(highlight=False)
    first, *others = comparison_words.verdict(found)
    console.print(f"\n[bold]{first}[/bold]")
    for sentence in others:
        console.print(sentence)
    console.print()
    keep = [0, 1, 3, 8, 12] if console.width < 130 else [0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12]
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 2, 0, 0),
        show_edge=False,
        caption="Numbers are exact, or upper where marked ≤. Recognised: by reports, then by attendance too. "
        "Error: the standard error for a value that nobody holds (RAPPOR: for equally frequent values; one turn: "
        f"for a share of {100 * found.share:g} %, the sample included). "
        "* Private for these rounds only.",
        caption_justify="left",
    )
    columns = comparison_words.columns(found)
    for i in keep:
        table.add_column(columns[i], justify="left" if i == 0 else "right", no_wrap=i == 0, overflow="fold")
    for row in found.rows:
        cells = comparison_words.cells(row)
        table.add_row(*(cells[i] for i in keep))
    console.print(table)
    for name, why in found.left_out.items():
        console.print(f"[dim]{name} is left out: {why}[/dim]")
