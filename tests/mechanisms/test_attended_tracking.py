"""Attendance and reports together against enumeration of places, states and reports."""

import itertools
from collections.abc import Hashable

import pytest

from tests import oracles
from tests.enumeration import FiniteMechanism
from tests.theory.test_symbol_factors import oracle as symbol_oracle
from untrackable import Bitwise, Deck, Fading, InnerProduct, Memoized, NoisyInnerProduct, Rappor
from untrackable.brackets import Bracket
from untrackable.mechanisms.changing_bit import OneChange
from untrackable.mechanisms.interface import Mechanism, recognition
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.theory import turns
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

BLOOMS: dict[Hashable, tuple[int, ...]] = {"a": (1,)}


def enumerated(oracle: FiniteMechanism, value: Hashable, rounds: int) -> Experiment:
    """One person against two: the observer sees the reports of every round at both places."""
    everywhere = list(itertools.product((0, 1), repeat=rounds))

    def streams(where: tuple[int, ...], wanted: tuple[int, ...]) -> dict[Hashable, float]:
        answered = [t for t, place in enumerate(where, 1) if place in wanted]
        law = oracle.streams(value, answered) if answered else {(): 1.0}
        return {
            tuple((t, where[t - 1], report) for t, report in zip(answered, stream, strict=True)): chance
            for stream, chance in law.items()
        }

    def world(*wanted: int) -> dict[Hashable, float]:
        law: dict[Hashable, float] = {}
        for where in everywhere:
            for stream, likely in streams(where, wanted).items():
                law[stream] = law.get(stream, 0.0) + likely / len(everywhere)
        return law

    one, two = world(0, 1), dict[Hashable, float]()
    for (a, p), (b, q) in itertools.product(world(0).items(), world(1).items()):
        both = tuple(sorted((*a, *b)))  # type: ignore[misc]
        two[both] = two.get(both, 0.0) + p * q
    shown = list({**one, **two})
    return Experiment([Factor([one.get(o, 0.0) for o in shown], [two.get(o, 0.0) for o in shown])])


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
    (Deck(bits=1, slots=3, eps_report=1.0, width=1), oracles.dealt(oracles.inner_product(1, 1.0), 3, 2), 1),
]


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(("mechanism", "oracle", "value"), CASES, ids=lambda case: type(case).__name__)
def test_recognition_is_bounded(
    mechanism: Mechanism, oracle: FiniteMechanism, value: Hashable, rounds: int
) -> None:
    truth = enumerated(oracle, value, rounds)
    for people in (2, 10, 1000):
        found, power = recognition(mechanism, rounds, people=people), truth.power(1 / people)
        assert found.lower - 1e-9 <= power.upper
        assert power.lower <= found.upper + 1e-9
        if mechanism.independent or rounds == 1:
            assert found == turns.recognition(rounds, people)


def test_reports_that_can_be_linked_reveal_more() -> None:
    alone = recognition(Deck(bits=10, slots=365, eps_report=0.07, width=1), 6)
    assert alone == recognition(Fading(bits=2, eps=1.0, delta=1e-3), 6) == Bracket.point(0.064)
    quiet = recognition(Bitwise(eps_state=1.0, eps_report=0.05), 6)
    loud = recognition(Bitwise(eps_state=1.0, eps_report=1.0), 6)
    assert alone.upper < quiet.upper < loud.upper < 1
    assert alone.upper < recognition(OneChange(rounds=8, changes=1, eps=1.0), 6).upper <= 1


def test_many_rounds_need_no_engine() -> None:
    """Attendance alone is enough, also where reports are too many for the engine."""
    assert recognition(Bitwise(eps_state=1.0, eps_report=1.0), 100_000) == Bracket.point(1.0)
