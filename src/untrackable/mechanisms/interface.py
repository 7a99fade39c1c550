"""The interface of all mechanisms.

A mechanism is a public recipe without secrets. It makes clients, simulates populations, adds up reports, and
describes three experiments: what an observer learns about a value (privacy), whether two reports come from one
person (tracking), and whether a value changed (detection). Reports are integers below 2^report_bits.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, framing
from untrackable.errors import ValueChangeRefused
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports
from untrackable.mechanisms import entropy
from untrackable.mechanisms.bare_client import BareClient
from untrackable.mechanisms.changing_values import tracking_of_states
from untrackable.mechanisms.crowd_privacy import CrowdQuestions
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number, round_numbers
from untrackable.mechanisms.registry import describe
from untrackable.mechanisms.simulated_batches import Batch, simulated_batches
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture, Worst

Values = Literal["fixed", "any"]
"""Whether privacy is that of a value that never changes, or that of any sequence of values."""

After = Literal["fresh", "same"]
"""The sender after a change of value: a fresh client, as in [NV], or the same client with all it remembers."""

Pair = Experiment | Mixture | Worst
"""Two worlds that an observer tells apart. All three descriptions answer the same questions."""


class Mechanism(CrowdQuestions, ABC):
    """A mechanism. Every question that the rest of the project asks about it is a method or property here.

    The methods of a state take their entropy as an argument and are deterministic otherwise.
    """

    __slots__ = ()

    published: ClassVar[str] = ""
    """Where the mechanism comes from."""
    persists: ClassVar[str] = ""
    """The part of a client's reports that stays the same from round to round, in plain words."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Published parameters, by name."""
    pools: ClassVar[bool] = False
    """Whether a client's rounds may be pooled: they are independent given its values, and equally noisy."""
    independent: ClassVar[bool] = False
    """Whether a client's rounds are independent given its values, equally noisy or not."""
    takes_strings: ClassVar[bool] = False
    """Whether a value may be text, without an encoding."""

    @classmethod
    def preset(cls, name: str) -> Self:
        """The mechanism with published parameters."""
        return cls(**cls.presets[checks.choice("preset", name, cls.presets)])

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Width of a report."""

    @property
    @abstractmethod
    def capacity(self) -> int | None:
        """The number of possible values, which are 0 … capacity-1. None if any integer or text will do."""

    def has_room_for(self, values: int) -> bool:
        """Whether a question with this number of values fits."""
        return self.capacity is None or values <= self.capacity

    @property
    def last_round(self) -> int | None:
        """The last round in which clients can report; None if there is no last one."""
        return None

    @property
    def rounds_alike(self) -> bool:
        """Whether the estimates of all rounds have the same error."""
        return True

    @property
    def tells_shares(self) -> bool:
        """Whether the share of each value can be estimated. If not, only the mean of numbers can."""
        return True

    @property
    def values_alike(self) -> bool:
        """Whether people with different values are equally easy to track."""
        return True

    @property
    def changes_in_place(self) -> bool:
        """Whether a client can change the value in its state. If not, it keeps a state for each value."""
        return type(self).change_value is not Mechanism.change_value

    @property
    def follows_changes(self) -> bool:
        """Whether people whose values change are no easier to track than people with a fixed value."""
        return self.independent

    @property
    def loss_of_one_report(self) -> float | None:
        """The largest loss of a report, if each one is fresh (exact, rounded up); None if not, or if unknown."""
        return None

    @property
    def publications(self) -> str:
        """Where the mechanism and its base come from."""
        return self.published

    def state_bytes(self) -> int:
        """Size of one saved state in bytes."""
        return len(framing.frame_state(self, b"")) + self._payload_bytes()

    def _payload_bytes(self) -> int:
        """Size of a state's payload. Mechanisms with large states compute it without making one."""
        return len(self.pack_state(self.new_state(0, entropy.system)))

    @abstractmethod
    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """The error of one value's frequency, estimated from the reports of one round.

        `candidates` are the values whose frequencies are estimated. They matter only if the error depends on them.
        """

    def truthfulness(self) -> Truthfulness | None:
        """How often one report, of the first round, is the plain truth (exact); None where that has no meaning."""
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

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Privacy for ever, or privacy of the first `reports` reports."""
        checks.choice("values", values, ("fixed", "any"))
        return self._privacy(None if reports is None else checks.integer("reports", reports, low=1), values)

    @abstractmethod
    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """`privacy`, after checks."""

    def takes(self, round: int) -> tuple[int, ...]:
        """The rounds whose reports go into the sums of this round; empty if this round has no estimate."""
        return (round_number(round),)

    def to_json(self) -> dict[str, Any]:
        """The name and the parameters. `untrackable.mechanisms.registry.from_json` makes the mechanism again."""
        return describe(self)

    def client(self, value: Any) -> BareClient:
        """A new client. Its state is drawn from the operating system's entropy."""
        return BareClient(self, self.new_state(value, entropy.system))

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
        """The same for people who hold this value. It matters where some values are easier to track."""
        return self.tracking(rounds=rounds, first=first)

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """Tracking by this many reports, with the worst split and the value that is easiest to track.

        A mechanism may answer with a bound if a search over all splits takes long. It may do so for fewer reports
        if the caller is going to ask about many `gammas`.
        """
        return self.tracking(reports=reports)

    def tracking_upper(self, reports: int, *, values: int = 1) -> Pair:
        """The same for people who change between this many values (upper). `ValueError` if no bound is known.

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

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound in closed form on the observer's advantage, for the worst split of the reports.

        With `reports` None it holds for any number of reports.
        """
        return 0.0 if self.independent or reports in (0, 1) else 1.0

    def tracking_advantage_lower(self, reports: int | None) -> float:
        """A lower bound on the same advantage; 0 unless the closed form is exact but for rounding."""
        return 0.0

    def tracking_ratio_upper(self, reports: int | None) -> float:
        """A bound on the log-likelihood ratio of one person to two, for every split; infinity if none is known."""
        return math.inf

    def tracking_chi_square_upper(self, reports: int) -> float:
        """A bound on χ² of one person against two, for every split; infinity if none is known."""
        return 0.0 if self.independent or reports < 2 else math.inf

    @property
    def enough_reports(self) -> int | None:
        """The number of reports after which more of them reveal nothing more; None if there is no such number."""
        return 2 if self.independent else None

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

    @abstractmethod
    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        """The values as an array, after checks."""

    @abstractmethod
    def new_state(self, value: Any, source: Entropy) -> Any:
        """The secret state of a new client."""

    @abstractmethod
    def make_report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]:
        """The report of a round, and the state after it."""

    def forget_report(self, state: Any, round: int, source: Entropy) -> Any:
        """The state without the report of a round that will not be needed again."""
        return state

    def change_value(self, state: Any, value: Any, source: Entropy) -> Any:
        """The state after a change of value."""
        raise ValueChangeRefused(f"{type(self).__name__} keeps its state for one value; make a new client instead")

    @abstractmethod
    def pack_state(self, state: Any) -> bytes:
        """The state as bytes. All states of a mechanism have the same length."""

    @abstractmethod
    def unpack_state(self, payload: bytes) -> Any:
        """The state that was packed as these bytes, after checks."""


def worst(members: Sequence[Experiment | Mixture]) -> Pair:
    """The worst of several experiments; a single one is returned as it is."""
    return members[0] if len(members) == 1 else Worst(members)
