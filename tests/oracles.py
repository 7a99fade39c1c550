"""Each mechanism written down once more from its definition, as finite laws that can be enumerated."""

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from tests.enumeration import FiniteMechanism, Law, Stream
from untrackable.mechanisms.rappor import Rappor


def flip(eps: float) -> float:
    return 1 / (math.exp(eps) + 1)


def response(bit: int, lie: float) -> dict[Hashable, float]:
    return {bit: 1 - lie, 1 - bit: lie}


def inner_product(bits: int, eps: float) -> Callable[[Hashable], Law]:
    """Law of (vector, bit) given the value."""

    def law(value: Hashable) -> Law:
        assert isinstance(value, int)
        chance, lie = 1 / (2**bits - 1), flip(eps)
        outcomes: dict[Hashable, float] = {}
        for vector in range(1, 2**bits):
            truth = bin(vector & value).count("1") % 2
            outcomes[vector, truth] = chance * (1 - lie)
            outcomes[vector, 1 - truth] = chance * lie
        return outcomes

    return law


def wide_inner_product(bits: int, width: int, eps: float) -> Callable[[Hashable], Law]:
    """Law of (vectors, answer) given the value: all lists of independent vectors, found by trying all sums."""
    lists = [
        vectors
        for vectors in itertools.product(range(2**bits), repeat=width)
        if all(
            functools.reduce(operator.xor, some)
            for size in range(1, width + 1)
            for some in itertools.combinations(vectors, size)
        )
    ]
    answers = list(itertools.product((0, 1), repeat=width))
    lie = 1 / (math.exp(eps) + len(answers) - 1)

    def law(value: Hashable) -> Law:
        assert isinstance(value, int)
        outcomes: dict[Hashable, float] = {}
        for vectors in lists:
            truth = tuple(bin(vector & value).count("1") % 2 for vector in vectors)
            for answer in answers:
                outcomes[vectors, answer] = (math.exp(eps) * lie if answer == truth else lie) / len(lists)
        return outcomes

    return law


def bit_response(eps: float) -> Callable[[Hashable], Law]:
    def law(value: Hashable) -> Law:
        assert isinstance(value, int)
        return response(value, flip(eps))

    return law


def bitwise(eps_state: float, eps_report: float) -> FiniteMechanism:
    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, int)
        return response(state, flip(eps_report))

    return FiniteMechanism([0, 1], bit_response(eps_state), report)


def stored(base: Callable[[Hashable], Law], slots: int, values: int) -> FiniteMechanism:
    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        law: dict[Hashable, float] = {}
        for execution in state:
            law[execution] = law.get(execution, 0.0) + 1 / slots
        return law

    return FiniteMechanism(range(values), lambda value: executions(base(value), slots), report)


def dealt(base: Callable[[Hashable], Law], slots: int, values: int) -> FiniteMechanism:
    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        return {state[(round - 1) % slots]: 1.0}

    return FiniteMechanism(range(values), lambda value: executions(base(value), slots), report)


def executions(base: Law, slots: int) -> Law:
    law: dict[Hashable, float] = {}
    for combination in itertools.product(base.items(), repeat=slots):
        state = tuple(outcome for outcome, _ in combination)
        law[state] = law.get(state, 0.0) + math.prod(p for _, p in combination)
    return law


def stateless(base: Callable[[Hashable, int], Law], values: int) -> FiniteMechanism:
    return FiniteMechanism(range(values), lambda value: {value: 1.0}, base)


def rappor(blooms: Mapping[Hashable, tuple[int, ...]], f: float, p: float, q: float) -> FiniteMechanism:
    """Values with given Bloom filters."""

    def state(value: Hashable) -> Law:
        return product([response(bit, f / 2) for bit in blooms[value]])

    def report(kept: Hashable, round: int) -> Law:
        assert isinstance(kept, tuple)
        return product([{1: q, 0: 1 - q} if bit else {1: p, 0: 1 - p} for bit in kept])

    return FiniteMechanism(list(blooms), state, report)


def rappor_cohorts(mechanism: Rappor, values: Sequence[Hashable]) -> FiniteMechanism:
    """Filters of the published hashes; a report is the filter's bits, then the cohort's, lowest first."""
    m = mechanism
    width = (m.cohorts - 1).bit_length()

    def state(value: Hashable) -> Law:
        assert isinstance(value, str)
        law: dict[Hashable, float] = {}
        for cohort in range(m.cohorts):
            bloom = [m.bloom(value, cohort) >> i & 1 for i in range(m.bloom_bits)]
            for kept, chance in product([response(bit, m.f / 2) for bit in bloom]).items():
                law[kept, cohort] = chance / m.cohorts
        return law

    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        kept, cohort = state
        shown = tuple(cohort >> i & 1 for i in range(width))
        bits = product([{1: m.q, 0: 1 - m.q} if bit else {1: m.p, 0: 1 - m.p} for bit in kept])
        return {(*told, *shown): chance for told, chance in bits.items() if isinstance(told, tuple)}

    return FiniteMechanism(values, state, report)


def same_cohort_change(
    mechanism: Rappor, value: str, other: str, rounds: Sequence[int], first: Iterable[int]
) -> dict[Stream, float]:
    """One client that keeps its cohort and has a filter for each of two values, the first at the rounds `first`."""
    single = dataclasses.replace(mechanism, cohorts=1)
    mine = sorted(first)
    rest = [r for r in rounds if r not in mine]
    width = (mechanism.cohorts - 1).bit_length()
    total: dict[Stream, float] = {}
    for cohort in range(mechanism.cohorts):
        blooms: dict[Hashable, tuple[int, ...]] = {
            v: tuple(mechanism.bloom(v, cohort) >> i & 1 for i in range(single.positions)) for v in (value, other)
        }
        law = rappor(blooms, single.f, single.p, single.q).several_people([(value, mine), (other, rest)])
        shown = tuple(cohort >> i & 1 for i in range(width))
        for stream, chance in law.items():
            tagged = tuple((*report, *shown) for report in stream if isinstance(report, tuple))
            total[tagged] = chance / mechanism.cohorts
    return total


def unary(values: int, keep: float, add: float, q: float, p: float) -> FiniteMechanism:
    def state(value: Hashable) -> Law:
        chances = [keep if place == value else add for place in range(values)]
        return product([{1: chance, 0: 1 - chance} for chance in chances])

    def report(kept: Hashable, round: int) -> Law:
        assert isinstance(kept, tuple)
        return product([{1: q, 0: 1 - q} if bit else {1: p, 0: 1 - p} for bit in kept])

    return FiniteMechanism(range(values), state, report)


def product(laws: list[dict[Hashable, float]]) -> Law:
    return {
        tuple(outcome for outcome, _ in combination): math.prod(p for _, p in combination)
        for combination in itertools.product(*(law.items() for law in laws))
    }


def subsets(rounds: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Every set J of rounds."""
    return itertools.chain.from_iterable(itertools.combinations(rounds, n) for n in range(len(rounds) + 1))
