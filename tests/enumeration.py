"""The definitions taken literally and enumerated. Every factorisation is tested against this oracle.

It goes through every stream of reports, every split and every value, so it is for tiny parameters only.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from untrackable.theory.factor import Factor

Law = Mapping[Hashable, float]
"""The probability of each outcome."""
Stream = tuple[Hashable, ...]
"""The reports of all rounds, in the order of the rounds."""


@dataclass(frozen=True, slots=True)
class FiniteMechanism:
    """A mechanism on finite sets, given by the law of a state for a value and of a report for a state and round."""

    values: Sequence[Hashable]
    state: Callable[[Hashable], Law]
    report: Callable[[Hashable, int], Law]

    def streams(self, value: Hashable, rounds: Sequence[int]) -> dict[Stream, float]:
        """The law of the reports that one person sends at these rounds."""
        total: dict[Stream, float] = {}
        for state, chance in self.state(value).items():
            laws = [list(self.report(state, r).items()) for r in rounds]
            for combination in itertools.product(*laws):
                stream = tuple(report for report, _ in combination)
                total[stream] = total.get(stream, 0.0) + chance * math.prod(p for _, p in combination)
        return total

    def several_people(self, value_and_rounds: Iterable[tuple[Hashable, Sequence[int]]]) -> dict[Stream, float]:
        """The law of the reports of several independent people, each at their own rounds, ordered by round."""
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
        """One person against two with the same value: the product measure, with each report at its own round."""
        return self.detection(value, value, rounds, first)

    def detection(self, value: Hashable, other: Hashable, rounds: Sequence[int], first: Iterable[int]) -> Factor:
        """One person against two: one holds `value` at the rounds in `first`, the other `other` at the rest."""
        mine = sorted(first)
        rest = [r for r in rounds if r not in mine]
        return streams_factor(
            self.streams(value, sorted(rounds)), self.several_people([(value, mine), (other, rest)])
        )

    def privacy(self, value: Hashable, other: Hashable, rounds: Sequence[int]) -> Factor:
        """All reports of a person with one value against those of a person with another."""
        return streams_factor(self.streams(value, rounds), self.streams(other, rounds))


def streams_factor(first: Mapping[Stream, float], second: Mapping[Stream, float]) -> Factor:
    """Two laws over streams as one factor with one outcome for every stream."""
    streams = list({**first, **second})
    return Factor([first.get(s, 0.0) for s in streams], [second.get(s, 0.0) for s in streams])


def projection_gap(law: Mapping[Stream, float], split: int, streams: set[Stream], gamma: float) -> float:
    """Pr[T_J]·Pr[T_Jᶜ] - e^γ·Pr[T] with the *projections* of T: the δ that the printed definition demands.

    [NV, Definition of untrackable]. J is the first `split` reports, T is `streams`, and both people follow `law`.
    It is positive for fresh randomised response and T = {00, 11}, although no mechanism could be harder to track.
    """
    left = {s[:split] for s in streams}
    right = {s[split:] for s in streams}
    in_left = sum(p for s, p in law.items() if s[:split] in left)
    in_right = sum(p for s, p in law.items() if s[split:] in right)
    return in_left * in_right - math.exp(gamma) * sum(law.get(s, 0.0) for s in streams)
