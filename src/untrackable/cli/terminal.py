"""What the commands share: JSON on standard output, errors in one line, files, text that is safe to print."""

import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from untrackable import strict_json
from untrackable.cli.file_kinds import wrong_kind

if TYPE_CHECKING:
    from rich.console import Console

_BROKEN_PIPE_STATUS = 128 + 13
"""The status of a program that a broken pipe ended, as shells say it."""


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
