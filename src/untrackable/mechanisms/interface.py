"""What a mechanism is.

A mechanism is the public recipe: a frozen value object that holds nothing secret. It makes clients, simulates
populations, aggregates reports and describes its three experiments. Reports are unsigned integers below
2^report_bits. Rounds are public and count from 1.
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, framing
from untrackable.errors import ValueChangeRefused
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports
from untrackable.kernels.compilation import compiled
from untrackable.mechanisms import entropy
from untrackable.mechanisms.bare_client import BareClient
from untrackable.mechanisms.changing_values import tracking_of_states
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.observed_rounds import LARGEST_ROUND, ObservedRounds, distinct_rounds, round_number
from untrackable.mechanisms.registry import describe
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.integer_losses import LossLaw

Values = Literal["fixed", "any"]
"""Privacy of a value that never changes, or of any sequence of values."""

After = Literal["fresh", "same"]
"""After a change of value, a fresh generator reports, as in [NV], or the same client with what it remembers."""

Charge = Literal["states", "rounds", "last round"]
"""What a privacy account counts: each state by itself, all rounds of all states, or all rounds up to the last."""

Pair = Experiment | Mixture | Worst
"""A pair of worlds in any description; all answer the same questions."""

_BATCH = 1 << 21
"""Random words that one simulated batch may need at a time."""
_PER_ENTRY = 11
"""Compiled kernels are loaded from 2^this many random words for each entry of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of consecutive simulated clients: `reports[i, t]` is of client `start + i` at `rounds[t]`.

    Reports wider than 64 bits, and those of kept bits, have a third axis: their bytes, least significant first.
    """

    start: int
    rounds: tuple[int, ...]
    reports: Reports


class Mechanism(ABC):
    """A mechanism: it makes clients, simulates populations, aggregates reports and describes its experiments.

    Every question that the rest of the project asks about a mechanism is a method or property here. The methods of
    a state take their entropy as an argument and are deterministic otherwise.
    """

    __slots__ = ()

    published: ClassVar[str] = ""
    """Where the mechanism comes from."""
    persists: ClassVar[str] = ""
    """What stays the same in a client's reports from round to round, in plain words."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Published parameters, by name."""
    pools: ClassVar[bool] = False
    """Whether a client's rounds may be pooled: they are independent given its values, and equally noisy."""
    independent: ClassVar[bool] = False
    """Whether a client's rounds are independent given its values, equally noisy or not."""
    takes_strings: ClassVar[bool] = False
    """Whether it takes text as it is, without an encoding."""
    integer_law_is_sharp: ClassVar[bool] = True
    """Whether `integer_privacy` is nearly as small as `privacy`, so that it is better than a declared guarantee."""

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
        """How many values it takes: 0 … capacity-1. None where any integer or text will do."""

    def has_room_for(self, values: int) -> bool:
        """Whether it takes so many values, counted from 0."""
        return self.capacity is None or values <= self.capacity

    @property
    def last_round(self) -> int | None:
        """The last round that it can answer; None if there is none."""
        return None

    @property
    def rounds_alike(self) -> bool:
        """Whether the estimates of all rounds have the same error."""
        return True

    @property
    def values_alike(self) -> bool:
        """Whether people can be tracked equally well, whatever value they hold."""
        return True

    @property
    def changes_in_place(self) -> bool:
        """Whether a state can take another value. If not, a client keeps a state for each value."""
        return type(self).change_value is not Mechanism.change_value

    @property
    def follows_changes(self) -> bool:
        """Whether tracking people whose values change is no easier than tracking people of a fixed value."""
        return self.independent

    @property
    def charged_by(self) -> Charge:
        """What a client's privacy account counts.

        "states": each new state is charged anew. "rounds": reports are independent, so the rounds that all states
        answer are charged together. "last round": the same, and a round is charged with all rounds before it.
        """
        return "states"

    @property
    def stored_reports(self) -> int:
        """How many reports a state holds ready to be sent."""
        return 0

    @property
    def publications(self) -> str:
        """Where the mechanism, and what it is built on, come from."""
        return self.published

    def state_bytes(self) -> int:
        """Size of one saved state."""
        return len(framing.frame_state(self, b"")) + self._payload_bytes()

    def _payload_bytes(self) -> int:
        """Size of a state's payload; overridden where a state is too large to be made for this."""
        return len(self.pack_state(self.new_state(0, entropy.system)))

    @abstractmethod
    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """How far off one value's frequency is, estimated from the reports of one round.

        `candidates` are the values whose frequencies are estimated, where the error depends on them.
        """

    def truthfulness(self) -> Truthfulness | None:
        """How often one report, of the first round, is the plain truth (exact); None where that has no meaning."""
        return None

    def independent_errors(self, values: int) -> int:
        """How many errors a bound that holds for so many values at once has to cover."""
        return values

    @abstractmethod
    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """Log probability that one person holding `value` sends each row of reports at these rounds."""

    @abstractmethod
    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """ln(one person/two people) for every pair of a row of `first` and a row of `second`, all holding `value`.

        Rows are as simulation yields them: reports of one pseudonym each, all at different rounds.
        """

    @abstractmethod
    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for the reports of one round."""

    @abstractmethod
    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Everlasting privacy, or that of the first `reports` reports."""

    def takes(self, round: int) -> tuple[int, ...]:
        """The rounds whose reports go into the sums of a round; none if nothing is estimated for it."""
        return (round_number(round),)

    def to_json(self) -> dict[str, Any]:
        """Name and parameters, from which `untrackable.mechanisms.registry.from_json` makes an equal one."""
        return describe(self)

    def client(self, value: Any) -> BareClient:
        """A new client, its state drawn from the operating system's entropy."""
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
        """Reports of a whole population, in batches of bounded size; the same seed gives the same reports.

        `values` has one entry per client, or one row with an entry per round where values may change. `rounds` is
        how many (1 … rounds) or which.
        """
        numbers = _round_numbers(rounds)
        array = self._population(values, len(numbers))
        seed = checks.integer("seed", seed, low=0)
        # Nobody's reports, so that errors are raised here and not while iterating.
        self._simulate(array[:0], numbers, np.random.default_rng(seed))
        each = max(1, len(numbers) * self._words())
        size = max(1, _BATCH // each)
        compiled(array.shape[0] * each >> _PER_ENTRY)

        def batches() -> Iterator[Batch]:
            for start in range(0, array.shape[0], size):
                rng = np.random.default_rng([seed, start])
                yield Batch(start, numbers, self._simulate(array[start : start + size], numbers, rng))

        return batches()

    def tracking(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
    ) -> Pair:
        """One person against two who hold the same value; the worst split if none is given.

        Give `rounds` and the ones that are the `first` person's. Where all rounds are alike, the number of
        `reports` and the size of the first person's `split` are enough.
        """
        return worst(self._trackings(ObservedRounds.of(rounds, first, reports, split)))

    def tracking_of(self, value: Any, *, rounds: Iterable[int], first: Iterable[int]) -> Pair:
        """The same for people who hold this value, where values are not all alike."""
        return self.tracking(rounds=rounds, first=first)

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """The worst split of so many reports for the value that is easiest to track.

        Where a search over all splits takes long, there may be a quicker bound; it takes longer for many gammas.
        """
        return self.tracking(reports=reports)

    def tracking_upper(self, reports: int, *, values: int = 1) -> Pair:
        """The same for people who may change between so many values; ValueError where that is not known.

        A client that keeps a state for each value sends reports from several independent states (upper).
        """
        if values == 1 or self.follows_changes:
            return self.worst_tracking(reports)
        states = self._tracked_states(values)
        if states is None:
            raise ValueError(f"it is not known how well {type(self).__name__} can be tracked when values change")
        return tracking_of_states(self.worst_tracking, reports, states)

    def _tracked_states(self, values: int) -> int | None:
        """How many independent states the reports of so many values come from; None if that is not known."""
        return None if self.changes_in_place else values

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound on the advantage for the worst split of so many reports, or of any number, in closed form."""
        return 0.0 if self.independent or reports in (0, 1) else 1.0

    def tracking_advantage_lower(self, reports: int | None) -> float:
        """A lower bound on the same advantage, where the closed form is exact but for rounding."""
        return 0.0

    def tracking_ratio_upper(self, reports: int | None) -> float:
        """A bound on the log-likelihood ratio of one person to two, for every split; infinite if there is none."""
        return math.inf

    @property
    def enough_reports(self) -> int | None:
        """So many reports show an observer all there is to see; None if every further one may show more."""
        return 2 if self.independent else None

    def integer_privacy(self, reports: int | None, *, values: Values, step: float) -> LossLaw | None:
        """`privacy` in whole numbers, with the standard library alone; None where only the full engine knows it.

        There are two engines because a client recomputes guarantees without SciPy, in whole numbers rounded to the
        safe side; the engine behind `privacy` is sharper.
        """
        return None

    def integer_tracking(self, reports: int, *, values: int, step: float) -> LossLaw | None:
        """`tracking_upper` in whole numbers, as a law that can be composed with others; None as above."""
        return LossLaw.nothing() if self.independent or reports < 2 else None

    def integer_tracking_delta(self, reports: int, *, values: int, gamma: float) -> float | None:
        """Delta at one gamma, where that is smaller than the law's; None if the law is all there is."""
        return None

    def detection(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
        after: After = "fresh",
    ) -> Pair:
        """One person against a person who holds another value at the remaining rounds; arguments as in `tracking`.

        After the change, reports come from a fresh generator, as in [NV], or from the same client, which keeps
        whatever does not depend on the value.
        """
        checks.choice("after", after, ("fresh", "same"))
        return worst(self._detections(ObservedRounds.of(rounds, first, reports, split), after))

    @abstractmethod
    def _trackings(self, seen: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """The experiments whose worst is the answer."""

    @abstractmethod
    def _detections(self, seen: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """The experiments whose worst is the answer."""

    def _words(self) -> int:
        """Random words per simulated report, which bounds the size of a batch."""
        return 2

    @abstractmethod
    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Reports of a batch of clients."""

    @abstractmethod
    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        """The values as an array, checked."""

    @abstractmethod
    def new_state(self, value: Any, source: Entropy) -> Any:
        """The secret state of a new client."""

    @abstractmethod
    def make_report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]:
        """The report of a round, and the state after it."""

    def forget_report(self, state: Any, round: int, source: Entropy) -> Any:
        """The state without the report of a round, where that will not be needed again."""
        return state

    def change_value(self, state: Any, value: Any, source: Entropy) -> Any:
        """The state once the value has changed."""
        raise ValueChangeRefused(f"{type(self).__name__} keeps its state for one value; make a new client instead")

    @abstractmethod
    def pack_state(self, state: Any) -> bytes:
        """The state as bytes, of the same number for every state."""

    @abstractmethod
    def unpack_state(self, payload: bytes) -> Any:
        """The state of these bytes, checked."""


def _round_numbers(rounds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(rounds, (bool, SupportsIndex)):
        return tuple(range(1, checks.integer("rounds", rounds, low=1, high=LARGEST_ROUND) + 1))
    distinct_rounds(rounds)
    return tuple(operator.index(number) for number in rounds)


def worst(members: Sequence[Experiment | Mixture]) -> Pair:
    """One experiment as it is, several as their worst."""
    return members[0] if len(members) == 1 else Worst(members)
