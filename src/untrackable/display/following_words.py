"""Could a campaign be used to follow somebody? The answer in words, beside RAPPOR at the same privacy."""

from untrackable.auditing.following import PEOPLE, Followed
from untrackable.display.audit_words import sampled
from untrackable.display.numbers import number, upper
from untrackable.display.truth_words import share

RIVAL_WORDS = (
    "RAPPOR is a widely known way to collect such answers. Here it is set to the same everlasting privacy: all "
    "reports that a person ever sends tell as little about the answer. The difference is what they tell about who "
    "sent them."
)
CAPTION = (
    f"An observer without names tries to match {PEOPLE} people seen at one place with the same people seen at "
    "another. Lines: people who hold the same value. Dashed: people with different values. The dotted line is a "
    "guess. Shares are sampled, with their 95 % intervals."
)


def followed_words(own: list[Followed], rival: list[Followed]) -> list[str]:
    """The answer in two sentences, from the attack with the most reports on people with the same value."""
    sentences = []
    for name, found in (("this campaign", own), ("RAPPOR", rival)):
        last = max((point for point in found if not point.different), key=lambda point: point.reports)
        many = f"{last.reports} report{'s' * (last.reports > 1)} from each of two places"
        limit = "" if last.bound is None else f"; at most {upper(last.bound.upper)} is possible, upper"
        sentences.append(
            f"With {name}, an attack that has {many} matches {share(last.matched.sampled)} of {PEOPLE} people who "
            f"hold the same value (sampled{limit}; a guess: {number(1 / PEOPLE)})."
        )
    return sentences


def followed_rows(found: list[Followed]) -> dict[tuple[int, bool], tuple[str, str]]:
    """What the attack matched (sampled), and what is possible (upper), by reports and whether values differ."""
    return {
        (point.reports, point.different): (
            sampled(point.matched),
            "" if point.bound is None else f"≤ {upper(point.bound.upper)}",
        )
        for point in found
    }
