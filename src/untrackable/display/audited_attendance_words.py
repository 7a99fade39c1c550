"""What attendance reveals, in the words of audits and comparisons."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from untrackable.auditing.attendance_attack import AttendanceMatched
from untrackable.auditing.attendance_audit import Attended
from untrackable.display.numbers import all_of, number, upper
from untrackable.display.truth_words import share

_CERTAIN = 0.99
"""From this probability on, people are said to be given away."""


def attendance_words(found: Attended, crowd: int) -> str:
    """How well people are recognised by attendance, alone and with reports, and under which model."""
    attendance, rounds = found.attendance, found.rounds
    often = answering(attendance.participation, rounds)
    if found.alone.lower >= _CERTAIN:
        given_away = "Attendance gives people away, whatever their reports say"
        return f"{given_away}: {certain_words(often, crowd, found.matched)}."
    attack = "" if found.matched is None else f"; an attack found {number(found.matched.alone.sampled)}, sampled"
    sentence = (
        f"By the rounds alone, a person is picked out of {crowd:,} with probability at most "
        f"{upper(found.alone.upper)} (upper{attack}; a guess: {number(1 / crowd)}), if {often} and "
        f"{stays(attendance.persistence)}"
    )
    longer = [f"for {stay.persistence} rounds {upper(stay.recognised.upper)}" for stay in found.longer]
    if found.worst.recognised.upper > found.alone.upper:
        longer.append(f"in the worst case, for {found.worst.persistence}, {upper(found.worst.recognised.upper)}")
    return sentence + (f"; with places kept {', '.join(longer)} (upper)." if longer else ".")


def certain_words(often: str, crowd: int, matched: AttendanceMatched | None) -> str:
    """How well people are recognised who are given away by the rounds they answer."""
    told = f"if {often}, the rounds seen at two places are enough to pick a person out of {crowd:,}"
    if matched is None:
        return f"{told} (upper)"
    return f"{told}; an attack matched {share(matched.alone.sampled)} of {matched.people:,} people (sampled)"


def answering(participation: Fraction, rounds: int) -> str:
    """How often people answer."""
    if participation == 1:
        return f"people answer {all_of(rounds, 'rounds')}"
    return f"people answer each of {rounds:,} rounds with probability {participation}"


def stays(persistence: int) -> str:
    """How long people stay at a place."""
    if persistence == 1:
        return "their places are independent from round to round"
    return f"their places are kept for {persistence:,} rounds and then drawn anew"


def shares(places: Sequence[Fraction]) -> str:
    """The time that people spend at each place."""
    return " and ".join(str(part) for part in places)


def stay_rows(found: Attended) -> Iterator[tuple[str, float]]:
    """Longer stays and the worst one, each with its recognition by attendance alone (upper)."""
    for stay in found.longer:
        yield f"if places are kept for {stay.persistence} rounds", stay.recognised.upper
    yield f"worst case: places kept for {found.worst.persistence}", found.worst.recognised.upper
