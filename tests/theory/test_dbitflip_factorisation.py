"""dBitFlipPM's experiments against enumeration of its published definition."""

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence

import pytest

from tests.enumeration import FiniteMechanism, Law, Stream, streams_factor
from tests.oracles import subsets
from tests.theory.test_factorisations import GAMMAS, assert_equal
from untrackable.mechanisms.dbitflip import DBitFlip
from untrackable.theory.experiment import Experiment


def bits(chances: Iterable[float]) -> Law:
    """Independent bits, each 1 with its own probability."""
    law: dict[Hashable, float] = {(): 1.0}
    for chance in chances:
        law = {
            (*before, bit): p * (chance if bit else 1 - chance)
            for before, p in law.items()
            if isinstance(before, tuple)
            for bit in (0, 1)
            if p * (chance if bit else 1 - chance) > 0
        }
    return law


def definition(buckets: int, sampled: int, eps: float, gamma: float) -> FiniteMechanism:
    """Draw d of the k buckets; keep a bit for each; report the set and the bits, flipped with probability γ."""
    truth = math.exp(eps / 2) / (math.exp(eps / 2) + 1)
    sets = list(itertools.combinations(range(buckets), sampled))

    def state(value: Hashable) -> Law:
        law: dict[Hashable, float] = {}
        for drawn in sets:
            for kept, chance in bits(truth if bucket == value else 1 - truth for bucket in drawn).items():
                law[drawn, kept] = chance / len(sets)
        return law

    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        drawn, kept = state
        mask = tuple(int(bucket in drawn) for bucket in range(buckets))
        told = bits(1 - gamma if bit else gamma for bit in kept)
        return {(*shown, *mask): chance for shown, chance in told.items() if isinstance(shown, tuple)}

    return FiniteMechanism(range(buckets), state, report)


def same_client(
    buckets: int,
    sampled: int,
    eps: float,
    gamma: float,
    held: tuple[int, int],
    rounds: Sequence[int],
    first: Iterable[int],
) -> dict[Stream, float]:
    """One client: one set, bits kept for each of two values, the first held at the rounds `first`."""
    whole = definition(buckets, sampled, eps, gamma)
    mine = sorted(first)
    rest = [r for r in rounds if r not in mine]
    total: dict[Stream, float] = {}
    drawn_sets = itertools.combinations(range(buckets), sampled)
    for drawn in drawn_sets:

        def state(value: Hashable, drawn: tuple[int, ...] = drawn) -> Law:
            law = {s: p for s, p in whole.state(value).items() if isinstance(s, tuple) and s[0] == drawn}
            return {s: p / sum(law.values()) for s, p in law.items()}

        given = FiniteMechanism(whole.values, state, whole.report)
        for stream, chance in given.several_people([(held[0], mine), (held[1], rest)]).items():
            total[stream] = total.get(stream, 0.0) + chance / math.comb(buckets, sampled)
    return total


PARAMETERS = [(2, 1, 1.0, 0.0), (3, 1, 1.5, 0.2), (3, 2, 1.0, 0.1), (4, 2, 2.0, 0.0), (3, 3, 0.7, 0.25)]


@pytest.mark.parametrize(("buckets", "sampled", "eps", "gamma"), PARAMETERS)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_every_experiment(buckets: int, sampled: int, eps: float, gamma: float, reports: int) -> None:
    mechanism = DBitFlip(buckets=buckets, sampled=sampled, eps=eps, output_flip=gamma)
    oracle = definition(buckets, sampled, eps, gamma)
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), oracle.privacy(0, 1, rounds))
    for first in subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(1, rounds, first))
        fresh = mechanism.detection(rounds=rounds, first=first)
        assert_equal(fresh, oracle.detection(0, 1, rounds, first))
        changed = same_client(buckets, sampled, eps, gamma, (0, 1), rounds, first)
        same = mechanism.detection(rounds=rounds, first=first, after="same")
        assert_equal(same, streams_factor(oracle.streams(0, rounds), changed))


@pytest.mark.parametrize(("buckets", "sampled", "eps", "gamma"), PARAMETERS)
def test_everlasting_is_what_is_kept(buckets: int, sampled: int, eps: float, gamma: float) -> None:
    mechanism = DBitFlip(buckets=buckets, sampled=sampled, eps=eps, output_flip=gamma)
    kept = definition(buckets, sampled, eps, 0.0)  # without output perturbation one report is all that is kept
    assert_equal(mechanism.privacy(), kept.privacy(0, 1, [1]))
    many = mechanism.privacy(reports=400)
    for level in (0.0, 0.2):
        assert many.delta(level).upper == pytest.approx(mechanism.privacy().delta(level).upper, rel=1e-6)


def test_the_published_epsilon_needs_two_sampled_buckets() -> None:
    """Two positions of ε/2 each; with one sampled bucket only one of two values can be in the set."""
    assert DBitFlip(buckets=5, sampled=2, eps=1.0).privacy().pure() == pytest.approx(1.0, rel=1e-12)
    assert DBitFlip(buckets=5, sampled=1, eps=1.0).privacy().pure() == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(("buckets", "sampled", "gamma"), [(3, 1, 0.2), (3, 2, 0.1), (2, 2, 0.3)])
def test_any_sequence_is_dominated(buckets: int, sampled: int, gamma: float) -> None:
    """A client that keeps its set and bits for each value, over every two sequences of three values."""
    mechanism = DBitFlip(buckets=buckets, sampled=sampled, eps=1.0, output_flip=gamma)
    bound = mechanism.privacy(reports=3, values="any")
    assert bound.certainty == "upper"
    sequences = [[1, 2, 3], [1, 2], [1], []]  # the rounds at which the first of two values is held
    laws = [same_client(buckets, sampled, 1.0, gamma, (0, 1), [1, 2, 3], first) for first in sequences]
    for one, other in itertools.permutations(laws, 2):
        truth = Experiment([streams_factor(one, other)])
        assert bound.pure() >= truth.pure()
        for level in GAMMAS:
            assert bound.delta(level).upper >= truth.delta(level).upper - 1e-12
    assert mechanism.privacy(values="any").advantage().upper == 1.0


def test_memoised_bits_tell_that_a_value_changed() -> None:
    """As the publication says: memoisation hides which values, not that they changed."""
    mechanism = DBitFlip(buckets=3, sampled=2, eps=1.0)
    assert mechanism.privacy(reports=2, values="any").pure() == math.inf
    assert mechanism.detection(reports=2, split=1, after="same").pure() == math.inf


def test_sets_beyond_floats() -> None:
    """C(4096, 2048) is about 10^1231: exact in the logarithm."""
    mechanism = DBitFlip(buckets=4096, sampled=2048, eps=1.0, output_flip=0.2)
    (factor,) = mechanism._persistent()
    assert float(factor.loss.max()) == pytest.approx(math.log(math.comb(4096, 2048)), rel=1e-15)
    assert mechanism.tracking(reports=2, split=1).delta(100.0).lower == pytest.approx(1.0)
    few = DBitFlip(buckets=40, sampled=20, eps=1.0)._persistent()[0]
    assert few.loss.max() == pytest.approx(math.log(math.comb(40, 20)), rel=1e-15)


def test_the_set_gives_the_person_away() -> None:
    tracked = DBitFlip.preset("perturbed").tracking(reports=2)
    assert tracked.certainty == "exact"
    assert tracked.advantage().lower >= 1 - 1 / math.comb(32, 4)
