"""`untrackable estimate`: how many people hold which value, with error bars, from files of reports.

`untrackable discover`: the strings that many people hold, from files of reports.

`untrackable rappor-decode`: the strings behind counts that google/rappor collected.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import checks
from untrackable.cli import options
from untrackable.cli.terminal import PlainCommand, one_line_errors, progress, read_encoding

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from untrackable.reports.sums import FileAnswer
    from untrackable.theory.turns import Turns


_FILE = click.Path(path_type=Path)


@click.command(cls=PlainCommand)
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option("--top", type=options.POSITIVE, default=20, help="How many values to show.")
@click.option("--candidates", type=_FILE, metavar="FILE", help="Possible values, one per line.")
@click.option("--table", metavar="NAME", help="The table to show, of several.")
@click.option("--consistent", is_flag=True, help="Also show the nearest possible shares (biased).")
@click.option(
    "--quantile", "quantiles", type=options.SHARE, multiple=True, metavar="0.9", help="Also a quantile of numbers."
)
@click.option("--beta", type=options.SHARE, default=0.05, help="Chance that any interval misses.")
@click.option("--fdr", type=options.SHARE, default=0.05, help="False discovery rate for `by fdr`.")
@click.option("--by-round", is_flag=True, help="Show each round, and where answers changed.")
@options.round_options
@options.engine_options("local", "cuda", "spark")
@options.mechanism_options("'NAME key=value …', if the file does not say.")
@options.bucket_options("encoding")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@click.option("--turns", type=options.POSITIVE, metavar="ROUNDS", help="Rounds, if each person answers once.")
@click.option("--share", metavar="SHARE", help="With --turns: the share of people who have a turn.")
@options.result_options("export", "plot")
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
    output: options.ResultOutput,
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
    with one_line_errors(*files), options.spark_session(engine, master) as session:
        from untrackable.reports.sums import estimate_files

        made = None if mechanism is None else mechanism()
        meant = read_encoding(encoding)
        with progress() as show:
            answer = estimate_files(
                files,
                mechanism=made,
                encoding=meant,
                assume_round=assume_round,
                rounds=options.round_numbers(rounds),
                candidates=None if candidates is None else _candidates(candidates, files, made, meant, session),
                table=table,
                beta=beta,
                turns=_turns(turns, share),
                engine="cuda" if engine == "cuda" else "local",
                progress=show,
                add_up=_adding_up(session),
            )
        from untrackable.answers.answer import MEDIAN_AND_95

        wanted = sorted({*MEDIAN_AND_95, *quantiles})
        if quantiles and (answer.encoding is None or not answer.encoding.ordered):
            raise ValueError("--quantile is for numbers, and these values are not")
        shown: dict[str, Any] = {"top": top, "quantiles": wanted, "beta": beta, "consistent": consistent}
        if by_round:
            _give_by_round(answer, output, **shown)
            return
    from untrackable.display.estimate import answer_view

    output.give(answer, view=answer_view(answer, fdr=fdr, **shown), top=top)


def _give_by_round(
    answer: FileAnswer,
    output: options.ResultOutput,
    *,
    top: int,
    quantiles: list[float],
    beta: float,
    consistent: bool,
) -> None:
    """Everything of `estimate --by-round`. Of numbers, single values are printed only if --top is given."""
    from untrackable.display.trend import rounds_view, trends_of

    trends = trends_of(answer, top=top, quantiles=quantiles, beta=beta)
    printed = trends._replace(shares=()) if trends.numbers and not options.was_given("top") else trends
    view = rounds_view(answer, trends, printed, consistent=consistent)
    output.give(trends, view=view)


def _adding_up(session: SparkSession | None) -> Any:
    """The function that adds reports up: on this machine, or on Spark."""
    if session is None:
        from untrackable.reports.sums import sum_files

        return sum_files
    from untrackable.engines.spark import SparkEngine

    return SparkEngine(session)


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
    from untrackable.encodings.encoding import from_text
    from untrackable.rappor_decode.files import read_candidates
    from untrackable.reports.sums import open_file

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


_BYTES_PER_SECOND = 26e6
"""About how fast files are read, on one core."""


@click.command(cls=PlainCommand)
@click.argument("files", type=click.Path(), nargs=-1, required=True)
@click.option("--alpha", type=options.SHARE, default=0.05, help="Chance that any string found is false.")
@click.option("--leads", type=click.IntRange(min=0), default=5, help="Uncertain strings to show.")
@click.option("--beam", type=click.IntRange(min=1, max=1 << 20), default=4096, help="Prefixes kept at each length.")
@options.round_options
@options.engine_options("local", "cuda", "spark")
@click.option("--encoding", metavar="JSON", help="What values mean, if the file does not say.")
@options.result_options("export", "plot")
def discover(
    files: tuple[str, ...],
    engine: str,
    master: str | None,
    beam: int,
    rounds: str | None,
    assume_round: int | None,
    encoding: str | None,
    output: options.ResultOutput,
    **asked: Any,
) -> None:
    """Find strings that many people hold, without a list.

    FILES are Parquet, Arrow, CSV or NumPy files of reports about strings, and say how these were made. Reports of
    several files are counted together.

    Example: untrackable discover reports.parquet --alpha 0.01
             untrackable discover reports.parquet --plot found.svg
    """
    with one_line_errors(*files), options.spark_session(engine, master) as session:
        from untrackable.reports.sums import discover_files

        meant = read_encoding(encoding)
        with progress({} if session is not None else _steps(files, meant, assume_round, beam)) as show:
            strings = discover_files(
                files,
                encoding=meant,
                assume_round=assume_round,
                rounds=options.round_numbers(rounds),
                beam=beam,
                **asked,
                engine="cuda" if engine == "cuda" else "local",
                progress=show,
                add_up=_adding_up(session),
            )
    output.give(strings)


def _steps(files: tuple[str, ...], encoding: Any, assume_round: int | None, beam: int) -> dict[str, float]:
    """The steps, with about as many seconds as they take on one core."""
    from untrackable.discovery.discovery import search_seconds
    from untrackable.encodings.strings import DiscoveredStrings
    from untrackable.reports.sums import open_file

    opened = [open_file(file, encoding=encoding, assume_round=assume_round) for file in files]
    strings = opened[0].encoding
    if not isinstance(strings, DiscoveredStrings):
        return {}
    sizes = sum(Path(file).stat().st_size for file in files)
    return {"reading": sizes / _BYTES_PER_SECOND, "searching": search_seconds(strings, beam)}


_SHOWN = 40
"""How many strings the picture has."""


@click.command("rappor-decode", cls=PlainCommand)
@click.argument("params", type=_FILE)
@click.argument("counts", type=_FILE)
@click.argument("map_file", metavar="[MAP]", type=_FILE, required=False)
@click.option("--candidates", type=_FILE, metavar="FILE", help="Candidate strings, one per line, instead of MAP.")
@click.option("--reports", "from_reports", is_flag=True, help="COUNTS is a file of single reports.")
@click.option("--alpha", type=options.SHARE, default=0.05, help="Chance that any string found is false.")
@click.option("--fdr", is_flag=True, help="Let --alpha be the expected share of false strings.")
@click.option("--complete", is_flag=True, help="Assume that everyone holds one of the candidates.")
@click.option("--level", type=options.SHARE, default=0.95, help="Confidence of each interval.")
@options.result_options("export", "plot")
def rappor_decode(
    params: Path,
    counts: Path,
    map_file: Path | None,
    candidates: Path | None,
    from_reports: bool,
    fdr: bool,
    complete: bool,
    output: options.ResultOutput,
    **asked: Any,
) -> None:
    r"""Find the strings behind data that RAPPOR collected.

    Says which of the candidate strings people hold, and how many people hold each. PARAMS, COUNTS and MAP are
    google/rappor's params.csv, counts.csv and map.csv. Without MAP, the candidates are hashed as its clients do.

    Example: untrackable rappor-decode params.csv counts.csv \
                 --candidates words.txt --plot found.png
    """
    if (map_file is None) == (candidates is None):
        raise click.UsageError("give either MAP or --candidates FILE")
    from untrackable.rappor_decode.decode import decode, decoding_seconds
    from untrackable.rappor_decode.files import (
        CandidateMap,
        read_candidates,
        read_counts,
        read_map,
        read_params,
        read_reports,
    )

    with one_line_errors(params, counts):
        mechanism = read_params(params)
        listed = read_map(map_file, mechanism) if map_file else read_candidates(candidates or Path())
        counted = None if from_reports else read_counts(counts, mechanism)
        many = len(listed.names if isinstance(listed, CandidateMap) else listed)
        with progress(decoding_seconds(mechanism, many, counts if counted is None else counted.total)) as show:
            decoded = decode(
                mechanism,
                read_reports(counts, mechanism, progress=show) if counted is None else counted,
                listed,
                correction="fdr" if fdr else "bonferroni",
                unlisted=not complete,
                progress=show,
                **asked,
            )
    output.give(decoded, top=_SHOWN)
