"""Reports about one bit per person that may change from round to round, by two published mechanisms.

`OneChange` reports about one change of the bit, the online monitoring of Erlingsson, Feldman, Mironov,
Raghunathan, Talwar, Thakurta, "Amplification by Shuffling: From Local to Central Differential Privacy via
Anonymity" (SODA 2019). Sums are of the signs of the intervals that make up the rounds so far.

`Votes` are on whether to ask again, THRESH of Joseph, Roth, Ullman, Waggoner, "Local Differential Privacy for
Evolving Data" (NeurIPS 2018). Later rounds depend on what the server publishes. So the mechanism is described given
the public rounds of updates.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import Bools, FloatArray
from untrackable.errors import RoundPassed, StateError
from untrackable.estimation.aggregators import Aggregator, BitAggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, Spread
from untrackable.mechanisms.interface import (
    LARGEST_ROUND,
    After,
    Mechanism,
    ObservedRounds,
    Pair,
    Unlinked,
    Values,
    distinct_rounds,
    round_number,
)
from untrackable.mechanisms.local import RandomizedResponse
from untrackable.mechanisms.local_interface import per_round
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import Chance, Entropy, below, flip_chance, flip_eps
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor, response_factor
from untrackable.theory.kept_bit import worst_sign_tracking_factor

MINUS, PLUS, SILENT = 0, 1, 2
"""The code of a report: the sign of its interval, or silent if no interval of the client's level ends."""
LARGEST_ROUNDS = 1 << 40
_FAIR = Chance(1 << 63)
_WORD = 64

Change = tuple[int, int]
"""The round of a change, and its sign."""


