"""Reporting one change only: the online monitoring of Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta.

"Amplification by Shuffling: From Local to Central Differential Privacy via Anonymity" (SODA 2019).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import RoundPassed, StateError
from untrackable.estimation.aggregators import FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.interface import After, Mechanism, Pair, Values
from untrackable.mechanisms.observed_rounds import ObservedRounds
from untrackable.mechanisms.others.change_sums import SILENT, ChangeAggregator, intervals
from untrackable.mechanisms.probabilities import Chance, flip_chance, flip_eps
from untrackable.mechanisms.simulated_values import integer_population, per_round
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.change_signs import worst_sign_tracking_factor
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor, response_factor

LARGEST_ROUNDS = 1 << 40
_FAIR = Chance(1 << 63)
_WORD = 64

Change = tuple[int, int]
"""The round of a change, and its sign."""


class Followed(NamedTuple):
    """A client's state.

    Its level, which change it will tell, its value now and at its last report, how many changes there were, the
    round of the chosen one (0 before it), and the last round answered with its report.
    """

    level: int
    chosen: int
    value: int
    before: int
    changes: int
    at: int
    round: int
    report: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OneChange(Mechanism):
    """A bit that starts as 0, followed over `rounds` rounds; one of its first `changes` changes is ever told.

    A client draws which change, and a level h of 0 … log₂ rounds. At each round that 2^h divides it reports one
    sign for the 2^h rounds up to it: that of the chosen change if it is among them, or with probability
    1/(e^eps + 1) the other one; and a fair coin if it is not. The level travels with every report, also where the
    client is silent. A report is the integer 4·((round - 1)·levels + level) + code.

    All rounds together are eps-private, whatever the values. (The publication flips with 1/(e^(ε/2) + 1) and states
    ε: that is `eps` = ε/2, twice as private as stated.) Changes after the first `changes` are never told.
    """

    rounds: int
    changes: int
    eps: float
    flip: Chance = field(init=False, repr=False)

    published = (
        "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta, Amplification by Shuffling (SODA 2019)"
    )
    persists = "the level, in the clear; which change is told, faintly, in the signs"

    capacity = 2
    rounds_alike = False
    follows_changes = True

    def __post_init__(self) -> None:
        rounds = checks.integer("rounds", self.rounds, low=1, high=LARGEST_ROUNDS)
        if rounds & (rounds - 1):
            raise ValueError(f"rounds must be a power of two, got {rounds}")
        checks.settle(
            self,
            rounds=rounds,
            changes=checks.integer("changes", self.changes, low=1, high=rounds),
            eps=checks.epsilon("eps", self.eps),
        )
        checks.settle(self, flip=flip_chance(self.eps))

    @property
    def last_round(self) -> int:
        """The last of its rounds."""
        return self.rounds

    def independent_errors(self, values: int) -> int:
        """One: the errors of 0 and of 1 are the same."""
        return 1

    @property
    def levels(self) -> int:
        """1 + log₂ rounds."""
        return self.rounds.bit_length()

    @property
    def bias(self) -> float:
        """β = 1 - 2η, the mean of a told sign."""
        return ((1 << 63) - self.flip.threshold) / (1 << 63)

    @property
    def report_bits(self) -> int:
        """Round, level and code."""
        return (4 * self.rounds * self.levels - 1).bit_length()

    def _encoded(self, round: int, level: int, code: int) -> int:
        return 4 * ((round - 1) * self.levels + level) + code

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """Of the frequency of 1 at a round: the signs of the intervals that make up 1 … round."""
        parts = len(intervals(self._number(round)))
        scale = self._scale
        return Accuracy.of(people, beta, span=2 * scale, variance=scale**2 * parts / self.levels)

    @property
    def _scale(self) -> float:
        """What a sign counts: (log₂ T + 1)·k/β."""
        return self.levels * self.changes / self.bias

    def aggregator(self, round: int = 1) -> "ChangeAggregator":
        """Empty sums for the frequency at a round, made of the reports of that round and of earlier ones."""
        return ChangeAggregator(Scope(self, self._number(round), pools=True), self)

    def takes(self, round: int) -> tuple[int, ...]:
        """The last rounds of the intervals that make up 1 … round."""
        return tuple(end for _, end in intervals(self._number(round)))

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """All rounds, or the first `reports`: any two sequences of values (upper).

        At each level, one change told against another one (see docs). The bound on |ln P/Q| is attained as soon as
        there are more rounds than changes. A fixed value is a sequence like any other.
        """
        checks.choice("values", values, ("fixed", "any"))
        last = self.rounds if reports is None else min(self.rounds, checks.integer("reports", reports, low=1))
        return self._apart([min(self.changes, last >> h) for h in range(self.levels)])

    def _apart(self, seen: list[int]) -> Mixture:
        """At each level, two sequences of so many changes out of k: one change told here, or there."""
        weight, parts = 1 / self.levels, []
        for changes in seen:
            share = changes / self.changes
            lie, bias = (1 - share) / 2 + share * self.flip.probability, share * self.bias
            eps = math.log1p(bias / lie)
            here, there = (1 - lie) / 2, lie / 2
            moved = Factor([here, there, 0.5], [there, here, 0.5], [eps, -eps, 0.0])
            parts.append((weight, weight, Experiment([moved], certainty="upper")))
        return Mixture(parts)

    def _trackings(self, seen: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """The level on both sides; and given the level, signs that hang together through the one change told.

        Exact for one change, which cannot be on both sides; otherwise at each level the worst over how many
        intervals with a change each side may have (upper). Counted reports may be of any rounds.
        """
        if seen.reports < 2 or (seen.first is not None and not 0 < len(seen.first) < seen.reports):
            return [Experiment()]
        if self.changes == 1:
            return [Experiment([persistent_factor(self.levels)])]
        weight = 1 / self.levels
        told = [self._met(sides, most) for sides, most in self._signs(seen)]
        parts = [(weight, weight**2, experiment) for experiment in told]
        return [Mixture([*parts, (0.0, 1 - weight, Experiment())])]

    def _met(self, sides: tuple[int, int], most: int) -> Experiment:
        ways = {tuple(sorted((a, min(sides[1], most - a)))) for a in range(1, min(sides[0], most - 1) + 1)}
        pairs = sorted((a, b) for a, b in ways if a > 0)
        if not pairs:
            return Experiment()
        return Experiment([worst_sign_tracking_factor(pairs, self.bias / self.changes)], certainty="upper")

    def _signs(self, seen: ObservedRounds) -> list[tuple[tuple[int, int], int]]:
        """At each level: signs that each side may show, and how many intervals with a change both can share."""
        if not seen.counted:
            for number in seen.rounds:
                self._number(number)
        found = []
        for h in range(self.levels):
            if seen.counted:
                all_ends = self.rounds >> h
                mine = seen.reports if seen.first is None else len(seen.first)
                rest = seen.reports if seen.first is None else seen.reports - mine
                sides, shown = (min(mine, all_ends), min(rest, all_ends)), min(seen.reports, all_ends)
            else:
                ends = [r for r in seen.rounds if r % (1 << h) == 0]
                shown = len(ends)
                mine = shown if seen.first is None else sum(r in seen.first for r in ends)
                sides = (mine, shown if seen.first is None else shown - mine)
            found.append((sides, min(self.changes, shown)))
        return found

    def _detections(self, seen: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """The same client: its sequence of values is another one (upper).

        A fresh generator: the level on both sides, and given that, signs whose likelihoods differ by at most e^eps,
        wherever one was sent after the change (upper).
        """
        signs = self._signs(seen)
        split = None if seen.first is None else len(seen.first)
        if split == seen.reports:
            return [Experiment()]
        same = self._apart([self.changes if sum(sides) else 0 for sides, _ in signs])
        if after == "same" or split == 0:
            return [same]
        weight, told = 1 / self.levels, Experiment([response_factor(flip_eps(self.flip))], certainty="upper")
        parts = [(weight, weight**2, told if sides[1] else Experiment()) for sides, _ in signs]
        fresh = Mixture([*parts, (0.0, 1 - weight, Experiment())])
        return [fresh] if split is not None else [same, fresh] if seen.reports > 1 else [same]

    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """Fair signs of the level's intervals, tilted by those that have a change: 2^-n·(1 + (β/k)·Σ w·s).

        `value` is one bit, held from the first round on, or one for each round.
        """
        read = _Read(self, reports, self._changes(value))
        with np.errstate(
            invalid="ignore"
        ):  # reports of several levels, which are impossible, may add up to anything
            tilted = np.log1p(self.bias / self.changes * read.tilt)
        total = tilted - np.log(2) * read.signs - np.log(self.levels)
        steady = read.steady & (read.rounds == np.array(rounds)).all(axis=1)
        return np.where(steady, total, -np.inf)

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """The level, and the tilts of the two sides: their product is missing where one person sent both."""
        changes = self._changes(value)
        left, right = _Read(self, first, changes), _Read(self, second, changes)
        step = self.bias / self.changes
        x, y = step * left.tilt[:, None], step * right.tilt[None, :]
        same = (left.level[:, None] == right.level[None, :]) & left.steady[:, None] & right.steady[None, :]
        return np.where(same, np.log(self.levels) + np.log1p(-x * y / ((1 + x) * (1 + y))), -np.inf)

    def _changes(self, value: Any) -> list[Change]:
        """The first `changes` changes of a bit, or of a sequence of bits, that starts from 0."""
        bits = [value] if np.ndim(value) == 0 else list(value)
        held = [0, *(checks.private_integer("value", bit, below=2) for bit in bits)]
        turns = [(t, held[t] - held[t - 1]) for t in range(1, len(held)) if held[t] != held[t - 1]]
        return turns[: self.changes]

    def _number(self, round: int) -> int:
        return checks.integer("round", round, low=1, high=self.rounds)

    def new_state(self, value: int, source: Entropy) -> Followed:
        """The level's entropy first, then the chosen change's."""
        value = checks.private_integer("value", value, below=2)
        level, chosen = below(self.levels, source), below(self.changes, source)
        return Followed(level, chosen, value, value, value, int(value == 1 and chosen == 0), 0, 0)

    def change_value(self, state: Followed, value: int, source: Entropy) -> Followed:
        """With another bit."""
        return state._replace(value=checks.private_integer("value", value, below=2))

    def make_report(self, state: Followed, round: int, source: Entropy) -> tuple[int, Followed]:
        """Eight bytes wherever a sign is due: the lie of a chosen change, or the fair coin's plus."""
        if self._number(round) < state.round:
            raise RoundPassed(f"round {round} lies before round {state.round}, which has been answered")
        if round == state.round:
            return state.report, state
        if state.value != state.before and state.changes < self.changes:
            at = round if state.changes == state.chosen else state.at
            state = state._replace(changes=state.changes + 1, at=at)
        code = SILENT
        if round % (1 << state.level) == 0:
            told = state.at > round - (1 << state.level)
            # The first change is to 1, and they alternate.
            code = 1 - state.chosen % 2 ^ self.flip.happens(source) if told else int(_FAIR.happens(source))
        report = self._encoded(round, state.level, code)
        return report, state._replace(before=state.value, round=round, report=report)

    def pack_state(self, state: Followed) -> bytes:
        """Eight words, in the order of the fields."""
        return pack_integers(list(state), _WORD)

    def unpack_state(self, payload: bytes) -> Followed:
        """The same; what cannot come about is an error."""
        state = Followed(*unpack_integers(payload, _WORD, len(Followed._fields)))
        limits = (self.levels - 1, self.changes - 1, 1, 1, self.changes, self.rounds, self.rounds)
        fits = all(number <= limit for number, limit in zip(state, limits, strict=False))
        code = SILENT if fits and state.round % (1 << state.level) else state.report & 1
        reported = self._encoded(state.round, state.level, code) if state.round else 0
        if not fits or state.report != reported or (state.at > 0) != (state.changes > state.chosen):
            raise StateError("this state is not one that its mechanism can have come to")
        return state

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 2, rounds, may_change=True)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Values hold from their round to the next one given, and the first of them from the start."""
        ends = np.array([[self._number(number) for number in rounds]], dtype=np.int64)
        people, order = values.shape[0], np.argsort(ends[0])
        held = per_round(values, len(rounds))[:, order].astype(np.int64)
        level = rng.integers(0, self.levels, size=(people, 1))
        chosen = rng.integers(0, self.changes, size=(people, 1))
        words = rng.integers(0, (1 << 64) - 1, size=held.shape, dtype=np.uint64, endpoint=True)
        turns = np.diff(held, axis=1, prepend=0) != 0
        is_chosen = turns & (np.cumsum(turns, axis=1) == chosen + 1)
        since = np.concatenate(([1], ends[0, order[1:]]))  # the first value is held from the start
        at = (is_chosen * since).sum(axis=1, keepdims=True)
        length = _lengths(level)
        told = (at > ends - length) & (at <= ends)
        lie, fair = words < np.uint64(self.flip.threshold), words < np.uint64(_FAIR.threshold)
        codes = np.where(ends % length == 0, np.where(told, (1 - chosen % 2) ^ lie, fair), SILENT)
        reports: NDArray[np.uint64] = (4 * ((ends - 1) * self.levels + level) + codes).astype(np.uint64)
        return reports


def _lengths(levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """2^h."""
    return np.ones_like(levels) << levels


class _Read:
    """Rows of reports: rounds, level, whether all is as it can be, how many signs, and Σ w·s for given changes."""

    def __init__(self, mechanism: OneChange, reports: Reports, changes: list[Change]) -> None:
        numbers = reports.astype(np.int64)
        codes, keys = numbers & 3, numbers >> 2
        self.rounds, levels = keys // mechanism.levels + 1, keys % mechanism.levels
        self.level = levels[:, 0]
        due = self.rounds % _lengths(levels) == 0
        self.steady = ((levels == levels[:, :1]) & (due == (codes < SILENT)) & (codes <= SILENT)).all(axis=1)
        self.signs = due.sum(axis=1)
        net = np.zeros_like(numbers)
        for at, sign in changes:
            net += sign * (due & (at <= self.rounds) & (at > self.rounds - _lengths(levels)))
        self.tilt = (net * (2 * codes - 1)).sum(axis=1)
