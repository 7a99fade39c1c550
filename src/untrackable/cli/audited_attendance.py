"""The options `--participation`, `--places` and `--persistence` of audits and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--participation",
        default="1",
        show_default=True,
        metavar="R",
        help="Chance with which a client answers a round.",
    ),
    click.option(
        "--places",
        default="1/2,1/2",
        show_default=True,
        metavar="SHARES",
        help="Time that people spend at each place.",
    ),
    click.option(
        "--persistence",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Rounds for which people stay at a place.",
    ),
)


def attendance_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, as its arguments `participation`, `places` (both text) and `persistence`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def split_shares(places: str) -> tuple[str, ...]:
    """The shares that `1/2,1/2` means."""
    return tuple(share.strip() for share in places.split(","))
