"""Options that say how often people answer, and from where; the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from untrackable.theory.attendance import Attendance

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_RECOGNITION = 0.002
"""The recognition that a new campaign allows if nobody says otherwise: twice that of guessing."""

margin_option = click.option(
    "--margin",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="Share of a crowd that may be missing.",
)
"""The share of a crowd that may be missing from a round."""

_PLACES = (
    click.option("--places", default="1/2,1/2", show_default=True, metavar="SHARES", help="Time at each place."),
    click.option(
        "--persistence",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="ROUNDS",
        help="Rounds at one place.",
    ),
)


def observed_attendance(command: _Command) -> _Command:
    """Add the options of a system as it is, in which clients answer every round unless another share is given."""
    answered = click.option(
        "--participation", default="1", show_default=True, metavar="SHARE", help="Chance of answering a round."
    )
    return _added(command, (answered, *_PLACES))


def chosen_attendance(command: _Command) -> _Command:
    """Add the options of a campaign to be made, in which people answer as often as the recognition allows."""
    answered = click.option(
        "--participation", metavar="SHARE", show_default="the largest", help="Chance of answering a round."
    )
    allowed = click.option(
        "--recognition",
        type=click.FloatRange(0, 1, min_open=True),
        show_default=f"{DEFAULT_RECOGNITION}",
        help="Limit on recognising people.",
    )
    one = click.option("--one-network", is_flag=True, help="Clients answer from one network only.")
    return _added(command, (answered, allowed, *_PLACES, one))


def shares_of(places: str) -> tuple[str, ...]:
    """The shares that `1/2,1/2` means."""
    return tuple(share.strip() for share in places.split(","))


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

    shares = shares_of(places)
    if participation is None and one_network:
        participation = "1"
    elif participation is None:
        limit = DEFAULT_RECOGNITION if recognition is None else recognition
        participation = str(largest_participation(rounds, limit, places=shares, persistence=persistence))
    return Attendance(participation, shares, persistence, one_network)  # type: ignore[arg-type]


def _added(command: _Command, options: tuple[Callable[[_Command], _Command], ...]) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command
