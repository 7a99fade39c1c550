"""Attendance: what the rounds that somebody answers, and the places they answer from, reveal by themselves.

A client answers a round at most once. So one person is never seen at two places in one round, while two people
often are. An observer can use that to tell one person from two, even if the reports themselves reveal nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.checks import Chance
from untrackable.theory.chance_of_answering import EVERY_ROUND, log_of
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor
from untrackable.theory.monotone_search import smallest_integer

HALF_AND_HALF = (Fraction(1, 2), Fraction(1, 2))
"""Two places, each of them half of the time: the two shares that reveal most."""
AMONG = 1000
"""The number of people among whom somebody is to be recognised, unless another number is given."""
_MOST_PLACES = 64
_MOST_STAYS = 64
"""The largest number of lengths of a stay that are tried, and that are tried again around the worst one."""
_CERTAIN = 0.999
"""From this probability of being recognised on, no worse persistence is looked for."""
_EXACT_DIGITS, _DIGITS = 8192, 512
"""Probabilities of long stays have at most this many binary digits if they are exact, and if they are rounded."""
_SELDOM = 10**6
"""A participation is at least one over this."""


@dataclass(frozen=True, slots=True)
class Attendance:
    """Which rounds a person answers, and from where.

    In each round a client tosses a secret coin, and answers with probability `participation`. Meanwhile the person
    is at each of the `places` with its share of the time; the rest of the time, the person is where nobody looks.
    The place is drawn anew after every `persistence` rounds. A client that answers from `one_network` only is never
    seen at a second place. All probabilities are exact fractions.
    """

    participation: Fraction = Fraction(1)
    places: tuple[Fraction, ...] = HALF_AND_HALF
    persistence: int = 1
    one_network: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.places, (str, bytes)) or not isinstance(self.places, Sequence):
            raise TypeError(f"places must be a sequence of fractions, not {type(self.places).__name__}")
        if not 2 <= len(self.places) <= _MOST_PLACES:
            raise ValueError(f"places must be 2 to {_MOST_PLACES} shares, got {len(self.places)}")
        if not isinstance(self.one_network, bool):
            raise TypeError(f"one_network must be True or False, not {type(self.one_network).__name__}")
        checks.settle(
            self,
            participation=checks.chance("participation", self.participation),
            places=tuple(checks.chance("a share of places", share) for share in self.places),
            persistence=checks.integer("persistence", self.persistence, low=1),
        )
        if sum(self.places) > 1:
            raise ValueError(f"places must be shares of at most 1 in all, got {sum(self.places)}")

    def blocks(self, rounds: int) -> list[tuple[Fraction, int]]:
        """How many times a person stays at a place, and the probability of answering at least once in that time.

        The last stay may be shorter than the others.
        """
        rounds = checks.integer("rounds", rounds, low=1)
        if self.one_network:
            return []
        stays = [(self.persistence, rounds // self.persistence), (rounds % self.persistence, 1)]
        return [(answering_once(self.participation, length), count) for length, count in stays if length and count]

    def experiment(self, rounds: int) -> Experiment:
        """One person against a different person at each place, by attendance alone (exact in this model).

        Within one stay, the observer sees at which places somebody answered. Which rounds of the stay these were
        has the same law in both worlds.
        """
        return Experiment([(seen_factor(chance, self.places), count) for chance, count in self.blocks(rounds)])

    def recognition(self, rounds: int, people: int = AMONG) -> Bracket:
        """A bound on the probability of recognising a person among this many others, by attendance alone."""
        people = checks.integer("people", people, low=1)
        return self.experiment(rounds).power(1 / people)

    def with_persistence(self, persistence: int) -> "Attendance":
        """The same attendance with longer or shorter stays."""
        return replace(self, persistence=persistence)

    def worst_persistence(self, rounds: int, people: int = AMONG) -> tuple[int, Bracket]:
        """The length of stays, from 1 to all rounds, that makes people easiest to recognise, and that recognition.

        Stays that fit into the rounds a whole number of times are tried first, then all lengths around the worst.
        If there are very many of them, some are left out. The search ends once people are certainly recognised.
        """
        rounds = checks.integer("rounds", rounds, low=1)
        if self.one_network or self.participation == 0:
            return 1, self.recognition(rounds, people)
        found: dict[int, Bracket] = {}

        def worst(stays: Iterable[int]) -> int:
            for stay in stays:
                found[stay] = found.get(stay) or self.with_persistence(stay).recognition(rounds, people)
                if found[stay].lower >= _CERTAIN:
                    break
            return max(found, key=lambda stay: found[stay].upper)

        few = range(1, math.isqrt(rounds) + 1)
        whole = _thinned_out(sorted({*few, *(rounds // count for count in few)}))
        near = whole.index(stay := worst(whole))
        if found[stay].lower >= _CERTAIN:
            return stay, found[stay]
        least, most = whole[max(0, near - 2)], whole[min(len(whole) - 1, near + 2)]
        stay = worst(_thinned_out(range(least, most + 1)))
        return stay, found[stay]

    def to_json(self) -> dict[str, Any]:
        """The attendance as JSON. Fractions are texts such as "1/20"."""
        return {
            "one_network": self.one_network,
            "participation": str(self.participation),
            "persistence": self.persistence,
            "places": [str(share) for share in self.places],
        }


def attendance(
    rounds: int,
    participation: Chance = 1,
    places: Sequence[Chance] = HALF_AND_HALF,
    persistence: int = 1,
) -> Experiment:
    """What attendance alone reveals over some rounds: one person against a different person at each place."""
    return Attendance(participation, tuple(places), persistence).experiment(rounds)  # type: ignore[arg-type]


def largest_participation(
    rounds: int,
    recognition: float,
    *,
    places: Sequence[Chance] = HALF_AND_HALF,
    persistence: int = 1,
    people: int = AMONG,
) -> Fraction:
    """The largest participation 1/n at which attendance alone keeps recognition within this limit.

    `ValueError` if the limit cannot be kept, because a guess is as good.
    """
    limit = checks.probability("recognition", recognition) * (1 + 1e-6)
    if limit <= 1 / people:
        raise ValueError(f"recognition must be above {1 / people:g}, which a guess among {people:,} people has")
    always = Attendance(EVERY_ROUND, tuple(places), persistence)  # type: ignore[arg-type]

    def excess(number: int) -> float:
        attending = replace(always, participation=Fraction(1, number))
        return math.log(attending.recognition(rounds, people).upper / limit)

    near = math.isqrt(checks.integer("rounds", rounds, low=1) * always.persistence)
    try:
        return Fraction(1, smallest_integer(excess, near, low=1, high=_SELDOM))
    except ValueError:
        raise ValueError(
            f"recognition must be larger: one answer in {_SELDOM:,} rounds exceeds {recognition:g}"
        ) from None


def answering_once(participation: Fraction, rounds: int) -> Fraction:
    """The probability of answering at least one of some rounds.

    It is exact if that takes few digits. Else it is rounded up in the 512th binary digit: answering more often can
    only reveal more.
    """
    silent = 1 - participation
    if rounds * silent.denominator.bit_length() <= _EXACT_DIGITS:
        return 1 - silent**rounds
    never, square = 1 << _DIGITS, (silent.numerator << _DIGITS) // silent.denominator
    while rounds:
        if rounds & 1:
            never = never * square >> _DIGITS
        square, rounds = square * square >> _DIGITS, rounds >> 1
    return 1 - Fraction(never, 1 << _DIGITS)


def seen_factor(chance: Fraction, places: Sequence[Fraction]) -> Factor:
    """At which places somebody answers during one stay: one person (P) against one person for each place (Q).

    One person answers at the place where they are, or nowhere. Of several people, any number may answer. Answers at
    two places prove that they are not one person's.
    """
    one, several = seen_laws(chance, places)
    losses = [log_of(p / q) if p and q else -math.inf for p, q in zip(one, several, strict=True)]
    return Factor([float(p) for p in one], [float(q) for q in several], losses)


def seen_laws(chance: Fraction, places: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The probabilities of answers at one place only (for each place), at none, and at several; in both worlds."""
    answering = [chance * share for share in places]
    silent = [1 - here for here in answering]
    alone = [here * _product(silent[:i] + silent[i + 1 :]) for i, here in enumerate(answering)]
    nowhere = _product(silent)
    one = [*answering, 1 - sum(answering, Fraction(0)), Fraction(0)]
    several = [*alone, nowhere, 1 - sum(alone, nowhere)]
    seen = [i for i, (p, q) in enumerate(zip(one, several, strict=True)) if p or q]
    return [one[i] for i in seen], [several[i] for i in seen]


def _thinned_out(lengths: Sequence[int]) -> Sequence[int]:
    """At most `_MOST_STAYS` of some lengths, the first and the last among them."""
    if len(lengths) <= _MOST_STAYS:
        return lengths
    return [lengths[i * (len(lengths) - 1) // (_MOST_STAYS - 1)] for i in range(_MOST_STAYS)]


def _product(chances: Iterable[Fraction]) -> Fraction:
    return Fraction(math.prod(chances))
