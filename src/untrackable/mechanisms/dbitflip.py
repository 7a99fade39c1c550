"""dBitFlipPM: a client samples a few buckets once, keeps a noisy bit about each, and adds noise to every report.

Ding, Kulkarni, Yekhanin, "Collecting Telemetry Data Privately" (NeurIPS 2017): dBitFlip is in section 2.2,
permanent memoization in section 3, output perturbation in section 4. Every report names the sampled buckets, so the
set identifies the client.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import SymmetricSpreads, sampled_bits_spread
from untrackable.mechanisms.interface import After, ObservedRounds, Pair, Values
from untrackable.mechanisms.kept_bits import Moved, Permanent, PositionCounts, unpacked
from untrackable.mechanisms.local_interface import integer_population
from untrackable.mechanisms.randomness import simulate_subsets
from untrackable.randomizers.randomness import Chance, Entropy, chance_toward, draw_subset, flip_chance, flip_eps
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor
from untrackable.theory.kept_bit import privacy_factor

LARGEST = 4096
_FAIR = 1 << 63
_LARGEST_FLOAT = 1e300
_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class DBitFlip(Permanent):
    """A client samples some of the buckets once. For each it reports whether it is the value's bucket, with noise.

    The client keeps one noisy bit per sampled bucket, flipped with probability 1/(e^(ε/2)+1), drawn once per value.
    Each bit of each report is flipped again with probability `output_flip`, which the publication calls γ. A report
    is one bit per sampled bucket, in the order of the buckets, and above them the set of sampled buckets as a mask.
    The set stays the same in all reports and is not hidden. The kept bits stay the same too; without output
    perturbation, every report repeats them.
    """

    buckets: int
    sampled: int
    eps: float
    output_flip: float = 0.0
    state_flip: Chance = field(init=False, repr=False)
    report_flip: Chance = field(init=False, repr=False)

    published = "Ding, Kulkarni, Yekhanin, Collecting Telemetry Data Privately (NeurIPS 2017)"
    persists = "the set of sampled buckets, in the clear; the kept bits, seen through the noise of every report"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # No published default is known. These sizes are like those of its experiments, at ε = 1 (not verified).
        "evaluation": {"buckets": 32, "sampled": 4, "eps": 1.0},
        # These are the same sizes with output perturbation of γ = 0.2.
        "perturbed": {"buckets": 32, "sampled": 4, "eps": 1.0, "output_flip": 0.2},
    }

    def __post_init__(self) -> None:
        buckets = checks.integer("buckets", self.buckets, low=2, high=LARGEST)
        checks.settle(self, buckets=buckets, sampled=checks.integer("sampled", self.sampled, low=1, high=buckets))
        checks.settle(self, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, output_flip=checks.probability("output_flip", self.output_flip))
        checks.settle(self, state_flip=flip_chance(self.eps / 2), report_flip=chance_toward(self.output_flip, 0.5))
        if self.state_flip.threshold >= _FAIR:
            raise ValueError(
                f"eps must be at least {2 * checks.SMALLEST_EPSILON}, or reports reveal nothing, got {self.eps}"
            )
        if self.report_flip.threshold >= _FAIR:
            raise ValueError(f"output_flip must be below 0.5, or reports reveal nothing, got {self.output_flip}")

    @property
    def positions(self) -> int:
        return self.sampled

    @property
    def capacity(self) -> int:
        return self.buckets

    @property
    def clear_bits(self) -> int:
        return self.buckets

    def _clear(self, source: Entropy) -> int:
        return draw_subset(self.sampled, self.buckets, source)

    def _simulate_clear(self, people: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        return simulate_subsets(people, self.sampled, self.buckets, rng)

    def _persistent(self) -> list[Factor]:
        sets = math.comb(self.buckets, self.sampled)
        if sets <= _LARGEST_FLOAT:
            return [persistent_factor(sets)]
        # 1/sets is below the smallest floating-point number.
        return [Factor([1.0, 0.0], [0.0, 1.0], [math.log(sets), -math.inf])]

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """Fixed value: the observer sees which of the two values the set contains (exact).

        The observer sees the kept bits, or `reports` reports of them. The worst set contains both values: two
        positions, ε/2 each. With one sampled bucket no set contains both, and the pure bound is ε/2, half of the
        publication's.

        Any sequence of values: a client keeps bits for each value, and each position of each of `reports` reports
        is no further apart than between two different states (upper). Without output perturbation, nothing is
        private.
        """
        if values == "any":
            return Permanent._privacy(self, reports, values)
        one, zero = self._kept
        if reports is None:
            eps = flip_eps(self.state_flip)
            lost = Factor([one.one, one.zero], [zero.one, zero.zero], [eps, -eps])
        else:
            lost = privacy_factor(one, zero, self._noise, reports)
        gained = lost.reversed()
        both, either, neither = self._contained()
        return _mixed(
            [
                (both, Experiment([lost, gained])),
                (either, Experiment([lost])),
                (either, Experiment([gained])),
                (neither, Experiment()),
            ]
        )

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """The set of buckets and the kept bits link the reports of one person (exact).

        The observer sees whether the set contains the value's bucket. Both worlds weigh the two cases alike,
        because two people with the same set have the first person's.
        """
        share, k = self.sampled / self.buckets, observed.reports
        return [
            _mixed([(share, self._tracking(k, j, 1)), (1 - share, self._tracking(k, j, 0))])
            for j in observed.tracking_splits(3)
        ]

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The observer sees which of the two values the set contains (exact).

        A fresh client draws another set. The same client keeps its set, and other bits for each value. So even a
        change between two values that are not sampled is visible.
        """
        both, either, neither = self._contained()
        weights = {(0, 1, 1): both, (0, 1, 0): either, (0, 0, 1): either, (0, 0, 0): neither}
        moved = {way: weight for way, weight in weights.items() if weight > 0}
        cases = (self._detection(observed.reports, j, after, moved) for j in observed.detection_splits(6))
        return [_mixed(list(zip(moved.values(), experiments, strict=True))) for experiments in cases]

    def _contained(self) -> tuple[float, float, float]:
        """The probabilities that the set contains both of two given buckets, only the first, and neither."""
        k, d = self.buckets, self.sampled
        pairs = k * (k - 1)
        return d * (d - 1) / pairs, d * (k - d) / pairs, (k - d) * (k - d - 1) / pairs

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The error of the reports that sampled the value's bucket, over the draw of the sets too."""
        there, elsewhere = self._shares()
        span = self.buckets / self.sampled / (there - elsewhere)
        variance = span / (there - elsewhere) * elsewhere * (1 - elsewhere)
        return Accuracy.of(people, beta, span=span, variance=variance)

    def _shares(self) -> tuple[float, float]:
        """The probabilities of a reported 1 about the value's bucket and about any other."""
        state, report = self.state_flip.probability, self.report_flip.probability
        elsewhere = state + report - 2 * state * report
        return 1 - elsewhere, elsewhere

    def aggregator(self, round: int = 1) -> "BucketAggregator":
        return BucketAggregator(self._one_round(round), self)

    def _ones(self) -> int:
        return 1

    def _moved(self) -> list[Moved]:
        return [(0, 1, 1)] if self.sampled > 1 else [(0, 1, 0), (0, 0, 1)]

    @property
    def _flips(self) -> tuple[Chance, Chance]:
        return self.state_flip, self.state_flip

    @property
    def _reported(self) -> tuple[Chance, Chance]:
        return self.report_flip.opposite(), self.report_flip

    def _pattern(self, value: int, clear: int) -> int:
        bucket = checks.private_integer("value", value, below=self.buckets)
        before = (clear & ((1 << bucket) - 1)).bit_count()
        return (clear >> bucket & 1) << before

    def _patterns(self, values: NDArray[Any], clear: NDArray[np.uint8]) -> NDArray[np.bool_]:
        bucket = integer_population(values, self.buckets, 1, may_change=False).astype(np.int64, copy=False)
        people = np.arange(bucket.size)
        position = clear.cumsum(axis=1, dtype=np.int16)[people, bucket] - 1
        sampled = clear[people, bucket] == 1
        return np.asarray(sampled[:, None] & (position[:, None] == np.arange(self.positions)))

    def _words(self) -> int:
        return self.sampled + self.buckets

    def unpack_state(self, payload: bytes) -> int:
        state = Permanent.unpack_state(self, payload)
        if (state >> self.positions).bit_count() != self.sampled:
            raise StateError(f"this state's set of buckets does not have {self.sampled} elements")
        return state


