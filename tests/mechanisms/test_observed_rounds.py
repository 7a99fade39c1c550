"""Which splits have to be looked at: all of them, or one of each kind where reports repeat."""

import itertools

import pytest

from tests import oracles, oracles_discussed
from tests.client.samples import campaign
from tests.enumeration import FiniteMechanism
from untrackable.accounting.check import verify
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector, public_vector
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import After, Mechanism, ObservedRounds
from untrackable.mechanisms.local import Fresh, RandomizedResponse
from untrackable.mechanisms.sketches import HadamardSketch
from untrackable.mechanisms.stored import Memoized
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.experiment import Experiment

GAMMAS = (0.0, 0.2, 0.7, 1.5)
MANY = (1000, 10**9, LAST_ROUND)
VECTORS = [1, 2, 3]
NUMBERED = [public_vector(number, 2) for number in range(6)]
REPEATED: list[tuple[Mechanism, FiniteMechanism]] = [
    (Memoized(RandomizedResponse(eps=0.9)), oracles.stored(oracles.bit_response(0.9), 1, 2)),
    (Memoized(NoisyInnerProduct(bits=2, eps=0.9, width=1)), oracles.stored(oracles.inner_product(2, 0.9), 1, 4)),
    (FixedVector(bits=2, eps=0.9), oracles_discussed.answered_once(VECTORS, 2, 0.9)),
    (FixedVector(bits=2, eps=0.9, noise="fresh"), oracles_discussed.questioned(VECTORS, 2, 0.9)),
    (Assigned(bits=2, eps=0.9, people=6), oracles_discussed.answered_once(NUMBERED, 2, 0.9)),
    (Assigned(bits=2, eps=0.9, people=6, noise="fresh"), oracles_discussed.questioned(NUMBERED, 2, 0.9)),
]


def enumerated(oracle: FiniteMechanism, reports: int, gamma: float) -> float:
    """Delta of the worst split and value."""
    rounds = range(1, reports + 1)
    splits = itertools.product(oracle.values, range(reports + 1))
    worlds = (oracle.tracking(value, rounds, rounds[:split]) for value, split in splits)
    return max(Experiment([world]).delta(gamma).upper for world in worlds)


@pytest.mark.parametrize(("mechanism", "oracle"), REPEATED, ids=lambda x: type(x).__name__)
def test_tracking_by_repeated_reports_is_exact_for_any_number_of_them(
    mechanism: Mechanism, oracle: FiniteMechanism
) -> None:
    for gamma in GAMMAS:
        truth = [enumerated(oracle, reports, gamma) for reports in (2, 3, 4)]
        assert truth == pytest.approx([truth[0]] * 3, abs=1e-9)
        for reports in (2, 3, 4, *MANY):
            found = mechanism.tracking(reports=reports).delta(gamma)
            assert found.lower == pytest.approx(truth[0], abs=1e-9)
            assert found.upper == pytest.approx(truth[0], abs=1e-9)
        half = mechanism.tracking(reports=10**9, split=10**9 // 2).delta(gamma)
        assert half.upper == pytest.approx(truth[0], abs=1e-9)
        assert mechanism.tracking(reports=10**9, split=0).delta(gamma).upper == 0
    assert mechanism.tracking(reports=1).advantage().upper == 0


@pytest.mark.parametrize("after", ["fresh", "same"])
@pytest.mark.parametrize(
    "mechanism",
    [*(mechanism for mechanism, _ in REPEATED), Fresh(RandomizedResponse(eps=0.4))],
    ids=lambda x: type(x).__name__,
)
def test_detection_needs_no_later_change_than_after_one_report(mechanism: Mechanism, after: After) -> None:
    for reports, gamma in itertools.product((1, 2, 3, 6), GAMMAS):
        given = (mechanism.detection(reports=reports, split=j, after=after) for j in range(reports + 1))
        splits = [pair.delta(gamma) for pair in given]
        found = mechanism.detection(reports=reports, after=after).delta(gamma)
        assert found.upper == pytest.approx(max(split.upper for split in splits), abs=1e-9)
        assert found.lower == pytest.approx(max(split.lower for split in splits), abs=1e-9)


def test_detection_by_repeated_reports_does_not_depend_on_their_number() -> None:
    for mechanism in (Memoized(HadamardSketch(hashes=4, width=8, eps=1.0)), FixedVector(bits=3, eps=0.6)):
        two = mechanism.detection(reports=2).delta(0.3)
        for reports in MANY:
            found = mechanism.detection(reports=reports).delta(0.3)
            assert (found.lower, found.upper) == (two.lower, two.upper)


def test_many_reports_take_no_memory() -> None:
    seen = ObservedRounds.of(None, None, 10**15, 10**15 // 2)
    assert (seen.reports, seen.tracking_by_sides()) == (10**15, 10**15 // 2)
    assert list(ObservedRounds.of(None, None, 10**15, None).detection_by_sides()) == [0, 1]
    assert list(ObservedRounds.of(None, None, 1, None).detection_by_sides()) == [0]
    named = ObservedRounds.of(range(5, 10**15), range(7, 10**14), None, None)
    assert (named.reports, list(named.tracking_splits())) == (10**15 - 5, [10**14 - 7])


def test_a_range_is_the_rounds_in_it() -> None:
    for given, first in ((range(3, 9), range(4, 7)), (range(3, 9), range(3, 9)), (range(9, 2, -2), range(5, 6))):
        by_range, by_list = (
            ObservedRounds.of(make(given), make(first), None, None) for make in (lambda x: x, list)
        )
        assert list(by_range.rounds) == list(by_list.rounds) == sorted(given)
        assert by_range.first is not None
        assert set(by_range.first) == by_list.first == set(first)


@pytest.mark.parametrize(
    ("rounds", "first", "words"),
    [
        (range(5), None, "round must be between 1 and"),
        (range(1, (1 << 53) + 2), None, "round must be between 1 and"),
        (range(4, 4), None, "rounds must be distinct and at least one"),
        (range(3, 9), range(2, 5), "first must be a subset of rounds, got .2. besides"),
        (range(3, 9), range(5, 10), "first must be a subset of rounds, got .9. besides"),
        (range(3, 9), range(5), "round must be between 1 and"),
    ],
)
def test_a_range_is_checked_at_its_ends(rounds: range, first: range | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ObservedRounds.of(rounds, first, None, None)


@pytest.mark.parametrize(
    "mechanism",
    [
        Memoized(NoisyInnerProduct(bits=4, eps=1.0)),
        Memoized(HadamardSketch(hashes=4, width=16, eps=1.0)),
        FixedVector(bits=4, eps=1.0),
        Assigned(bits=4, eps=1.0, people=150),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_campaign_for_ever_can_be_verified(mechanism: Mechanism) -> None:
    tracked = mechanism.tracking(reports=2).delta(0.5).upper
    for declared, holds in ((tracked, True), (tracked * 0.99, False)):
        asked = campaign(mechanism, rounds=None, delta=0.0, values="fixed", gamma=0.5, tracking_delta=declared)
        verdict = verify(asked)
        assert verdict.holds == holds, verdict.problems
        assert verdict.tracking_delta is not None
        assert verdict.tracking_delta.upper == tracked
