"""The protocols that [NV] discusses: their experiments against enumeration of the definitions."""

import itertools
import math
from collections.abc import Sequence

import pytest

from tests import oracles, oracles_discussed
from tests.enumeration import FiniteMechanism, Stream, streams_factor
from tests.oracles import flip, subsets
from tests.oracles_discussed import Bits
from tests.theory.test_factorisations import DIRECTIONS, GAMMAS, assert_dominates, assert_equal
from untrackable import Memoized, NoisyInnerProduct
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.fixed_vector import Assigned, BitNoise, FixedVector
from untrackable.mechanisms.interface import Pair
from untrackable.theory import Experiment, Mixture, Worst
from untrackable.theory.factor import Factor, persistent_factor
from untrackable.theory.kept_bit import MOST_SIGNS, sign_tracking_factor, worst_sign_tracking_factor

NOISES: list[BitNoise] = ["fixed", "fresh"]


# --- one question for ever -------------------------------------------------------------------------------------


def question_oracle(vectors: Sequence[int], bits: int, eps: float, noise: BitNoise) -> FiniteMechanism:
    make = oracles_discussed.answered_once if noise == "fixed" else oracles_discussed.questioned
    return make(vectors, bits, eps)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("bits", "eps", "reports"), [(1, 0.7, 2), (2, 1.2, 3), (3, 0.4, 2)])
def test_fixed_vector(noise: BitNoise, bits: int, eps: float, reports: int) -> None:
    mechanism = FixedVector(bits=bits, eps=eps, noise=noise)
    vectors = range(1, 2**bits)
    oracle = question_oracle(vectors, bits, eps, noise)
    asked = oracles_discussed.questioned(vectors, bits, eps)
    rounds = list(range(1, reports + 1))
    value, other = 1, 0
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy(value, other, rounds))
    for first in subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(value, rounds, first))
        found = mechanism.detection(rounds=rounds, first=first)
        assert_equal(found, oracle.detection(value, other, rounds, first))
        same = oracles_discussed.changed_client(asked, value, other, rounds, first, once=noise == "fixed")
        found = mechanism.detection(rounds=rounds, first=first, after="same")
        assert_equal(found, streams_factor(oracle.streams(value, rounds), same))


def test_fixed_noise_is_the_noisy_inner_product_memoised() -> None:
    mechanism, memoized = FixedVector(bits=3, eps=0.8), Memoized(NoisyInnerProduct(bits=3, eps=0.8, width=1))
    for gamma in GAMMAS:
        assert mechanism.privacy().delta(gamma) == memoized.privacy().delta(gamma)
        assert mechanism.tracking(reports=6).delta(gamma) == memoized.tracking(reports=6).delta(gamma)
        # Detection is exact here, and a bound there.
        assert mechanism.detection(reports=4).delta(gamma).upper <= memoized.detection(reports=4).delta(gamma).upper


def test_fresh_noise_tells_the_answer_in_the_end() -> None:
    """δ(γ) grows to ρ = 2^(d-1)/(2^d-1) at every γ, and is ρ for ever."""
    mechanism = FixedVector(bits=16, eps=0.5, noise="fresh")
    share = mechanism.base.differing()
    for gamma in (0.0, 1.0, 3.0):
        told = [mechanism.privacy(reports=k).delta(gamma).upper for k in (1, 10, 100, 1000)]
        assert told == sorted(told)
        assert told[-1] == pytest.approx(share, rel=1e-6)
        assert mechanism.privacy().delta(gamma).upper == pytest.approx(share)
    lie = flip(0.5)
    of_ten = [
        (math.comb(10, x), (1 - lie) ** x * lie ** (10 - x), lie**x * (1 - lie) ** (10 - x)) for x in range(11)
    ]
    sharp = share * sum(ways * max(0.0, p - math.e * q) for ways, p, q in of_ten)
    assert mechanism.privacy(reports=10).delta(1.0).upper == pytest.approx(sharp, rel=1e-9)
    assert mechanism.privacy().pure() == math.inf


