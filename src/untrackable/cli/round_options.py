"""The options `--only-rounds` and `--assume-round` of the commands that read files of reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from untrackable.cli.renamed_options import renamed_options

_MOST = 1 << 20


def round_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add both options to a command, as its arguments `rounds` (text, for `round_numbers`) and `assume_round`.

    Elsewhere, --rounds is how many rounds there are, so this one has another name.
    """
    selected = click.option("--only-rounds", "rounds", metavar="1-7,9", help="Use the reports of these rounds.")
    assumed = click.option(
        "--assume-round",
        type=click.IntRange(min=1),
        metavar="N",
        help="The round, if the file does not say.",
    )
    return selected(assumed(renamed_options({"--rounds": ("--only-rounds", "rounds")})(command)))


def round_numbers(text: str | None) -> list[int] | None:
    """The rounds that `1-7,9` selects; None, which is all rounds, if the option is not given."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"rounds must be written 1-7,9, got {text!r}")
        start, stop = int(first), int(last) if dash else int(first)
        if stop - start >= _MOST:
            raise ValueError(f"rounds must be fewer than a million, got {text!r}")
        numbers += range(start, stop + 1)
    return numbers
