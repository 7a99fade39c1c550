"""What a mechanism is.

A mechanism is the public recipe: a frozen value object with nothing secret in it. It makes clients, simulates
populations, aggregates reports, and describes its three experiments. Reports are unsigned integers below
2^report_bits; rounds are public and count from 1.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import ValueChangeRefused
from untrackable.mechanisms import entropy, states
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.estimates import Aggregator, FrequencyAggregator, Reports
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.factor import Factor

Values = Literal["fixed", "any"]
"""Privacy of a value that never changes, or of any sequence of values."""

Pair = Experiment | Mixture | Worst
"""A pair of worlds in any description; all answer the same questions."""

LAST_ROUND = 1 << 53
"""Rounds are numbers that every language can count to."""

_BATCH = 1 << 21
"""Random words that one simulated batch may need at a time."""


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

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""

    def privacy_factor(self) -> Factor:
        """One value against another, the pair that is easiest to tell apart."""

    def repeat_factor(self) -> Factor:
        """One report seen twice (P) against two independent reports of the same value (Q)."""

    def aggregator(self, key: tuple[object, ...]) -> FrequencyAggregator:
        """Empty sums."""


class Mechanism(Protocol):
    """The five duties of a mechanism; `Client` and `batches` below do the first three for all of them."""

    @property
    def report_bits(self) -> int:
        """Width of a report."""

    def client(self, value: Any) -> "Client":
        """A new client, its state drawn from the operating system's entropy."""

    def restore(self, state: bytes) -> "Client":
        """The client that was saved as these bytes."""

    def simulate(self, values: ArrayLike, *, rounds: int | Sequence[int], seed: int) -> Iterator["Batch"]:
        """Reports of a whole population, in batches of bounded size."""

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for the reports of one round."""

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Everlasting privacy, or that of the first `reports` reports."""

    def tracking(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
    ) -> Pair:
        """One user against two of the same value; the worst split if none is given."""

    def detection(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
    ) -> Pair:
        """One user against a user and, for the remaining rounds, another of another value."""

    def _new_state(self, value: Any, source: Entropy) -> Any: ...

    def _report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]: ...

    def _with_value(self, state: Any, value: Any, source: Entropy) -> Any: ...

    def _pack(self, state: Any) -> bytes: ...

    def _unpack(self, payload: bytes) -> Any: ...


class Client:
    """What runs beside the person: keeps the secret state, sends one report a round."""

    __slots__ = ("_mechanism", "_state")

    def __init__(self, mechanism: Mechanism, state: Any) -> None:
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
        return states.seal(self._mechanism, self._mechanism._pack(self._state))

    def __repr__(self) -> str:
        return f"<client of {self._mechanism!r}>"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of consecutive simulated clients: `reports[i, t]` is of client `start + i` at `rounds[t]`.

    RAPPOR's reports have a third axis, their bytes, least significant first.
    """

    start: int
    rounds: tuple[int, ...]
    reports: Reports


class Served:
    """The parts of a mechanism that are the same for all: clients in and out, and simulation in batches."""

    __slots__ = ()

    def client(self: Mechanism, value: Any) -> Client:
        """A new client, its state drawn from the operating system's entropy."""
        return Client(self, self._new_state(value, entropy.system))

    def restore(self: Mechanism, state: bytes) -> Client:
        """The client that was saved as these bytes."""
        return Client(self, self._unpack(states.unseal(self, state)))

    def simulate(self, values: ArrayLike, *, rounds: int | Sequence[int], seed: int) -> Iterator[Batch]:
        """Reports of a whole population, in batches of bounded size; the same seed gives the same reports.

        `values` has one entry per client, or one row with an entry per round where values may change. `rounds` is
        how many (1 … rounds) or which.
        """
        numbers = _round_numbers(rounds)
        array = self._population(values, len(numbers))
        seed = checks.integer("seed", seed, low=0)
        self._simulate(array[:0], numbers, np.random.default_rng(seed))  # whatever is wrong, say so now
        size = max(1, _BATCH // max(1, len(numbers) * self._words()))

        def batches() -> Iterator[Batch]:
            for start in range(0, array.shape[0], size):
                rng = np.random.default_rng([seed, start])
                yield Batch(start, numbers, self._simulate(array[start : start + size], numbers, rng))

        return batches()

    def _words(self) -> int:
        """Random words per simulated report, which bounds the size of a batch."""
        return 2

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        raise TypeError(f"{type(self).__name__} cannot be simulated")

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        """The values as an array, checked."""
        return np.asarray(values)

    def _with_value(self, state: Any, value: Any, source: Entropy) -> Any:
        raise ValueChangeRefused(f"{type(self).__name__} keeps its state for one value; make a new client instead")


def _round_numbers(rounds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(rounds, (bool, SupportsIndex)):
        return tuple(range(1, checks.integer("rounds", rounds, low=1, high=LAST_ROUND) + 1))
    numbers = tuple(rounds)
    round_sets(numbers, None)
    return tuple(int(number) for number in numbers)


def integer_population(values: ArrayLike, below: int, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """Integer values of a population, checked but not copied; the error says the range and shows no value."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers, not {array.dtype}")
    if array.ndim != 1 and not (may_change and array.ndim == 2 and array.shape[1] == rounds):
        allowed = f"one entry per client, or one row of {rounds} each" if may_change else "one entry per client"
        raise ValueError(f"values must have {allowed}, got shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"values must be between 0 and {below - 1}; some are not (they are not shown)")
    return array


def per_round(values: NDArray[Any], rounds: int) -> NDArray[np.uint64]:
    """One column per round, whether or not values change."""
    wide = values.astype(np.uint64, copy=False)
    return np.broadcast_to(wide[:, None], (wide.shape[0], rounds)) if wide.ndim == 1 else wide


def exchangeable_splits(
    *,
    rounds: Iterable[int] | None,
    first: Iterable[int] | None,
    reports: int | None,
    split: int | None,
) -> tuple[int, list[int] | None]:
    """The number of reports, and the split if one is given, of a mechanism whose rounds are all alike."""
    if (rounds is None) == (reports is None):
        raise ValueError("give either rounds (with first) or reports (with split)")
    if rounds is not None:
        numbers, mine = round_sets(rounds, first)
        if split is not None:
            raise ValueError("split goes with reports; rounds go with first")
        return len(numbers), None if mine is None else [len(mine)]
    if first is not None:
        raise ValueError("first goes with rounds; reports go with split")
    count = checks.integer("reports", reports, low=1)  # type: ignore[arg-type]
    return count, None if split is None else [checks.integer("split", split, low=0, high=count)]


def round_number(round: SupportsIndex) -> int:
    """A round, checked."""
    return checks.integer("round", round, low=1, high=LAST_ROUND)


def round_sets(rounds: Iterable[int], first: Iterable[int] | None) -> tuple[list[int], set[int] | None]:
    """Distinct rounds in order, and the subset that belongs to the first user."""
    numbers = sorted(round_number(number) for number in rounds)
    if not numbers or len(set(numbers)) != len(numbers):
        raise ValueError(f"rounds must be distinct and at least one, got {numbers}")
    if first is None:
        return numbers, None
    mine = {checks.integer("first", number, low=1) for number in first}
    if not mine <= set(numbers):
        raise ValueError(f"first must be a subset of rounds, got {sorted(mine - set(numbers))} besides")
    return numbers, mine


def worst(members: Sequence[Experiment | Mixture]) -> Pair:
    """One experiment as it is, several as their worst."""
    return members[0] if len(members) == 1 else Worst(members)
