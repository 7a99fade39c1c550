"""What attendance in all campaigns reveals together, against enumeration of all that an observer sees."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from untrackable.accounting.attended_rounds import AttendedRounds, recognition
from untrackable.accounting.client_check import ATTENDANCE_STEP
from untrackable.theory.attendance import AMONG, Attendance
from untrackable.theory.integer_losses import LossLaw

HALF = Fraction(1, 2)


def rounds(participation: Any, anywhere: int | None, settled: int | None = 0, **given: Any) -> AttendedRounds:
    return AttendedRounds(Attendance(Fraction(participation), **given), anywhere, settled)


def found(*campaigns: AttendedRounds, reports: tuple[LossLaw, ...] = ()) -> float:
    return recognition(campaigns, reports, ATTENDANCE_STEP)


def test_several_campaigns_at_the_same_times_are_one_that_is_answered_more_often() -> None:
    for participation, count in ((Fraction(1, 20), 2), (Fraction(1, 50), 3)):
        together = 1 - (1 - participation) ** count
        assert found(*[rounds(participation, 365)] * count) == found(rounds(together, 365))


def test_known_numbers() -> None:
    """At one in twenty over 365 rounds, five campaigns let nearly half be recognised, and ten everybody."""
    assert found(rounds("1/20", 365)) == pytest.approx(0.00185, abs=1e-5)
    assert found(*[rounds("1/20", 365)] * 5) == pytest.approx(0.44, abs=0.005)
    assert found(*[rounds("1/20", 365)] * 10) == pytest.approx(1, abs=1e-3)
    assert found(rounds(1, 3)) < 0.01 < found(rounds(1, 4))


def test_campaigns_one_after_the_other_are_one_with_more_rounds() -> None:
    """Two campaigns of three rounds, all of them answered, may be six rounds: aligned ones would reveal less."""
    assert found(rounds(1, 3), rounds(1, 3)) == pytest.approx(found(rounds(1, 6)), rel=1e-6)
    assert found(rounds(1, 3), rounds(1, 3)) > 4 * found(rounds(1, 3))


def test_no_second_stream_reveals_nothing() -> None:
    assert found() == found(rounds(1, 0, 365)) == found(rounds(1, 0, None), rounds("1/2", 0, 9)) == 1 / AMONG


def test_rounds_without_end_reveal_everything_unless_they_come_from_one_network() -> None:
    assert found(rounds("1/1000", None)) == 1.0
    assert found(rounds("1/1000", None), rounds("1/20", 0, None)) == 1.0
    assert found(rounds("1/20", 0, None), rounds("1/20", 30)) < 0.002


def test_reports_are_counted_too() -> None:
    told = LossLaw.declared(0.0, 0.25)
    alone, both = found(rounds("1/20", 100)), found(rounds("1/20", 100), reports=(told,))
    assert 0.25 < both < 0.25 + alone + 1e-3


def test_the_worst_of_all_declared_places_counts() -> None:
    uneven = (Fraction(9, 10), Fraction(1, 10))
    one, other = rounds("1/4", 40), rounds("1/4", 40, places=uneven)
    assert found(one, other) == found(one, one) > found(other, other)


# --- against enumeration ---------------------------------------------------------------------------------------

Seen = dict[frozenset[tuple[int, str]], Fraction]
"""The probability of each set of answers during one stay. An answer is a place and a campaign."""


def seen_by_one(chances: dict[int, dict[str, Fraction]], places: list[Fraction]) -> Seen:
    """One person, who is at one of the places or where nobody looks."""
    law: Seen = {frozenset(): 1 - sum(places, Fraction(0))}
    for place, share in enumerate(places):
        for seen, chance in answers(chances[place], place).items():
            law[seen] = law.get(seen, Fraction(0)) + share * chance
    return law


def seen_by_several(chances: dict[int, dict[str, Fraction]], places: list[Fraction]) -> Seen:
    """Another person at each place, each of whom is there with the place's share of the time."""
    law = {frozenset[tuple[int, str]](): Fraction(1)}
    for place, share in enumerate(places):
        own = answers(chances[place], place)
        own = {seen: share * chance for seen, chance in own.items()}
        own[frozenset()] += 1 - share
        mixed: Seen = {}
        for (one, p), (other, q) in itertools.product(law.items(), own.items()):
            mixed[one | other] = mixed.get(one | other, Fraction(0)) + p * q
        law = mixed
    return law


