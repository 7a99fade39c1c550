"""The interface of all mechanisms.

A mechanism is a public recipe without secrets. It makes clients, simulates populations, adds up reports, and
describes three experiments: what an observer learns about a value (privacy), whether two reports come from one
person (tracking), and whether a value changed (detection). Reports are integers below 2^report_bits.

Below the interface are questions that are answered for every mechanism: tracking of people whose values change,
recognition by attendance and reports together, and privacy in a crowd.

In JSON, a mechanism is the name of its class in `FORMS`, and the parameters that its constructor takes.
"""

import inspect
import operator
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Self, SupportsFloat, SupportsIndex, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, framing
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.kernels.engine import compiled
from untrackable.mechanisms.local_interface import (
    LINKED,
    SentRounds,
    Truthfulness,
    crowd_privacy,
    integer_population,
)
from untrackable.randomizers import randomness
from untrackable.randomizers.interface import JsonForms, Randomizer
from untrackable.theory import turns
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd import LARGEST_CROWD
from untrackable.theory.experiment import Experiment, Mixture, Worst, dominating_experiment
from untrackable.theory.factor import Factor
from untrackable.theory.theorems import reports_of_two_values
from untrackable.theory.turns import AMONG

MOST_VALUES = 100_000
"""The largest number of changing values that is bounded."""
_FEW = 32
"""Up to this many reports of one value are counted exactly; larger numbers are rounded up to a power of two."""
LARGEST_ROUND = 1 << 53
"""The largest integer that every language counts to exactly."""

LARGEST_SEARCH = 20_000_000
"""The most outcomes that a search over all splits may have. Each takes a few dozen bytes."""
_NOBODY = "there is nobody to hide among"
_NOTHING = "reports have no content to hide"
_BATCH = 1 << 21
"""The most random words that one simulated batch draws."""
_PER_ENTRY = 11
"""Compiled kernels are worth loading if each entry of their tables serves 2^11 random words or more."""
_NOISE = 0x6E6F697365
"""The key of the noise. It keeps it apart from other draws of a caller from the same seed."""