def test_fresh_noise_bounds_any_sequence_of_values() -> None:
    mechanism = FixedVector(bits=2, eps=0.9, noise="fresh")
    oracle = oracles_discussed.questioned(range(1, 4), 2, 0.9)
    worlds = []
    for sequence in itertools.product(range(4), repeat=2):
        law: dict[Stream, float] = {}
        for asked, chance in oracle.state(0).items():
            assert isinstance(asked, tuple)
            answers = [oracle.report((asked[0], v), 1).items() for v in sequence]
            for (one, p), (two, q) in itertools.product(*answers):
                law[one, two] = chance * p * q
        worlds.append(law)
    for world, other in itertools.combinations(worlds, 2):
        assert_dominates(mechanism.privacy(reports=2, values="any"), streams_factor(world, other))
    assert mechanism.privacy(values="any").advantage().upper == 1


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("bits", "people"), [(2, 6), (1, 3), (2, 7), (3, 5)])
def test_assigned(noise: BitNoise, bits: int, people: int) -> None:
    """Exact where every vector is given to equally many people; the worst two values are dominated otherwise."""
    mechanism = Assigned(bits=bits, eps=0.9, people=people, noise=noise)
    vectors = [mechanism.base.vector(number) for number in range(people)]
    oracle = question_oracle(vectors, bits, 0.9, noise)
    asked = oracles_discussed.questioned(vectors, bits, 0.9)
    exact = people % (2**bits - 1) == 0
    check = assert_equal if exact else assert_dominates
    rounds = [1, 2]
    for value, other in itertools.islice(itertools.permutations(range(2**bits), 2), 0, None, 3):
        check(mechanism.privacy(reports=2), oracle.privacy(value, other, rounds))
        for first in subsets(rounds):
            assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(value, rounds, first))
            if first == (1, 2):
                continue
            found = mechanism.detection(rounds=rounds, first=first)
            check(found, oracle.detection(value, other, rounds, first))
            same = oracles_discussed.changed_client(asked, value, other, rounds, first, once=noise == "fixed")
            found = mechanism.detection(rounds=rounds, first=first, after="same")
            check(found, streams_factor(oracle.streams(value, rounds), same))


def test_a_number_is_a_name_tag() -> None:
    fresh = Assigned(bits=8, eps=0.5, people=1_000_000, noise="fresh")
    assert fresh.tracking(reports=2).advantage().upper == pytest.approx(1 - 1e-6)
    assert fresh.tracking(reports=50, split=1).delta(3.0) == Experiment([persistent_factor(1e6)]).delta(3.0)


# --- one change told -------------------------------------------------------------------------------------------


def tilts(oracle: FiniteMechanism, value: Bits, level: int) -> dict[Bits, float]:
    """Likelihood of the signs of one of three levels over four rounds, relative to fair coins."""
    found: dict[Bits, float] = {}
    for stream, chance in oracle.streams(value, [1, 2, 3, 4]).items():
        reports = [report for report in stream if isinstance(report, tuple)]
        if reports[0][1] == level:
            signs = tuple(sign for _, _, sign in reports if sign)
            found[signs] = chance * 3 * 2 ** len(signs)
    return found


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_likelihood_is_linear_in_the_net_changes(changes: int) -> None:
    """1 + (β/k)·Σ w·s, w being the net change of the first k changes over each interval."""
    oracle = oracles_discussed.one_change(4, changes, 0.8)
    bias = 1 - 2 * flip(0.8)
    for value, level in itertools.product(oracle.values, range(3)):
        assert isinstance(value, tuple)
        held = [0]
        for bit in value:  # changes after the first k are never told
            turned = sum(a != b for a, b in itertools.pairwise(held))
            held.append(bit if turned < changes else held[-1])
        ends = range(2**level, 5, 2**level)
        net = [held[end] - held[end - 2**level] for end in ends]
        for signs, tilt in tilts(oracle, value, level).items():
            expected = 1 + bias / changes * sum(w * s for w, s in zip(net, signs, strict=True))
            assert tilt == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_one_change_tracking(changes: int) -> None:
    """Every sequence of values and every split: exact for one change, dominated for more."""
    mechanism, oracle = OneChange(rounds=4, changes=changes, eps=2.0), oracles_discussed.one_change(4, changes, 2.0)
    for rounds in ([1, 2, 3, 4], [2, 4], [1, 4]):
        for first in subsets(rounds):
            found = mechanism.tracking(rounds=rounds, first=first)
            assert found.certainty == ("exact" if changes == 1 or len(first) in (0, len(rounds)) else "upper")
            wider = mechanism.tracking(rounds=rounds), mechanism.tracking(reports=len(rounds), split=len(first))
            for value in oracle.values[:: 1 if len(rounds) < 4 else 5]:
                truth = oracle.tracking(value, rounds, first)
                if found.certainty == "exact":
                    assert_equal(found, truth)
                else:
                    for bound in (found, *wider):
                        assert_dominates(bound, truth)