def answers(chances: dict[str, Fraction], place: int) -> Seen:
    """Which campaigns somebody answers who is at a place."""
    law = {}
    for coins in itertools.product((False, True), repeat=len(chances)):
        seen = frozenset((place, name) for name, coin in zip(chances, coins, strict=True) if coin)
        law[seen] = math.prod(
            (chance if coin else 1 - chance for chance, coin in zip(chances.values(), coins, strict=True)),
            start=Fraction(1),
        )
    return law


def best_power(stays: list[tuple[dict[int, dict[str, Fraction]], list[Fraction]]]) -> float:
    """The largest probability of recognising one person at a false-alarm rate of 1/1,000, by listing everything."""
    worlds = [(Fraction(1), Fraction(1))]
    for chances, places in stays:
        one, several = seen_by_one(chances, places), seen_by_several(chances, places)
        seen = set(one) | set(several)
        pairs = [(one.get(s, Fraction(0)), several.get(s, Fraction(0))) for s in seen]
        worlds = [(p * a, q * b) for p, q in worlds for a, b in pairs if a or b]
    left, power = Fraction(1, AMONG), Fraction(0)
    for p, q in sorted((pair for pair in worlds if pair[0]), key=lambda pair: pair[1] / pair[0]):
        share = Fraction(1) if q <= left else left / q
        power, left = power + share * p, left - share * q
        if share < 1:
            break
    return float(power)


def everywhere(chances: dict[str, Fraction], places: list[Fraction]) -> dict[int, dict[str, Fraction]]:
    return {place: chances for place, _ in enumerate(places)}


R, S = Fraction(2, 5), Fraction(3, 4)
EVEN, THREE = [HALF, HALF], [HALF, Fraction(1, 4), Fraction(1, 8)]


@pytest.mark.parametrize("places", [EVEN, THREE], ids=["two", "three"])
@pytest.mark.parametrize("count", [1, 3])
def test_two_campaigns_at_the_same_times_by_enumeration(places: list[Fraction], count: int) -> None:
    chances = everywhere({"a": R, "b": S}, places)
    exact = best_power([(chances, places)] * count)
    told = found(rounds(R, count, places=tuple(places)), rounds(S, count, places=tuple(places)))
    assert exact <= told
    # The bound also counts the two campaigns one after the other, which may reveal more.
    after = [(everywhere({"x": chance}, places), places) for chance in (R, S)]
    assert told <= max(exact, best_power(after * count)) * math.exp(1 / 32) + 1e-6


@pytest.mark.parametrize("places", [EVEN, THREE], ids=["two", "three"])
@pytest.mark.parametrize("network", [0, 1])
def test_a_campaign_at_the_remembered_network_beside_another_by_enumeration(
    places: list[Fraction], network: int
) -> None:
    """A report from the remembered network shows that the person is there, so it is not free beside others."""
    chances = {place: {"a": R, "b": S} if place == network else {"a": R} for place in range(len(places))}
    exact = best_power([(chances, places)] * 3)
    alone = best_power([(everywhere({"a": R}, places), places)] * 3)
    told = found(rounds(R, 3, places=tuple(places)), rounds(S, 0, 3, places=tuple(places)))
    assert alone < exact <= told
    if places == EVEN or network == 0:
        assert told <= exact * math.exp(1 / 32) + 1e-6


def test_campaigns_of_different_lengths_by_enumeration() -> None:
    both, one = (everywhere(chances, EVEN) for chances in ({"a": R, "b": S}, {"a": R}))
    exact = best_power([(both, EVEN)] * 2 + [(one, EVEN)] * 2)
    assert exact <= found(rounds(R, 4), rounds(S, 2))


def test_longer_stays_by_enumeration() -> None:
    """Stays of two rounds in one campaign, and of one round in the other: the last stay may be a short one."""
    twice = 1 - (1 - R) ** 2
    exact = best_power([(everywhere({"a": chance, "b": S}, EVEN), EVEN) for chance in (twice, twice, R)])
    assert exact <= found(rounds(R, 5, persistence=2), rounds(S, 3))