@dataclass(frozen=True, slots=True)
class ObservedRounds:
    """Distinct rounds in order, and the first person's rounds among them.

    With `first` None, the worst choice is searched for. `counted` says that only numbers of reports were given,
    which is enough where all rounds are alike.
    """

    rounds: Sequence[int]
    first: Collection[int] | None
    counted: bool

    @staticmethod
    def of(
        rounds: Iterable[int] | None, first: Iterable[int] | None, reports: int | None, split: int | None
    ) -> "ObservedRounds":
        """From rounds and those of the first person, or from the number of reports and of the first person's."""
        if reports is None and rounds is not None:
            if split is not None:
                raise ValueError("split goes with reports; rounds go with first")
            numbers = distinct_rounds(rounds)
            return ObservedRounds(numbers, None if first is None else _subset(first, numbers), counted=False)
        if rounds is not None or reports is None:
            raise ValueError("give either rounds (with first) or reports (with split)")
        if first is not None:
            raise ValueError("first goes with rounds; reports go with split")
        count = checks.integer("reports", reports, low=1)
        mine = None if split is None else range(1, checks.integer("split", split, low=0, high=count) + 1)
        return ObservedRounds(range(1, count + 1), mine, counted=True)

    @property
    def reports(self) -> int:
        """How many reports there are in all, k."""
        return len(self.rounds)

    def tracking_splits(self, tables: int = 0) -> Iterable[int]:
        """The given split, or else the splits 1 … ⌊k/2⌋, because exchanging the two sides changes nothing.

        `tables` is the number of tables of outcomes that each split needs, with an entry for each pair of counts.
        """
        if self.first is not None:
            return [len(self.first)]
        self._afford(tables * self.reports**3 // 12)
        return range(min(1, self.reports // 2), self.reports // 2 + 1)

    def detection_splits(self, tables: int = 0) -> Iterable[int]:
        """The given split, or else the splits 0 … k-1: the number of reports before the change.

        `tables` is the number of tables of outcomes that each split needs.
        """
        if self.first is None:
            self._afford(tables * self.reports**3 // 6)
        return range(self.reports) if self.first is None else [len(self.first)]

    def tracking_by_sides(self) -> int:
        """The split, or 1: enough where all that matters is whether both sides have a report."""
        return min(1, self.reports // 2) if self.first is None else len(self.first)

    def detection_by_sides(self) -> Iterable[int]:
        """The split, or 0 and 1: enough where one report before the change reveals as much as many.

        More reports after the change reveal at least as much, so no later change is easier to notice.
        """
        return range(min(2, self.reports)) if self.first is None else [len(self.first)]

    def _afford(self, outcomes: int) -> None:
        if outcomes > LARGEST_SEARCH:
            raise ValueError(
                f"the worst split of {self.reports} reports would take {outcomes:,} outcomes, more than the "
                f"{LARGEST_SEARCH:,} that are searched; give the split, or fewer reports"
            )


def round_number(round: SupportsIndex) -> int:
    """The number of a round, after checks."""
    return checks.integer("round", round, low=1, high=LARGEST_ROUND)


def distinct_rounds(rounds: Iterable[SupportsIndex]) -> Sequence[int]:
    """The rounds in order. There must be at least one, and none twice. Of a range, only the ends are looked at."""
    if not isinstance(rounds, Iterable):
        raise TypeError(f"rounds must be a collection of integers, not {type(rounds).__name__}")
    if _in_a_row(rounds):
        return rounds
    numbers = sorted(round_number(number) for number in rounds)
    if not numbers or len(set(numbers)) != len(numbers):
        raise ValueError(f"rounds must be distinct and at least one, got {numbers}")
    return numbers


def _in_a_row(rounds: Iterable[SupportsIndex]) -> TypeGuard[range]:
    """Whether these are some rounds and all between them, after checks."""
    if not (isinstance(rounds, range) and rounds and rounds.step == 1):
        return False
    return round_number(rounds[0]) <= round_number(rounds[-1])


def _subset(first: Iterable[SupportsIndex], numbers: Sequence[int]) -> Collection[int]:
    if _in_a_row(first) and _in_a_row(numbers) and first[0] in numbers and first[-1] in numbers:
        return first
    mine = frozenset(round_number(number) for number in first)
    if not mine <= set(numbers):
        raise ValueError(f"first must be a subset of rounds, got {sorted(mine - set(numbers))} besides")
    return mine


def round_numbers(rounds: int | Sequence[int]) -> tuple[int, ...]:
    """The rounds 1 … rounds, or the listed ones, after checks."""
    if isinstance(rounds, (bool, SupportsIndex)):
        return tuple(range(1, checks.integer("rounds", rounds, low=1, high=LARGEST_ROUND) + 1))
    distinct_rounds(rounds)
    return tuple(operator.index(number) for number in rounds)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of consecutive simulated clients: client `start + i` sends `reports[i, t]` at `rounds[t]`.

    Reports wider than 64 bits, and reports of kept bits, have a third axis: their bytes, least significant first.
    """

    start: int
    rounds: tuple[int, ...]
    reports: Reports


def simulated_batches(
    simulate: Callable[[NDArray[Any], tuple[int, ...], np.random.Generator], Reports],
    values: NDArray[Any],
    rounds: tuple[int, ...],
    *,
    words: int,
    seed: int,
) -> Iterator[Batch]:
    """Batches of clients with these values. Each batch draws its own random numbers.

    They are independent of `default_rng(seed)`, so values may be drawn with the same seed. `words` is the number of
    random words per report.
    """
    drawn = max(1, len(rounds) * words)
    size = max(1, _BATCH // drawn)
    compiled(values.shape[0] * drawn >> _PER_ENTRY)

    def batches() -> Iterator[Batch]:
        for start in range(0, values.shape[0], size):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_NOISE, start)))
            yield Batch(start, rounds, simulate(values[start : start + size], rounds, rng))

    return batches()


class BareClient:
    """A client in memory: it keeps a person's secret state and makes one report per round."""

    __slots__ = ("_mechanism", "_state")

    def __init__(self, mechanism: "Mechanism", state: Any) -> None:
        self._mechanism = mechanism
        self._state = state

    def report(self, round: int, value: Any = None) -> int:
        """The report for a round. `value` changes the value first, where the mechanism allows that."""
        round = round_number(round)
        state = self._state
        if value is not None:
            state = self._mechanism.change_value(state, value, randomness.system)
        report, self._state = self._mechanism.make_report(state, round, randomness.system)
        return report

    def to_bytes(self) -> bytes:
        """The state as bytes. Keep it as secret as the value. `mechanism.restore` makes the client again."""
        return framing.frame_state(self._mechanism, self._mechanism.pack_state(self._state))

    def __repr__(self) -> str:
        return f"<client of {self._mechanism!r}>"


Values = Literal["fixed", "any"]
"""Whether privacy is that of a value that never changes, or that of any sequence of values."""

After = Literal["fresh", "same"]
"""The sender after a change of value: a fresh client, as in [NV], or the same client with all it remembers."""

Pair = Experiment | Mixture | Worst
"""Two worlds that an observer tells apart. All three descriptions answer the same questions."""


class Mechanism(Randomizer):
    """A mechanism. Every question that the rest of the project asks about it is a method or property here.

    The methods of a state take their entropy as an argument and are deterministic otherwise.
    """

    __slots__ = ()

    published: ClassVar[str] = ""
    """The publication of the mechanism."""
    persists: ClassVar[str] = ""
    """The part of a client's reports that stays the same from round to round, in plain words."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Published parameters, by name."""
    pools: ClassVar[bool] = False
    """Whether a client's rounds may be pooled: they are independent given its values, and equally noisy."""
    rounds_alike: ClassVar[bool] = True
    """Whether the estimates of all rounds have the same error."""
    takes_strings: ClassVar[bool] = False
    """Whether a value may be text, without an encoding."""

    @classmethod
    def preset(cls, name: str) -> Self:
        """The mechanism with published parameters."""
        return cls(**cls.presets[checks.choice("preset", name, cls.presets)])

    @property
    def tells_shares(self) -> bool:
        """Whether the share of each value can be estimated. If not, only the mean of numbers can."""
        return True

    @property
    def values_alike(self) -> bool:
        """Whether people with different values are equally easy to track."""
        return True

    @property
    def follows_changes(self) -> bool:
        """Whether people whose values change are no easier to track than people with a fixed value."""
        return self.independent

    @property
    def publications(self) -> str:
        """The publications of the mechanism and its base."""
        return self.published

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """The error of one value's frequency, estimated from the reports of one round.

        `candidates` are the values whose frequencies are estimated. They matter only if the error depends on them.
        """
        return self._accuracy(people, beta, round, candidates)

    @abstractmethod
    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """`accuracy`, with all its arguments."""

    def truthfulness(self) -> Truthfulness | None:
        """How often one report, of the first round, is the plain truth (exact); None where that has no meaning."""
        return None

    def held_error(self, people: int, *, share: float, round: int = 1) -> float | None:
        """The standard error of a value that this share of the people who report holds, given who does (exact).

        It is of one round, with a report by each of these people; None if the mechanism cannot say. With a share of
        0 it is that of a value that nobody holds, as in `accuracy`. Reports of those who hold a value are noisy
        too, so a value that many hold has a larger error if answers are wide.
        """
        return None

    def shift(self, *, round: int = 1) -> float | None:
        """The number of people who hold a value that one dishonest report can feign in a round (exact).

        It is the most that a report adds to n times a frequency. None where that is not known.
        """
        return None

    def independent_errors(self, values: int) -> int:
        """The number of different errors that a bound for all these values at once has to cover."""
        return values

    @abstractmethod
    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """For each row of reports, the log probability that one person holding `value` sends it at these rounds."""

    @abstractmethod
    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """ln(one person/two people) for every pair of a row of `first` and a row of `second`, all holding `value`.

        Each row holds the reports of one pseudonym, all from different rounds, in the layout of `Batch.reports`.
        """

    @abstractmethod
    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for the reports of one round."""

    def _one_round(self, round: int) -> Scope:
        """The scope of sums of one round that do not merge with others, as a client's rounds share its state."""
        return Scope(self, round_number(round), pools=False)

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Privacy for ever, or privacy of the first `reports` reports."""
        checks.choice("values", values, ("fixed", "any"))
        return self._privacy(None if reports is None else checks.integer("reports", reports, low=1), values)

    @abstractmethod
    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """`privacy`, after checks."""

    def crowd(
        self,
        *,
        people: int | Sequence[int],
        reports: int | None = None,
        mixed: bool = False,
        present: SupportsFloat = 1.0,
    ) -> Experiment:
        """Privacy against an observer who sees everybody's reports, but not who sent which (bracket).

        It is for `reports` rounds, by default all that there are. In each round this many `people` send a report
        each, or one number for each round. If reports of one person can be linked over these rounds, a crowd does
        not hide them: `ValueError`. With turns that are drawn uniformly, the reports of all rounds are one crowd:
        one round, in which reports that tell their own rounds are `mixed`. If everybody is `present` with a smaller
        probability than 1, by a coin that nobody sees, `people` are those who are (upper for some).
        """
        rounds = self._unlinked_rounds(None if reports is None else checks.integer("reports", reports, low=1))
        if rounds is None:
            raise ValueError(LINKED)
        return crowd_privacy(rounds, people=people, mixed=mixed, present=checks.probability("present", present))

    def _unlinked_rounds(self, reports: int | None) -> SentRounds | None:
        """The reports of the first `reports` rounds, or of all; None if those of one person can be linked."""
        return None

    def takes(self, round: int) -> tuple[int, ...]:
        """The rounds whose reports go into the sums of this round; empty if this round has no estimate."""
        return (round_number(round),)

    def to_json(self) -> dict[str, Any]:
        return FORMS.describe(self)

    def client(self, value: Any) -> BareClient:
        """A new client. Its state is drawn from the operating system's entropy."""
        return BareClient(self, self.new_state(value, randomness.system))

    def restore(self, state: bytes) -> BareClient:
        """The client that was saved as these bytes."""
        if not isinstance(state, bytes):
            raise TypeError(f"state must be bytes, not {type(state).__name__}")
        return BareClient(self, self.unpack_state(framing.unframe_state(self, state)))

    def restore_sums(self, sums: bytes, round: int = 1) -> Aggregator:
        """The sums of a round that were saved as these bytes, by `to_bytes` of an aggregator."""
        return self.aggregator(round).add_saved(sums)

    def simulate(self, values: ArrayLike, *, rounds: int | Sequence[int], seed: int) -> Iterator[Batch]:
        """Reports of a whole population, in batches of bounded size. The same seed gives the same reports.

        `values` has an entry for each client, or, where values may change, a row with an entry for each round.
        `rounds` is the number of rounds, which are then 1 … rounds, or a list of rounds.
        """
        numbers = round_numbers(rounds)
        array = self._population(values, len(numbers))
        seed = checks.integer("seed", seed, low=0)
        self._simulate(array[:0], numbers, np.random.default_rng(seed))  # Simulating nobody finds errors.
        return simulated_batches(self._simulate, array, numbers, words=self._words(), seed=seed)

    def tracking(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
    ) -> Pair:
        """How well an observer tells one person's reports from those of two people who hold the same value.

        `rounds` are all rounds that the observer saw, `first` those of the first person. Where rounds are alike,
        their numbers are enough: `reports` in all, of which `split` are the first person's. Without `first` or
        `split`, the answer is for the worst split.
        """
        return worst(self._trackings(ObservedRounds.of(rounds, first, reports, split)))

    def tracking_of(self, value: Any, *, rounds: Iterable[int], first: Iterable[int]) -> Pair:
        """`tracking` of people who hold this value, which matters where some values are easier to track."""
        return self.tracking(rounds=rounds, first=first)

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """Tracking by this many reports, with the worst split and the value that is easiest to track.

        A mechanism may answer with a bound if a search over all splits takes long. It may do so for fewer reports
        if the caller is going to ask about many `gammas`.
        """
        return self.tracking(reports=reports)

    def tracking_upper(self, reports: int, *, values: int = 1) -> Pair:
        """Tracking of people who change between this many values (upper). `ValueError` if no bound is known.

        A client that keeps a state for each value sends reports from several independent states.
        """
        if values == 1 or self.follows_changes:
            return self.worst_tracking(reports)
        states = self._tracked_states(values)
        if states is None:
            raise ValueError(f"no bound is known on tracking by {type(self).__name__} when values change")
        return tracking_of_states(self.worst_tracking, reports, states)

    def _tracked_states(self, values: int) -> int | None:
        """The number of independent states that the reports of these values come from; None if it is unknown."""
        return None if self.changes_in_place else values

    def detection(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
        after: After = "fresh",
    ) -> Pair:
        """How well an observer tells a constant value from one that changes after the `first` rounds.

        The arguments are those of `tracking`. After the change, reports come from a fresh client, as in [NV], or
        from the same client, which keeps everything that does not depend on the value.
        """
        checks.choice("after", after, ("fresh", "same"))
        return worst(self._detections(ObservedRounds.of(rounds, first, reports, split), after))

    @abstractmethod
    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """One experiment for each split in question. `tracking` answers with the worst of them."""

    @abstractmethod
    def _detections(self, observed: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """One experiment for each split in question. `detection` answers with the worst of them."""

    def _words(self) -> int:
        """The number of random words per simulated report. It bounds the size of a batch."""
        return 2

    @abstractmethod
    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Reports of a batch of clients."""

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        """The values as an array, after checks."""
        return integer_population(values, self.capacity or LARGEST_ROUND, rounds, may_change=self.changes_in_place)


class Unlinked(Mechanism):
    """A mechanism whose rounds are independent given the values, so that nothing links two reports of a person."""

    __slots__ = ()

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        return np.zeros((first.shape[0], second.shape[0]))

    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        return [Experiment()]


def everything_revealed(certainty: Literal["exact", "upper"]) -> Experiment:
    """Two worlds that an observer always tells apart, or for which no better bound is known."""
    return Experiment([Factor([1.0, 0.0], [0.0, 1.0])], certainty=certainty)


def worst(members: Sequence[Experiment | Mixture]) -> Pair:
    """The worst of several experiments; a single one is returned as it is."""
    return members[0] if len(members) == 1 else Worst(members)


def tracking_of_states(one_value: Callable[..., Pair], reports: int, values: int) -> Pair:
    """One person against two people, who change between the same values at the same rounds (upper).

    The reports of each value are an experiment of their own, independent of the others. The i-th most frequent
    value has at most k/i of k reports, and at most k-2 unless it is the only one with two of them. A value with
    fewer than two reports reveals nothing. So one experiment of one value, or the product of the experiments of all
    values, dominates every sequence of values (docs/client.md).
    """
    values = min(values, reports // 2)
    if values < 2:
        return one_value(reports)
    if values > MOST_VALUES:
        raise ValueError(
            f"{values:,} values may be reported twice each; at most {MOST_VALUES:,} changing values are bounded"
        )
    alone = one_value(reports)
    cases = [*(alone.members if isinstance(alone, Worst) else [alone])]
    one = lru_cache(lambda size: dominating_experiment(one_value(size, gammas="many")))
    if values == 2:
        cases += [one(fewer) + one(more) for fewer, more in reports_of_two_values(reports)]
    else:
        sizes = Counter(min(reports - 2, _rounded(reports // i)) for i in range(1, values + 1))
        cases.append(sum((one(size) * count for size, count in sizes.items()), Experiment(certainty="upper")))
    return Worst(cases)


def _rounded(size: int) -> int:
    """The size rounded up, so that few different sizes have to be computed."""
    return size if size <= _FEW else 1 << (size - 1).bit_length()


def tracking_delta_beyond_engine(mechanism: Mechanism, reports: int | None, *, values: int) -> Bracket:
    """A bound on delta at any gamma where the engine takes no more reports (upper); `reports` None: any number.

    Delta never exceeds the advantage, which may have a closed form. That form is for people whose value stays the
    same, so if values may change and tracking depends on it, nothing is known.
    """
    if values > 1 and not mechanism.follows_changes:
        return Bracket(0.0, 1.0)
    return Bracket(0.0, min(1.0, mechanism.tracking_advantage_upper(reports)))


def recognition(mechanism: Mechanism, rounds: int, *, people: int = AMONG) -> Bracket:
    """A bound on the probability of recognising somebody who answers every round, from two places at random.

    Let x be the recognition by attendance alone. A stranger whose rounds fit is told apart by the reports. One pair
    of worlds dominates all splits of the reports between the two places, and its power is concave. So recognition
    is at most its power at a false positive rate of x (upper), and x itself if reports cannot be linked (exact).
    """
    alone = turns.recognition(rounds, people)
    if alone.lower == 1 or mechanism.tracking_advantage_upper(rounds) == 0:
        return alone
    reports = dominating_experiment(mechanism.tracking_upper(rounds))
    return Bracket(alone.lower, max(alone.upper, reports.power(alone.upper).upper))


class InCrowd(NamedTuple):
    """The eps at a delta, of all rounds in a crowd of this many people; if there is none, the reason."""

    people: int
    delta: float
    eps: Bracket | None
    why: str = ""


@lru_cache(maxsize=64)
def in_crowd(mechanism: Mechanism, people: int, rounds: int | None, delta: float) -> InCrowd:
    """Privacy against an observer who sees everybody's reports of these rounds, but not who sent which.

    Of more people than the engine counts, some are left out: they can only hide more.
    """
    counted = min(people, LARGEST_CROWD)
    if counted < 2:
        return InCrowd(people, delta, None, _NOBODY)
    if mechanism.loss_of_one_report == 0:
        return InCrowd(people, delta, None, _NOTHING)
    try:
        pair = mechanism.crowd(people=counted, reports=rounds)
    except ValueError as error:
        return InCrowd(counted, delta, None, str(error))
    return InCrowd(counted, delta, pair.gamma(delta))


def crowd_curve(
    mechanism: Mechanism,
    people: Iterable[int],
    *,
    reports: int | None = None,
    eps: float | None = None,
    delta: float | None = None,
) -> dict[int, Bracket]:
    """For each number of people, eps at this `delta`, or delta at this `eps` (brackets).

    It is for `reports` rounds, by default all that there are, in each of which that many people answer.
    """
    if (eps is None) == (delta is None):
        raise ValueError("give eps or delta, and not both")
    curve = {}
    for number in people:
        pair = mechanism.crowd(people=number, reports=reports)
        if delta is not None:
            curve[number] = pair.gamma(checks.probability("delta", delta))
        elif eps is not None:
            curve[number] = pair.delta(checks.non_negative("eps", eps))
    return curve


FORMS = JsonForms(
    "untrackable.mechanisms",
    {
        "assigned": "fixed_vector.Assigned",
        "bitwise": "kept_bits.Bitwise",
        "dbitflip": "dbitflip.DBitFlip",
        "dealt": "deck.Dealt",
        "deck": "deck.Deck",
        "faded": "fading.Faded",
        "fading": "fading.Fading",
        "fixed-vector": "fixed_vector.FixedVector",
        "fresh": "local.Fresh",
        "lgrr": "kept_symbol.Lgrr",
        "loloha": "loloha.Loloha",
        "memoized": "stored.Memoized",
        "one-change": "changing_bit.OneChange",
        "rappor": "rappor.Rappor",
        "rarely": "rarely.Rarely",
        "rnip": "stored.InnerProduct",
        "stored": "stored.Stored",
        "unary": "kept_bits.Unary",
        "votes": "changing_bit.Votes",
    },
    {
        "count-mean-sketch": "sketches.CountMeanSketch",
        "divided": "divided.Divided",
        "hadamard-sketch": "sketches.HadamardSketch",
        "levelled": "string_levels.Levelled",
        "noisy-inner-product": "inner_product.NoisyInnerProduct",
        "numbered-bit": "fixed_vector.NumberedBit",
        "one-bit-mean": "local.OneBitMean",
        "present": "local.Present",
        "randomized-response": "local.RandomizedResponse",
        "rare-response": "rarely.RareResponse",
        "subset-selection": "local.SubsetSelection",
        "views": "views.Views",
        "vector-question": "fixed_vector.VectorQuestion",
    },
)


def repr_by_parameters(mechanism: object) -> str:
    """A repr with the parameters that the constructor takes."""
    given = (f"{key}={getattr(mechanism, key)!r}" for key in inspect.signature(type(mechanism)).parameters)
    return f"{type(mechanism).__name__}({', '.join(given)})"


def from_json(description: Mapping[str, Any]) -> Mechanism:
    """The mechanism of this description. `MechanismError` if `to_json` would not have written it."""
    mechanism: Mechanism = FORMS.made(description)
    return mechanism


def whole(randomizer: Randomizer) -> Mechanism:
    """The mechanism that a client has a part of."""
    return randomizer if isinstance(randomizer, Mechanism) else from_json(randomizer.to_json())
