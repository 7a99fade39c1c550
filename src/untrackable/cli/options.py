"""The options that several commands share, and the texts that people type for them.

Answers (`--category`, `--buckets`, …), numbers (1e6 and 1,000,000 are the same), times, rounds, mechanisms and
engines; the files of a result; and how commands show a campaign.
"""

from __future__ import annotations

import datetime
import functools
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from untrackable import strict_json
from untrackable.checks import MOST_ROUNDS
from untrackable.cli import terminal
from untrackable.planning.goal_fields import GOALS
from untrackable.protocol.wire import LAST_ROUND
from untrackable.units import read_number, read_rounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from untrackable.display.view import View
    from untrackable.encodings.encoding import Encoding

GIVEN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
PROBABILITY = click.FloatRange(0, 1)
POSITIVE = click.IntRange(min=1)
HELD_REPORTS = click.IntRange(2, MOST_ROUNDS)
SEED = click.IntRange(min=0)
ABOVE_ZERO = click.FloatRange(min=0, min_open=True)
NO_ANSWERS = (
    "give the possible answers with one of --category, --choice, --categories FILE, --buckets and --encoding JSON"
)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def several(*options: Decorator) -> Decorator:
    """Add several options to a command, in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def gathered(change: Callable[[dict[str, Any]], dict[str, Any]], *options: Decorator) -> Decorator:
    """Add several options to a command, and let `change` make its arguments of what is given."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> Any:
            return command(*args, **change(given))

        return several(*options)(run)

    return add


