"""Options that say how often people answer, and from where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from untrackable.theory.attendance import Attendance

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_RECOGNITION = 0.002
"""The recognition that a new campaign allows if nobody says otherwise: twice that of guessing."""


def attendance_options(command: _Command) -> _Command:
    """Add the options to a command."""
    options = (
        click.option(
            "--participation",
            metavar="SHARE",
            show_default="the largest",
            help="Chance of answering a round.",
        ),
        click.option(
            "--recognition",
            type=click.FloatRange(0, 1, min_open=True),
            show_default=f"{DEFAULT_RECOGNITION}",
            help="Limit on recognising people.",
        ),
        click.option(
            "--places", default="1/2,1/2", show_default=True, metavar="SHARES", help="Time at each place."
        ),
        click.option(
            "--persistence",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            metavar="ROUNDS",
            help="Rounds at one place.",
        ),
        click.option("--one-network", is_flag=True, help="Clients answer from one network only."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def attendance_of(
    participation: str | None,
    recognition: float | None,
    places: str,
    persistence: int,
    one_network: bool,
    *,
    rounds: int,
) -> Attendance:
    """What the options say. Without a participation, it is the largest that keeps within the recognition."""
    from untrackable.theory.attendance import Attendance, largest_participation

    shares = tuple(places.split(","))
    if participation is None and one_network:
        participation = "1"
    elif participation is None:
        limit = DEFAULT_RECOGNITION if recognition is None else recognition
        participation = str(largest_participation(rounds, limit, places=shares, persistence=persistence))
    return Attendance(participation, shares, persistence, one_network)  # type: ignore[arg-type]
