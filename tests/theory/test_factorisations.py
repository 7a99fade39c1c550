"""Every mechanism's experiments against brute-force enumeration of the definitions."""

import itertools
from collections.abc import Hashable

import pytest

from tests import oracles
from tests.enumeration import FiniteMechanism, Law, Stream, streams_factor
from tests.oracles import subsets
from untrackable import (
    Bitwise,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
)
from untrackable.mechanisms import Unary
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.kept_bits import Preset
from untrackable.theory import Experiment, Factor, Worst
from untrackable.theory.experiment import Direction

GAMMAS = (0.0, 0.03, 0.2, 0.7, 1.5, 4.0)
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


def assert_equal(pair: Pair, oracle: Factor) -> None:
    """The same pure bound and the same delta at every gamma, in each direction."""
    truth = Experiment([oracle])
    assert pair.certainty == "exact"
    assert pair.pure() == pytest.approx(truth.pure(), rel=1e-9, abs=1e-12)
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        found, expected = pair.delta(gamma, direction), truth.delta(gamma, direction)
        assert found.upper == pytest.approx(expected.upper, rel=1e-9, abs=1e-13)
        assert found.lower == pytest.approx(expected.lower, rel=1e-9, abs=1e-13)


def assert_dominates(pair: Pair, oracle: Factor) -> None:
    truth = Experiment([oracle])
    assert pair.certainty == "upper"
    assert pair.pure() >= truth.pure() * (1 - 1e-9) - 1e-12
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        assert pair.delta(gamma, direction).upper >= truth.delta(gamma, direction).upper * (1 - 1e-9) - 1e-13


def proper_subsets(rounds: list[int]) -> list[tuple[int, ...]]:
    return list(subsets(rounds))


@pytest.mark.parametrize(("eps_state", "eps_report"), [(0.1, 1.0), (2.0, 0.5), (1.0, 3.0)])
@pytest.mark.parametrize("reports", [1, 2, 3, 4])
def test_bitwise(eps_state: float, eps_report: float, reports: int) -> None:
    mechanism, oracle = Bitwise(eps_state=eps_state, eps_report=eps_report), oracles.bitwise(eps_state, eps_report)
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy(1, 0, rounds))
    for first in proper_subsets(rounds):
        for value in (0, 1):
            assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(value, rounds, first))
            assert_equal(
                mechanism.detection(rounds=rounds, first=first), oracle.detection(value, 1 - value, rounds, first)
            )


def test_bitwise_everlasting_is_the_limit_of_many_reports() -> None:
    mechanism = Bitwise(eps_state=0.7, eps_report=1.0)
    everlasting = mechanism.privacy()
    assert everlasting.pure() == pytest.approx(0.7)
    deltas = [mechanism.privacy(reports=k).delta(0.2).upper for k in (1, 5, 20, 200)]
    assert deltas == sorted(deltas)
    assert deltas[-1] == pytest.approx(everlasting.delta(0.2).upper, rel=1e-6)


BLOOMS: dict[Hashable, tuple[int, ...]] = {
    "one": (1, 0, 0),
    "other": (0, 1, 0),
}


@pytest.mark.parametrize(("f", "p", "q"), [(0.5, 0.5, 0.75), (0.2, 0.1, 0.9), (0.8, 0.7, 0.3), (0.5, 0.0, 1.0)])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_rappor(f: float, p: float, q: float, reports: int) -> None:
    mechanism = Rappor(bloom_bits=3, hashes=1, f=f, p=p, q=q)
    oracle = oracles.rappor(BLOOMS, f, p, q)
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy("one", "other", rounds))
    for first in proper_subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking("one", rounds, first))
        found = mechanism.detection(rounds=rounds, first=first)
        assert_equal(found, oracle.detection("one", "other", rounds, first))


def test_rappor_with_colliding_hashes_has_fewer_ones() -> None:
    mechanism = Rappor(bloom_bits=3, hashes=2, f=0.5, p=0.5, q=0.75)
    oracle = oracles.rappor({"collided": (1, 0, 0), "usual": (1, 1, 0)}, 0.5, 0.5, 0.75)
    assert_equal(mechanism.tracking(reports=3, split=1, ones=1), oracle.tracking("collided", [1, 2, 3], [1]))
    assert_equal(mechanism.tracking(reports=3, split=1), oracle.tracking("usual", [1, 2, 3], [1]))
    worst = mechanism.tracking(reports=3, split=1, ones="worst")
    assert isinstance(worst, Worst)
    both = [oracle.tracking(value, [1, 2, 3], [1]) for value in oracle.values]
    assert worst.pure() == pytest.approx(max(Experiment([f]).pure() for f in both), rel=1e-9)


