"""The definitions, read literally and enumerated: the oracle that every factorisation is tested against.

Exponential in everything; for tiny parameters only. Every stream of reports, every split, every value.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from untrackable.theory.factor import Factor

Law = Mapping[Hashable, float]
Stream = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Finite:
    """A mechanism on finite sets: the law of a state given a value, and of a report given state and round."""

    values: Sequence[Hashable]
    state: Callable[[Hashable], Law]
    report: Callable[[Hashable, int], Law]

    def streams(self, value: Hashable, rounds: Sequence[int]) -> dict[Stream, float]:
        """Law of the reports that one user sends at these rounds."""
        total: dict[Stream, float] = {}
        for state, chance in self.state(value).items():
            laws = [list(self.report(state, r).items()) for r in rounds]
            for combination in itertools.product(*laws):
                stream = tuple(report for report, _ in combination)
                total[stream] = total.get(stream, 0.0) + chance * math.prod(p for _, p in combination)
        return total

    def users(self, value_and_rounds: Iterable[tuple[Hashable, Sequence[int]]]) -> dict[Stream, float]:
        """Law of the reports of several independent users, each at its own rounds, ordered by round."""
        worlds = [(rounds, self.streams(value, rounds)) for value, rounds in value_and_rounds]
        order = sorted(r for rounds, _ in worlds for r in rounds)
        total: dict[Stream, float] = {}
        for combination in itertools.product(*(law.items() for _, law in worlds)):
            at = {
                r: report
                for (rounds, _), (stream, _) in zip(worlds, combination, strict=True)
                for r, report in zip(rounds, stream, strict=True)
            }
            stream = tuple(at[r] for r in order)
            total[stream] = total.get(stream, 0.0) + math.prod(p for _, p in combination)
        return total

    def tracking(self, value: Hashable, rounds: Sequence[int], first: Iterable[int]) -> Factor:
        """One user against two of the same value: the product measure, each report at its own round."""
        mine = sorted(first)
        rest = [r for r in rounds if r not in mine]
        return pair(self.streams(value, sorted(rounds)), self.users([(value, mine), (value, rest)]))

    def detection(self, value: Hashable, other: Hashable, rounds: Sequence[int], first: Iterable[int]) -> Factor:
        """One user against a user holding `value` at the rounds in `first` and one holding `other` else."""
        mine = sorted(first)
        rest = [r for r in rounds if r not in mine]
        return pair(self.streams(value, sorted(rounds)), self.users([(value, mine), (other, rest)]))

    def privacy(self, value: Hashable, other: Hashable, rounds: Sequence[int]) -> Factor:
        """All reports of a user holding one value against those of a user holding another."""
        return pair(self.streams(value, rounds), self.streams(other, rounds))


def pair(first: Mapping[Stream, float], second: Mapping[Stream, float]) -> Factor:
    """Two laws over streams as one factor, an outcome for every stream."""
    streams = list({**first, **second})
    return Factor([first.get(s, 0.0) for s in streams], [second.get(s, 0.0) for s in streams])


def subsets(rounds: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Every set J of rounds."""
    return itertools.chain.from_iterable(itertools.combinations(rounds, n) for n in range(len(rounds) + 1))


def projection_gap(law: Mapping[Stream, float], split: int, streams: set[Stream], gamma: float) -> float:
    """Pr[T_J]·Pr[T_Jᶜ] - e^γ·Pr[T] with the *projections* of T: the δ that the definition as printed demands.

    [NV, Definition of untrackable]. J is the first `split` reports, both users follow `law`. Fresh randomised
    response and T = {00, 11} make it positive, though no mechanism could be harder to track.
    """
    left = {s[:split] for s in streams}
    right = {s[split:] for s in streams}
    in_left = sum(p for s, p in law.items() if s[:split] in left)
    in_right = sum(p for s, p in law.items() if s[split:] in right)
    return in_left * in_right - math.exp(gamma) * sum(law.get(s, 0.0) for s in streams)