class ChangeState(NamedTuple):
    """A client's state.

    It holds the level, the number of the chosen change, the value now (`value`) and at the last report (`before`),
    the number of changes so far, the round of the chosen change (`at`, 0 before it), and the last round with its
    report.
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
    """For a bit that starts as 0 and changes over `rounds` rounds. A client reports only one of its changes.

    A client draws one of its first `changes` changes, and a level h of 0 … log₂ rounds. At each round that 2^h
    divides, it reports one sign for the last 2^h rounds. If the chosen change is among them, this is the sign of
    the change, flipped with probability 1/(e^eps + 1). If not, it is a fair coin. Every report names the level,
    also when the client is silent. A report is the integer 4·((round - 1)·levels + level) + code.

    All rounds together are eps-private for any sequence of values. (The publication flips with probability
    1/(e^(ε/2) + 1) and states ε. That is `eps` = ε/2, twice as private as stated.) Changes after the first
    `changes` are never reported.
    """

    rounds: int
    changes: int
    eps: float
    flip: Chance = field(init=False, repr=False)

    published = (
        "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta, Amplification by Shuffling (SODA 2019)"
    )
    persists = "the level, in the clear; the choice of the reported change, seen faintly in the signs"

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
        return self.rounds

    def independent_errors(self, values: int) -> int:
        """One error, because the errors of 0 and of 1 are the same."""
        return 1

    @property
    def levels(self) -> int:
        """The number of levels, 1 + log₂ rounds."""
        return self.rounds.bit_length()

    @property
    def bias(self) -> float:
        """β = 1 - 2η, the mean of the reported sign of a chosen change."""
        return ((1 << 63) - self.flip.threshold) / (1 << 63)

    @property
    def report_bits(self) -> int:
        return (4 * self.rounds * self.levels - 1).bit_length()

    def _encoded(self, round: int, level: int, code: int) -> int:
        return 4 * ((round - 1) * self.levels + level) + code

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The error of the frequency of 1 at a round, from the signs of the intervals that make up 1 … round."""
        parts = len(intervals(self._number(round)))
        scale = self._scale
        return Accuracy.of(people, beta, span=2 * scale, variance=scale**2 * parts / self.levels)

    @property
    def _scale(self) -> float:
        """The weight of a sign: (log₂ T + 1)·k/β."""
        return self.levels * self.changes / self.bias

    def aggregator(self, round: int = 1) -> "ChangeAggregator":
        """Empty sums for the frequency at a round, for reports of that round and of earlier ones."""
        return ChangeAggregator(Scope(self, self._number(round), pools=True), self)

    def takes(self, round: int) -> tuple[int, ...]:
        """The last rounds of the intervals that make up 1 … round."""
        return tuple(end for _, end in intervals(self._number(round)))

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """All rounds, or the first `reports`, for any two sequences of values (upper).

        At each level, the report of one change is compared with that of another (see docs). The bound on |ln P/Q|
        is attained if there are more rounds than changes. A fixed value is a sequence like any other.
        """
        last = self.rounds if reports is None else min(self.rounds, reports)
        return self._apart([min(self.changes, last >> h) for h in range(self.levels)])

    def _apart(self, revealed: list[int]) -> Mixture:
        """Two sequences of values. At each level, this many of the k changes may be revealed, here or there."""
        weight, parts = 1 / self.levels, []
        for changes in revealed:
            share = changes / self.changes
            lie, bias = (1 - share) / 2 + share * self.flip.probability, share * self.bias
            eps = math.log1p(bias / lie)
            here, there = (1 - lie) / 2, lie / 2
            moved = Factor([here, there, 0.5], [there, here, 0.5], [eps, -eps, 0.0])
            parts.append((weight, weight, Experiment([moved], certainty="upper")))
        return Mixture(parts)

    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """The level links the reports of one person. So do the signs, because only one change is reported.

        It is exact for one change, which cannot be on both sides. Else it is at each level the worst over the
        numbers of intervals with a change on each side (upper). If only numbers of reports are given, they may be
        from any rounds.
        """
        if observed.reports < 2 or (observed.first is not None and not 0 < len(observed.first) < observed.reports):
            return [Experiment()]
        if self.changes == 1:
            return [Experiment([persistent_factor(self.levels)])]
        weight = 1 / self.levels
        experiments = [self._met(sides, most) for sides, most in self._signs(observed)]
        parts = [(weight, weight**2, experiment) for experiment in experiments]
        return [Mixture([*parts, (0.0, 1 - weight, Experiment())])]

    def _met(self, sides: tuple[int, int], most: int) -> Experiment:
        ways = {tuple(sorted((a, min(sides[1], most - a)))) for a in range(1, min(sides[0], most - 1) + 1)}
        pairs = sorted((a, b) for a, b in ways if a > 0)
        if not pairs:
            return Experiment()
        return Experiment([worst_sign_tracking_factor(pairs, self.bias / self.changes)], certainty="upper")

    def _signs(self, observed: ObservedRounds) -> list[tuple[tuple[int, int], int]]:
        """For each level: the numbers of signs on each side, and the most intervals with a change in all."""
        if not observed.counted:
            for number in observed.rounds:
                self._number(number)
        signs = []
        for h in range(self.levels):
            if observed.counted:
                all_ends = self.rounds >> h
                mine = observed.reports if observed.first is None else len(observed.first)
                rest = observed.reports if observed.first is None else observed.reports - mine
                sides, shown = (min(mine, all_ends), min(rest, all_ends)), min(observed.reports, all_ends)
            else:
                ends = [r for r in observed.rounds if r % (1 << h) == 0]
                shown = len(ends)
                mine = shown if observed.first is None else sum(r in observed.first for r in ends)
                sides = (mine, shown if observed.first is None else shown - mine)
            signs.append((sides, min(self.changes, shown)))
        return signs

    def _detections(self, observed: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """The same client has another sequence of values (upper).

        A fresh client may have another level. If it has the same one, the likelihoods of its signs differ by at
        most e^eps, if it sends any after the change (upper).
        """
        signs = self._signs(observed)
        split = None if observed.first is None else len(observed.first)
        if split == observed.reports:
            return [Experiment()]
        same = self._apart([self.changes if sum(sides) else 0 for sides, _ in signs])
        if after == "same" or split == 0:
            return [same]
        weight, sign = 1 / self.levels, Experiment([response_factor(flip_eps(self.flip))], certainty="upper")
        parts = [(weight, weight**2, sign if sides[1] else Experiment()) for sides, _ in signs]
        fresh = Mixture([*parts, (0.0, 1 - weight, Experiment())])
        return [fresh] if split is not None else [same, fresh] if observed.reports > 1 else [same]

    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """Fair signs of the level's intervals, tilted by intervals with a change: 2^-n·(1 + (β/k)·Σ w·s).

        `value` is one bit for all rounds, or one bit for each round.
        """
        rows = _Rows(self, reports, self._changes(value))
        # Reports of several levels are impossible. Their sums may be anything, so warnings are ignored.
        with np.errstate(invalid="ignore"):
            tilted = np.log1p(self.bias / self.changes * rows.tilt)
        total = tilted - np.log(2) * rows.signs - np.log(self.levels)
        steady = rows.steady & (rows.rounds == np.array(rounds)).all(axis=1)
        return np.where(steady, total, -np.inf)

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """The scores, from the level and the tilts of both sides. One person's reports lack their product."""
        changes = self._changes(value)
        left, right = _Rows(self, first, changes), _Rows(self, second, changes)
        step = self.bias / self.changes
        x, y = step * left.tilt[:, None], step * right.tilt[None, :]
        same = (left.level[:, None] == right.level[None, :]) & left.steady[:, None] & right.steady[None, :]
        # Where the levels differ, the tilts need not fit to the value.
        shared = np.where(same, -x * y, 0.0) / np.where(same, (1 + x) * (1 + y), 1.0)
        return np.where(same, np.log(self.levels) + np.log1p(shared), -np.inf)

    def _changes(self, value: Any) -> list[Change]:
        """The first `changes` changes of a bit, or of a sequence of bits. The bit is 0 at the start."""
        bits = [value] if np.ndim(value) == 0 else list(value)
        held = [0, *(checks.private_integer("value", bit, below=2) for bit in bits)]
        turns = [(t, held[t] - held[t - 1]) for t in range(1, len(held)) if held[t] != held[t - 1]]
        return turns[: self.changes]

    def _number(self, round: int) -> int:
        return checks.integer("round", round, low=1, high=self.rounds)

    def new_state(self, value: int, source: Entropy) -> ChangeState:
        """A new state. The level takes entropy first, then the chosen change."""
        value = checks.private_integer("value", value, below=2)
        level, chosen = below(self.levels, source), below(self.changes, source)
        return ChangeState(level, chosen, value, value, value, int(value == 1 and chosen == 0), 0, 0)

    def change_value(self, state: ChangeState, value: int, source: Entropy) -> ChangeState:
        return state._replace(value=checks.private_integer("value", value, below=2))

    def make_report(self, state: ChangeState, round: int, source: Entropy) -> tuple[int, ChangeState]:
        """The report, from eight bytes if a sign is due: they decide about the lie, or they are the fair coin."""
        if self._number(round) < state.round:
            raise RoundPassed(f"round {round} is over: this client has reported in round {state.round}")
        if round == state.round:
            return state.report, state
        if state.value != state.before and state.changes < self.changes:
            at = round if state.changes == state.chosen else state.at
            state = state._replace(changes=state.changes + 1, at=at)
        code = SILENT
        if round % (1 << state.level) == 0:
            is_due = state.at > round - (1 << state.level)
            # The first change is to 1, and then signs alternate.
            code = 1 - state.chosen % 2 ^ self.flip.happens(source) if is_due else int(_FAIR.happens(source))
        report = self._encoded(round, state.level, code)
        return report, state._replace(before=state.value, round=round, report=report)

    def pack_state(self, state: ChangeState) -> bytes:
        return pack_integers(state, [_WORD] * len(state))

    def unpack_state(self, payload: bytes) -> ChangeState:
        state = ChangeState(*unpack_integers(payload, [_WORD] * len(ChangeState._fields)))
        limits = (self.levels - 1, self.changes - 1, 1, 1, self.changes, self.rounds, self.rounds)
        fits = all(number <= limit for number, limit in zip(state, limits, strict=False))
        code = SILENT if fits and state.round % (1 << state.level) else state.report & 1
        reported = self._encoded(state.round, state.level, code) if state.round else 0
        if not fits or state.report != reported or (state.at > 0) != (state.changes > state.chosen):
            raise StateError("this state cannot occur in its mechanism")
        return state

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Reports of a batch of clients. A value holds until the next given round, the first one from the start."""
        ends = np.array([[self._number(number) for number in rounds]], dtype=np.int64)
        people, order = values.shape[0], np.argsort(ends[0])
        held = per_round(values, len(rounds))[:, order].astype(np.int64)
        level = rng.integers(0, self.levels, size=(people, 1))
        chosen = rng.integers(0, self.changes, size=(people, 1))
        words = rng.integers(0, (1 << 64) - 1, size=held.shape, dtype=np.uint64, endpoint=True)
        turns = np.diff(held, axis=1, prepend=0) != 0
        is_chosen = turns & (np.cumsum(turns, axis=1) == chosen + 1)
        # The first value is held from the start.
        since = np.concatenate(([1], ends[0, order[1:]]))
        at = (is_chosen * since).sum(axis=1, keepdims=True)
        length = _lengths(level)
        is_due = (at > ends - length) & (at <= ends)
        lie, fair = words < np.uint64(self.flip.threshold), words < np.uint64(_FAIR.threshold)
        codes = np.where(ends % length == 0, np.where(is_due, (1 - chosen % 2) ^ lie, fair), SILENT)
        return np.asarray((4 * ((ends - 1) * self.levels + level) + codes).astype(np.uint64))


def _lengths(levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of rounds in an interval of each level, 2^h."""
    return np.ones_like(levels) << levels


class _Rows:
    """Decoded rows of reports.

    `steady` says whether a row is possible, `signs` is the number of its signs, and `tilt` is Σ w·s for the given
    changes.
    """

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


class ChangeAggregator(Aggregator):
    """Sums of the signs of the intervals that make up 1 … round. Clients of one level report each of them."""

    _sums = ("sums", "counts")

    def __init__(self, scope: Scope, mechanism: OneChange) -> None:
        super().__init__(scope)
        self._mechanism = mechanism
        parts = intervals(scope.group)
        self._ends = np.array([end for _, end in parts])
        self._keys = np.array([mechanism._encoded(end, level, 0) >> 2 for level, end in parts])
        self.sums = np.zeros(len(parts), dtype=np.int64)
        self.counts = np.zeros(len(parts), dtype=np.int64)
        self._limits = (0, mechanism._encoded(mechanism.rounds, mechanism.levels - 1, SILENT))

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Frequencies of 0 and 1 at the round: (log₂ T + 1)·k/β·Σ signs/n for 1, as bits start from 0.

        They are unbiased as long as nobody's bit has changed more often than `changes`.
        """
        scale, m = self._mechanism._scale, self._mechanism
        if np.any(self.counts != n):
            raise ValueError(
                f"the same people must report at rounds {self._ends.tolist()}, got {self.counts.tolist()} reports"
            )
        one = scale * float(self.sums.sum()) / n
        both = np.ones(2)
        # The span is for a dishonest client, who may send a sign for every interval.
        span = 2 * scale * len(self._ends) * both
        variance = max(0.0, scale**2 * len(self._ends) / m.levels - min(1.0, max(0.0, one)))
        error = np.sqrt(variance / n) * both
        return Estimate(
            np.array([1 - one, one]),
            n,
            beta,
            error,
            span=span,
            deviation=2 * scale / math.sqrt(n) * both,
            statistics=1,  # The errors of 0 and of 1 are the same number.
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """A client adds its sign, times the scale, if one of the intervals is of its level; else nothing."""
        reach = self._mechanism._scale * abs(float(weights[1] - weights[0]))
        return Spread.of_term(reach**2 * len(self._ends) / self._mechanism.levels, 2 * reach)

    def _checked(self, reports: Reports) -> Reports:
        numbers = super()._checked(reports).astype(np.uint64)
        if np.any((numbers & np.uint64(3)) > SILENT):
            raise ValueError("a report must say minus, plus or silent")
        return numbers

    def _add(self, reports: Reports) -> None:
        numbers = reports.reshape(-1).astype(np.int64)
        keys, signs = numbers >> 2, 2 * (numbers & 3) - 1
        rounds = keys // self._mechanism.levels + 1
        for i, (end, key) in enumerate(zip(self._ends, self._keys, strict=True)):
            self.counts[i] += np.count_nonzero(rounds == end)
            self.sums[i] += signs[keys == key].sum()
        self.n = int(self.counts[-1])


def intervals(round: int) -> list[tuple[int, int]]:
    """The dyadic intervals that make up 1 … round, each as its level and its last round."""
    parts, end = [], 0
    for level in reversed(range(round.bit_length())):
        if round >> level & 1:
            end += 1 << level
            parts.append((level, end))
    return parts


# --- votes on whether to ask again ------------------------------------------------------------------------

_LARGEST_SIMULATED = 1 << 16


class Voter(NamedTuple):
    """A client's state.

    It holds the value now (`value`), at the last report (`before`) and at the last update (`reference`), the number
    of true yes votes so far (`spent`), and the last round with its report.
    """

    value: int
    before: int
    reference: int
    spent: int
    round: int
    report: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes(Unlinked):
    """Each round every client votes on whether to ask again. At the rounds of `updates`, everyone reports a bit.

    A client's true vote is yes if its bit differs from that at the last update, or if there was none yet. After
    `votes` true yes votes it is always no. Randomised response with `eps_vote` (a) adds noise to the vote. At the
    first `estimates` updates, a client sends its bit with randomised response of `eps_estimate` (b). At later
    updates it sends a bit that is 1 with probability 1/(e^b + 1) for every value. The server asks again when enough
    clients vote yes, so `updates` is public. A report is the integer 2·estimate + vote.
    """

    eps_vote: float
    eps_estimate: float
    votes: int
    estimates: int
    updates: tuple[int, ...]
    vote_flip: Chance = field(init=False, repr=False)
    estimate_flip: Chance = field(init=False, repr=False)

    report_bits = 2
    capacity = 2
    follows_changes = True
    published = "Joseph, Roth, Ullman, Waggoner, Local Differential Privacy for Evolving Data (NeurIPS 2018)"
    persists = "nothing: given the values and the updates, reports are independent"

    def __post_init__(self) -> None:
        for name in ("eps_vote", "eps_estimate"):
            checks.settle(self, **{name: checks.epsilon(name, getattr(self, name))})
        for name in ("votes", "estimates"):
            checks.settle(self, **{name: checks.integer(name, getattr(self, name), low=1, high=LARGEST_ROUND)})
        checks.settle(self, updates=tuple(distinct_rounds(self.updates)))
        checks.settle(self, vote_flip=flip_chance(self.eps_vote), estimate_flip=flip_chance(self.eps_estimate))

    @classmethod
    def for_budget(cls, *, eps: float, changes: int, updates: Iterable[int]) -> Self:
        """The published parameters: ε/4 for all yes votes and ε/4 for all estimates, for `changes` changes."""
        changes = checks.integer("changes", changes, low=1)
        each = checks.positive("eps", eps) / (4 * changes)
        return cls(
            eps_vote=each,
            eps_estimate=each,
            votes=changes,
            estimates=changes,
            updates=tuple(distinct_rounds(updates)),
        )

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The accuracy at one of the first `estimates` updates."""
        return RandomizedResponse(eps=self.eps_estimate).accuracy(people, beta)

    def aggregator(self, round: int = 1) -> "UpdateAggregator":
        """Empty sums for one update at which everyone still reports their bit."""
        if round_number(round) not in self._estimated:
            raise ValueError(f"round must be one of the first {self.estimates} updates, got {round}")
        lie = self.estimate_flip.probability
        return UpdateAggregator(Scope(self, round, pools=False), truth=1 - lie, lie=lie)

    def takes(self, round: int) -> tuple[int, ...]:
        """The round itself, if bits are reported in it. Votes alone give no frequencies."""
        return (round,) if round_number(round) in self._estimated else ()

    @property
    def _estimated(self) -> tuple[int, ...]:
        """The updates at which bits are reported."""
        return self.updates[: self.estimates]

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """Fixed value: only the estimates count, because every true vote after the first update is no (exact).

        Any sequence of values: all votes that are truly yes for one of two people count too (upper). The answer is
        for all rounds, or for the first `reports`. It also holds if this person's votes decide about updates.
        """
        last = LARGEST_ROUND if reports is None else reports
        estimates = sum(r <= last for r in self._estimated)
        if values == "fixed":
            return self._responses(0, estimates)
        return self._responses(min(2 * self.votes, max(0, last - self.updates[0])), estimates)

    def _responses(self, votes: int, estimates: int) -> Experiment:
        vote, estimate = RandomizedResponse(eps=self.eps_vote), RandomizedResponse(eps=self.eps_estimate)
        factors = [(vote.privacy_factor(), votes), (estimate.privacy_factor(), estimates)]
        return Experiment(factors, certainty="upper" if votes else "exact")

    def _detections(self, observed: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """The estimates after the change reveal it, if values change at no other time. By default all count.

        A fresh client has its own reference, so its votes reveal nothing (exact). The same client votes yes when
        its bit differs from that of the last update (upper).
        """
        if observed.counted and observed.first is not None:
            raise ValueError("the rounds of Votes are not alike: give rounds and first instead of split")
        before = observed.first or frozenset()
        estimates = sum(r in self._estimated for r in observed.rounds if r not in before)
        if len(before) == observed.reports:
            return [Experiment()]
        alone = observed.first is not None and not before
        voted = 0 if after == "fresh" or alone else sum(r > self.updates[0] for r in observed.rounds)
        return [self._responses(min(self.votes, voted), estimates)]

    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """The sum over independent votes and estimates.

        `value` is one bit, or one for each round. The last one holds for all later rounds.
        """
        bits = [checks.private_integer("value", bit, below=2) for bit in np.atleast_1d(value).tolist()]
        held = np.array([[bits[min(t, len(bits)) - 1] for t in range(1, self._last(rounds) + 1)]])
        total = np.zeros(reports.shape[0])
        means = self._means(held)
        for i, t in enumerate(rounds):
            vote, estimate = reports[:, i] & np.uint64(1), reports[:, i] >> np.uint64(1)
            total += _log_response(vote, bool(means[0, t - 1]), self.vote_flip)
            if t in self.updates:
                bit = held[0, t - 1] if t in self._estimated else 0
                total += _log_response(estimate, bool(bit), self.estimate_flip)
            else:
                total += np.where(estimate == 0, 0.0, -np.inf)
        return total

    def _last(self, rounds: Sequence[int]) -> int:
        return checks.integer("round", max(rounds), low=1, high=_LARGEST_SIMULATED)

    def _means(self, held: NDArray[np.int64]) -> Bools:
        """Whether each person's true vote is yes at rounds 1, 2, …, given the bit that they hold at each."""
        people, last = held.shape
        means, spent = np.ones((people, last), dtype=np.bool_), np.zeros(people, dtype=np.int64)
        reference: NDArray[np.int64] | None = None
        for t in range(1, last + 1):
            bits = held[:, t - 1]
            if reference is not None:
                means[:, t - 1] = bits != reference
            means[:, t - 1] &= spent < self.votes
            spent += means[:, t - 1]
            if t in self.updates:
                reference = bits
        return means

    def new_state(self, value: int, source: Entropy) -> Voter:
        value = checks.private_integer("value", value, below=2)
        return Voter(value, value, value, 0, 0, 0)

    def change_value(self, state: Voter, value: int, source: Entropy) -> Voter:
        return state._replace(value=checks.private_integer("value", value, below=2))

    def make_report(self, state: Voter, round: int, source: Entropy) -> tuple[int, Voter]:
        """The report, from eight bytes for the vote and eight more for the estimate of an update."""
        if round < state.round:
            raise RoundPassed(f"round {round} is over: this client has reported in round {state.round}")
        if round == state.round:
            return state.report, state
        missed = any(state.round < r < round for r in self.updates)
        reference = state.before if missed else state.reference
        means = state.spent < self.votes and (round <= self.updates[0] or state.value != reference)
        report = int(means ^ self.vote_flip.happens(source))
        if round in self.updates:
            bit = state.value if round in self._estimated else 0
            report |= (bit ^ self.estimate_flip.happens(source)) << 1
            reference = state.value
        return report, Voter(state.value, state.value, reference, state.spent + means, round, report)

    def pack_state(self, state: Voter) -> bytes:
        return pack_integers(state, [_WORD] * len(state))

    def unpack_state(self, payload: bytes) -> Voter:
        state = Voter(*unpack_integers(payload, [_WORD] * len(Voter._fields)))
        limits = (1, 1, 1, min(self.votes, state.round), LARGEST_ROUND, 3 if state.round in self.updates else 1)
        fits = all(number <= limit for number, limit in zip(state, limits, strict=True))
        if not fits or (state.round == 0 and state.report):
            raise StateError("this state cannot occur in its mechanism")
        return state

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Reports of a batch of clients, all of whom report in every round.

        A value holds until the next given round, the first one from the start.
        """
        last, numbers = self._last(rounds), np.array(rounds)
        if values.ndim == 1:
            held = np.broadcast_to(values[:, None], (values.shape[0], last)).astype(np.int64)
        else:
            order = np.argsort(numbers)
            given = np.searchsorted(numbers[order], np.arange(1, last + 1), side="right") - 1
            held = values[:, order[np.maximum(0, given)]].astype(np.int64)
        positions = numbers - 1
        votes = self._means(held)[:, positions] ^ self.vote_flip.simulate(rng, (held.shape[0], numbers.size))
        bits = held[:, positions].astype(np.bool_) & np.isin(numbers, self._estimated)
        estimates = (bits ^ self.estimate_flip.simulate(rng, bits.shape)) & np.isin(numbers, self.updates)
        return np.asarray(votes.astype(np.uint64) | (estimates.astype(np.uint64) << np.uint64(1)))


class UpdateAggregator(BitAggregator):
    """Counts of the ones among the estimates of one update. Votes are ignored."""

    _limits = (0, 3)

    def _add(self, reports: Reports) -> None:
        super()._add(reports.astype(np.uint64) >> np.uint64(1))


def _log_response(reported: NDArray[Any], bit: bool, flip: Chance) -> FloatArray:
    """The log probability of a bit reported with randomised response."""
    lie = flip.probability
    return np.log(np.where(np.equal(reported, bit), 1 - lie, lie))