def test_rappor_detection_looks_at_every_overlap() -> None:
    mechanism = Rappor(bloom_bits=4, hashes=2, f=0.5, p=0.3, q=0.8)
    filters = [(1, 0, 0, 0), (1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (0, 0, 0, 1)]  # every overlap occurs
    oracle = oracles.rappor(dict(zip(filters, filters, strict=True)), 0.5, 0.3, 0.8)
    found = mechanism.detection(reports=2, split=1)
    truths = [
        Experiment([oracle.detection(one, other, [1, 2], [1])]) for one, other in itertools.permutations(filters, 2)
    ]
    for gamma in GAMMAS:
        assert found.delta(gamma).upper == pytest.approx(max(t.delta(gamma).upper for t in truths), rel=1e-9)


def random_base(bits: int, eps: float, slots: int) -> tuple[NoisyInnerProduct, FiniteMechanism, FiniteMechanism]:
    law = oracles.inner_product(bits, eps)
    return (
        NoisyInnerProduct(bits=bits, eps=eps, width=1),
        oracles.stored(law, slots, 2**bits),
        oracles.dealt(law, slots, 2**bits),
    )


@pytest.mark.parametrize(("bits", "slots"), [(1, 2), (1, 3), (2, 2), (3, 2)])
@pytest.mark.parametrize("reports", [2, 3])
def test_inner_product(bits: int, slots: int, reports: int) -> None:
    mechanism = InnerProduct(bits=bits, slots=slots, eps_report=0.8, width=1)
    _, oracle, _ = random_base(bits, 0.8, slots)
    rounds = list(range(1, reports + 1))
    for value, other in ((0, 1), (1, 2**bits - 1), (0, 2**bits - 1)):
        if value == other:
            continue
        assert_dominates(mechanism.privacy(reports=reports), oracle.privacy(value, other, rounds))
        for first in proper_subsets(rounds):
            assert_dominates(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(value, rounds, first))
            assert_dominates(
                mechanism.detection(rounds=rounds, first=first), oracle.detection(value, other, rounds, first)
            )


def test_inner_product_approaches_the_bound_as_bits_grow() -> None:
    gaps = []
    for bits in (1, 2, 3, 4):
        bound = InnerProduct(bits=bits, slots=2, eps_report=0.8, width=1).tracking(reports=2, split=1)
        truth = Experiment([random_base(bits, 0.8, 2)[1].tracking(1, [1, 2], [1])])
        gaps.append(bound.advantage().upper - truth.advantage().upper)
    assert all(0 < later < 0.6 * earlier for earlier, later in itertools.pairwise(gaps))
    assert gaps[-1] < 0.02


@pytest.mark.parametrize(("reports", "split"), [(2, 1), (3, 1), (4, 2)])
def test_inner_product_attains_the_bound_as_bits_grow(reports: int, split: int) -> None:
    """With unique reports (an abstract base of so many outcomes) the pattern is all there is, and it is seen."""
    slots = 3
    bound = InnerProduct(bits=40, slots=slots, eps_report=1.0, width=1).tracking(reports=reports, split=split)
    rounds, first = list(range(1, reports + 1)), list(range(1, split + 1))
    gaps = []
    for outcomes in (2, 6, 14):
        base = dict.fromkeys(range(outcomes), 1 / outcomes)
        oracle = oracles.stored(lambda value, base=base: base, slots, 1)  # type: ignore[misc]
        truth = Experiment([oracle.tracking(0, rounds, first)])
        gaps.append(bound.advantage().upper - truth.advantage().upper)
    assert all(gap >= -1e-12 for gap in gaps)
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 0.35 * gaps[0]


@pytest.mark.parametrize(("bits", "slots"), [(1, 3), (2, 3), (3, 2)])
def test_inner_product_everlasting_is_its_whole_state(bits: int, slots: int) -> None:
    """The state as a stream: a dealt deck that is dealt once shows every slot."""
    mechanism = InnerProduct(bits=bits, slots=slots, eps_report=0.6, width=1)
    _, _, whole = random_base(bits, 0.6, slots)
    rounds = list(range(1, slots + 1))
    for value, other in itertools.combinations(range(2**bits), 2):
        assert_equal(mechanism.privacy(), whole.privacy(value, other, rounds))


@pytest.mark.parametrize(("bits", "slots"), [(1, 3), (2, 3), (3, 2)])
def test_deck_is_untrackable_exactly(bits: int, slots: int) -> None:
    mechanism = Deck(bits=bits, slots=slots, eps_report=0.9, width=1)
    _, _, oracle = random_base(bits, 0.9, slots)
    rounds = list(range(1, slots + 1))
    for first in subsets(rounds):
        found = mechanism.tracking(rounds=rounds, first=first)
        assert (found.pure(), found.advantage().upper) == (0.0, 0.0)
        for value in range(2**bits):
            truth = oracle.tracking(value, rounds, first)
            assert Experiment([truth]).pure() < 1e-12
        assert_equal(mechanism.detection(rounds=rounds, first=first), oracle.detection(0, 1, rounds, first))
    for k in rounds:
        assert_equal(mechanism.privacy(reports=k), oracle.privacy(0, 2**bits - 1, rounds[:k]))
        assert mechanism.tracking(reports=k).advantage().upper == 0.0


def test_deck_is_untrackable_exactly_when_the_value_changes() -> None:
    """A value that is a sequence: card t is about the value at round t, for one user as for two."""
    law = oracles.inner_product(2, 0.9)
    sequences = [(0, 0, 3), (1, 2, 1), (3, 0, 0)]

    def state(value: object) -> dict[object, float]:
        assert isinstance(value, tuple)
        total: dict[object, float] = {}
        for combination in itertools.product(*(law(v).items() for v in value)):
            cards = tuple(card for card, _ in combination)
            chance = 1.0
            for _, p in combination:
                chance *= p
            total[cards] = total.get(cards, 0.0) + chance
        return total

    oracle = FiniteMechanism(sequences, state, lambda cards, round: {cards[round - 1]: 1.0})  # type: ignore[index]
    mechanism = Deck(bits=2, slots=3, eps_report=0.9, width=1)
    for sequence, first in itertools.product(sequences, subsets([1, 2, 3])):
        assert Experiment([oracle.tracking(sequence, [1, 2, 3], first)]).pure() < 1e-12
    # Sequences that differ at every round are the worst pair, and cost what two fixed values cost.
    assert_equal(mechanism.privacy(values="any"), oracle.privacy((0, 0, 3), (1, 2, 1), [1, 2, 3]))


@pytest.mark.parametrize("rounds", [[1, 3], [1, 2, 3, 4], [2, 4, 6], [1, 3, 5]])
def test_replayed_deck(rounds: list[int]) -> None:
    mechanism = Deck(bits=2, slots=2, eps_report=0.9, when_empty="replay", width=1)
    _, _, oracle = random_base(2, 0.9, 2)
    for first in subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(1, rounds, first))
        truth = Experiment([oracle.detection(1, 2, rounds, first)])
        found = mechanism.detection(rounds=rounds, first=first)
        assert found.advantage().upper >= truth.advantage().upper * (1 - 1e-9) - 1e-12
    worst = max(Experiment([oracle.tracking(1, rounds, first)]).advantage().upper for first in subsets(rounds))
    assert mechanism.tracking(rounds=rounds).advantage().upper == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("reports", [2, 3])
