"""What all commands do on a terminal: show help, read and write files, print, report errors, and show progress.

Files that exist are never replaced, unless --force says so. An error about a file of the wrong kind says which
command reads it. Text from outside cannot act on the terminal.
"""

from __future__ import annotations

import importlib
import inspect
import io
import math
import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from untrackable import strict_json
from untrackable.early_interrupts import INTERRUPTED, raise_interrupts, settle_interrupt
from untrackable.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from untrackable.display.view import Table, View
    from untrackable.progress import Progress


def print_json(data: Any) -> None:
    """Print valid JSON: numbers that it cannot say become strings; what would act on a terminal is escaped."""
    for line in strict_json.write(strict_json.finite(data), indent=2).split("\n"):
        click.echo(_with_escapes(line, lambda mark: strict_json.write(mark, ascii=True)[1:-1]))


def print_sentences(console: Console, sentences: Sequence[str], indent: str = "", style: str = "") -> None:
    """Print sentences around a table: whole lines into a pipe, wrapped and indented lines on a terminal."""
    for sentence in map(printable, sentences):
        lines = [indent + sentence]
        if console.is_terminal:
            lines = textwrap.wrap(
                sentence,
                console.width,
                initial_indent=indent,
                subsequent_indent=indent + "  ",
                break_on_hyphens=False,
            )
        for line in lines or [""]:
            console.print(line, soft_wrap=True, markup=False, style=style)


def print_view(view: View) -> None:
    """Print the sentences of a view, the first in bold letters, its tables, notes, and commands to type next."""
    if view.listing:
        for line in view.sentences:
            echo(line)
        for note in view.notes:
            echo(note, err=True)
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print()
    print_sentences(console, view.sentences[:1], style="bold")
    print_sentences(console, view.sentences[1:])
    for table in view.tables:
        if table.rows:
            print_table(console, table)
    if view.notes:
        console.print()
        print_sentences(console, view.notes, indent="  ")
    if view.commands:
        console.print("\nNext:")
    for line in (line for words in view.commands for line in _broken(words, console.width)):
        console.print(printable(line), markup=False, soft_wrap=True)


def _broken(words: Sequence[str], width: int) -> list[str]:
    """A command in lines that are no longer than the terminal is wide."""
    lines = [f"  {words[0]}"]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def print_table(console: Console, shown: Table) -> None:
    """Print a table: texts stand left and numbers right. What does not fit is left out, or follows."""
    from rich import box
    from rich import table as rich_table
    from rich.text import Text

    for columns in parts(shown, console.width):
        table = rich_table.Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, caption_justify="left")
        table.show_header = any(shown.headings)
        table.caption = Text(f"{shown.caption}.") if shown.caption else None
        for i, place in enumerate(columns):
            numbers = any(any(mark.isdigit() for mark in row[place]) for row in shown.rows)
            sentences = any(len(row[place]) > _LONG_CELL for row in shown.rows)
            table.add_column(
                printable(shown.headings[place]),
                justify="left" if i == 0 or sentences or not numbers else "right",
                overflow="fold",
                no_wrap=shown.grouped and 0 < i < 3,
            )
        heading = ""
        for row in shown.rows:
            if shown.grouped and row[0] != heading:
                heading = row[0]
                table.add_row(Text(heading, style="bold"))
            cells = [printable(row[place]) for place in columns]
            table.add_row(*(Text("  " * (shown.grouped and not i) + cell) for i, cell in enumerate(cells)))
        console.print()
        console.print(table)
    seen = {shown.headings[place] for place in columns}
    if told := [words for heading, words in shown.told.items() if heading in seen]:
        console.print()
        print_sentences(console, told, indent="  ")


def parts(shown: Table, width: int) -> Iterator[list[int]]:
    """The columns of each part that is printed, as they fit the width."""
    words = [max(heading.split(), key=len, default="") for heading in shown.headings]
    sizes = [2 + min(_LONG_CELL, max(map(len, cells))) for cells in zip(words, *shown.rows, strict=True)]
    kept = list(range(int(shown.grouped), len(sizes)))
    for place in shown.spare:
        if sum(sizes[each] for each in kept) > width:
            kept.remove(place)
    first = shown.first or len(kept)
    part = kept[:first]
    for place in kept[first:]:
        if len(part) > first and sum(sizes[each] for each in (*part, place)) > width:
            yield part
            part = kept[:first]
        part.append(place)
    yield part


