"""Privacy of rounds that are answered by chance: mechanisms against enumeration, with absence as an outcome."""

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from tests import oracles, oracles_discussed
from tests.theory.test_dbitflip_factorisation import definition as dbitflip
from tests.theory.test_factorisations import DIRECTIONS, GAMMAS
from tests.theory.test_symbol_factors import oracle as symbol_oracle
from untrackable import (
    Bitwise,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    Rappor,
    Stored,
)
from untrackable.mechanisms import DBitFlip, Lgrr, Unary
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism, Pair, Values
from untrackable.mechanisms.kept.loloha import Loloha
from untrackable.mechanisms.local.randomized_response import RandomizedResponse
from untrackable.mechanisms.others.assigned import Assigned
from untrackable.mechanisms.others.fixed_vector import FixedVector
from untrackable.mechanisms.others.one_change import OneChange
from untrackable.mechanisms.others.votes import Votes
from untrackable.theory.chance_of_answering import as_upper, mixed_over_counts, thinned, thinned_factor
from untrackable.theory.enumeration import FiniteMechanism, Stream, streams_factor, subsets
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.factor import Factor, response_factor

SHARES = [Fraction(1, 3), Fraction(1, 20)]
Held = Sequence[Hashable]
"""The value at each round, from round 1."""
World = Callable[[tuple[int, ...]], Mapping[Stream, float]]
"""The law of the reports of these rounds."""


def attended(world: World, rounds: int, participation: Fraction) -> dict[Stream, float]:
    """The law of what is seen: which rounds were answered, by independent coins, and their reports."""
    law: dict[Stream, float] = {}
    for answered in subsets(range(1, rounds + 1)):
        weight = float(participation ** len(answered) * (1 - participation) ** (rounds - len(answered)))
        for stream, chance in world(answered).items() if answered else [((), 1.0)]:
            law[answered, stream] = weight * chance
    return law


def fixed(oracle: FiniteMechanism, value: Hashable) -> World:
    return lambda rounds: oracle.streams(value, rounds)


def kept(oracle: FiniteMechanism, held: Held) -> World:
    """A client that keeps a state for each value that it ever holds."""

    def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
        return oracle.several_people(
            [(value, [r for r in rounds if held[r - 1] == value]) for value in sorted(set(held), key=str)]
        )

    return law


def fresh(base: Callable[[int, Hashable], Mapping[Hashable, float]], held: Held) -> World:
    """Independent reports, each of the value at its round."""

    def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
        laws = [base(r, held[r - 1]).items() for r in rounds]
        return {
            tuple(report for report, _ in combination): math.prod(p for _, p in combination)
            for combination in itertools.product(*laws)
        }

    return law


def replayed(base: Callable[[Hashable], Mapping[Hashable, float]], slots: int, held: Held) -> World:
    """A card is drawn for the value at the round in which it is first sent, and repeated afterwards."""

    def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
        first: dict[int, int] = {}
        for r in rounds:
            first.setdefault((r - 1) % slots, r)
        found: dict[Stream, float] = {}
        for combination in itertools.product(*(base(held[r - 1]).items() for r in first.values())):
            cards = dict(zip(first, (card for card, _ in combination), strict=True))
            stream = tuple(cards[(r - 1) % slots] for r in rounds)
            found[stream] = found.get(stream, 0.0) + math.prod(p for _, p in combination)
        return found

    return law


def apart(worlds: Sequence[World], rounds: int, participation: Fraction) -> list[Experiment]:
    """Every two of these worlds."""
    laws = [attended(world, rounds, participation) for world in worlds]
    return [Experiment([streams_factor(a, b)]) for a, b in itertools.permutations(laws, 2)]


def check(pair: Pair, truths: Sequence[Experiment]) -> None:
    """The bound is at least the worst of the enumerated pairs; where it is called exact, it equals it."""
    worst_pure = max(truth.pure() for truth in truths)
    if pair.certainty == "exact":
        assert pair.pure() == pytest.approx(worst_pure, rel=1e-9, abs=1e-12)
    assert pair.pure() >= worst_pure * (1 - 1e-9) - 1e-12
    for gamma in GAMMAS:
        worst = max(truth.delta(gamma, direction).upper for truth in truths for direction in DIRECTIONS)
        found = pair.delta(gamma)
        assert found.upper >= worst * (1 - 1e-9) - 1e-13
        if pair.certainty == "exact":
            assert found.upper == pytest.approx(worst, rel=1e-9, abs=1e-13)
            assert found.lower == pytest.approx(worst, rel=1e-9, abs=1e-13)


