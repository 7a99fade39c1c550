"""What a mechanism is.

A mechanism is the public recipe: a frozen value object with nothing secret in it. It makes clients, simulates
populations, aggregates reports, and describes its three experiments. Reports are unsigned integers below
2^report_bits; rounds are public and count from 1.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, SupportsIndex, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, framing
from untrackable.errors import ValueChangeRefused
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.kernels.compilation import compiled
from untrackable.mechanisms import entropy
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.observed_rounds import LARGEST_ROUND, ObservedRounds, distinct_rounds, round_number
from untrackable.mechanisms.registry import describe
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Certainty, Experiment, Mixture, Worst
from untrackable.theory.factor import Factor

Values = Literal["fixed", "any"]
"""Privacy of a value that never changes, or of any sequence of values."""

After = Literal["fresh", "same"]
"""Who reports after a change of value: a fresh generator, as in [NV], or the same client with what it remembers."""

Pair = Experiment | Mixture | Worst
"""A pair of worlds in any description; all answer the same questions."""

LARGEST_SLOTS = 1 << 53
"""More would not be counted exactly."""

_BATCH = 1 << 21
"""Random words that one simulated batch may need at a time."""
_PER_ENTRY = 11
"""So many bits more random words than entries of a table are worth loading the compiled kernels."""


@runtime_checkable
class Local(Protocol):
    """A stateless mechanism for one report: what `Fresh`, `Memoized`, `Stored` and `Dealt` build on."""

    @property
    def values(self) -> int:
        """How many values there are: 0 … values-1."""

    @property
    def report_bits(self) -> int:
        """Width of a report."""

    def draw(self, value: int, entropy: Entropy) -> int:
        """One report."""

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry; those wider than 64 bits as bytes along a last axis."""

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""

    @property
    def certainty(self) -> Certainty:
        """Whether `privacy_factor` is that of two of the values, or dominates it."""

    def privacy_factor(self) -> Factor:
        """One value against another, the pair that is easiest to tell apart."""

    def repeat_factor(self) -> Factor:
        """One report seen twice (P) against two independent reports of the same value (Q)."""

    def log_likelihood(self, reports: Reports, value: Any) -> FloatArray:
        """Log probability of every report."""

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """Of one report per person."""

    def aggregator(self, scope: Scope) -> Aggregator:
        """Empty sums."""