_LONG_CELL = 30
"""Cells with more letters are sentences."""


def printable(text: str) -> str:
    """Text from a campaign, a file or a server for a terminal: what would act on the terminal is escaped."""
    return _with_escapes(text, lambda mark: mark.encode("unicode_escape").decode("ascii"))


def _with_escapes(text: str, escaped: Callable[[str], str]) -> str:
    from untrackable.encodings.encoding import hidden_places

    hidden = set(hidden_places(text))
    return "".join(escaped(mark) if place in hidden else mark for place, mark in enumerate(text))


def echo(text: str, *, err: bool = False) -> None:
    """Print one line that has text from outside in it: it stays one line, whatever that text is."""
    click.echo(printable(text), err=err)


@contextmanager
def one_line_errors(*tables: str | Path) -> Iterator[None]:
    """Print an error of the library as one line and end the command, instead of a traceback.

    If one of the `tables` that were given is something else, the line says what.
    """
    from untrackable.errors import UntrackableError

    try:
        yield
    except (UntrackableError, ValueError, TypeError) as error:
        wrong = next((words for table in tables if (words := wrong_kind(table, "table"))), None)
        raise click.ClickException(wrong or str(error)) from None


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from None


_BROKEN_PIPE_STATUS = 128 + 13
"""The status of a program that a broken pipe ended, as shells say it."""


class BrokenPipeOutput(io.TextIOWrapper):
    """Standard output that ends the program quietly when nobody reads it any more, as after `| head`."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            self._end()

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._end()

    def _end(self) -> NoReturn:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # or what is left would be written on leaving
        sys.exit(_BROKEN_PIPE_STATUS)


def end_quietly_on_broken_pipe(stream: Any) -> Any:
    """Standard output as `BrokenPipeOutput`, if it is an ordinary stream."""
    if type(stream) is not io.TextIOWrapper:
        return stream
    encoding, errors, eager = stream.encoding, stream.errors, stream.line_buffering
    return BrokenPipeOutput(stream.detach(), encoding=encoding, errors=errors, line_buffering=eager)


_FORCE = "untrackable.force"

PICTURES = (".svg", ".pdf", ".png")
"""Endings of the pictures that can be written."""
TABLES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the tables that can be written."""