NIP = oracles.inner_product(2, 0.9)
FILTERS: dict[Hashable, tuple[int, ...]] = {bits: bits for bits in itertools.product((0, 1), repeat=2)}
KEPT: list[tuple[Mechanism, FiniteMechanism, Sequence[Hashable], str]] = [
    (Bitwise(eps_state=0.8, eps_report=1.5), oracles.bitwise(0.8, 1.5), [0, 1], "exact"),
    (Lgrr(values=3, keep=0.6, tell=0.7), symbol_oracle(3, 0.6, 0.7), [0, 1, 2], "exact"),
    (
        Unary.for_budget("L-OSUE", values=2, eps=2.0, eps_report=1.2),
        oracles.unary(
            2,
            *(
                getattr(Unary.for_budget("L-OSUE", values=2, eps=2.0, eps_report=1.2), name)
                for name in ("keep", "add", "q", "p")
            ),
        ),
        [0, 1],
        "exact",
    ),
    (
        Rappor(bloom_bits=2, hashes=1, f=0.4, p=0.3, q=0.8),
        oracles.rappor(FILTERS, 0.4, 0.3, 0.8),
        [(0, 1), (1, 0)],
        "exact",
    ),
    (
        Rappor(bloom_bits=2, hashes=2, f=0.4, p=0.3, q=0.6),
        oracles.rappor(FILTERS, 0.4, 0.3, 0.6),
        [(0, 1), (1, 0), (1, 1)],
        "exact",
    ),
    (DBitFlip(buckets=3, sampled=2, eps=1.2, output_flip=0.1), dbitflip(3, 2, 1.2, 0.1), [0, 1], "exact"),
    (InnerProduct(bits=2, slots=2, eps_report=0.9, width=1), oracles.stored(NIP, 2, 4), [0, 1, 3], "upper"),
    (Stored(RandomizedResponse(eps=0.7), 2), oracles.stored(oracles.bit_response(0.7), 2, 2), [0, 1], "upper"),
    (
        Memoized(NoisyInnerProduct(bits=2, eps=0.9, width=1)),
        oracles.stored(NIP, 1, 4),
        [0, 1, 3],
        "exact",
    ),
    (FixedVector(bits=2, eps=0.9), oracles_discussed.answered_once(range(1, 4), 2, 0.9), [0, 1, 3], "exact"),
    (
        FixedVector(bits=2, eps=0.9, noise="fresh"),
        oracles_discussed.questioned(range(1, 4), 2, 0.9),
        [0, 1, 3],
        "exact",
    ),
    (
        Assigned(bits=2, eps=0.9, people=3),
        oracles_discussed.answered_once(
            [Assigned(bits=2, eps=0.9, people=3).base.vector(n) for n in range(3)], 2, 0.9
        ),
        [0, 1, 3],
        "exact",
    ),
    (
        Assigned(bits=2, eps=0.9, people=3, noise="fresh"),
        oracles_discussed.questioned([1, 2, 3], 2, 0.9),
        [0, 1, 3],
        "exact",
    ),
]


@pytest.mark.parametrize(("mechanism", "oracle", "values", "certainty"), KEPT, ids=lambda case: type(case).__name__)
@pytest.mark.parametrize("participation", SHARES)
def test_a_fixed_value_that_is_kept(
    mechanism: Mechanism,
    oracle: FiniteMechanism,
    values: Sequence[Hashable],
    certainty: str,
    participation: Fraction,
) -> None:
    for rounds in (1, 2, 3):
        found = mechanism.privacy(reports=rounds, participation=participation)
        assert found.certainty == certainty
        check(found, apart([fixed(oracle, value) for value in values], rounds, participation))
    everlasting = mechanism.privacy(participation=participation)
    for gamma in GAMMAS:
        assert everlasting.delta(gamma).upper == mechanism.privacy().delta(gamma).upper