class BareClient:
    """What runs beside the person: keeps the secret state, sends one report a round."""

    __slots__ = ("_mechanism", "_state")

    def __init__(self, mechanism: "Mechanism", state: Any) -> None:
        self._mechanism = mechanism
        self._state = state

    def report(self, round: int, value: Any = None) -> int:
        """The report for a round; with `value`, the value from now on, where the mechanism allows a change."""
        round = round_number(round)
        state = self._state
        if value is not None:
            state = self._mechanism._with_value(state, value, entropy.system)
        report, self._state = self._mechanism._report(state, round, entropy.system)
        return report

    def to_bytes(self) -> bytes:
        """The state, to be kept as secret as the value; `mechanism.restore` takes it back."""
        return framing.frame_state(self._mechanism, self._mechanism._pack(self._state))

    def __repr__(self) -> str:
        return f"<client of {self._mechanism!r}>"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of consecutive simulated clients: `reports[i, t]` is of client `start + i` at `rounds[t]`.

    Reports wider than 64 bits, and those of kept places, have a third axis: their bytes, least significant first.
    """

    start: int
    rounds: tuple[int, ...]
    reports: Reports


class Mechanism(ABC):
    """A mechanism: it makes clients, simulates populations, aggregates reports and describes its experiments.

    Public methods fetch entropy and check arguments; the private ones that a mechanism supplies are deterministic.
    """

    __slots__ = ()

    published: ClassVar[str] = ""
    """Where the mechanism comes from."""
    persists: ClassVar[str] = ""
    """What of a client's reports stays the same from round to round, in plain words."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Published parameters, by name."""
    pools: ClassVar[bool] = False
    """Whether a client's rounds may be pooled, being independent given its values and equally noisy."""
    independent: ClassVar[bool] = False
    """Whether they are independent given its values, each of them telling the frequencies, equally noisy or not."""

    @classmethod
    def preset(cls, name: str) -> Self:
        """The mechanism with published parameters."""
        return cls(**cls.presets[checks.choice("preset", name, cls.presets)])

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Width of a report."""

    @abstractmethod
    def accuracy(self, people: int, *, beta: float = 0.05, round: int = 1) -> Accuracy:
        """How far off one value's frequency is, estimated from the reports of one round."""

    @abstractmethod
    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """Log probability that one user holding `value` sends each row of reports at these rounds."""

    @abstractmethod
    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """ln(one user/two users) for every pair of a row of `first` and a row of `second`, all holding `value`.

        Rows are as simulation yields them: reports of one pseudonym each, all at different rounds.
        """

    @abstractmethod
    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for the reports of one round."""

    @abstractmethod
    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Everlasting privacy, or that of the first `reports` reports."""

    def takes(self, round: int) -> tuple[int, ...]:
        """The rounds whose reports the sums of a round are made of; none, where the round tells no frequencies."""
        return (round_number(round),)

    def to_json(self) -> dict[str, Any]:
        """Name and parameters, from which `untrackable.mechanisms.registry.from_json` makes an equal one."""
        return describe(self)

    def client(self, value: Any) -> BareClient:
        """A new client, its state drawn from the operating system's entropy."""
        return BareClient(self, self._new_state(value, entropy.system))

    def restore(self, state: bytes) -> BareClient:
        """The client that was saved as these bytes."""
        if not isinstance(state, bytes):
            raise TypeError(f"state must be bytes, not {type(state).__name__}")
        return BareClient(self, self._unpack(framing.unframe_state(self, state)))

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
        self._simulate(array[:0], numbers, np.random.default_rng(seed))  # whatever is wrong, say so now
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
        """One user against two of the same value; the worst split if none is given.

        `rounds` and the first user's among them, or in short how many `reports` there are and of how many the
        first user's part is, where rounds are all alike.
        """
        return worst(self._trackings(ObservedRounds.of(rounds, first, reports, split)))

    def tracking_of(self, value: Any, *, rounds: Iterable[int], first: Iterable[int]) -> Pair:
        """The same for people who hold this value, where values are not all alike."""
        return self.tracking(rounds=rounds, first=first)

    def detection(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
        after: After = "fresh",
    ) -> Pair:
        """One user against a user who holds another value at the remaining rounds; arguments as above.

        After the change reports come from a fresh generator, as in [NV], or from the same client, which keeps
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
    def _new_state(self, value: Any, source: Entropy) -> Any:
        """The secret state of a new client."""

    @abstractmethod
    def _report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]:
        """The report of a round, and the state after it."""

    def _with_value(self, state: Any, value: Any, source: Entropy) -> Any:
        """The state once the value has changed."""
        raise ValueChangeRefused(f"{type(self).__name__} keeps its state for one value; make a new client instead")

    @abstractmethod
    def _pack(self, state: Any) -> bytes:
        """The state's payload."""

    @abstractmethod
    def _unpack(self, payload: bytes) -> Any:
        """The state of a payload, checked."""


def _round_numbers(rounds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(rounds, (bool, SupportsIndex)):
        return tuple(range(1, checks.integer("rounds", rounds, low=1, high=LARGEST_ROUND) + 1))
    distinct_rounds(rounds)
    return tuple(operator.index(number) for number in rounds)


def local_base(base: object) -> Local:
    """A local mechanism to build on, checked."""
    if isinstance(base, Mechanism) or not isinstance(base, Local):
        raise TypeError(
            "base must be a local mechanism, such as RandomizedResponse or NoisyInnerProduct, "
            f"not {type(base).__name__}"
        )
    return base


def worst(members: Sequence[Experiment | Mixture]) -> Pair:
    """One experiment as it is, several as their worst."""
    return members[0] if len(members) == 1 else Worst(members)
