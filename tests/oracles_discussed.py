"""The four protocols that [NV] discusses, written down once more from their definitions."""

import itertools
from collections.abc import Hashable, Sequence

from tests.enumeration import FiniteMechanism, Law, Stream
from tests.oracles import flip, response

Bits = tuple[int, ...]


def questioned(vectors: Sequence[int], bits: int, eps: float) -> FiniteMechanism:
    """A question drawn once, one of these vectors; a fresh randomised response to it in each report."""

    def state(value: Hashable) -> Law:
        return {(number, value): 1 / len(vectors) for number in range(len(vectors))}

    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        number, value = state
        truth = bin(vectors[number] & value).count("1") % 2
        return {(number, bit): chance for bit, chance in response(truth, flip(eps)).items()}

    return FiniteMechanism(range(2**bits), state, report)


def answered_once(vectors: Sequence[int], bits: int, eps: float) -> FiniteMechanism:
    """The same with the answer drawn once as well."""
    fresh = questioned(vectors, bits, eps)

    def state(value: Hashable) -> Law:
        law: dict[Hashable, float] = {}
        for asked, chance in fresh.state(value).items():
            for answer, told in fresh.report(asked, 1).items():
                law[answer] = chance * told
        return law

    return FiniteMechanism(range(2**bits), state, lambda kept, round: {kept: 1.0})


def changed_client(
    oracle: FiniteMechanism, value: int, other: int, rounds: Sequence[int], first: Sequence[int], *, once: bool
) -> dict[Stream, float]:
    """The same client after a change keeps its question, and draws an answer for each value, or each report."""
    total: dict[Stream, float] = {}
    for asked, chance in oracle.state(value).items():
        assert isinstance(asked, tuple)
        laws = {v: list(oracle.report((asked[0], v), 1).items()) for v in (value, other)}
        held = [value if r in first else other for r in rounds]
        if once:
            for mine, rest in itertools.product(laws[value], laws[other]):
                stream = tuple(mine[0] if v == value else rest[0] for v in held)
                total[stream] = total.get(stream, 0.0) + chance * mine[1] * rest[1]
        else:
            for combination in itertools.product(*(laws[v] for v in held)):
                stream = tuple(report for report, _ in combination)
                likely = chance
                for _, p in combination:
                    likely *= p
                total[stream] = total.get(stream, 0.0) + likely
    return total


def one_change(rounds: int, changes: int, eps: float) -> FiniteMechanism:
    """Values are sequences of bits. The state is a level and the change to tell; a report (round, level, sign)."""
    levels = rounds.bit_length()

    def state(value: Hashable) -> Law:
        return {(h, c, value): 1 / (levels * changes) for h in range(levels) for c in range(changes)}

    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        level, chosen, bits = state
        if round % 2**level:
            return {(round, level, 0): 1.0}
        held = (0, *bits)
        turns = [t for t in range(1, len(held)) if held[t] != held[t - 1]]
        if chosen < len(turns) and round - 2**level < turns[chosen] <= round:
            sign = 1 if held[turns[chosen]] else -1
            return {(round, level, sign): 1 - flip(eps), (round, level, -sign): flip(eps)}
        return {(round, level, 1): 0.5, (round, level, -1): 0.5}

    return FiniteMechanism(list(itertools.product((0, 1), repeat=rounds)), state, report)


def meant(bits: Bits, votes: int, updates: Sequence[int]) -> list[bool]:
    """Whether a user with these bits means yes at each round."""
    found: list[bool] = []
    for t in range(1, len(bits) + 1):
        earlier = [r for r in updates if r < t]
        wants = not earlier or bits[t - 1] != bits[max(earlier) - 1]
        found.append(wants and sum(found) < votes)
    return found


def votes(a: float, b: float, most: int, estimates: int, updates: Sequence[int], rounds: int) -> FiniteMechanism:
    """Values are sequences of bits; a report is (vote, estimate or None)."""

    def report(bits: Hashable, round: int) -> Law:
        assert isinstance(bits, tuple)
        vote = response(int(meant(bits, most, updates)[round - 1]), flip(a))
        if round not in updates:
            return {(bit, None): chance for bit, chance in vote.items()}
        told = response(bits[round - 1] if sorted(updates).index(round) < estimates else 0, flip(b))
        return {(v, e): p * q for v, p in vote.items() for e, q in told.items()}

    return FiniteMechanism(list(itertools.product((0, 1), repeat=rounds)), lambda bits: {bits: 1.0}, report)
