"""Attendance and reports together against enumeration of places, coins, states and reports."""

import itertools
import math
from collections.abc import Hashable, Sequence
from fractions import Fraction

import pytest
from scipy.stats import binom

from tests import oracles
from tests.theory.test_attendance import Shares, one_person
from tests.theory.test_factorisations import DIRECTIONS, GAMMAS, assert_equal
from tests.theory.test_symbol_factors import oracle as symbol_oracle
from untrackable import Bitwise, Deck, Fading, InnerProduct, Memoized, NoisyInnerProduct, Rappor
from untrackable.mechanisms.attended_tracking import attended_tracking, most_reports, recognition
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.mechanisms.others.one_change import OneChange
from untrackable.theory.attendance import HALF_AND_HALF, Attendance
from untrackable.theory.dominating_experiment import dominating_experiment, repeated_splits
from untrackable.theory.enumeration import FiniteMechanism, streams_factor
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

THIRDS = (Fraction(1, 3),) * 3
BLOOMS: dict[Hashable, tuple[int, ...]] = {"a": (1,)}


def enumerated(oracle: FiniteMechanism, value: Hashable, attending: Attendance, rounds: int) -> Experiment:
    """One person against one for each place: the observer sees the answers of every round at every place."""
    places = range(len(attending.places))
    seen = one_person(rounds, attending.participation, attending.places, attending.persistence)

    def streams(where: tuple[int | None, ...], wanted: Sequence[int]) -> dict[Hashable, float]:
        """Reports of one person who was there, as far as they are seen at these places: (round, place, report)."""
        answered = [t for t, place in enumerate(where, 1) if place in wanted]
        law = oracle.streams(value, answered) if answered else {(): 1.0}
        return {
            tuple((t, where[t - 1], report) for t, report in zip(answered, stream, strict=True)): chance
            for stream, chance in law.items()
        }

    def world(wanted: Sequence[int]) -> dict[Hashable, float]:
        law: dict[Hashable, float] = {}
        for where, chance in seen.items():
            assert isinstance(where, tuple)
            for stream, likely in streams(where, wanted).items():
                law[stream] = law.get(stream, 0.0) + float(chance) * likely
        return law

    one = world(places)
    several: dict[Hashable, float] = {(): 1.0}
    for place in places:
        here = world([place])
        joined: dict[Hashable, float] = {}
        for (a, p), (b, q) in itertools.product(several.items(), here.items()):
            both = tuple(sorted((*a, *b)))  # type: ignore[misc]
            joined[both] = joined.get(both, 0.0) + p * q
        several = joined
    shown = list({**one, **several})
    return Experiment([Factor([one.get(o, 0.0) for o in shown], [several.get(o, 0.0) for o in shown])])


CASES: list[tuple[Mechanism, FiniteMechanism, Hashable]] = [
    (Bitwise(eps_state=1.0, eps_report=2.0), oracles.bitwise(1.0, 2.0), 1),
    (Bitwise(eps_state=0.3, eps_report=4.0), oracles.bitwise(0.3, 4.0), 0),
    (
        InnerProduct(bits=1, slots=2, eps_report=1.5, width=1),
        oracles.stored(oracles.inner_product(1, 1.5), 2, 2),
        1,
    ),
    (
        Memoized(NoisyInnerProduct(bits=2, eps=1.2, width=1)),
        oracles.stored(oracles.inner_product(2, 1.2), 1, 4),
        1,
    ),
    (Lgrr(values=3, keep=0.6, tell=0.8), symbol_oracle(3, 0.6, 0.8), 1),
    (Rappor(bloom_bits=1, hashes=1, f=0.4, p=0.2, q=0.9), oracles.rappor(BLOOMS, 0.4, 0.2, 0.9), "a"),
]
MODELS: list[tuple[int, Fraction, Shares, int]] = [
    (2, Fraction(1), HALF_AND_HALF, 1),
    (3, Fraction(1, 2), HALF_AND_HALF, 1),
    (3, Fraction(1, 4), (Fraction(3, 5), Fraction(1, 5)), 1),
    (3, Fraction(1, 2), HALF_AND_HALF, 2),
    (3, Fraction(1, 2), THIRDS, 1),
]


@pytest.mark.parametrize(("rounds", "participation", "places", "persistence"), MODELS)
@pytest.mark.parametrize(("mechanism", "oracle", "value"), CASES, ids=lambda case: type(case).__name__)
def test_attendance_and_reports_are_bounded(
    mechanism: Mechanism,
    oracle: FiniteMechanism,
    value: Hashable,
    rounds: int,
    participation: Fraction,
    places: Shares,
    persistence: int,
) -> None:
    attending = Attendance(participation, places, persistence)
    bound = attended_tracking(mechanism, attending, rounds)
    truth = enumerated(oracle, value, attending, rounds)
    assert bound.certainty == "upper"
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        assert bound.delta(gamma, direction).upper >= truth.delta(gamma, direction).upper * (1 - 1e-9) - 1e-13
    for people in (2, 10, 1000):
        assert (
            recognition(mechanism, attending, rounds, people=people).upper >= truth.power(1 / people).lower - 1e-9
        )