def was_given(name: str) -> bool:
    """Whether somebody gave this option of the command that runs."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def typed_command() -> list[str]:
    """The command that runs, as it was typed, but for where its result goes: it makes the result again."""
    context = click.get_current_context()
    words = context.command_path.split()[1:]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if parameter.name in ("as_json", *_FILES) or given is None or not was_given(parameter.name or ""):
            continue
        several_given = given if isinstance(given, tuple) else (given,)
        for value in map(str, several_given):
            words += [parameter.opts[0]] * isinstance(parameter, click.Option)
            words += [] if getattr(parameter, "is_flag", False) else [value.removesuffix(".0")]
    return words


def encoding_of(
    categories: tuple[str, ...], choices: tuple[str, ...], listed: Path | None, given: str | None
) -> Encoding | None:
    """The encoding that the options give, if any."""
    from untrackable.encodings.encoding import Categories, Choices

    if sum((bool(categories), bool(choices), listed is not None, given is not None)) > 1:
        raise ValueError(NO_ANSWERS)
    if choices:
        return Choices(names=choices)
    if listed is not None:
        with terminal.readable(listed):
            return Categories(names=strict_json.small_text(listed).splitlines())
    encoding: Encoding | None = Categories(names=categories) if categories else terminal.read_encoding(given)
    return encoding


BUCKET_OPTIONS = ("buckets", "below", "above")
"""The names of the options."""
_OUTSIDE = click.Choice(["error", "clamp", "separate"])


def bucket_options(encoding: str) -> Decorator:
    """Add the options to a command. Its argument of this name is then the encoding that they describe, as JSON."""

    def change(given: dict[str, Any]) -> dict[str, Any]:
        buckets, below, above = map(given.pop, BUCKET_OPTIONS)
        if buckets is None and (below or above):
            raise click.UsageError("--below and --above need --buckets")
        if buckets is not None:
            if given[encoding] is not None:
                raise click.UsageError("give one of --buckets and --encoding")
            given[encoding] = _as_json(buckets, below or "error", above or "error")
        return given

    return gathered(
        change,
        click.option("--buckets", metavar="RANGES", help="Numbers: 50ms:20s:14:log, or all edges."),
        click.option("--below", type=_OUTSIDE, metavar="HOW", help="Smaller ones: error, clamp, separate."),
        click.option("--above", type=_OUTSIDE, metavar="HOW", help="Larger numbers, in the same way."),
    )


def _as_json(text: str, below: Any, above: Any) -> str:
    from untrackable.encodings.numbers import buckets_from_text

    try:
        return strict_json.write(buckets_from_text(text, below=below, above=above).to_json())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--buckets") from None


def engine_options(*names: str) -> Decorator:
    """Add both options to a command that works on these engines, as its arguments `engine` and `master`."""
    help = f"{', '.join(names[:-1])} or {names[-1]}."
    return several(
        click.option("--engine", type=click.Choice(names), metavar="NAME", default="local", help=help),
        click.option("--master", metavar="URL", show_default="local[*]", help="The Spark cluster."),
    )


@contextmanager
def spark_session(engine: str, master: str | None) -> Iterator[SparkSession | None]:
    """A Spark session while the command runs; None for other engines."""
    if engine != "spark":
        if master is not None:
            raise click.UsageError("--master needs --engine spark")
        yield None
        return
    from untrackable.extras import require

    require("spark")
    from pyspark.sql import SparkSession

    address = master or "local[*]"
    session = SparkSession.builder.master(address).appName("untrackable")
    settings = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if address.startswith("local"):
        # Nobody else is served, and workers need the same packages as this process.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        session = session.config(name, value)
    try:
        running = session.getOrCreate()
    except Exception as error:  # Java may be missing or too old, or nobody may answer at this address.
        why = " ".join(str(error).split())[:200]
        raise click.ClickException(f"Spark does not start (it needs Java 17 or newer): {why}") from None
    try:
        yield running
    finally:
        running.stop()


_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FILES = {
    "plot": (terminal.NewFile(*terminal.PICTURES, extra="plots"), "Write a picture: .svg, .pdf or .png."),
    "export": (terminal.NewFile(*terminal.TABLES), "Write a table: .csv, .parquet, .arrow or .json."),
    "html": (terminal.NewFile(extra="plots"), "Write a page with charts."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOutput:
    """Where a result goes, as the options say."""

    as_json: bool
    export: Path | None = None
    plot: Path | None = None
    html: Path | None = None

    def tell(self, data: Any, *lines: str, notes: Sequence[str] = ()) -> None:
        """Print what a command did or looked up: the `data` as JSON, or lines, with notes on standard error."""
        from untrackable.display.view import View

        self.give(None, view=View(title="", sentences=lines, notes=notes, listing=True, json=lambda: data))

    def give(
        self,
        result: object,
        *,
        view: View | None = None,
        top: int = 20,
        page: Callable[[], str] | None = None,
        written: Sequence[Path] = (),
    ) -> None:
        """Write the files that were asked for, and print the `view` of a result, by default its own, or its JSON.

        Charts have `top` bars at the most, and `written` are files that were written before. A file that cannot be
        written is an error after the result was shown, so that no work is lost.
        """
        from untrackable.display.view import charts_of, view_of, write_columns
        from untrackable.errors import ReportFileError

        shown = view_of(result) if view is None else view

        def draw(path: Path) -> None:
            from untrackable.display.charts import Picture

            Picture.of(charts_of(result, top)).save(path, force=True)

        ways: dict[str, Callable[[Path], object]] = {
            "export": lambda path: write_columns(path, shown.data(), shown.about),
            "plot": draw,
        }
        if page is not None:
            ways["html"] = lambda path: terminal.write_page(path, page())
        done, problems = [*written], []
        for name, write in ways.items():
            path: Path | None = getattr(self, name)
            if path is None:
                continue
            try:
                write(path)
            except OSError as error:
                problems.append(f"cannot write {path}: {error.strerror or error}")
            except (ReportFileError, click.ClickException) as error:
                problems.append(str(error))
            else:
                done.append(path)
        if self.as_json:
            terminal.print_json(shown.to_json())
        else:
            terminal.print_view(shown)
            for path in done:
                terminal.echo(f"wrote {path}")
        if problems:
            raise click.ClickException("; ".join(problems))


def result_options(*files: Literal["export", "plot", "html"]) -> Decorator:
    """Add --json and the options for these files. The command gets them as its argument `output`."""

    def change(given: dict[str, Any]) -> dict[str, Any]:
        return given | {"output": ResultOutput(**{name: given.pop(name) for name in ("as_json", *files)})}

    options = [
        click.option(f"--{name}", type=kind, metavar="FILE", help=help)
        for name, (kind, help) in reversed(_FILES.items())
        if name in files
    ]
    return gathered(change, *options, _JSON)


ready_option = click.option(
    "--ready",
    type=click.Choice(["active-days", "retention", "people"]),
    metavar="NAME",
    help="active-days, retention or people: see above.",
)


def ready_question(
    question: str | None, ready: str | None, encoding: Encoding | None
) -> tuple[str, Encoding | None]:
    """The question and its encoding. A ready question has both, but may be put in other words."""
    if ready is None:
        if question is None:
            raise ValueError("give --question, or a question that is --ready")
        return question, encoding
    if encoding is not None:
        raise ValueError(f"--ready {ready} has its own answers; leave out --category, --categories and --encoding")
    from untrackable.encodings.days_of_use import READY_QUESTIONS

    answer = READY_QUESTIONS[ready]
    return question or answer.question, answer.encoding


PRESET = click.option("--preset", metavar="NAME", help="Use published parameters instead of your own.")


def mechanism_options(help: str) -> Decorator:
    """Add both options. The command gets `mechanism`, a function that makes it; None if it is not given."""

    def change(given: dict[str, Any]) -> dict[str, Any]:
        mechanism, preset = given["mechanism"], given.pop("preset")
        if mechanism is None:
            if preset:
                raise click.UsageError("--preset needs --mechanism")
            return given
        words = words_of(mechanism)
        return given | {"mechanism": lambda: _made(words, preset)}

    return gathered(change, click.option("--mechanism", metavar="WORDS", help=help), PRESET)


def words_of(text: str) -> list[str]:
    """The name and the parameters in the text of an option. JSON is one word."""
    if text.lstrip().startswith("{"):
        return [text]
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--mechanism") from None
    if not words:
        raise click.BadParameter("must be a mechanism, such as 'deck bits=4'", param_hint="--mechanism")
    return words


def _made(words: list[str], preset: str | None) -> Any:
    from untrackable.cli.mechanism_argument import resolve

    return resolve(words[0], words[1:], preset)


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""The seconds of each unit of time."""


