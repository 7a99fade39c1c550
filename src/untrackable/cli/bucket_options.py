"""The options `--buckets`, `--below` and `--above`, which are a short way to write `--encoding` for numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

BUCKET_OPTIONS = ("buckets", "below", "above")
"""The names of the options."""
_OUTSIDE = click.Choice(["error", "clamp", "separate"])


def bucket_options(encoding: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options to a command. Its argument of this name is then the encoding that they describe, as JSON."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, buckets: str | None, below: str | None, above: str | None, **options: Any) -> Any:
            if buckets is None and (below or above):
                raise click.UsageError("--below and --above need --buckets")
            if buckets is not None:
                if options[encoding] is not None:
                    raise click.UsageError("give one of --buckets and --encoding")
                options[encoding] = _as_json(buckets, below or "error", above or "error")
            return command(*args, **options)

        made: Callable[..., Any] = run
        for option in (
            click.option("--above", type=_OUTSIDE, metavar="HOW", help="Larger numbers, in the same way."),
            click.option("--below", type=_OUTSIDE, metavar="HOW", help="Smaller ones: error, clamp, separate."),
            click.option("--buckets", metavar="RANGES", help="Numbers: 50ms:20s:14:log, or all edges."),
        ):
            made = option(made)
        return made

    return add


def _as_json(text: str, below: Any, above: Any) -> str:
    from untrackable import strict_json
    from untrackable.encodings.bucket_text import buckets_from_text

    try:
        return strict_json.write(buckets_from_text(text, below=below, above=above).to_json())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--buckets") from None
