"""The options `--mechanism` and `--preset`: the same words that `audit` and `simulate` take as arguments."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from typing import Any

import click

from untrackable.cli.terminal import echo

PRESET = click.option("--preset", metavar="NAME", help="Use published parameters instead of your own.")
_OLD = "--parameter is the old way to give parameters. Write them behind the name: --mechanism {words}"


def mechanism_options(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add both options. The command gets `mechanism`, a function that makes it; None if it is not given."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(
            *args: Any, mechanism: str | None, parameters: tuple[str, ...], preset: str | None, **options: Any
        ) -> Any:
            if mechanism is None:
                if parameters or preset:
                    raise click.UsageError("--preset needs --mechanism")
                return command(*args, mechanism=None, **options)
            words = [*words_of(mechanism), *parameters]
            if parameters:
                echo(_OLD.format(words=shlex.quote(" ".join(words))), err=True)
            return command(*args, mechanism=lambda: _made(words, preset), **options)

        made: Callable[..., Any] = click.option(
            "--parameter", "-p", "parameters", multiple=True, hidden=True, help="A parameter."
        )(run)
        for option in (PRESET, click.option("--mechanism", metavar="WORDS", help=help)):
            made = option(made)
        return made

    return add


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