class NewFile(click.Path):
    """A file to write, refused before any work is done if it cannot be written.

    Its name must end in one of the `endings`, if there are any, and packages of `extra` must be installed.
    `PlainCommand` gives --force to each command that has such a file.
    """

    def __init__(self, *endings: str, extra: str | None = None) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.endings, self._extra = endings, extra

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, if nothing is lost by writing there. A device or a pipe loses nothing."""
        path = Path(str(super().convert(value, param, ctx)))
        if self.endings and path.suffix not in self.endings:
            self.fail(f"{path} must end in one of {', '.join(self.endings)}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"cannot write {path}: there is no folder {path.parent}", param, ctx)
        if path.is_file() and not (ctx is not None and ctx.meta.get(_FORCE)):
            self.fail(f"{path} exists already; choose another name, or give --force to replace it", param, ctx)
        if self._extra is not None:
            require(self._extra)
        return path


def force_option() -> click.Option:
    """The option --force. It is read before the others, so that they know of it."""

    def remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        ctx.meta[_FORCE] = value

    return click.Option(
        ["--force"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=remember,
        help="Replace files that exist.",
    )


def write_page(path: Path, page: str) -> None:
    """Write a page whole or not at all; a device or a pipe is written to as it is."""
    from untrackable.reports.files import whole_file

    path = path.resolve()
    try:
        if path.exists() and not path.is_file():
            path.write_text(page, encoding="utf-8")
        else:
            with whole_file(path) as file:
                file.write(page.encode())
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


def read_encoding(given: str | None) -> Any:
    """The encoding that --encoding gives as JSON or as the name of a JSON file, if any."""
    if given is None:
        return None
    from untrackable.encodings.encoding import from_json

    return read_json("--encoding", given, from_json)


def read_json(option: str, given: str, make: Callable[[Any], Any]) -> Any:
    """What `make` makes of the JSON, or of the JSON file, that an option gives; errors name the option."""
    from untrackable.errors import UntrackableError

    try:
        text = given if given.lstrip().startswith(("{", "[")) else strict_json.small_text(given)
        document = strict_json.parse(text)
    except OSError as error:
        raise click.ClickException(
            f"{option} must be JSON, or a file of it: cannot read {given}: {error.strerror}"
        ) from None
    except ValueError as error:
        raise click.ClickException(f"{option} must be JSON, or a file of it: {error}") from None
    try:
        return make(document)
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(f"{option}: {error}") from None


_BEGINNINGS = {
    b"PAR1": "table",
    b"ARROW1": "table",
    b"\xff\xff\xff\xff": "table",
    b"\x93NUMPY": "table",
    b"PK\x03\x04": "table",
    b"\x89PNG": "picture",
    b"%PDF": "picture",
    b"<svg": "picture",
    b"<?xml": "picture",
    b"<!doctype html": "page",
    b"SQLite format 3": "store",
}
_FIELDS = {
    "question": "campaign",
    "campaign": "plan",
    "campaigns": "directory",
    "mechanism": "mechanism",
    "public_key": "keys",
    "keys": "keys",
}
"""A field of JSON that tells what it is, the most telling first."""
_WORDS = {
    "table": "a table, such as `untrackable estimate` and `untrackable audit-file` read",
    "picture": "a picture",
    "page": "a web page",
    "store": "a database, such as `untrackable manage list --store sqlite:///…` reads",
    "campaign": "a campaign, which `untrackable campaign show` reads",
    "plan": "a plan, of which `untrackable campaign new --plan` makes a campaign",
    "directory": "a directory of campaigns, which `untrackable answer --directory` reads",
    "mechanism": "the description of a mechanism, which `untrackable audit` reads",
    "keys": "a list of keys",
}


def kind_of(path: str | Path) -> str | None:
    """The kind of a file by its content: one of those above, or None if it is not recognised."""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(64).lstrip().lower()
            for mark, kind in _BEGINNINGS.items():
                if beginning.startswith(mark.lower()):
                    return kind
            if not beginning.startswith(b"{"):
                return None
            file.seek(0)
            document = strict_json.parse(file.read(strict_json.LARGEST_FILE))
    except (OSError, ValueError):
        return None
    return next((kind for field, kind in _FIELDS.items() if field in document), None)


def wrong_kind(path: str | Path, wanted: str) -> str:
    """A sentence that says what a file is in place of what is wanted, if it is recognised; or else nothing."""
    kind = kind_of(path)
    return "" if kind is None or kind == wanted else f"{path} is not a {wanted}, but {_WORDS[kind]}"


_LONG = 10.0
"""Work of fewer seconds is not announced, and has no lines where there is no terminal."""
_SIZING = 2.0
"""Seconds of work from which the length of all of it is computed."""
_PAUSE, _LONGEST_PAUSE = 10.0, 300.0
"""Seconds between lines where there is no terminal: at first, and at most."""
_TICK = 0.25
_ONE_STEP: Mapping[str, float] = {}


@contextmanager
def progress(sizes: Mapping[str, float] = _ONE_STEP) -> Iterator[Progress]:
    """Show work on standard error: a bar on a terminal, and a line now and then elsewhere.

    `sizes` are the steps that are expected, in their order, with their relative sizes. Work of one step needs none.
    As soon as the pace is known, it says roughly how long all of it takes. rich draws the bar, and its own
    estimate of the time is not used, because it does not know steps of different sizes.
    """
    time, lock = RemainingTime(sizes), threading.Lock()

    def show(what: str, done: float | None) -> None:
        with lock:
            time.update(what, done)

    with _bar(time) if sys.stderr.isatty() else _lines(time) as tick, _ticking(tick, lock):
        yield show


@contextmanager
def _ticking(tick: Callable[[], None], lock: threading.Lock) -> Iterator[None]:
    """Call a function a few times a second, also while the work itself says nothing."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(_TICK):
            with lock:
                tick()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _bar(time: RemainingTime) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, announced = bar.add_task("", total=None, left=""), False

        def tick() -> None:
            nonlocal announced
            left, share = time.left(), time.share()
            if not announced and (length := _long(time)):
                announced = True
                bar.console.print(f"This takes {length}.", highlight=False)
            words = "" if left is None else f"{roughly(left)} left"
            bar.update(
                task,
                description=time.step,
                total=None if share is None else 1.0,
                completed=share or 0.0,
                left=words,
            )

        yield tick