@pytest.mark.parametrize(("mechanism", "oracle", "values", "certainty"), KEPT, ids=lambda case: type(case).__name__)
def test_any_sequence_of_values_that_is_kept(
    mechanism: Mechanism, oracle: FiniteMechanism, values: Sequence[Hashable], certainty: str
) -> None:
    """Fixed questions are kept for all values together, so that they are looked at separately below."""
    if isinstance(mechanism, (FixedVector, Assigned, DBitFlip)):
        return
    for rounds in (1, 2):
        found = mechanism.privacy(reports=rounds, values="any", participation=Fraction(1, 3))
        worlds = [kept(oracle, held) for held in itertools.product(values[:2], repeat=rounds)]
        check(as_upper(found), apart(worlds, rounds, Fraction(1, 3)))


@pytest.mark.parametrize(("symbols", "seed_bits"), [(2, 2), (4, 1)])
def test_hashed_symbols(symbols: int, seed_bits: int) -> None:
    """All reports of all seeds, by the mechanism's own likelihood, which is tested elsewhere."""
    mechanism = Loloha(values=3, symbols=symbols, keep=0.7, tell=0.6, seed_bits=seed_bits)
    reports = range(1 << mechanism.report_bits)

    def world(value: int) -> World:
        def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
            streams = list(itertools.product(reports, repeat=len(rounds)))
            chances = np.exp(mechanism.log_likelihood(np.array(streams, dtype=np.uint64), value, rounds))
            return dict(zip(streams, chances.tolist(), strict=True))

        return law

    for rounds, share in itertools.product((1, 2), SHARES):
        found = mechanism.privacy(reports=rounds, participation=share)
        check(found, apart([world(value) for value in range(3)], rounds, share))
        assert found.certainty == "upper"


def test_a_fixed_question_and_any_sequence() -> None:
    mechanism, vectors = FixedVector(bits=2, eps=0.9, noise="fresh"), range(1, 4)
    oracle = oracles_discussed.questioned(vectors, 2, 0.9)

    def world(held: Held) -> World:
        def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
            found: dict[Stream, float] = {}
            for asked, chance in oracle.state(0).items():
                assert isinstance(asked, tuple)
                answers = [oracle.report((asked[0], held[r - 1]), r).items() for r in rounds]
                for combination in itertools.product(*answers):
                    stream = tuple(report for report, _ in combination)
                    found[stream] = found.get(stream, 0.0) + chance * math.prod(p for _, p in combination)
            return found

        return law

    worlds = [world(held) for held in itertools.product(range(4), repeat=2)]
    check(
        mechanism.privacy(reports=2, values="any", participation="1/3"),
        apart(worlds, 2, Fraction(1, 3)),
    )


@pytest.mark.parametrize("participation", SHARES)
@pytest.mark.parametrize("values", ["fixed", "any"])
def test_independent_reports(participation: Fraction, values: Values) -> None:
    """Deck, Fresh and Fading are exact, for one value and for any sequence."""
    fading = Fading(bits=2, eps=2.0, delta=1e-3)
    faded = {t: oracles.inner_product(2, fading.eps_report(t)) for t in (1, 2, 3)}
    cases: list[tuple[Mechanism, Callable[[int, Hashable], Mapping[Hashable, float]]]] = [
        (Deck(bits=2, slots=3, eps_report=0.9, width=1), lambda r, value: NIP(value)),
        (Fresh(NoisyInnerProduct(bits=2, eps=0.9, width=1)), lambda r, value: NIP(value)),
        (fading, lambda r, value: faded[r](value)),
    ]
    for (mechanism, law), rounds in itertools.product(cases, (1, 2, 3)):
        every = (
            list(itertools.product((0, 1), repeat=rounds)) if values == "any" else [(0,) * rounds, (1,) * rounds]
        )
        found = mechanism.privacy(reports=rounds, values=values, participation=participation)
        assert found.certainty == "exact"
        check(found, apart([fresh(law, held) for held in every], rounds, participation))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("values", ["fixed", "any"])
def test_replayed_decks(rounds: int, values: Values) -> None:
    """A card is seen unless all its rounds are missed."""
    mechanism = Deck(bits=1, slots=2, eps_report=0.9, when_empty="replay", width=1)
    law, share = oracles.inner_product(1, 0.9), Fraction(1, 3)
    every = list(itertools.product((0, 1), repeat=rounds)) if values == "any" else [(0,) * rounds, (1,) * rounds]
    found = mechanism.privacy(reports=rounds, values=values, participation=share)
    assert found.certainty == "exact"
    check(found, apart([replayed(law, 2, held) for held in every], rounds, share))
    for gamma in GAMMAS:
        everlasting = mechanism.privacy(values=values, participation=share)
        assert everlasting.delta(gamma) == mechanism.privacy(values=values).delta(gamma)