def test_one_change_tracking_is_attained() -> None:
    """Two changes, one in each half: the bound is what they give, at every level."""
    mechanism, oracle = OneChange(rounds=4, changes=2, eps=3.0), oracles_discussed.one_change(4, 2, 3.0)
    bound, truth = (
        mechanism.tracking(rounds=[2, 4], first=[2]),
        Experiment([oracle.tracking((0, 1, 1, 0), [2, 4], [2])]),
    )
    for gamma, direction in itertools.product((*GAMMAS, 0.9, 1.0), DIRECTIONS):
        assert bound.delta(gamma, direction).upper == pytest.approx(truth.delta(gamma, direction).upper, rel=1e-9)
    # and more than the level alone tells
    level = Experiment([persistent_factor(3)])
    assert bound.delta(1.09, "forward").upper > 2 * level.delta(1.09, "forward").upper


@pytest.mark.parametrize(
    "pairs", [[(1, 3), (2, 2)], [(1, 7), (2, 6), (3, 5), (4, 4)], [(1, 2)], [(5, 20), (12, 13)]]
)
def test_one_factor_dominates_all_ways_to_divide_the_changes(pairs: list[tuple[int, int]]) -> None:
    step = 0.9 / max(a + b for a, b in pairs)
    bound = Experiment([worst_sign_tracking_factor(pairs, step)])
    members = Worst([Experiment([sign_tracking_factor(a, b, step)]) for a, b in pairs])
    largest = members.pure()
    for share, direction in itertools.product((0, 0.01, 0.1, 0.33, 0.5, 0.8, 0.97), DIRECTIONS):
        truth = members.delta(share * largest, direction).lower
        found = bound.delta(share * largest, direction).upper
        assert truth <= found <= 1.02 * truth + 1e-4 * members.advantage().upper
    assert bound.pure() == pytest.approx(largest, rel=1e-12)


def test_more_signs_are_never_harder_to_match() -> None:
    """δ grows with the intervals that have a change on either side: which is why only the most are looked at."""
    for (a, b), gamma in itertools.product(itertools.product(range(1, 6), repeat=2), (0.0, 0.01, 0.05)):
        less, more = (Experiment([sign_tracking_factor(a, n, 0.07)]) for n in (b, b + 1))
        for direction in DIRECTIONS:
            assert more.delta(gamma, direction).upper >= less.delta(gamma, direction).upper * (1 - 1e-12) - 1e-16


def test_very_many_signs_are_bounded_by_their_largest_loss() -> None:
    pairs = [(a, MOST_SIGNS + 6 - a) for a in (1, 20, 35)]
    step = 0.9 / (MOST_SIGNS + 6)
    bound = Experiment([worst_sign_tracking_factor(pairs, step)])
    for a, b in pairs:
        truth = Experiment([sign_tracking_factor(a, b, step)])
        assert bound.pure() >= truth.pure() * (1 - 1e-12)
        for gamma in (0.0, 0.01, 0.1, 0.2):
            assert bound.delta(gamma).upper >= truth.delta(gamma).upper
    assert OneChange(rounds=1 << 20, changes=1000, eps=1.0).tracking(reports=2000).advantage().upper < 0.96


def assert_worst(bound: Pair, truths: list[Factor]) -> None:
    assert bound.certainty == "upper"
    experiments = [Experiment([truth]) for truth in truths]
    assert bound.pure() >= max(e.pure() for e in experiments) - 1e-12
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        most = max(e.delta(gamma, direction).upper for e in experiments)
        assert bound.delta(gamma, direction).upper >= most - 1e-13


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_one_change_privacy(changes: int) -> None:
    """Any two sequences, changes in excess included; the bound on the loss is attained."""
    eps = 1.3
    mechanism, oracle = OneChange(rounds=4, changes=changes, eps=eps), oracles_discussed.one_change(4, changes, eps)
    for reports in (1, 2, 3, 4):
        rounds = list(range(1, reports + 1))
        laws = [oracle.streams(value, rounds) for value in itertools.product((0, 1), repeat=4)]
        truths = [streams_factor(a, b) for a, b in itertools.permutations(laws, 2)]
        assert_worst(mechanism.privacy(reports=reports), truths)
    assert mechanism.privacy().pure() == pytest.approx(eps, rel=1e-12)
    assert max(Experiment([truth]).pure() for truth in truths) == pytest.approx(eps, rel=1e-12)
    for gamma in GAMMAS:
        assert mechanism.privacy(values="any").delta(gamma) == mechanism.privacy().delta(gamma)
    if changes == 1:  # all levels but the highest tell the first round from the last: two of three
        for gamma in (0.0, 0.2, 1.0):
            best = max(Experiment([truth]).delta(gamma).upper for truth in truths)
            assert mechanism.privacy().delta(gamma).upper <= 1.5 * best * (1 + 1e-9)