class BucketAggregator(PositionCounts):
    """Counts of the reports that sampled each bucket (`samples`), and of those that said 1 about it (`counts`)."""

    _sums = ("counts", "samples")

    def __init__(self, scope: Scope, mechanism: DBitFlip) -> None:
        super().__init__(scope, mechanism.report_bits, (mechanism.buckets,))
        self._mechanism = mechanism
        self.samples = np.zeros(mechanism.buckets, dtype=np.int64)

    def _tally(self, bits: NDArray[np.uint8]) -> None:
        m = self._mechanism
        masks = bits[:, m.positions :]
        self.samples += masks.sum(axis=0, dtype=np.int64)
        # `nonzero` goes by rows and then by position, which is the order of the bits.
        bucket = np.nonzero(masks)[1]
        self.counts += np.bincount(bucket[bits[:, : m.positions].reshape(-1) == 1], minlength=m.buckets)

    def _checked(self, reports: Reports) -> Reports:
        rows = super()._checked(reports)
        m = self._mechanism
        for start in range(0, rows.shape[0], _ROWS):
            masks = unpacked(rows[start : start + _ROWS], self._width)[:, m.positions :]
            if np.any(masks.sum(axis=1, dtype=np.int64) != m.sampled):
                raise ValueError(f"a report must be about {m.sampled} buckets")
        return rows

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """k/(n·d)·Σ (b - elsewhere)/(there - elsewhere) over the reports that sampled the bucket, as published.

        `there` is e^(ε/2)/(e^(ε/2)+1) with output perturbation. The estimate is unbiased over the draw of the sets.
        """
        m = self._mechanism
        there, elsewhere = m._shares()
        scale = m.buckets / m.sampled
        gap = there - elsewhere
        frequencies = scale * (self.counts - elsewhere * self.samples) / (n * gap)
        held = np.clip(frequencies, 0, 1)
        variance = scale * there * elsewhere / gap**2 + held * (scale - 1)
        span = scale / gap
        rule = partial(sampled_bits_spread, values=m.buckets, sampled=m.sampled, there=there, elsewhere=elsewhere)
        spread = SymmetricSpreads(m.buckets, rule)
        return Estimate(frequencies, n, beta, np.sqrt(variance / n), span=np.full(m.buckets, span), spread=spread)


def _mixed(cases: list[tuple[float, Experiment]]) -> Experiment | Mixture:
    """A mixture of experiments. The observer sees which one takes place; both worlds give it the same weight."""
    possible = [(weight, experiment) for weight, experiment in cases if weight > 0]
    if len(possible) == 1:
        return possible[0][1]
    return Mixture([(weight, weight, experiment) for weight, experiment in possible])
