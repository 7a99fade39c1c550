"""Votes on whether to ask again: THRESH of Joseph, Roth, Ullman, Waggoner.

"Local Differential Privacy for Evolving Data" (NeurIPS 2018), for one bit per person and epoch. Rounds hang
together through what is published: the mechanism is described given the public transcript, the rounds of updates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import RoundPassed, StateError
from untrackable.estimation.aggregators import BitAggregator, FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Mechanism, Values
from untrackable.mechanisms.local.randomized_response import RandomizedResponse
from untrackable.mechanisms.observed_rounds import LARGEST_ROUND, ObservedRounds, distinct_rounds, round_number
from untrackable.mechanisms.probabilities import Chance, flip_chance
from untrackable.mechanisms.simulated_values import integer_population
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture

_LARGEST_SIMULATED = 1 << 16
_WORD = 64

Bools = NDArray[np.bool_]


class Voter(NamedTuple):
    """A client's state.

    Its value now and at its last report, that at the last update, how many yes votes it has meant, and the last
    round answered with its report.
    """

    value: int
    before: int
    reference: int
    spent: int
    round: int
    report: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes(Mechanism):
    """Each round everyone votes on whether to ask again, and at the rounds of `updates` everyone tells their bit.

    A client means yes if its bit is not what it was at the last update, or if there was none yet, for as long as
    it has meant yes fewer than `votes` times; the vote is that through randomised response of `eps_vote` (a). At
    the first `estimates` updates it sends its bit through randomised response of `eps_estimate` (b); at later ones
    a bit that is 1 with probability 1/(e^b + 1), whatever it holds. The server asks again where enough vote yes, so
    `updates` is public. A report is the integer 2·estimate + vote.
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
        """As published: ε/4 for the yes votes and ε/4 for the estimates of `changes` changes each."""
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
        """That of one of the first `estimates` updates."""
        return RandomizedResponse(eps=self.eps_estimate).accuracy(people, beta)

    def aggregator(self, round: int = 1) -> "UpdateAggregator":
        """Empty sums for one update at which everyone still tells their bit."""
        if round_number(round) not in self._telling:
            raise ValueError(f"round must be one of the first {self.estimates} updates, got {round}")
        lie = self.estimate_flip.probability
        return UpdateAggregator(Scope(self, round, pools=False), truth=1 - lie, lie=lie)

    def takes(self, round: int) -> tuple[int, ...]:
        """The round itself, if bits are told at it; votes alone tell no frequencies."""
        return (round,) if round_number(round) in self._telling else ()

    @property
    def _telling(self) -> tuple[int, ...]:
        """The updates at which bits are told."""
        return self.updates[: self.estimates]

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Experiment:
        """Fixed value: votes say nothing, as after the first update it never means yes; the estimates (exact).

        Any sequence of values: also the votes that one of two people means as yes, no more than both may (upper).
        All rounds, or the first `reports`. It holds as well if this person's votes decide on updates.
        """
        checks.choice("values", values, ("fixed", "any"))
        last = LARGEST_ROUND if reports is None else checks.integer("reports", reports, low=1)
        told = sum(r <= last for r in self._telling)
        if values == "fixed":
            return self._responses(0, told)
        return self._responses(min(2 * self.votes, max(0, last - self.updates[0])), told)

    def _responses(self, votes: int, estimates: int) -> Experiment:
        vote, estimate = RandomizedResponse(eps=self.eps_vote), RandomizedResponse(eps=self.eps_estimate)
        factors = [(vote.privacy_factor(), votes), (estimate.privacy_factor(), estimates)]
        return Experiment(factors, certainty="upper" if votes else "exact")

    def _trackings(self, seen: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """Nothing to see: what a person means follows from its values and the updates, and the noise is fresh."""
        return [Experiment()]

    def _detections(self, seen: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """Values that change at no other time: the estimates after the change, all if none is named.

        A fresh generator has its own reference, so its votes say nothing (exact). The same client means yes where
        its bit is no longer that of the last update (upper).
        """
        if seen.counted and seen.first is not None:
            raise ValueError("the rounds of Votes are not alike: give rounds and first instead of split")
        before = seen.first or frozenset()
        told = sum(r in self._telling for r in seen.rounds if r not in before)
        if len(before) == seen.reports:
            return [Experiment()]
        alone = seen.first is not None and not before
        voted = 0 if after == "fresh" or alone else sum(r > self.updates[0] for r in seen.rounds)
        return [self._responses(min(self.votes, voted), told)]

    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """Independent votes and estimates. `value` is one bit, or one for each round; the last one stays."""
        bits = [checks.private_integer("value", bit, below=2) for bit in np.atleast_1d(value).tolist()]
        held = np.array([[bits[min(t, len(bits)) - 1] for t in range(1, self._last(rounds) + 1)]])
        total = np.zeros(reports.shape[0])
        means = self._means(held)
        for i, t in enumerate(rounds):
            vote, estimate = reports[:, i] & np.uint64(1), reports[:, i] >> np.uint64(1)
            total += _log_response(vote, bool(means[0, t - 1]), self.vote_flip)
            if t in self.updates:
                bit = held[0, t - 1] if t in self._telling else 0
                total += _log_response(estimate, bool(bit), self.estimate_flip)
            else:
                total += np.where(estimate == 0, 0.0, -np.inf)
        return total

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """All 0: reports are independent given the values and the updates."""
        return np.zeros((first.shape[0], second.shape[0]))

    def _last(self, rounds: Sequence[int]) -> int:
        return checks.integer("round", max(rounds), low=1, high=_LARGEST_SIMULATED)

    def _means(self, held: NDArray[np.int64]) -> Bools:
        """Whether each person means yes at rounds 1, 2, …, given the bit that it holds at each."""
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
        """The bit, and no round answered."""
        value = checks.private_integer("value", value, below=2)
        return Voter(value, value, value, 0, 0, 0)

    def change_value(self, state: Voter, value: int, source: Entropy) -> Voter:
        """With another bit."""
        return state._replace(value=checks.private_integer("value", value, below=2))

    def make_report(self, state: Voter, round: int, source: Entropy) -> tuple[int, Voter]:
        """Eight bytes for the vote, and eight more for the estimate of an update."""
        if round < state.round:
            raise RoundPassed(f"round {round} lies before round {state.round}, which has been answered")
        if round == state.round:
            return state.report, state
        missed = any(state.round < r < round for r in self.updates)
        reference = state.before if missed else state.reference
        means = state.spent < self.votes and (round <= self.updates[0] or state.value != reference)
        report = int(means ^ self.vote_flip.happens(source))
        if round in self.updates:
            bit = state.value if round in self._telling else 0
            report |= (bit ^ self.estimate_flip.happens(source)) << 1
            reference = state.value
        return report, Voter(state.value, state.value, reference, state.spent + means, round, report)

    def pack_state(self, state: Voter) -> bytes:
        """Six words, in the order of the fields."""
        return pack_integers(list(state), _WORD)

    def unpack_state(self, payload: bytes) -> Voter:
        """The same; what cannot come about is an error."""
        state = Voter(*unpack_integers(payload, _WORD, len(Voter._fields)))
        limits = (1, 1, 1, min(self.votes, state.round), LARGEST_ROUND, 3 if state.round in self.updates else 1)
        fits = all(number <= limit for number, limit in zip(state, limits, strict=True))
        if not fits or (state.round == 0 and state.report):
            raise StateError("this state is not one that its mechanism can have come to")
        return state

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 2, rounds, may_change=True)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Everyone takes part in every round; values hold up to the next round given, the first from the start."""
        last, numbers = self._last(rounds), np.array(rounds)
        if values.ndim == 1:
            held = np.broadcast_to(values[:, None], (values.shape[0], last)).astype(np.int64)
        else:
            order = np.argsort(numbers)
            given = np.searchsorted(numbers[order], np.arange(1, last + 1), side="right") - 1
            held = values[:, order[np.maximum(0, given)]].astype(np.int64)
        positions = numbers - 1
        votes = self._means(held)[:, positions] ^ self.vote_flip.simulate(rng, (held.shape[0], numbers.size))
        bits = held[:, positions].astype(np.bool_) & np.isin(numbers, self._telling)
        told = (bits ^ self.estimate_flip.simulate(rng, bits.shape)) & np.isin(numbers, self.updates)
        reports: NDArray[np.uint64] = votes.astype(np.uint64) | (told.astype(np.uint64) << np.uint64(1))
        return reports


class UpdateAggregator(BitAggregator):
    """Ones among the estimates of one update; the votes are left aside."""

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


def _log_response(told: NDArray[Any], bit: bool, flip: Chance) -> FloatArray:
    """Log probability of a bit told through randomised response."""
    lie = flip.probability
    return np.log(np.where(np.equal(told, bit), 1 - lie, lie))