def test_a_deck_ends() -> None:
    deck = Deck(bits=2, slots=3, eps_report=0.9, width=1)
    assert deck.privacy(reports=50, participation="1/3").delta(0.2) == deck.privacy(participation="1/3").delta(0.2)


def answered_changes(held: tuple[int, ...], answered: tuple[int, ...], rounds: int) -> tuple[int, ...]:
    """The values that a client notices: it looks at its value only when it answers."""
    noticed, now = [], held[0]
    for t in range(1, rounds + 1):
        now = held[t - 1] if t in answered else now
        noticed.append(now)
    return tuple(noticed)


@pytest.mark.parametrize("changes", [1, 2])
def test_one_change(changes: int) -> None:
    """A client that misses rounds notices a change when it answers next."""
    mechanism, oracle = OneChange(rounds=4, changes=changes, eps=1.3), oracles_discussed.one_change(4, changes, 1.3)
    found = mechanism.privacy(participation="1/3")
    assert found.certainty == "upper"

    def world(held: tuple[int, ...]) -> World:
        return lambda rounds: oracle.streams(answered_changes(held, rounds, 4), rounds)

    check(found, apart([world(held) for held in itertools.product((0, 1), repeat=4)], 4, Fraction(1, 3)))


def test_votes() -> None:
    """A client that misses rounds, by its own code: it compares its bit with that of its last answer."""
    mechanism = Votes(eps_vote=0.7, eps_estimate=1.1, votes=1, estimates=1, updates=(1, 3))

    def world(held: tuple[int, ...]) -> World:
        def law(rounds: tuple[int, ...]) -> Mapping[Stream, float]:
            found: dict[Stream, float] = {}
            for flips in itertools.product((0, 1), repeat=2 * len(rounds)):
                state, stream, chance = mechanism.new_state(held[0], _none), [], 1.0
                coins = iter(flips)
                for r in rounds:
                    state = mechanism.change_value(state, held[r - 1], _none)
                    pair = next(coins), next(coins)
                    report, state = mechanism.make_report(state, r, _coins(mechanism, pair))
                    stream.append(report)
                    chance *= _lie(mechanism.eps_vote, pair[0])
                    chance *= _lie(mechanism.eps_estimate, pair[1]) if r in mechanism.updates else 0.5
                key = tuple(stream)
                found[key] = found.get(key, 0.0) + chance
            return found

        return law

    fixed_worlds = [world((bit,) * 3) for bit in (0, 1)]
    check(mechanism.privacy(reports=3, participation="1/3"), apart(fixed_worlds, 3, Fraction(1, 3)))
    worlds = [world(held) for held in itertools.product((0, 1), repeat=3)]
    check(
        mechanism.privacy(reports=3, values="any", participation="1/3"),
        apart(worlds, 3, Fraction(1, 3)),
    )


def _none(size: int) -> bytes:
    raise AssertionError("no entropy is needed here")


def _coins(mechanism: Votes, flips: tuple[int, int]) -> Callable[[int], bytes]:
    """Entropy that makes the next two coins fall as asked: a word below a threshold is a lie."""
    words = iter(bytes(8) if flip else b"\xff" * 8 for flip in flips)
    return lambda size: next(words)


def _lie(eps: float, flip: int) -> float:
    return oracles.flip(eps) if flip else 1 - oracles.flip(eps)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("values", ["fixed", "any"])
def test_every_mechanism_of_the_catalogue(name: str, values: Values) -> None:
    """Answering every round reveals most, a participation of 0 nothing, and more answers more."""
    try:
        mechanism = CATALOGUE[name].for_budget(Budget(values=2, eps=2.0, reports=8))
    except Unsuitable:
        mechanism = FixedVector(bits=1, eps=1.0, noise="fresh")
    shares = [Fraction(0), Fraction(1, 10**18), Fraction(1, 50), Fraction(1, 2), Fraction(1)]
    for rounds in (None, 1, 7, 80):
        pairs = [mechanism.privacy(reports=rounds, values=values, participation=share) for share in shares]
        for gamma in (0.0, 0.5, 2.0):
            found = [pair.delta(gamma).upper for pair in pairs]
            assert found[0] == 0
            assert all(a <= b * (1 + 1e-6) + 1e-12 for a, b in itertools.pairwise(found)), (rounds, gamma, found)


