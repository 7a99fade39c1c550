"""`untrackable estimate`: how many people hold which value, with error bars, from files of reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable.cli.bucket_options import bucket_options
from untrackable.cli.engine_options import engine_options, spark_session
from untrackable.cli.help_layout import PlainCommand
from untrackable.cli.round_options import round_numbers, round_options
from untrackable.cli.terminal import (
    echo,
    one_line_errors,
    print_json,
    print_sentences,
    printable,
    progress,
    read_encoding,
)
from untrackable.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from untrackable.answers.number_summary import NumberSummary
    from untrackable.reports.file_answers import FileAnswer

_FORMATS, _EXPORTS = (".png", ".svg", ".pdf"), (".csv", ".parquet", ".arrow", ".json")
_FILE = click.Path(path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command(cls=PlainCommand)
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="How many values to show.")
@click.option("--candidates", type=_FILE, metavar="FILE", help="Possible values, one per line.")
@click.option("--consistent", is_flag=True, help="Also show the nearest possible shares (biased).")
@click.option(
    "--quantile", "quantiles", type=_SHARE, multiple=True, metavar="0.9", help="Also a quantile of numbers."
)
@click.option("--beta", type=_SHARE, default=0.05, show_default=True, help="Chance that any interval misses.")
@click.option("--fdr", type=_SHARE, default=0.05, show_default=True, help="False discovery rate for `by fdr`.")
@round_options
@engine_options("local", "cuda", "spark")
@click.option("--mechanism", metavar="NAME", help="The mechanism, if the file does not say.")
@click.option(
    "--parameter", "-p", "parameters", multiple=True, metavar="KEY=VALUE", help="Parameter of --mechanism."
)
@click.option("--preset", metavar="NAME", help="Published parameters of --mechanism.")
@bucket_options("encoding")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@click.option("--participation", default="1", metavar="SHARE", help="Each person's chance of answering a round.")
@click.option("--plot", type=_OUT, metavar="FILE", help="Write a picture (.png, .svg or .pdf).")
@click.option("--export", "out", type=_OUT, metavar="FILE", help="Write all values: .csv, .parquet, .arrow, .json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def estimate(
    files: tuple[str, ...],
    engine: str,
    master: str | None,
    top: int,
    candidates: Path | None,
    consistent: bool,
    quantiles: tuple[float, ...],
    beta: float,
    fdr: float,
    rounds: str | None,
    assume_round: int | None,
    mechanism: str | None,
    parameters: tuple[str, ...],
    preset: str | None,
    encoding: str | None,
    participation: str,
    plot: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Estimate how many people hold each value, from reports.

    FILES are Parquet, Arrow, CSV or NumPy; the content says which. Reports of several files are counted together.
    Files that `untrackable simulate`, `untrackable export` or the library wrote say how their reports were made. A
    damaged or truncated file is an error: nothing is estimated from the rest of it. With Spark, FILES are Parquet.

    Example: untrackable estimate reports.parquet --plot answer.png
    """
    _check("--plot", plot, _FORMATS)
    if plot is not None:
        require("plots")
    _check("--export", out, _EXPORTS)
    if mechanism is None and (parameters or preset):
        raise click.UsageError("--parameter and --preset need --mechanism")
    with one_line_errors(), spark_session(engine, master) as session:
        from untrackable.reports.file_answers import estimate_files
        from untrackable.reports.summing import sum_files

        add_up: Any = sum_files
        if session is not None:
            from untrackable.engines.spark import SparkEngine

            add_up = SparkEngine(session)

        made = None if mechanism is None else _resolve(mechanism, parameters, preset)
        meant = read_encoding(encoding)
        with progress() as show:
            found = estimate_files(
                files,
                mechanism=made,
                encoding=meant,
                assume_round=assume_round,
                rounds=round_numbers(rounds),
                candidates=None if candidates is None else _candidates(candidates, files, made, meant, session),
                beta=beta,
                participation=participation,
                engine="cuda" if engine == "cuda" else "local",
                progress=show,
                add_up=add_up,
            )
        _write(found, plot, out, top, consistent)
        from untrackable.answers.number_summary import MEDIAN_AND_95, number_summary

        wanted = sorted({*MEDIAN_AND_95, *quantiles})
        if quantiles and (found.encoding is None or not found.encoding.ordered):
            raise ValueError("--quantile is for numbers, and these values are not")
    if as_json:
        from untrackable.display.estimate_table import as_dict

        print_json(as_dict(found, top=top, fdr=fdr, consistent=consistent, quantiles=wanted))
        return
    _print(found, top, fdr, consistent, number_summary(found.encoding, found.best, wanted))
    for path in (plot, out):
        if path is not None:
            echo(f"wrote {path}")


def _check(option: str, path: Path | None, endings: tuple[str, ...]) -> None:
    if path is not None and (path.suffix not in endings or not path.parent.is_dir()):
        raise click.BadParameter(
            f"{path} must end in one of {', '.join(endings)} and be in a folder that exists", param_hint=option
        )


def _resolve(name: str, parameters: tuple[str, ...], preset: str | None) -> Any:
    from untrackable.cli.mechanism_argument import resolve

    return resolve(name, parameters, preset)


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


def _write(found: FileAnswer, plot: Path | None, out: Path | None, top: int, consistent: bool) -> None:
    if out is not None:
        from untrackable.display.estimate_table import export

        export(out, found, consistent=consistent)
    if plot is not None:
        from untrackable.display.estimate_figure import write

        try:
            write(plot, found, top=top)
        except OSError as error:
            raise click.ClickException(f"cannot write {plot}: {error.strerror}") from None


def _print(found: FileAnswer, top: int, fdr: float, consistent: bool, numbers: NumberSummary | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from untrackable.display import estimate_table, number_words

    console = Console(highlight=False)
    print_sentences(console, estimate_table.summary(found))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    columns = estimate_table.table(found, top=top, fdr=fdr, consistent=consistent, width=console.width)
    for title in columns:
        left = title in ("value", "", "over rounds")
        table.add_column(title, justify="left" if left else "right", no_wrap=title != "value", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
    if numbers is not None and (rows := number_words.number_rows(numbers)):
        grid = Table.grid(padding=(0, 2, 0, 0))
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
        console.print()
    print_sentences(console, estimate_table.notes(found, fdr=fdr, numbers=numbers), indent="  ")
    console.print()
