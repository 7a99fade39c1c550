"""Votes on whether to ask again: THRESH of Joseph, Roth, Ullman, Waggoner.

"Local Differential Privacy for Evolving Data" (NeurIPS 2018), for one bit per person and epoch. Later rounds depend
on what the server publishes. So the mechanism is described given the public rounds of updates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import Bools, FloatArray
from untrackable.errors import RoundPassed, StateError
from untrackable.estimation.aggregators import BitAggregator, Reports, Scope
from untrackable.mechanisms.interface import (
    LARGEST_ROUND,
    After,
    Mechanism,
    ObservedRounds,
    Values,
    distinct_rounds,
    round_number,
)
from untrackable.mechanisms.local import RandomizedResponse
from untrackable.mechanisms.local_interface import integer_population
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import Chance, Entropy, flip_chance
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture

_LARGEST_SIMULATED = 1 << 16
_WORD = 64


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
class Votes(Mechanism):
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

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
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

    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """Nobody can tell one person from two: true votes follow from values and updates, and noise is fresh."""
        return [Experiment()]

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

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """All scores are 0, because reports are independent given the values and the updates."""
        return np.zeros((first.shape[0], second.shape[0]))

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
        """The bit, before any report."""
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
        """Six words, in the order of the fields."""
        return pack_integers(list(state), _WORD)

    def unpack_state(self, payload: bytes) -> Voter:
        """The state of these bytes. A state that cannot occur is an error."""
        state = Voter(*unpack_integers(payload, _WORD, len(Voter._fields)))
        limits = (1, 1, 1, min(self.votes, state.round), LARGEST_ROUND, 3 if state.round in self.updates else 1)
        fits = all(number <= limit for number, limit in zip(state, limits, strict=True))
        if not fits or (state.round == 0 and state.report):
            raise StateError("this state cannot occur in its mechanism")
        return state

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 2, rounds, may_change=True)

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
        reports: NDArray[np.uint64] = votes.astype(np.uint64) | (estimates.astype(np.uint64) << np.uint64(1))
        return reports


class UpdateAggregator(BitAggregator):
    """Counts of the ones among the estimates of one update. Votes are ignored."""

    def _array(self, reports: list[int]) -> Reports:
        if any(not 0 <= report <= 3 for report in reports):
            raise ValueError("a report must be between 0 and 3")
        return np.array(reports, dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        if reports.size and (int(reports.min()) < 0 or int(reports.max()) > 3):
            raise ValueError("a report must be between 0 and 3")
        return reports

    def _add(self, reports: Reports) -> None:
        super()._add(reports.astype(np.uint64) >> np.uint64(1))


def _log_response(reported: NDArray[Any], bit: bool, flip: Chance) -> FloatArray:
    """The log probability of a bit reported with randomised response."""
    lie = flip.probability
    return np.log(np.where(np.equal(reported, bit), 1 - lie, lie))
