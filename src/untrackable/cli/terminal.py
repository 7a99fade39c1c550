"""What the commands share: progress on standard error, JSON on standard output."""

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

_NOBODY_READS = 128 + 13
"""The status of a program that a broken pipe ended, as shells say it."""


class Told(Protocol):
    """Told what is going on and, where known, how much of it is done."""

    def __call__(self, what: str, done: float | None = None) -> None:
        """Show it."""


@contextmanager
def progress() -> Iterator[Told]:
    """A progress bar on standard error, which a pipe does not see."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}
        current: list[str] = []

        def told(what: str, done: float | None = None) -> None:
            if what not in tasks:
                if current and done is None:
                    bar.update(tasks[current[-1]], total=1.0, completed=1.0, visible=False)
                tasks[what] = bar.add_task(what, total=None if done is None else 1.0)
                current.append(what)
            if done is not None:
                bar.update(tasks[what], completed=done)

        yield told


@contextmanager
def failing() -> Iterator[None]:
    """What is wrong with an argument or a file, as one line."""
    from untrackable.errors import UntrackableError

    try:
        yield
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(str(error)) from None


def check_page(path: Path | None) -> None:
    """Whether a page can be put there, known before the work."""
    if path is not None and not path.parent.is_dir():
        raise click.ClickException(f"cannot write {path}: there is no folder {path.parent}")
    if path is not None:
        require("plots")


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


def encoding_of(given: str | None) -> Any:
    """An encoding from JSON, or from a file of it."""
    if given is None:
        return None
    from untrackable.encodings.encoding import from_json

    return described("--encoding", given, from_json)


def described(option: str, given: str, made: Callable[[Any], Any]) -> Any:
    """What `made` makes of JSON, or of a file of it; what is wrong is said of the option."""
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
        return made(document)
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(f"{option}: {error}") from None


def print_json(data: Any) -> None:
    """Valid JSON: numbers that JSON cannot say become strings."""
    click.echo(strict_json.write(strict_json.finite(data), indent=2))


def print_sentences(console: "Console", sentences: list[str], indent: str = "") -> None:
    """Sentences around a table: whole lines for a pipe; on a terminal wrapped, what follows being indented."""
    for sentence in sentences:
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


class Output(io.TextIOWrapper):
    """Standard output; where nobody reads it any more, as after `| head`, the program ends and says nothing."""

    def write(self, text: str) -> int:
        """The same."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._end()

    def flush(self) -> None:
        """The same."""
        try:
            super().flush()
        except BrokenPipeError:
            self._end()

    def _end(self) -> NoReturn:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # or what is left would be written on leaving
        sys.exit(_NOBODY_READS)


def watched(stream: Any) -> Any:
    """Standard output as `Output`, if it is an ordinary one."""
    if type(stream) is not io.TextIOWrapper:
        return stream
    encoding, errors, eager = stream.encoding, stream.errors, stream.line_buffering
    return Output(stream.detach(), encoding=encoding, errors=errors, line_buffering=eager)