def test_a_bound_for_two_people_is_too_small_for_three_places() -> None:
    """One person is told from three people more easily than from two."""
    mechanism, oracle = Bitwise(eps_state=0.2, eps_report=5.0), oracles.bitwise(0.2, 5.0)
    attending = Attendance(Fraction(1, 2), THIRDS)
    one, three = oracle.streams(1, [1, 2, 3]), oracle.several_people([(1, [1]), (1, [2]), (1, [3])])
    truth = Experiment([streams_factor(one, three)])
    of_two = dominating_experiment(mechanism.tracking(reports=3))
    of_three = repeated_splits(of_two, 2)
    assert of_two.advantage().upper < 0.7 * truth.advantage().upper
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        assert of_three.delta(gamma, direction).upper >= truth.delta(gamma, direction).upper
    both = attending.experiment(3) + of_three
    assert attended_tracking(mechanism, attending, 3).advantage().upper == pytest.approx(both.advantage().upper)


@pytest.mark.parametrize("participation", [Fraction(1), Fraction(1, 3)])
def test_decks_are_exact(participation: Fraction) -> None:
    """Cards say nothing, so that only attendance counts."""
    mechanism = Deck(bits=1, slots=3, eps_report=1.0, width=1)
    oracle = oracles.dealt(oracles.inner_product(1, 1.0), 3, 2)
    attending = Attendance(participation)
    truth = enumerated(oracle, 1, attending, 3)
    assert_equal(attended_tracking(mechanism, attending, 3), truth.factors[0][0])
    fading = Fading(bits=2, eps=1.0, delta=1e-3)
    assert attended_tracking(fading, attending, 365).certainty == "exact"


def test_a_card_that_is_sent_again_counts() -> None:
    """Few reports of a replayed deck may still be of one card, so all rounds have to be counted."""
    mechanism = Deck(bits=8, slots=40, eps_report=0.5, when_empty="replay", width=1)
    attending = Attendance(Fraction(1, 50))
    assert most_reports(attending, 80) < 40
    with pytest.raises(ValueError, match="later rounds are not alike"):
        attended_tracking(mechanism, attending, 80)
    assert attended_tracking(mechanism, attending, 40).certainty == "exact"


def test_one_change_is_bounded() -> None:
    mechanism = OneChange(rounds=8, changes=1, eps=1.0)
    attending = Attendance(Fraction(1, 4))
    bound = attended_tracking(mechanism, attending, 8)
    assert bound.advantage().upper >= attending.experiment(8).advantage().upper


def test_without_a_last_round_everybody_is_recognised() -> None:
    mechanism = Fading(bits=2, eps=1.0, delta=1e-3)
    assert recognition(mechanism, Attendance(Fraction(1, 20)), None).upper == 1
    assert recognition(mechanism, Attendance(Fraction(1, 20), one_network=True), None).upper == 1 / 1000


@pytest.mark.parametrize("rounds", [1, 5, 30, 365, 5000])
@pytest.mark.parametrize("participation", [Fraction(1), Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)])
@pytest.mark.parametrize("places", [HALF_AND_HALF, (Fraction(1, 2), Fraction(1, 10)), THIRDS])
@pytest.mark.parametrize("persistence", [1, 7])
def test_most_reports_is_seldom_exceeded(
    rounds: int, participation: Fraction, places: Shares, persistence: int
) -> None:
    """By exact binomial tails, for one person and for one at every place; and it is not much too large."""
    most = most_reports(Attendance(participation, places, persistence), rounds)
    if most == rounds:
        return
    chance, share = float(participation), float(sum(places)) if persistence == 1 else 1.0
    assert binom.sf(most, rounds, chance * share) <= 1e-12
    each = [float(place) for place in places] if persistence == 1 else [1.0] * len(places)
    if len(set(each)) == 1:
        assert binom.sf(most, rounds * len(places), chance * each[0]) <= 1e-12
    mean = rounds * chance * (share if persistence == 1 else len(places))
    assert most <= mean + 9 * math.sqrt(mean) + 25


def test_the_known_numbers_hold_with_reports() -> None:
    """Reports that can be linked make recognition larger; attendance alone is the least."""
    attending = Attendance(Fraction(1, 20))
    alone = recognition(Deck(bits=10, slots=365, eps_report=0.07, width=1), attending, 365)
    assert alone.upper == pytest.approx(0.00185, rel=0.01)
    quiet = recognition(Bitwise(eps_state=1.0, eps_report=0.05), attending, 365)
    loud = recognition(Bitwise(eps_state=1.0, eps_report=1.0), attending, 365)
    assert alone.upper < quiet.upper < loud.upper < 1