# --- mixtures over counts ---------------------------------------------------------------------------------------


def test_thinned_factors_have_one_more_outcome() -> None:
    factor = Factor([0.7, 0.3, 0.0], [0.3, 0.6, 0.1])
    found = thinned_factor(factor, Fraction(1, 4))
    assert found.p == pytest.approx([0.175, 0.075, 0.0, 0.75])
    assert found.q == pytest.approx([0.075, 0.15, 0.025, 0.75])
    assert list(found.loss) == [*factor.loss, 0.0]
    with pytest.raises(ValueError, match="cannot be left out one by one"):
        thinned(Experiment(gaussian=0.5), Fraction(1, 2))


@pytest.mark.parametrize("participation", [Fraction(1, 2), Fraction(1, 20), Fraction(99, 100), Fraction(1, 10**18)])
@pytest.mark.parametrize("rounds", [3, 64, 65, 300])
def test_mixing_over_counts_is_thinning_independent_rounds(rounds: int, participation: Fraction) -> None:
    """Rounds that are independent can be left out one by one, and by their number: both are the same."""
    factor = response_factor(0.3)
    mixed = mixed_over_counts(lambda count: Experiment([(factor, count)]), rounds, participation)
    one_by_one = thinned(Experiment([(factor, rounds)]), participation)
    for gamma in (0.0, 0.1, 1.0, 3.0):
        found, truth = mixed.delta(gamma).upper, one_by_one.delta(gamma)
        assert found >= truth.lower * (1 - 1e-9) - 1e-16
        assert found == pytest.approx(truth.upper, rel=1e-8, abs=1e-12)
    assert mixed.pure() == pytest.approx(one_by_one.pure(), rel=1e-9)
    assert mixed.certainty == ("exact" if rounds <= 64 else "upper")


def test_the_worst_member_is_the_same_for_all_counts() -> None:
    """Members stand for pairs of values, so the first of one count goes with the first of another."""
    up, down = Factor([0.6, 0.4], [0.3, 0.7]), Factor([0.5, 0.5], [0.8, 0.2])

    def of(count: int) -> Worst:
        return Worst([Experiment([(up, count)]), Experiment([(down, count)])])

    found = mixed_over_counts(of, 3, Fraction(1, 3))
    assert isinstance(found, Worst)
    members = [thinned(Experiment([(factor, 3)]), Fraction(1, 3)) for factor in (up, down)]
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        expected = max(member.delta(gamma, direction).upper for member in members)
        assert found.delta(gamma, direction).upper == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_unequal_numbers_of_members_are_dominated() -> None:
    def of(count: int) -> Experiment | Worst:
        members = [Experiment([response_factor(0.2 * (i + 1) * count)]) for i in range(count)]
        return Worst(members) if count > 1 else members[0]

    found = mixed_over_counts(of, 3, Fraction(1, 3))
    assert isinstance(found, Mixture)
    for gamma in GAMMAS:
        weights = [math.comb(3, n) * (1 / 3) ** n * (2 / 3) ** (3 - n) for n in range(4)]
        expected = math.fsum(w * of(n).delta(gamma).upper for n, w in enumerate(weights) if n)
        assert found.delta(gamma).upper >= expected * (1 - 1e-9) - 1e-15


def test_the_rarest_count_is_not_forgotten() -> None:
    """All rounds are answered with a probability beyond floating point, and the largest loss is still theirs."""
    factor = response_factor(0.3)
    for rounds in (40, 400):
        found = mixed_over_counts(lambda count: Experiment([(factor, count)]), rounds, Fraction(1, 10**18))
        assert found.pure() == pytest.approx(0.3 * rounds)
        nearly = mixed_over_counts(lambda count: Experiment([(factor, count)]), rounds, 1 - Fraction(1, 10**18))
        assert nearly.delta(1.0).upper == pytest.approx(Experiment([(factor, rounds)]).delta(1.0).upper, rel=1e-9)
