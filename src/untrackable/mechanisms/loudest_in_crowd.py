"""How loud one report may be so that a crowd hides all of them within a budget, and which report is best then."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from untrackable.theory.crowd_rounds import Rounds, crowd_upper
from untrackable.theory.gaussian import largest_parameter

_CLOSE = 1e-4
"""The relative precision of the eps of one report."""
_TRIED = 2
"""The number of reports that are set exactly: those whose first guess has the smallest error."""

Base = TypeVar("Base")


def loudest_in_crowd(
    rounds_of: Callable[[float], Rounds],
    guess: float,
    *,
    eps: float,
    delta: float,
    most: float,
    close: float = _CLOSE,
) -> float:
    """The largest eps of one report, up to `most`, with which a crowd keeps its rounds private; 0 if none is found.

    `rounds_of` makes the rounds of such a report, and the search starts at `guess`. If that is above `most`, a
    coarser bound, which takes a quarter of the time, mostly shows already that `most` is not too loud.
    """

    def spent(one: float, sharp: bool | None = None) -> float:
        return crowd_upper(rounds_of(one), sharp=sharp).delta(eps).upper

    if guess >= most and spent(most, sharp=False) <= delta:
        return most
    return largest_parameter(spent, guess, eps=eps, delta=delta, high=most, tolerance=close)


def best_in_crowd(guessed: Iterable[Base], solved: Callable[[Base], Base], error: Callable[[Base], float]) -> Base:
    """The report with the smallest error of those that are `solved`, which takes long, from a first guess of each.

    A guess is hardly ever too quiet. So a report whose guess has a larger error than one that is solved is not
    better, and is left out.
    """
    nearest = sorted(guessed, key=error)[:_TRIED]
    best = solved(nearest[0])
    for guess in nearest[1:]:
        if error(guess) < error(best):
            best = min(best, solved(guess), key=error)
    return best