@pytest.mark.parametrize("changes", [1, 2])
def test_one_change_detection(changes: int) -> None:
    mechanism, oracle = OneChange(rounds=4, changes=changes, eps=1.3), oracles_discussed.one_change(4, changes, 1.3)
    rounds = [1, 2, 4]
    values = [v for v in itertools.product((0, 1), repeat=4) if v[2] == v[1]]
    for first in subsets(rounds):
        fresh, same = [], []
        for value, other in itertools.product(values, repeat=2):
            fresh.append(oracle.detection(value, other, rounds, first))
            mixed = tuple(value[t - 1] if t in first else other[t - 1] for t in range(1, 5))
            same.append(streams_factor(oracle.streams(value, rounds), oracle.streams(mixed, rounds)))
        found = {after: mechanism.detection(rounds=rounds, first=first, after=after) for after in ("fresh", "same")}
        if len(first) == len(rounds):
            assert found["fresh"].pure() == found["same"].pure() == 0
            continue
        assert_worst(found["fresh"], fresh)
        assert_worst(found["same"], same)
        for gamma in GAMMAS:
            assert (
                mechanism.detection(rounds=rounds).delta(gamma).upper >= found["fresh"].delta(gamma).upper - 1e-15
            )
            counted = mechanism.detection(reports=3, split=len(first))
            assert counted.delta(gamma).upper >= found["fresh"].delta(gamma).upper - 1e-15


# --- votes -----------------------------------------------------------------------------------------------------

A, B = 0.7, 1.1


def test_votes_given_the_transcript() -> None:
    rounds = [1, 2, 3, 4]
    for updates, most, estimates in (((1, 3), 2, 1), ((1,), 3, 2), ((2, 3, 4), 3, 2)):
        mechanism = Votes(eps_vote=A, eps_estimate=B, votes=most, estimates=estimates, updates=updates)
        oracle = oracles_discussed.votes(A, B, most, estimates, updates, 4)
        ones, zeros = (1,) * 4, (0,) * 4
        for reports in rounds:
            seen = rounds[:reports]
            assert_equal(mechanism.privacy(reports=reports), oracle.privacy(ones, zeros, seen))
            bound = mechanism._privacy(reports, "any")
            truths = [oracle.privacy(a, b, seen) for a, b in itertools.combinations(oracle.values[::2], 2)]
            if bound.certainty == "upper":
                assert_worst(bound, truths)
            else:
                assert_worst(Experiment(bound.factors, certainty="upper"), truths)
        for value, first in itertools.product(oracle.values[::5], subsets(rounds)):
            assert mechanism.tracking(rounds=rounds, first=first).pure() == 0
            assert Experiment([oracle.tracking(value, rounds, first)]).pure() < 1e-12
        for first in subsets(rounds):
            found = mechanism.detection(rounds=rounds, first=first)
            assert_equal(found, oracle.detection(ones, zeros, rounds, first))
            mixed = tuple(int(t in first) for t in rounds)
            same = mechanism.detection(rounds=rounds, first=first, after="same")
            truth = Experiment([oracle.privacy(ones, mixed, rounds)])
            assert same.pure() >= truth.pure() - 1e-12
            for gamma in GAMMAS:
                assert same.delta(gamma).upper >= truth.delta(gamma).upper - 1e-13


def test_votes_bound_is_attained() -> None:
    """One user means yes at some rounds and the other at others, and their bits differ at every telling update."""
    mechanism = Votes(eps_vote=A, eps_estimate=B, votes=2, estimates=1, updates=(1,))
    oracle = oracles_discussed.votes(A, B, 2, 1, (1,), 3)
    found = mechanism._privacy(3, "any")
    assert_equal(Experiment(found.factors), oracle.privacy((0, 1, 0), (1, 1, 0), [1, 2, 3]))
    assert found.pure() == pytest.approx(2 * A + B)
    assert mechanism.privacy(values="any").pure() == pytest.approx(4 * A + B)


def test_the_published_budget_is_kept() -> None:
    mechanism = Votes.for_budget(eps=2.0, changes=5, updates=[1, 7, 30, 31, 60, 90])
    assert mechanism.privacy().pure() == pytest.approx(2.0 / 4)
    assert mechanism.privacy(values="any").pure() == pytest.approx(0.75 * 2.0)


