"""Every mechanism answers the questions that the rest of the project asks, and answers them truly."""

from typing import Any

import pytest

from tests.mechanisms.test_client_states import ONE_OF_EACH
from untrackable.errors import DeckEmpty, ValueChangeRefused
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.dbitflip import DBitFlip
from untrackable.mechanisms.deck import Dealt, Deck
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import Bitwise, Unary
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.mechanisms.local import RandomizedResponse, SubsetSelection
from untrackable.mechanisms.loloha import Loloha
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.rarely import Rarely
from untrackable.mechanisms.stored import InnerProduct, Memoized, Stored
from untrackable.mechanisms.string_levels import Levelled
from untrackable.randomizers.randomness import system

OTHERS: list[Mechanism] = [
    Unary.for_budget("L-SUE", values=5, eps=1.0, eps_report=0.5),
    Lgrr.for_budget(values=5, eps=1.0, eps_report=0.5),
    Loloha.for_budget("OLOLOHA", values=9, eps=3.0, eps_report=1.5, seed_bits=8),
    DBitFlip(buckets=6, sampled=2, eps=1.0, output_flip=0.1),
    FixedVector(bits=3, eps=1.0),
    FixedVector(bits=3, eps=1.0, noise="fresh"),
    Assigned(bits=2, eps=1.0, people=30),
    OneChange(rounds=8, changes=2, eps=1.0),
    Votes.for_budget(eps=1.0, changes=2, updates=(1, 5)),
    Rarely(eps=1.0, chance=0.3),
    Memoized(SubsetSelection(values=6, eps=1.0)),
    Stored(Levelled(NoisyInnerProduct(bits=3, eps=1.0, width=1), 2), 4),
]
EACH: list[Any] = [
    *(pytest.param(mechanism, id=name) for name, (mechanism, _) in ONE_OF_EACH.items()),
    *(pytest.param(mechanism, id=repr(mechanism)) for mechanism in OTHERS),
]


@pytest.mark.parametrize("mechanism", EACH)
def test_capacity_is_what_states_take(mechanism: Mechanism) -> None:
    room = mechanism.capacity
    if room is None:
        assert mechanism.takes_strings
        assert mechanism.has_room_for(1 << 100)
        mechanism.client("any text")
        return
    mechanism.client(room - 1)
    assert mechanism.has_room_for(room)
    assert not mechanism.has_room_for(room + 1)
    with pytest.raises(ValueError, match="value must be between 0 and"):
        mechanism.client(room)


@pytest.mark.parametrize("mechanism", EACH)
def test_a_state_changes_its_value_or_says_that_it_cannot(mechanism: Mechanism) -> None:
    state = mechanism.new_state(0, system)
    if mechanism.changes_in_place:
        mechanism.pack_state(mechanism.change_value(state, 1, system))
    else:
        with pytest.raises(ValueChangeRefused):
            mechanism.change_value(state, 1, system)


@pytest.mark.parametrize("mechanism", EACH)
def test_a_state_that_forgot_a_report_is_still_a_state(mechanism: Mechanism) -> None:
    for _ in range(5):
        report, after = mechanism.make_report(mechanism.new_state(0, system), 1, system)
        left = mechanism.unpack_state(mechanism.pack_state(mechanism.forget_report(after, 1, system)))
        assert 0 <= report < 1 << mechanism.report_bits
        assert len(mechanism.pack_state(left)) == len(mechanism.pack_state(after))


@pytest.mark.parametrize(
    "mechanism", [Deck(bits=60, slots=3, eps_report=1.0), Fading(bits=60, eps=1.0, delta=1e-6)]
)
def test_a_forgotten_report_is_gone(mechanism: Mechanism) -> None:
    report, after = mechanism.make_report(mechanism.new_state(0, system), 2, system)
    size = (mechanism.report_bits + 7) // 8
    assert report.to_bytes(size, "big") in mechanism.pack_state(after)
    assert report.to_bytes(size, "big") not in mechanism.pack_state(mechanism.forget_report(after, 2, system))


@pytest.mark.parametrize("mechanism", EACH)
def test_no_round_is_answered_after_the_last(mechanism: Mechanism) -> None:
    state = mechanism.new_state(0, system)
    if (last := mechanism.last_round) is None:
        mechanism.make_report(state, 10**6, system)
    else:
        mechanism.make_report(state, last, system)
        with pytest.raises((DeckEmpty, ValueError)):
            mechanism.make_report(state, last + 1, system)


@pytest.mark.parametrize("mechanism", EACH)
def test_errors_of_rounds_and_values(mechanism: Mechanism) -> None:
    first, second = (mechanism.accuracy(1000, round=r, candidates=range(3)) for r in (1, 2))
    assert not mechanism.rounds_alike or first == second
    assert 1 <= mechanism.independent_errors(16) <= 16
    assert mechanism.publications.startswith(mechanism.published)


def test_errors_that_are_the_same_count_once() -> None:
    bit = RandomizedResponse(eps=1.0)
    for mechanism, values, count in (
        (Bitwise(eps_state=1.0, eps_report=1.0), 2, 1),
        (OneChange(rounds=4, changes=1, eps=1.0), 2, 1),
        (Deck(bits=1, slots=3, eps_report=0.1), 2, 1),
        (Fading(bits=1, eps=1.0, delta=1e-6), 2, 1),
        (Deck(bits=5, slots=3, eps_report=0.1), 9, 16),
        (Deck(bits=3, slots=3, eps_report=0.1), 100, 8),
        (Dealt(bit, 3), 2, 2),
        (Unary.for_budget("L-SUE", values=9, eps=1.0, eps_report=0.5), 9, 9),
    ):
        assert mechanism.independent_errors(values) == count, mechanism


@pytest.mark.parametrize("reports", [2, 3, 8])
@pytest.mark.parametrize("mechanism", EACH)
def test_the_closed_advantage_bounds_the_engine_s(mechanism: Mechanism, reports: int) -> None:
    last = mechanism.last_round
    if last is None or reports <= last:
        engine = mechanism.tracking(rounds=range(1, reports + 1)).advantage()
        assert mechanism.tracking_advantage_upper(reports) >= engine.lower * (1 - 1e-9)
        assert mechanism.tracking_advantage_upper(None) >= engine.lower * (1 - 1e-9)
    assert mechanism.tracking_advantage_upper(1) <= 1e-12


@pytest.mark.parametrize(
    "mechanism",
    [
        Bitwise(eps_state=1.0, eps_report=0.5),
        InnerProduct(bits=200, slots=50, eps_report=0.1),
        Unary.for_budget("L-OSUE", values=2, eps=1.0, eps_report=0.5),
        Lgrr.for_budget(values=2, eps=1.0, eps_report=0.5),
    ],
    ids=repr,
)
def test_the_closed_advantage_is_sharp(mechanism: Mechanism) -> None:
    engine = mechanism.tracking(reports=6).advantage()
    assert mechanism.tracking_advantage_upper(6) <= 2.1 * engine.upper


def test_values_that_are_easier_to_track() -> None:
    rappor = Rappor(bloom_bits=4, hashes=2, f=0.2, p=0.1, q=0.9)
    assert not rappor.values_alike
    assert rappor.worst_tracking(3).delta(1.0).upper > rappor.tracking(reports=3).delta(1.0).upper
    assert Memoized(RandomizedResponse(eps=1.0)).values_alike
