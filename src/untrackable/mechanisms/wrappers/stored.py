"""The paper's general transformation [NV, RNIP]: a client stores reports and sends a random one in each round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_reports
from untrackable.mechanisms.checked_values import local_population, per_round
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.interface import After, Pair, Values
from untrackable.mechanisms.local.local_interface import Local, repeat_certainty
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.wrappers import stored_likelihood
from untrackable.mechanisms.wrappers.local_wrapper import LARGEST_SLOTS, LocalWrapper, local_base
from untrackable.theory.collisions import (
    crossing_upper,
    repeat_probability,
    stored_detection,
    stored_privacy,
    stored_tracking,
)
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor


@dataclass(frozen=True, slots=True)
class Stored(LocalWrapper):
    """A client stores `slots` reports of a local mechanism and sends a random one of them in each round.

    It is private for ever, because nobody can learn more than the stored reports. People can be tracked once a slot
    is sent twice.
    """

    base: Local
    slots: int

    published = "[NV], the general transformation; RNIP is that of the noisy inner product"
    persists = "every stored report, word for word, whenever it is drawn again"

    def __post_init__(self) -> None:
        checks.settle(
            self, base=local_base(self.base), slots=checks.integer("slots", self.slots, low=1, high=LARGEST_SLOTS)
        )

    @property
    def follows_changes(self) -> bool:
        """True for several slots: with one value, a slot is sent twice at least as often as with several values."""
        return self.slots > 1

    def _payload_bytes(self) -> int:
        return self.slots * ((self.report_bits + 7) // 8)

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The exact log probability. Equal reports may or may not come from the same slot."""
        (identities,), chances = self._identities(value, reports)
        return stored_likelihood.log_likelihood(identities, chances, self.slots)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """The exact scores. A report on both sides comes from one slot, or it is a coincidence."""
        (left, right), chances = self._identities(value, first, second)
        return stored_likelihood.link_scores(left, right, chances, self.slots)

    def _identities(self, value: int, *sides: Reports) -> tuple[list[stored_likelihood.Identities], FloatArray]:
        """A number for each report, the same for equal reports, and the log probability of each number."""
        wide = sides[0].ndim == 3
        flat = np.concatenate([side.reshape(-1, side.shape[-1]) if wide else side.reshape(-1) for side in sides])
        distinct, numbers = np.unique(flat, axis=0, return_inverse=True)
        ends = np.cumsum([side.shape[0] * side.shape[1] for side in sides])[:-1]
        parts = np.split(numbers.reshape(-1), ends)
        shaped = [part.reshape(side.shape[:2]) for part, side in zip(parts, sides, strict=True)]
        return shaped, self.base.log_likelihood(distinct, value)

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for one round. A client's rounds share slots, so they do not merge."""
        return self.base.aggregator(Scope(self, round_number(round), pools=False))

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """Fixed value: all slots (exact), or the distinct slots among `reports` draws (upper).

        Any sequence of values: a client keeps one set of slots per value. A repeated slot shows that the value did
        not change, so it counts as revealing everything. Otherwise each report counts as a new slot (upper).
        """
        base = self.base.privacy_factor()
        if values == "fixed":
            if reports is None or self.slots == 1:
                return Experiment([(base, self.slots)], certainty=self.base.certainty)
            return stored_privacy(base, self.slots, reports)
        draws = self.slots + 1 if reports is None else reports
        repeat = repeat_probability(self.slots, draws)
        gives_away = Factor([repeat, 0.0, 1 - repeat], [0.0, repeat, 1 - repeat])
        return Experiment([gives_away, (base, draws)], certainty="upper")

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """A slot that is sent on both sides links the reports of one person.

        It is exact with one slot. Otherwise it is an upper bound, which long reports attain.
        """
        if self.slots == 1:
            # All reports are the same, so one on each side reveals as much as any number of them.
            both_sides = 0 < observed.tracking_by_sides() < observed.reports
            if not both_sides:
                return [Experiment()]
            return [Experiment([self.base.repeat_factor()], certainty=repeat_certainty(self.base))]
        return [stored_tracking(self.slots, observed.reports, j) for j in observed.tracking_splits(1)]

    @property
    def enough_reports(self) -> int | None:
        """Two reports if there is one slot, because all further ones are the same; else None."""
        return 2 if self.slots == 1 else None

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """The probability of a slot on both sides. An observer of any number of reports sees all slots."""
        return 1.0 if reports is None else crossing_upper(self.slots, reports)

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """A slot on both sides, or else the distinct slots after the change (upper).

        The same client keeps one set of slots for each value, so it looks like a fresh one.
        """
        base = self.base.privacy_factor()
        splits = observed.detection_by_sides() if self.slots == 1 else observed.detection_splits(2)
        return [stored_detection(base, self.slots, observed.reports, j) for j in splits]

    def new_state(self, value: int, source: Entropy) -> list[int]:
        """A report of the base for each slot."""
        checks.private_integer("value", value, below=self.base.values)
        return [self.base.draw(value, source) for _ in range(self.slots)]

    def make_report(self, state: list[int], round: int, source: Entropy) -> tuple[int, list[int]]:
        """The report in one of the slots, drawn uniformly."""
        return state[below(self.slots, source)], state

    def pack_state(self, state: list[int]) -> bytes:
        """All slots, one after the other."""
        return pack_integers(state, self.report_bits)

    def unpack_state(self, payload: bytes) -> list[int]:
        """The slots of these bytes. A report that the base cannot make is an error."""
        return unpack_reports(payload, self.report_bits, self.slots, self.base.possible)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return local_population(self.base, values, rounds, may_change=False)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Only the slots that are drawn are simulated. A repeated slot repeats its first report."""
        shape = (values.shape[0], len(rounds))
        reports = self.base.simulate(per_round(values, len(rounds)), rng)
        if len(rounds) == 1:
            return reports
        slots = rng.integers(0, self.slots, size=shape)
        order = np.argsort(slots, axis=1, kind="stable")
        ordered = np.take_along_axis(slots, order, axis=1)
        new = np.ones(shape, dtype=np.bool_)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        first = np.maximum.accumulate(np.where(new, np.arange(shape[1]), 0), axis=1)
        source = np.empty_like(order)
        np.put_along_axis(source, order, np.take_along_axis(order, first, axis=1), axis=1)
        return reports[np.arange(shape[0])[:, None], source]


class Memoized(Stored):
    """A client draws one noisy report and sends it in every round.

    All reports together are as private as one. But they are equal, so they identify the client. `Fresh` is the
    opposite extreme.
    """

    __slots__ = ()
    persists = "the whole report, word for word"

    def __init__(self, base: Local) -> None:
        Stored.__init__(self, base, 1)

    def __repr__(self) -> str:
        return f"Memoized({self.base!r})"
