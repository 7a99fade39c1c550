"""Options by their former names: still accepted, not shown, and with a note that says the present name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from untrackable.cli.terminal import echo


def renamed_options(names: Mapping[str, tuple[str, str]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Accept former names of options; for each, the present name and the argument of the command."""
    places = {old: f"former_{old.strip('-').replace('-', '_')}" for old in names}

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, **options: Any) -> Any:
            for old, (new, argument) in names.items():
                value = options.pop(places[old])
                if value is None:
                    continue
                if options[argument] is not None:
                    raise click.UsageError(f"{old} is the former name of {new}: give {new} only")
                echo(f"{old} is now called {new}.", err=True)
                options[argument] = value
            return command(*args, **options)

        made: Callable[..., Any] = run
        for old in names:
            made = click.option(old, places[old], hidden=True, help=f"Now {names[old][0]}.")(made)
        return made

    return add
