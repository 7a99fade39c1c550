"""`untrackable estimate`: how many people hold which value, with error bars, from files of reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import checks
from untrackable.cli.bucket_options import bucket_options
from untrackable.cli.engine_options import engine_options, spark_session
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.mechanism_options import mechanism_options
from untrackable.cli.progress_display import progress
from untrackable.cli.result_options import ResultOutput, result_options
from untrackable.cli.round_options import round_numbers, round_options
from untrackable.cli.terminal import one_line_errors, print_sentences, printable, read_encoding

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from rich.console import Console

    from untrackable.answers.number_summary import NumberSummary
    from untrackable.reports.file_answers import FileAnswer
    from untrackable.theory.turns import Turns

_FILE = click.Path(path_type=Path)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(cls=PlainCommand)
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many values to show.")
@click.option("--candidates", type=_FILE, metavar="FILE", help="Possible values, one per line.")
@click.option("--table", metavar="NAME", help="The table to show, of several.")
@click.option("--consistent", is_flag=True, help="Also show the nearest possible shares (biased).")
@click.option(
    "--quantile", "quantiles", type=_SHARE, multiple=True, metavar="0.9", help="Also a quantile of numbers."
)
@click.option("--beta", type=_SHARE, default=0.05, show_default=True, help="Chance that any interval misses.")
@click.option("--fdr", type=_SHARE, default=0.05, show_default=True, help="False discovery rate for `by fdr`.")
@click.option("--by-round", is_flag=True, help="Show each round, and where answers changed.")
@round_options
@engine_options("local", "cuda", "spark")
@mechanism_options("'NAME key=value …', if the file does not say.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@click.option("--turns", type=click.IntRange(min=1), metavar="ROUNDS", help="Rounds, if each person answers once.")
@click.option("--share", metavar="SHARE", help="With --turns: the share of people who have a turn.")
@result_options("export", "plot")
def estimate(
    files: tuple[str, ...],
    engine: str,
    master: str | None,
    top: int,
    candidates: Path | None,
    table: str | None,
    consistent: bool,
    quantiles: tuple[float, ...],
    beta: float,
    fdr: float,
    by_round: bool,
    rounds: str | None,
    assume_round: int | None,
    mechanism: Callable[[], Any] | None,
    encoding: str | None,
    turns: int | None,
    share: str | None,
    output: ResultOutput,
) -> None:
    """Estimate how many people hold each value, from reports.

    FILES are Parquet, Arrow, CSV or NumPy; the content says which. Reports of several files are counted together.
    Files that `untrackable simulate`, `untrackable export` or the library wrote say how their reports were made. A
    damaged or truncated file is an error: nothing is estimated from the rest of it. With Spark, FILES are Parquet.

    With --by-round, the values with the largest estimates are shown in every round, with a band that holds for all
    rounds together, and rises and falls that are certain are named. If answers are numbers, their mean, median and
    95th percentile are shown instead, and single values if --top is given. --plot, --export and --json then are by
    round as well, with everything.

    Example: untrackable estimate reports.parquet --plot answer.png
             untrackable estimate reports.parquet --by-round --plot trend.svg
    """
    with one_line_errors(*files), spark_session(engine, master) as session:
        from untrackable.reports.file_answers import estimate_files
        from untrackable.reports.summing import sum_files

        add_up: Any = sum_files
        if session is not None:
            from untrackable.engines.spark import SparkEngine

            add_up = SparkEngine(session)

        made = None if mechanism is None else mechanism()
        meant = read_encoding(encoding)
        with progress() as show:
            found = estimate_files(
                files,
                mechanism=made,
                encoding=meant,
                assume_round=assume_round,
                rounds=round_numbers(rounds),
                candidates=None if candidates is None else _candidates(candidates, files, made, meant, session),
                table=table,
                beta=beta,
                turns=_turns(turns, share),
                engine="cuda" if engine == "cuda" else "local",
                progress=show,
                add_up=add_up,
            )
        from untrackable.answers.number_summary import MEDIAN_AND_95, number_summary

        wanted = sorted({*MEDIAN_AND_95, *quantiles})
        if quantiles and (found.encoding is None or not found.encoding.ordered):
            raise ValueError("--quantile is for numbers, and these values are not")
        if by_round:
            _by_round(found, output, top, consistent, wanted, beta)
            return
    from untrackable.display.estimate_table import as_dict, export

    def data() -> dict[str, Any]:
        from untrackable.display.days_words import days_json

        about = as_dict(found, top=top, fdr=fdr, consistent=consistent, quantiles=wanted)
        return {**about, **({"days": days} if (days := days_json(found, beta)) else {})}

    numbers = number_summary(found.encoding, found.best, wanted)
    output.give(
        words=lambda: _print(found, top, fdr, consistent, numbers, beta),
        data=data,
        export=lambda path: export(path, found, consistent=consistent),
        draw=lambda path: found.plot(path, force=True, top=top),
    )


def _turns(rounds: int | None, share: str | None) -> Turns | None:
    """The turns of files that do not say them."""
    if rounds is None:
        if share is not None:
            raise ValueError("--share goes with --turns")
        return None
    from untrackable.theory.turns import Turns

    return Turns(rounds=rounds, share=checks.chance("--share", "1" if share is None else share))


def _candidates(
    path: Path, files: tuple[str, ...], mechanism: Any, encoding: Any, session: SparkSession | None
) -> list[Any]:
    """The candidates in a file, as the encoding of the reports takes them."""
    from untrackable.encodings.text_values import from_text
    from untrackable.rappor_decode.rappor_files import read_candidates
    from untrackable.reports.summing import open_file

    if session is None:
        about = open_file(files[0], mechanism=mechanism, encoding=encoding)
        mechanism, encoding = about.mechanism, about.encoding
    else:
        from untrackable.engines.spark import SparkEngine

        mechanism, encoding = SparkEngine(session).made(files, mechanism, encoding)
    listed = read_candidates(path)
    if encoding is None and mechanism.takes_strings:
        return list(listed)
    return [from_text(encoding, line) for line in listed]


def _by_round(
    found: FileAnswer, output: ResultOutput, top: int, consistent: bool, quantiles: list[float], beta: float
) -> None:
    """Everything of `estimate --by-round`."""
    from untrackable.display import estimate_table, trend_table

    trends = trend_table.trends_of(found, top=top, quantiles=quantiles, beta=beta)

    is_default = click.get_current_context().get_parameter_source("top") is click.core.ParameterSource.DEFAULT
    shown = trends._replace(shares=()) if trends.numbers and is_default else trends

    def words() -> None:
        from rich.console import Console

        console = Console(highlight=False)
        print_sentences(console, estimate_table.summary(found)[:1])
        for columns in trend_table.tables(shown, console.width):
            _print_table(console, columns)
        print_sentences(console, trend_table.sentences(shown))
        console.print()
        print_sentences(console, trend_table.notes(shown), indent="  ")
        console.print()

    def draw(path: Path) -> None:
        from untrackable.display.trend_figure import trends_picture

        trends_picture(trends).save(path, force=True)

    output.give(
        words=words,
        data=lambda: trend_table.as_dict(found, trends),
        export=lambda path: trend_table.export(path, found, trends, consistent=consistent),
        draw=draw,
    )


def _print(
    found: FileAnswer, top: int, fdr: float, consistent: bool, numbers: NumberSummary | None, beta: float
) -> None:
    from rich.console import Console
    from rich.table import Table

    from untrackable.display import days_words, estimate_table, number_words

    console = Console(highlight=False)
    print_sentences(console, estimate_table.summary(found))
    columns = estimate_table.table(found, top=top, fdr=fdr, consistent=consistent, width=console.width)
    if columns["value"]:
        _print_table(console, columns)
    rows = [] if numbers is None else number_words.number_rows(numbers)
    if rows := [*rows, *days_words.days_rows(found, beta)]:
        grid = Table.grid(padding=(0, 2, 0, 0))
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
        console.print()
    said = estimate_table.notes(found, fdr=fdr, columns=columns, top=top, numbers=numbers)
    print_sentences(console, [*said, *days_words.days_notes(found, beta)], indent="  ")
    console.print()


def _print_table(console: Console, columns: dict[str, list[str]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in columns:
        left = title in ("value", "", "over rounds")
        table.add_column(title, justify="left" if left else "right", no_wrap=title != "value", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