def test_memoized(reports: int) -> None:
    rounds = list(range(1, reports + 1))
    for mechanism, law, values in (
        (Memoized(RandomizedResponse(eps=1.2)), oracles.bit_response(1.2), 2),
        (Memoized(NoisyInnerProduct(bits=2, eps=1.2, width=1)), oracles.inner_product(2, 1.2), 4),
    ):
        oracle = oracles.stored(law, 1, values)
        assert_equal(mechanism.privacy(), oracle.privacy(0, 1, rounds))
        for first in subsets(rounds):
            assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(1, rounds, first))


def test_stored_randomised_response() -> None:
    mechanism = Stored(RandomizedResponse(eps=0.7), 3)
    oracle = oracles.stored(oracles.bit_response(0.7), 3, 2)
    rounds = [1, 2, 3, 4]
    assert_dominates(mechanism.privacy(reports=4), oracle.privacy(0, 1, rounds))
    for first in subsets(rounds):
        assert_dominates(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(0, rounds, first))
        assert_dominates(mechanism.detection(rounds=rounds, first=first), oracle.detection(0, 1, rounds, first))


@pytest.mark.parametrize("power", [0.6, 0.75, 2.0])
def test_fading(power: float) -> None:
    mechanism = Fading(bits=2, eps=1.0, delta=1e-3, power=power)
    laws = {t: oracles.inner_product(2, mechanism.scale * t**-power) for t in (1, 2, 5)}
    oracle = oracles.stateless(lambda value, round: laws[round](value), 4)
    for first in subsets([1, 2, 5]):
        assert mechanism.tracking(rounds=[1, 2, 5], first=first).pure() == 0
        assert Experiment([oracle.tracking(3, [1, 2, 5], first)]).pure() < 1e-12
        assert_equal(mechanism.detection(rounds=[1, 2, 5], first=first), oracle.detection(3, 1, [1, 2, 5], first))
    assert_equal(mechanism.privacy(reports=2), oracle.privacy(0, 3, [1, 2]))


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_fresh(reports: int) -> None:
    rounds = list(range(1, reports + 1))
    for mechanism, law, values in (
        (Fresh(RandomizedResponse(eps=1.2)), oracles.bit_response(1.2), 2),
        (Fresh(NoisyInnerProduct(bits=2, eps=1.2, width=1)), oracles.inner_product(2, 1.2), 4),
    ):
        oracle = oracles.stateless(lambda value, round, law=law: law(value), values)  # type: ignore[misc]
        assert_equal(mechanism.privacy(reports=reports), oracle.privacy(0, 1, rounds))
        for first in subsets(rounds):
            assert Experiment([oracle.tracking(1, rounds, first)]).pure() < 1e-12
            assert mechanism.tracking(rounds=rounds, first=first).pure() == 0
            assert_equal(mechanism.detection(rounds=rounds, first=first), oracle.detection(1, 0, rounds, first))


