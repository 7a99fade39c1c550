"""What the commands share: progress on standard error, JSON on standard output, errors in one line, files."""

import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import click

from untrackable import strict_json
from untrackable.extras import require

if TYPE_CHECKING:
    from rich.console import Console

PICTURES = (".png", ".svg", ".pdf")
"""Endings of the pictures that can be written."""
_BROKEN_PIPE_STATUS = 128 + 13
"""The status of a program that a broken pipe ended, as shells say it."""


class ShowProgress(Protocol):
    """Shows what is being done and, where it is known, which share of it is done."""

    def __call__(self, what: str, done: float | None = None) -> None:
        """Show it; `done` goes from 0 to 1."""


@contextmanager
def progress() -> Iterator[ShowProgress]:
    """A progress bar on standard error, which a pipe does not see."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}
        current: list[str] = []

        def show(what: str, done: float | None = None) -> None:
            if what not in tasks:
                if current and done is None:
                    bar.update(tasks[current[-1]], total=1.0, completed=1.0, visible=False)
                tasks[what] = bar.add_task(what, total=None if done is None else 1.0)
                current.append(what)
            if done is not None:
                bar.update(tasks[what], completed=done)

        yield show


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print an error of the library as one line and end the command, instead of a traceback."""
    from untrackable.errors import UntrackableError

    try:
        yield
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from None


def check_page(path: Path | None) -> None:
    """Refuse a page whose folder does not exist, before the work is done."""
    if path is not None and not path.parent.is_dir():
        raise click.ClickException(f"cannot write {path}: there is no folder {path.parent}")
    if path is not None:
        require("plots")


def check_picture(path: Path | None) -> None:
    """Refuse a --plot whose format is unknown or whose folder does not exist, before the work is done."""
    check_output("--plot", path, PICTURES)
    if path is not None:
        require("plots")


def check_output(option: str, path: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file whose ending is none of these or whose folder does not exist, before the work is done."""
    if path is not None and (path.suffix not in endings or not path.parent.is_dir()):
        raise click.BadParameter(
            f"{path} must end in one of {', '.join(endings)} and be in a folder that exists", param_hint=option
        )


def write_page(path: Path, page: str) -> None:
    """Write a page whole or not at all; a device or a pipe is written to as it is."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        try:
            path.write_text(page, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"cannot write {path}: {error.strerror}") from None
        return
    from untrackable.reports.atomic_file import whole_file

    try:
        with whole_file(path) as file:
            file.write(page.encode())
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


def write_picture(path: Path, draw: Callable[[Path], object]) -> None:
    """Let `draw` write a picture to a file; a file that cannot be written is an error in one line."""
    try:
        draw(path)
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
        text = given if given.lstrip().startswith(("{", "[")) else Path(given).read_text(encoding="utf-8")
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


def print_json(data: Any) -> None:
    """Print valid JSON: numbers that it cannot say become strings; what would act on a terminal is escaped."""
    for line in strict_json.write(strict_json.finite(data), indent=2).split("\n"):
        click.echo(_with_escapes(line, lambda mark: strict_json.write(mark, ascii=True)[1:-1]))


def print_sentences(console: "Console", sentences: list[str], indent: str = "") -> None:
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
        for line in lines:
            console.print(line, soft_wrap=True, markup=False)


def printable(text: str) -> str:
    """Text from a campaign, a file or a server for a terminal: what would act on the terminal is escaped."""
    return _with_escapes(text, lambda mark: mark.encode("unicode_escape").decode("ascii"))


def _with_escapes(text: str, escaped: Callable[[str], str]) -> str:
    from untrackable.encodings.shown_text import hidden_places

    hidden = set(hidden_places(text))
    return "".join(escaped(mark) if place in hidden else mark for place, mark in enumerate(text))


def echo(text: str, *, err: bool = False) -> None:
    """Print one line that has text from outside in it: it stays one line, whatever that text is."""
    click.echo(printable(text), err=err)


class BrokenPipeOutput(io.TextIOWrapper):
    """Standard output that ends the program quietly when nobody reads it any more, as after `| head`."""

    def write(self, text: str) -> int:
        """Write, or end the program."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._end()

    def flush(self) -> None:
        """Flush, or end the program."""
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