Joint = dict[tuple[Stream, ...], float]


def coupled(values: Sequence[Bits], most: int, estimates: int) -> Joint:
    """Everyone's reports and all that is published, where two yes votes make an update, of real counts."""
    laws: Joint = {((),) * (len(values) + 1): 1.0}
    for t in range(1, len(values[0]) + 1):
        extended: Joint = {}
        for history, chance in laws.items():
            *streams, published = history
            updates = [r for r, estimate in enumerate(published, 1) if estimate is not None]
            intent = [oracles_discussed.meant(v[:t], most, updates)[-1] for v in values]
            for cast in itertools.product((0, 1), repeat=len(values)):
                likely = chance * math.prod(
                    oracles.response(int(w), flip(A))[c] for w, c in zip(intent, cast, strict=True)
                )
                if sum(cast) < 2:
                    after = (*((*s, (c, None)) for s, c in zip(streams, cast, strict=True)), (*published, None))
                    extended[after] = extended.get(after, 0.0) + likely
                    continue
                genuine = len(updates) < estimates
                for told in itertools.product((0, 1), repeat=len(values)):
                    bits = [v[t - 1] if genuine else 0 for v in values]
                    also = math.prod(oracles.response(b, flip(B))[e] for b, e in zip(bits, told, strict=True))
                    rows = (*((*s, (c, e)) for s, c, e in zip(streams, cast, told, strict=True)),)
                    after = (*rows, (*published, sum(told)))
                    extended[after] = extended.get(after, 0.0) + likely * also
        laws = extended
    return laws


@pytest.mark.parametrize("shared", [(1, 0, 1)])
def test_votes_that_decide_what_is_published_cannot_be_tracked(shared: Bits) -> None:
    """Two of three users hold the same bits; one of them, or both in turn, is seen beside what is published."""
    joint = coupled([shared, shared, (0, 0, 1)], 2, 1)
    assert sum(joint.values()) == pytest.approx(1)
    for first in subsets([1, 2, 3]):
        one: dict[Stream, float] = {}
        two: dict[Stream, float] = {}
        for (mine, other, _, published), chance in joint.items():
            mixed = tuple(mine[t] if t + 1 in first else other[t] for t in range(3))
            for law, seen in ((one, mine), (two, mixed)):
                law[seen, published] = law.get((seen, published), 0.0) + chance
        assert Experiment([streams_factor(one, two)]).pure() < 1e-9


def test_votes_that_decide_what_is_published_are_as_private() -> None:
    """The accounting for any sequence of values holds jointly with what this user's votes help to decide."""
    lone = Votes(eps_vote=A, eps_estimate=B, votes=2, estimates=2, updates=(1,))
    bound = lone._responses(2 * 2, 2)
    laws = []
    for value in itertools.product((0, 1), repeat=3):
        law: dict[Stream, float] = {}
        for (mine, _, published), chance in coupled([value, (0, 1, 0)], 2, 2).items():
            law[mine, published] = law.get((mine, published), 0.0) + chance
        laws.append(law)
    assert_worst(bound, [streams_factor(a, b) for a, b in itertools.combinations(laws, 2)])


def test_kinds_of_answers() -> None:
    assert isinstance(FixedVector(bits=4, eps=1.0, noise="fresh").privacy(reports=3), Mixture)
    for mechanism in (OneChange(rounds=8, changes=2, eps=1.0), FixedVector(bits=4, eps=1.0)):
        for given in ({"reports": 1}, {"rounds": [4], "first": []}):
            assert mechanism.tracking(**given).pure() == 0
    with pytest.raises(ValueError, match="give rounds and first instead of split"):
        Votes.for_budget(eps=1.0, changes=2, updates=[1]).detection(reports=4, split=2)
    with pytest.raises(ValueError, match="round must be between 1 and 8, got 9"):
        OneChange(rounds=8, changes=2, eps=1.0).tracking(rounds=[1, 9])


def test_a_client_that_missed_the_first_rounds_still_has_all_its_votes() -> None:
    """It means yes at two rounds where one that stays means it never: a loss of 2·eps_vote, and no more."""
    mechanism = Votes(eps_vote=1.0, eps_estimate=0.5, votes=2, estimates=1, updates=(2,))
    bound = mechanism.privacy(values="any")
    assert bound.certainty == "upper"
    assert bound.pure() >= 2 * 1.0