def when(second: float) -> str:
    """A time for people to read, to the minute, or to the second if it is not a full minute."""
    try:
        moment = datetime.datetime.fromtimestamp(second, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{second:.0f} seconds after 1970"
    return moment.strftime("%Y-%m-%d %H:%M UTC" if not moment.second else "%Y-%m-%d %H:%M:%S UTC")


class Count(click.ParamType):  # type: ignore[type-arg]
    """A whole number, at least `low` if that is given."""

    name = "NUMBER"

    def __init__(self, low: int | None = None) -> None:
        self._low = low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = Fraction(value) if isinstance(value, int) else read_number(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if number.denominator != 1:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if self._low is not None and number < self._low:
            self.fail(f"{int(number):,} is too small: at least {self._low:,}", param, ctx)
        return int(number)


class Amount(click.ParamType):  # type: ignore[type-arg]
    """Any number."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value) if isinstance(value, (int, float)) else float(read_number(str(value)))
        except (ValueError, OverflowError) as error:
            self.fail(str(error), param, ctx)


_KINDS = {"whole": Count(), "eps": Amount(), "probability": Amount()}


def goal_option(name: str, **others: Any) -> Decorator:
    """Add the option for a goal of a plan. `others` are settings of the option that differ for this command."""
    field = GOALS[name]
    settings: dict[str, Any] = {"default": field.default, "help": field.help, "metavar": field.metavar}
    if field.kind in ("yes", "no"):
        settings |= {"is_flag": True, "flag_value": field.kind == "yes"}
    else:
        kind = click.Choice(field.words) if field.words else _KINDS.get(field.kind, click.STRING)
        settings |= {"type": kind, "show_default": field.shown or (field.default is not None and not field.words)}
    return click.option(field.option, name, **{**settings, **others})


def option_of(name: str) -> str:
    """The option for a goal, or for another argument of a command."""
    return GOALS[name].option if name in GOALS else f"--{name.replace('_', '-')}"


def goal_options(*names: str) -> Decorator:
    """Add the options for several goals, in this order."""
    return several(*map(goal_option, names))


_MOST = 1 << 20


# Elsewhere, --rounds is the number of rounds, so this option has another name.
round_options = several(
    click.option("--only-rounds", "rounds", metavar="1-7,9", help="Use the reports of these rounds."),
    click.option("--assume-round", type=POSITIVE, metavar="N", help="The round, if the file does not say."),
)
"""Two options. A command gets them as `rounds` (text, for `round_numbers`) and `assume_round`."""


def round_numbers(text: str | None) -> list[int] | None:
    """The rounds that `1-7,9` selects; None, which is all rounds, if the option is not given."""
    return None if text is None else read_rounds(text, most=_MOST, last=LAST_ROUND)


def round_length(given: str, name: str = "--every") -> int:
    """The seconds that 90s, 15m, 6h, 1d or 1w stand for."""
    parts = re.fullmatch(r"(\d{1,9})([smhdw])", given)
    if not parts:
        raise ValueError(f"{name} must be a whole number and a unit: 90s, 15m, 6h, 1d or 1w")
    return int(parts[1]) * UNITS[parts[2]]


def first_moment(given: str | None, name: str = "--first") -> int:
    """The second since 1970 at which the first round begins: the next midnight, unless a date is given."""
    if given is None:
        return (int(time.time()) // 86400 + 1) * 86400
    try:
        moment = datetime.datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{name} must be a date such as 2027-01-31, or with a time, 2027-01-31T12:00") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp())