@contextmanager
def _lines(time: RemainingTime) -> Iterator[Callable[[], None]]:
    announced, pause, next_line = False, _PAUSE, _LONG

    def tick() -> None:
        nonlocal announced, pause, next_line
        if not announced and (length := _long(time)):
            announced = True
            click.echo(f"This takes {length}.", err=True)
        if time.elapsed >= next_line:
            click.echo(line(time), err=True)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)
            next_line = time.elapsed + pause

    yield tick


def _long(time: RemainingTime) -> str:
    """How long all of the work takes, if it is long, as soon as that is known."""
    left = time.left()
    if left is None or time.elapsed < _SIZING or time.elapsed + left < _LONG:
        return ""
    return roughly(time.elapsed + left)


def line(time: RemainingTime) -> str:
    """What is being done, how much of all work is done, and what is left."""
    left, share = time.left(), time.share()
    step = time.step or "working"
    if left is None or share is None:
        return f"{step}: {roughly(time.elapsed)} so far"
    return f"{step}: {100 * share:.0f} % of all is done, {roughly(left)} left"


_FIRST_SHARE, _FIRST_SECONDS = 0.01, 0.3
"""From which share of a step on, and after how many seconds of it, its pace says something."""
_LARGE_SHARE = 0.1
"""A first share that is smaller says nothing: it may have taken long because something was loaded first."""


class Seconds(float):
    """The size of a step whose length is known beforehand, as from a trial."""


class RemainingTime:
    """The time that is left of work in steps.

    `sizes` are the steps that are expected, in their order, with their sizes: `Seconds`, or else numbers of which
    only ratios count. Steps that are not in it count only while they run.
    """

    def __init__(self, sizes: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._sizes, self._clock = dict(sizes), clock
        self._start = self._began = clock()
        self._done_size = self._done_seconds = 0.0
        self._first: tuple[float, float] | None = None
        self._whole: float | None = None
        self.step = ""

    def update(self, step: str, done: float | None) -> None:
        """Note which step is being done, and the share of it that is done, if that is known."""
        if step != self.step:
            self._finish()
            self.step, self._began, self._first, self._whole = step, self._clock(), None, None
        if done:
            running = self._clock() - self._began
            self._first = self._first or (running, done)
            self._whole = self._length(running, done)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._start

    def left(self) -> float | None:
        """Seconds until the end; None as long as it is not known."""
        running = self._clock() - self._began
        later = [size for step, size in self._sizes.items() if step != self.step]
        whole = self._whole if self._whole is not None else self._expected(self._sizes.get(self.step))
        if whole is None or (running > whole and not later):
            return None
        seconds = [self._expected(size, whole) for size in later]
        known = [each for each in seconds if each is not None]
        return max(0.0, whole - running) + sum(known) if len(known) == len(seconds) else None

    def share(self) -> float | None:
        """The share of all work that is done."""
        left = self.left()
        return None if left is None else self.elapsed / max(self.elapsed + left, 1e-9)

    def _length(self, running: float, done: float) -> float | None:
        """Seconds of all of this step, by its pace since its first share, or else since it began."""
        start, before = self._first or (0.0, 0.0)
        if done - before >= _FIRST_SHARE and running - start >= _FIRST_SECONDS:
            return running + (1 - done) * (running - start) / (done - before)
        return running / done if done >= _LARGE_SHARE and running >= _FIRST_SECONDS else None

    def _expected(self, size: float | None, whole: float | None = None) -> float | None:
        """Seconds of a step of this size, at the pace of the steps before, and of the present one if known."""
        if size is None or isinstance(size, Seconds):
            return size
        mine = self._sizes.get(self.step, 0.0)
        seconds, sizes = self._done_seconds, self._done_size
        if whole is not None and not isinstance(mine, Seconds):
            seconds, sizes = (seconds + whole, sizes + mine) if mine else (seconds, sizes)
        return size * seconds / sizes if sizes else None

    def _finish(self) -> None:
        """Count the present step as done, and those before it as left out."""
        if self.step not in self._sizes:
            return
        for step in list(self._sizes):
            size = self._sizes.pop(step)
            if step == self.step:
                if not isinstance(size, Seconds):
                    self._done_size += size
                    self._done_seconds += self._clock() - self._began
                return


def roughly(seconds: float) -> str:
    """A time in words, as exact as it is known."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {math.ceil(seconds / 10) * 10} seconds"
    if seconds < 90 * 60:
        return f"about {math.ceil(seconds / 60)} minutes"
    return f"about {math.ceil(seconds / 3600)} hours"


_PLACEHOLDERS = {"integer": "N", "integer range": "N", "float": "X", "float range": "X"}
"""What stands for a number in the list of options."""


class _PlainHelp(click.Command):
    """Help that shows examples as they are typed, and one line for each option."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description; lines of an example are not joined."""
        text = inspect.cleandoc(self.help or "").replace("\n\nExample", "\n\n\b\nExample")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line for each option: its name, what it does, and its default."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and not each.hidden]
        with formatter.section("Options"):
            formatter.write_dl([(_names(option), _about(option)) for option in options])


class PlainCommand(_PlainHelp):
    """A command whose help shows examples as they are typed and every option with its default only.

    A command that writes files has the option --force.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if any(isinstance(each.type, NewFile) for each in self.params):
            self.params.append(force_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. From here on it cleans up after Ctrl-C."""
        raise_interrupts()
        return super().invoke(ctx)


class CommandGroup(_PlainHelp, click.Group):
    """A group whose help shows the whole first sentence of each of its commands, in the order they were added."""

    command_class = PlainCommand

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which one needs them."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, which are what one looks for, and then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.write_commands(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter, heading: str, names: list[str]
    ) -> None:
        """Write these commands under a heading, aligned with the commands of all headings."""
        widest = max(len(name) for name in self.list_commands(ctx))
        rows = [(name.ljust(widest), first_line(self.get_command(ctx, name))) for name in names]
        with formatter.section(heading):
            formatter.write_dl(rows)


