"""What the commands share: progress on standard error, JSON on standard output."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import click


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


def write_page(path: Path, page: str) -> None:
    """Write a page whole or not at all; a device or a pipe is written to as it is."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        try:
            path.write_text(page, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"cannot write {path}: {error.strerror}") from None
        return
    from untrackable.files.atomic import whole_file

    try:
        with whole_file(path) as file:
            file.write(page.encode())
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


def encoding_of(given: str | None) -> Any:
    """An encoding from JSON, or from a file of it."""
    if given is None:
        return None
    from untrackable.encodings.base import from_json

    return described("--encoding", given, from_json)


def described(option: str, given: str, made: Callable[[Any], Any]) -> Any:
    """What `made` makes of JSON, or of a file of it; what is wrong is said of the option."""
    from untrackable.errors import UntrackableError

    try:
        text = given if given.lstrip().startswith(("{", "[")) else Path(given).read_text(encoding="utf-8")
        document = json.loads(text)
    except OSError as error:
        raise click.ClickException(
            f"{option} must be JSON, or a file of it: cannot read {given}: {error.strerror}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"{option} must be JSON, or a file of it: {error}") from None
    try:
        return made(document)
    except (UntrackableError, ValueError, TypeError) as error:
        raise click.ClickException(f"{option}: {error}") from None


def print_json(data: Any) -> None:
    """Valid JSON: numbers that JSON cannot say become strings."""
    from untrackable.auditing.strict_json import finite

    click.echo(json.dumps(finite(data), indent=2, ensure_ascii=False))
