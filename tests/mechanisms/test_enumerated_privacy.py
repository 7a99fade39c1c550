"""Privacy of all reports of a few rounds, for fixed values and any sequence of them, against enumeration."""

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import pytest

from tests import oracles, oracles_discussed
from tests.enumeration import FiniteMechanism, Stream, streams_factor
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
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.interface import Mechanism, Pair, Values
from untrackable.mechanisms.local import RandomizedResponse
from untrackable.mechanisms.loloha import Loloha
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable
from untrackable.theory.experiment import Experiment

Held = Sequence[Hashable]
"""The value at each round, from round 1."""
World = Callable[[tuple[int, ...]], Mapping[Stream, float]]
"""The law of the reports of these rounds."""


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


def apart(worlds: Sequence[World], rounds: int) -> list[Experiment]:
    """Every two of these worlds."""
    laws = [world(tuple(range(1, rounds + 1))) for world in worlds]
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
def test_a_fixed_value_that_is_kept(
    mechanism: Mechanism,
    oracle: FiniteMechanism,
    values: Sequence[Hashable],
    certainty: str,
) -> None:
    for rounds in (1, 2, 3):
        found = mechanism.privacy(reports=rounds)
        assert found.certainty == certainty
        check(found, apart([fixed(oracle, value) for value in values], rounds))


@pytest.mark.parametrize(("mechanism", "oracle", "values", "certainty"), KEPT, ids=lambda case: type(case).__name__)
def test_any_sequence_of_values_that_is_kept(
    mechanism: Mechanism, oracle: FiniteMechanism, values: Sequence[Hashable], certainty: str
) -> None:
    """Fixed questions are kept for all values together, so that they are looked at separately below."""
    if isinstance(mechanism, (FixedVector, Assigned, DBitFlip)):
        return
    for rounds in (1, 2):
        found = mechanism.privacy(reports=rounds, values="any")
        worlds = [kept(oracle, held) for held in itertools.product(values[:2], repeat=rounds)]
        check(found, apart(worlds, rounds))


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

    for rounds in (1, 2):
        found = mechanism.privacy(reports=rounds)
        check(found, apart([world(value) for value in range(3)], rounds))
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
    check(mechanism.privacy(reports=2, values="any"), apart(worlds, 2))


@pytest.mark.parametrize("values", ["fixed", "any"])
def test_independent_reports(values: Values) -> None:
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
        found = mechanism.privacy(reports=rounds, values=values)
        assert found.certainty == "exact"
        check(found, apart([fresh(law, held) for held in every], rounds))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("values", ["fixed", "any"])
def test_replayed_decks(rounds: int, values: Values) -> None:
    """A card is for the value of its first round, and says no more when it is sent again."""
    mechanism = Deck(bits=1, slots=2, eps_report=0.9, when_empty="replay", width=1)
    law = oracles.inner_product(1, 0.9)
    every = list(itertools.product((0, 1), repeat=rounds)) if values == "any" else [(0,) * rounds, (1,) * rounds]
    found = mechanism.privacy(reports=rounds, values=values)
    assert found.certainty == "exact"
    check(found, apart([replayed(law, 2, held) for held in every], rounds))


def test_a_deck_ends() -> None:
    deck = Deck(bits=2, slots=3, eps_report=0.9, width=1)
    assert deck.privacy(reports=50).delta(0.2) == deck.privacy().delta(0.2)


@pytest.mark.parametrize("changes", [1, 2])
def test_one_change(changes: int) -> None:
    mechanism, oracle = OneChange(rounds=4, changes=changes, eps=1.3), oracles_discussed.one_change(4, changes, 1.3)

    def world(held: tuple[int, ...]) -> World:
        return lambda rounds: oracle.streams(held, rounds)

    check(mechanism.privacy(), apart([world(held) for held in itertools.product((0, 1), repeat=4)], 4))


def test_votes() -> None:
    """By a client's own code, which compares its bit with that of its last answer."""
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
    check(mechanism.privacy(reports=3), apart(fixed_worlds, 3))
    worlds = [world(held) for held in itertools.product((0, 1), repeat=3)]
    check(mechanism.privacy(reports=3, values="any"), apart(worlds, 3))


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
    """More reports reveal more, and all for ever most."""
    try:
        mechanism = CATALOGUE[name].for_budget(Budget(values=2, eps=2.0, reports=8))
    except Unsuitable:
        mechanism = FixedVector(bits=1, eps=1.0, noise="fresh")
    pairs = [mechanism.privacy(reports=reports, values=values) for reports in (1, 7, 80, None)]
    for gamma in (0.0, 0.5, 2.0):
        found = [pair.delta(gamma).upper for pair in pairs]
        assert all(a <= b * (1 + 1e-6) + 1e-12 for a, b in itertools.pairwise(found)), (gamma, found)