def sequences_apart(oracle: FiniteMechanism, values: int, reports: int) -> list[Factor]:
    """Every two sequences of values, where a client keeps one state for each value that it ever holds."""
    rounds = list(range(1, reports + 1))

    def world(sequence: tuple[int, ...]) -> dict[Stream, float]:
        by_value = [(v, [r for r in rounds if sequence[r - 1] == v]) for v in sorted(set(sequence))]
        return oracle.several_people(by_value)

    worlds = [world(s) for s in itertools.product(range(values), repeat=reports)]
    return [streams_factor(a, b) for a, b in itertools.combinations(worlds, 2)]


def test_any_sequence_of_values_is_bounded() -> None:
    for mechanism, oracle, values in (
        (Bitwise(eps_state=0.5, eps_report=1.0), oracles.bitwise(0.5, 1.0), 2),
        (
            InnerProduct(bits=2, slots=2, eps_report=0.7, width=1),
            oracles.stored(oracles.inner_product(2, 0.7), 2, 4),
            4,
        ),
    ):
        bound = mechanism.privacy(reports=3, values="any")
        assert bound.certainty == "upper"
        truths = [Experiment([f]) for f in sequences_apart(oracle, values, 3)[:: 1 if values == 2 else 7]]
        for gamma in GAMMAS:
            assert bound.delta(gamma).upper >= max(t.delta(gamma).upper for t in truths) - 1e-12
    # and it is no empty statement: a state that persists makes sequences easier to tell apart than fixed values
    exact = max(Experiment([f]).pure() for f in sequences_apart(oracles.bitwise(0.5, 1.0), 2, 3))
    assert exact > Bitwise(eps_state=0.5, eps_report=1.0).privacy(reports=3).pure()


@pytest.mark.parametrize(
    "mechanism",
    [
        Rappor(bloom_bits=4, hashes=3, f=0.25, p=0.785, q=0.4),
        Rappor(bloom_bits=6, hashes=3, f=0.1105, p=0.00147, q=0.09598),
        Rappor(bloom_bits=2, hashes=2, f=0.5, p=0.2, q=0.9),
    ],
)
@pytest.mark.parametrize("reports", [1, 2, 6])
def test_detecting_a_change_is_no_harder_than_telling_values_apart(mechanism: Rappor, reports: int) -> None:
    """With no report before the change, detection is privacy; filters with colliding hashes included."""
    for gamma in GAMMAS:
        apart = mechanism.detection(reports=reports, split=0).delta(gamma).upper
        assert apart == pytest.approx(mechanism.privacy(reports=reports).delta(gamma).upper, rel=1e-9, abs=1e-13)
    assert mechanism.detection(reports=reports).pure() >= mechanism.privacy(reports=reports).pure() - 1e-12


