"""Could a campaign be used to follow somebody? The answer in words, beside RAPPOR at the same privacy."""

from untrackable.auditing.following import PEOPLE, Followed
from untrackable.brackets import at_most
from untrackable.display.answer_words import range_words
from untrackable.display.percentages import percent

_TINY = 1e-4
CAPTION = (
    f"An observer without names tries to match {PEOPLE} people seen at one place with the same people seen at "
    "another. Lines: people who hold the same value. Dashed: people with different values. The dotted line is a "
    "guess. Shares are sampled, with their 95 % intervals."
)


def rival_words(eps: float) -> str:
    """What RAPPOR is, and that it is compared at the same privacy."""
    return (
        "RAPPOR is a widely known way to collect such answers. Here it has the same everlasting privacy "
        f"(eps = {at_most(eps)}): all reports that a person ever sends tell as little about the answer. The "
        "difference is what they tell about who sent them."
    )


def followed_words(own: list[Followed], rival: list[Followed]) -> list[str]:
    """The answer in two sentences, from the attack with the most reports on people with the same value."""
    sentences = []
    for name, found in (("this campaign", own), ("RAPPOR", rival)):
        last = max((point for point in found if not point.different), key=lambda point: point.reports)
        many = f"{last.reports} report{'s' * (last.reports > 1)} from each of two places"
        limit = "" if last.bound is None else f"; at most {percent(last.bound.upper, 'up')} is possible, upper"
        sentences.append(
            f"With {name}, an attack that has {many} matches {percent(last.matched.sampled)} of {PEOPLE} people "
            f"who hold the same value (sampled{limit}; a guess: {percent(1 / PEOPLE)})."
        )
    return sentences


def followed_rows(found: list[Followed]) -> dict[tuple[int, bool], tuple[str, str]]:
    """What the attack matched (sampled), and what is possible (upper), by reports and whether values differ."""
    return {
        (point.reports, point.different): (
            f"{percent(point.matched.sampled)} ({_range(point)})",
            "" if point.bound is None else f"≤ {percent(point.bound.upper, 'up')}",
        )
        for point in found
    }


def _range(point: Followed) -> str:
    """The interval of a sampled share. A lower end that is next to nothing is 0."""
    lower = 0.0 if point.matched.lower < _TINY else point.matched.lower
    return range_words(lower, point.matched.upper)
