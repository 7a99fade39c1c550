"""How many people were active, and of whom shares are, in words."""

from untrackable.brackets import Side, rounded
from untrackable.estimation.active_people import ActivePeople

_DIGITS = 3
COUNTED = "those who forgot that they had answered count again, and those who send nothing do not count"
"""What the number of people leaves out."""


def people_words(people: ActivePeople) -> str:
    """A number of people with its interval."""
    ends: tuple[tuple[float, Side], ...] = (
        (people.lower, "down"),
        (people.value, "nearest"),
        (people.upper, "up"),
    )
    low, middle, high = (f"{rounded(number, _DIGITS, side):,.0f}" for number, side in ends)
    return f"{middle} people ({low} to {high}: interval, {100 * (1 - people.beta):g} %)"


def active_notes(people: ActivePeople, rounds: int, *, shares: bool = True) -> list[str]:
    """How many people were active in a round, or in each of several, and what `shares` are of; with turns only."""
    if rounds == 1:
        found = f"about {people_words(people)} were active in this round; {COUNTED}"
        of = "those who answered are a random sample of them: shares, errors and intervals are of them"
    else:
        found = f"on average about {people_words(people)} were active in each of these rounds; {COUNTED}"
        of = (
            "nobody answered twice: those who answered are a random sample, and each report weighs the same, so "
            "people count as often as they were active"
        )
    return [found, *[of] * shares]