def test_rappor_privacy_with_little_room_is_the_worst_over_all_filters() -> None:
    mechanism = Rappor(bloom_bits=3, hashes=2, f=0.3, p=0.2, q=0.6)
    filters = [bits for bits in itertools.product((0, 1), repeat=3) if sum(bits) in (1, 2)]
    oracle = oracles.rappor(dict(zip(filters, filters, strict=True)), 0.3, 0.2, 0.6)
    truths = [Experiment([oracle.privacy(a, b, [1, 2])]) for a, b in itertools.permutations(filters, 2)]
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        found = mechanism.privacy(reports=2).delta(gamma, direction).upper
        assert found == pytest.approx(max(t.delta(gamma, direction).upper for t in truths), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("preset", ["L-SUE", "L-OSUE", "L-OUE", "L-SOUE"])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_unary(preset: Preset, reports: int) -> None:
    mechanism = Unary.for_budget(preset, values=3, eps=2.0, eps_report=1.2)
    oracle = oracles.unary(3, mechanism.keep, mechanism.add, mechanism.q, mechanism.p)
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy(0, 2, rounds))
    for first in proper_subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(1, rounds, first))
        assert_equal(mechanism.detection(rounds=rounds, first=first), oracle.detection(1, 0, rounds, first))


@pytest.mark.parametrize("reports", [2, 3])
def test_rappor_with_cohorts(reports: int) -> None:
    """The cohort number is itself an identifier: its factor times the filter's, exactly."""
    mechanism = Rappor(bloom_bits=2, hashes=1, f=0.4, p=0.3, q=0.8, cohorts=3)
    patterns = {v: [mechanism.bloom(v, c) for c in range(3)] for v in map(str, range(200))}
    value = "0"
    other = next(v for v, p in patterns.items() if all(x != y for x, y in zip(p, patterns[value], strict=True)))
    oracle = oracles.rappor_cohorts(mechanism, [value, other])
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy(value, other, rounds))
    for first in proper_subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(value, rounds, first))
        found = mechanism.detection(rounds=rounds, first=first)
        assert_equal(found, oracle.detection(value, other, rounds, first))
        # the same client: one cohort, and within it a filter for each value
        same = streams_factor(
            oracle.streams(value, rounds), oracles.same_cohort_change(mechanism, value, other, rounds, first)
        )
        assert_equal(mechanism.detection(rounds=rounds, first=first, after="same"), same)


@pytest.mark.parametrize(("eps_state", "eps_report"), [(1.0, 0.7), (0.2, 3.0), (4.0, 1.0)])
@pytest.mark.parametrize("reports", [1, 2, 4])
def test_bitwise_remembers_its_flip(eps_state: float, eps_report: float, reports: int) -> None:
    """The same client after a change: its kept bit is the new bit under the old flip."""
    mechanism = Bitwise(eps_state=eps_state, eps_report=eps_report)
    oracle = oracles.bitwise(eps_state, eps_report)
    rounds = list(range(1, reports + 1))
    for first in proper_subsets(rounds):

        def report(kept: Hashable, r: int, first: tuple[int, ...] = tuple(first)) -> Law:
            assert isinstance(kept, int)
            return oracle.report(kept if r in first else 1 - kept, r)

        changed = FiniteMechanism([0, 1], oracle.state, report)
        truth = streams_factor(oracle.streams(1, rounds), changed.streams(1, rounds))
        assert_equal(mechanism.detection(rounds=rounds, first=first, after="same"), truth)


def test_a_redrawn_filter_shows_even_if_all_filters_are_one() -> None:
    mechanism = Rappor(bloom_bits=1, hashes=1, f=0.5, p=0.1, q=0.9)
    oracle = oracles.rappor({"one": (1,), "other": (1,)}, 0.5, 0.1, 0.9)
    assert_equal(mechanism.detection(reports=3, split=1), oracle.detection("one", "other", [1, 2, 3], [1]))
    assert mechanism.detection(reports=4).advantage().lower > 0.28