class JobGroup(CommandGroup):
    """The commands under headings that name a job, each imported when it is asked for.

    `jobs` has the names of commands by heading and module of `untrackable.cli`.
    """

    def __init__(self, *given: Any, jobs: dict[str, dict[str, str]], **named: Any) -> None:
        super().__init__(*given, **named)
        self._jobs = {heading: " ".join(modules.values()).split() for heading, modules in jobs.items()}
        self._modules = {
            name: module for modules in jobs.values() for module, names in modules.items() for name in names.split()
        }

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. An error stays on one line, whatever the text in it that is from a file or a server."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            vars(error)["message"] = printable(error.message)
            raise
        except (click.Abort, KeyboardInterrupt) as error:
            # A prompt turns Ctrl-C into `Abort`, as does somebody who says no.
            if isinstance(error, click.Abort) and not isinstance(error.__context__, KeyboardInterrupt):
                raise
            settle_interrupt()
            click.echo("\nStopped." if sys.stderr.isatty() else "Stopped.", err=True)  # A terminal shows ^C first.
            raise click.exceptions.Exit(INTERRUPTED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(f"untrackable.cli.{self._modules[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in self._jobs.items():
            self.write_commands(ctx, formatter, heading, names)


def first_line(command: click.Command | None) -> str:
    """The first line of a command's help, which says what it does."""
    return inspect.cleandoc(command.help or "").partition("\n")[0] if command else ""


def _names(option: click.Option) -> str:
    """The short name and the first long one; later long names are accepted synonyms."""
    short = [name for name in option.opts if not name.startswith("--")][:1]
    long = [name for name in option.opts if name.startswith("--")][:1]
    names = ", ".join(short + long)
    if option.is_flag or option.count:
        return names
    if option.metavar:
        return f"{names} {option.metavar}"
    if isinstance(option.type, click.Choice):
        return f"{names} {'|'.join(map(str, option.type.choices))}"
    return f"{names} {_PLACEHOLDERS.get(option.type.name, option.type.name.upper())}"


def _about(option: click.Option) -> str:
    """What an option does, and its default. An option with `show_default=False` has words for a default only."""
    help = option.help or ""
    if option.required:
        return f"{help} [required]"
    if isinstance(option.show_default, str):
        return f"{help} [default: {option.show_default}]"
    plain = isinstance(option.default, (str, int, float, tuple)) and not option.is_flag
    if plain and option.show_default is not False:
        return f"{help} [default: {_default(option.default)}]"
    return help


def _default(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_default, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
