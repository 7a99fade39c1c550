"""Fresh noise for every report: nobody can link reports by what they say, but privacy does not last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.checked_values import local_population, per_round
from untrackable.mechanisms.crowd_privacy import SentRounds
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Values
from untrackable.mechanisms.local.local_interface import BoundedLocal, Local
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.wrappers.local_wrapper import LocalWrapper, local_base
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor


@dataclass(frozen=True, slots=True)
class Fresh(LocalWrapper):
    """A client sends a new report of a local mechanism in every round, with fresh noise.

    Reports are independent, so nobody can link them. But every report spends privacy, so only a few reports are
    private. `Memoized` is the opposite extreme.
    """

    base: Local

    persists = "nothing"
    pools = True
    independent = True

    def __post_init__(self) -> None:
        checks.settle(self, base=local_base(self.base))

    @property
    def loss_of_one_report(self) -> float | None:
        """That of the base, if it can say."""
        return self.base.largest_loss() if isinstance(self.base, BoundedLocal) else None

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The sum over independent reports."""
        total: FloatArray = self.base.log_likelihood(reports, value).sum(axis=1)
        return total

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """All scores are 0, because nothing links two reports of a person."""
        return np.zeros((first.shape[0], second.shape[0]))

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums. Rounds may be merged, because reports are independent."""
        round_number(round)
        return self.base.aggregator(Scope(self, 0, pools=True))

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """The same for a fixed value and for any sequence of values. Without a last report, all is revealed."""
        if reports is None:
            return everything_revealed("exact")
        return Experiment([(self.base.privacy_factor(), reports)], certainty=self.base.certainty)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds:
        """A new report for every round."""
        if reports is None:
            raise ValueError("reports must be given: fresh reports have no last round")
        return [(self.base, reports)]

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """Nobody can tell one person from two, because reports are independent given the value."""
        return [Experiment()]

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """Each report after the change reveals it, with fresh noise."""
        apart = self.base.privacy_factor()
        return [
            Experiment([(apart, observed.reports - j)], certainty=self.base.certainty)
            for j in observed.detection_by_sides()
        ]

    def new_state(self, value: int, source: Entropy) -> int:
        """The value itself."""
        return checks.private_integer("value", value, below=self.base.values)

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        """A new report of the base."""
        return self.base.draw(state, source), state

    def change_value(self, state: int, value: int, source: Entropy) -> int:
        """The new value."""
        return self.new_state(value, source)

    def _value_bits(self) -> int:
        return (self.base.values - 1).bit_length()

    def pack_state(self, state: int) -> bytes:
        """The value, in as few bytes as the values of the base need."""
        return pack_integers([state], self._value_bits())

    def unpack_state(self, payload: bytes) -> int:
        """The value."""
        return unpack_integers(payload, self._value_bits(), 1)[0]

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return local_population(self.base, values, rounds, may_change=True)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        return self.base.simulate(per_round(values, len(rounds)), rng)


def everything_revealed(certainty: Literal["exact", "upper"]) -> Experiment:
    """Two worlds that an observer always tells apart, or for which no better bound is known."""
    return Experiment([Factor([1.0, 0.0], [0.0, 1.0])], certainty=certainty)
