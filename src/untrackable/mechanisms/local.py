"""Local mechanisms for plain questions, each with its sums, and what sends their reports.

`RandomizedResponse` on one bit (Warner 1965) is for yes/no questions, and `SubsetSelection` for a list of answers:
a frequency oracle whose report is a random set of values, which contains the true one more often than any other.
`OneBitMean` tells the mean of numbers: a number is rounded at random to one end of its range, and then told with
noise. `Present` has no content, for campaigns that count people and ask nothing.

Subset selection is of Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential
Privacy" (IEEE Transactions on Information Theory, 2018); Wang et al., "Mutual Information Optimally Local Private
Discrete Distribution Estimation" (2016).

`Fresh` sends such reports in the plainest way: with fresh noise in every round. Nobody can link fresh reports by
their content, but privacy does not last: by composition, every report spends some. One report in a person's turn is
all that is needed, so campaigns with turns send fresh reports. `LocalWrapper` is the base of all that send them.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, randomizers
from untrackable.arrays import FloatArray
from untrackable.errors import MechanismError
from untrackable.estimation.aggregators import Aggregator, BitAggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, Spread, subset_spread
from untrackable.mechanisms.budget import Accounting, best_base
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import (
    After,
    Mechanism,
    ObservedRounds,
    Unlinked,
    Values,
    everything_revealed,
    repr_by_parameters,
    round_number,
)
from untrackable.mechanisms.kept_bits import PositionCounts
from untrackable.mechanisms.local_interface import (
    Local,
    SentRounds,
    TruthfulLocal,
    Truthfulness,
    WeightedLocal,
    local_population,
    per_round,
)
from untrackable.mechanisms.randomness import simulate_subsets
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
from untrackable.randomizers.interface import FORMS, Randomizer, from_json
from untrackable.randomizers.local import OneNoisyBit
from untrackable.randomizers.randomness import WHOLE, flip_eps
from untrackable.theory.accuracy import Accuracy, inner_product_scale, mean_radius
from untrackable.theory.crowd import CrowdClasses
from untrackable.theory.experiment import Certainty, Experiment, Mixture
from untrackable.theory.factor import Factor

_LINE = 1e-9
"""Weights are on a line if they are off it by at most this share of their range."""
ONLY_THE_MEAN = "one noisy bit of each number tells the mean only: no frequencies, no quantiles, and no other sums"


class _OneNoisyBit(OneNoisyBit):
    """The theory that local mechanisms have in common whose report is one noisy bit."""

    __slots__ = ()
    certainty: ClassVar[Certainty] = "exact"
    """Some two values always have different bits before the noise."""
    bit_share: ClassVar[float] = 1.0

    def privacy_factor(self) -> Factor:
        """The loss is ±eps for two values with different bits, computed from the probabilities that are drawn."""
        lie, eps = self.flip.probability, flip_eps(self.flip)
        return Factor([1 - lie, lie], [lie, 1 - lie], [eps, -eps])


class RandomizedResponse(_OneNoisyBit, randomizers.RandomizedResponse):
    """Randomised response, with its sums, its estimates and its theory."""

    __slots__ = ()

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        return values ^ self.flip.simulate(rng, values.shape)

    def crowd_classes(self) -> CrowdClasses:
        """The two reports. Everybody else holds the first value, as there is no third."""
        lie = self.flip.probability
        return CrowdClasses((1 - lie, lie), (lie, 1 - lie), (1 - lie, lie))

    def largest_weight(self) -> float:
        """(1-η)/(1-2η), for a report that counts for the value."""
        lie = self.flip.probability
        return (1 - lie) / (1 - 2 * lie)

    def repeat_factor(self) -> Factor:
        lie = self.flip.probability
        return Factor([1 - lie, lie, 0.0], [(1 - lie) ** 2, lie**2, 2 * lie * (1 - lie)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        lie = self.flip.probability
        return np.log(np.where(np.equal(reports, value), 1 - lie, lie))

    def truthfulness(self) -> Truthfulness:
        """A report is the bit itself unless it is flipped."""
        return Truthfulness("answer", 1 - self.flip.probability, 0.5)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        lie = self.flip.probability
        return Accuracy.of_shares(people, beta, there=1 - lie, elsewhere=lie)

    def aggregator(self, scope: Scope) -> BitAggregator:
        lie = self.flip.probability
        return BitAggregator(scope, truth=1 - lie, lie=lie)


class OneBitMean(_OneNoisyBit, randomizers.OneBitMean):
    """One bit that tells a mean, with its sums, its estimates and its theory."""

    __slots__ = ()

    tells_shares = False
    published = "Duchi, Jordan, Wainwright: Local privacy and statistical minimax rates (2013); Ding et al. (2017)"

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        rounded = rng.integers(0, self.values - 1, size=values.shape, dtype=np.uint64) < values
        return (rounded ^ self.flip.simulate(rng, values.shape)).astype(np.uint64)

    def differing_exact(self) -> Fraction:
        """1: the two ends of the range are always rounded to different bits."""
        return Fraction(1)

    def repeat_factor(self) -> Factor:
        """One report sent twice, against two reports that are equal by chance (upper, for all values).

        A value reports its rarer bit with a probability m between η and ½. For an observer who allows e^γ, one
        report seen twice stands out by at most 1 - e^γ/2 as long as both bits do, and by m(1 - e^γ·m) when only the
        rarer one does. This factor is at least as far apart: 1 - e^γ/2 at first, and then ½(1 - e^γ·η). Two reports
        differ with probability 2m(1-m), at most ½.
        """
        lie = self.flip.probability
        losses = [-math.log(lie), -math.log1p(-lie), -math.inf]
        return Factor([0.5, 0.5, 0.0], [0.5 * lie, 0.5 * (1 - lie), 0.5], losses)

    @property
    def repeat_certainty(self) -> Certainty:
        """Upper: how well a repeated report is recognised depends on the value."""
        return "upper"

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        lie, place = self.flip.probability, value / (self.values - 1)
        one = lie + (1 - 2 * lie) * place
        return np.log(np.where(np.equal(reports, 1), one, 1 - one))

    def truthfulness(self) -> Truthfulness:
        """A report answers whether the number is above a random one, which is not sent along."""
        return Truthfulness("question", 1 - self.flip.probability, 0.5)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of the mean, as a share of the range from the lowest to the highest value."""
        span = self._span()
        return Accuracy(
            checks.integer("people", people, low=1),
            beta,
            mean_radius(people, beta, span=span),
            span / (2 * math.sqrt(people)),
            "of the mean, as a share of the range, whatever people hold (upper)",
        )

    def _span(self) -> float:
        """1/(1-2η), the difference that one bit makes to n times the mean, as a share of the range."""
        return WHOLE / (WHOLE - 2 * self.flip.threshold)

    def aggregator(self, scope: Scope) -> "MeanAggregator":
        lie = self.flip.probability
        return MeanAggregator(scope, values=self.values, truth=1 - lie, lie=lie)


class MeanAggregator(BitAggregator):
    """How many reported bits are 1. They tell the mean of the numbers, and nothing else."""

    def __init__(self, scope: Scope, *, values: int, truth: float, lie: float) -> None:
        super().__init__(scope, truth=truth, lie=lie)
        self._values = values

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Only this estimate's mean is meaningful: its frequencies may be anything from 0 to 1.

        As if everybody held one of the two ends, with the right mean.
        """
        mean = (self.ones / n - self._lie) / (self._truth - self._lie)
        frequencies = np.zeros(self._values)
        frequencies[0], frequencies[-1] = 1 - mean, mean
        unknown = np.broadcast_to(np.inf, frequencies.shape)
        return Estimate(
            frequencies,
            n,
            beta,
            unknown,
            span=np.broadcast_to(1 / (self._truth - self._lie), frequencies.shape),
            deviation=unknown,
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """The spread of weights on a line over all values; no other sums can be estimated."""
        line = np.linspace(weights[0], weights[-1], weights.size)
        reach = abs(float(weights[-1] - weights[0]))
        if weights.size != self._values or np.abs(weights - line).max() > _LINE * max(reach, 1e-300):
            raise ValueError(ONLY_THE_MEAN)
        span = reach / (self._truth - self._lie)
        return Spread.of_term(span**2 / 4, span)


class SubsetSelection(randomizers.SubsetSelection):
    """Subset selection, with its sums, its estimates and its theory."""

    __slots__ = ()

    certainty: ClassVar[Certainty] = "exact"
    """Every two values have the same factor."""
    published = "Ye, Barg, Optimal Schemes for Discrete Distribution Estimation (IEEE Trans. Inf. Theory 2018)"

    @property
    def words(self) -> int:
        """The number of words per simulated report, for randomness and working memory."""
        return 2 * self.values

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        held = values.reshape(-1, 1).astype(np.int64)
        missed = self.miss.simulate(rng, (held.shape[0],))
        others = np.empty((held.shape[0], self.values - 1), dtype=np.uint8)
        for rows, size in ((missed, self.size), (~missed, self.size - 1)):
            others[rows] = simulate_subsets(int(np.count_nonzero(rows)), size, self.values - 1, rng)
        bits = np.empty((held.shape[0], self.values), dtype=np.uint8)
        beside = np.arange(self.values - 1)[None, :]
        np.put_along_axis(bits, beside + (beside >= held), others, axis=1)
        np.put_along_axis(bits, held, ~missed[:, None], axis=1)
        return np.packbits(bits, axis=1, bitorder="little").reshape(*values.shape, (self.values + 7) // 8)

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the set contains one of the two values, and 0 if it contains both or neither."""
        ours, theirs = (float(chance) for chance in self._one_of_two())
        more, less = self.odds
        eps = math.log1p((more - less) / less)
        rest = 0.0 if self.values == 2 else 1 - ours - theirs
        return Factor([ours, theirs, rest], [theirs, ours, rest], [eps, -eps, 0.0])

    def crowd_classes(self) -> CrowdClasses:
        """Sets with one of the two values, with or without the third."""
        ours, theirs = self._one_of_two()
        if self.values == 2:
            return CrowdClasses(
                *((float(a), float(b)) for a, b in ((ours, theirs), (theirs, ours), (theirs, ours)))
            )
        more, less = self.odds
        # Of the sets with the first value and without the second, this share has the third as well.
        shared = Fraction(self.size - 1, self.values - 2)
        rows = []
        for share, third in ((1 - shared, theirs), (shared, theirs * Fraction(more, less))):
            rows += [(ours * share, theirs * share, third * share), (theirs * share, ours * share, third * share)]
        first, second, others = zip(*((float(a), float(b), float(c)) for a, b, c in rows if c), strict=True)
        return CrowdClasses(first, second, others)

    def largest_weight(self) -> float:
        """(1-c)/(p-c): a set contains its sender's value with probability p, and another with c."""
        _, elsewhere, span = self._shares()
        return (1 - elsewhere) * span

    def repeat_factor(self) -> Factor:
        chances = self.miss.opposite().probability, self.miss.probability
        logs = self._log_sets()
        equal = [chance**2 * math.exp(-sets) for chance, sets in zip(chances, logs, strict=True)]
        losses = [sets - math.log(chance) for chance, sets in zip(chances, logs, strict=True)]
        return Factor([*chances, 0.0], [*equal, 1 - sum(equal)], [*losses, -math.inf])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability, from whether the set contains the value. A set of another size is impossible."""
        contains = (reports[..., value >> 3] >> np.uint8(value & 7) & np.uint8(1)) == 1
        chances = self.miss.opposite().probability, self.miss.probability
        inside, outside = (math.log(c) - sets for c, sets in zip(chances, self._log_sets(), strict=True))
        sized = np.bitwise_count(reports).sum(axis=-1, dtype=np.int64) == self.size
        return np.where(sized, np.where(contains, inside, outside), -np.inf)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person. A report counts for all values in its set."""
        there, elsewhere, span = self._shares()
        return Accuracy.of_shares(people, beta, there=there, elsewhere=elsewhere, span=span)

    def aggregator(self, scope: Scope) -> "SubsetCounts":
        return SubsetCounts(scope, self)

    def _one_of_two(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the set contains the value but not another one, and the other way round."""
        missed, others = Fraction(self.miss.threshold, WHOLE), self.values - 1
        return (1 - missed) * Fraction(self.values - self.size, others), missed * Fraction(self.size, others)

    def _log_sets(self) -> tuple[float, float]:
        """The logarithms of the numbers of sets that contain a given value, and that do not."""
        others = self.values - 1
        return math.log(math.comb(others, self.size - 1)), math.log(math.comb(others, self.size))

    def _shares(self) -> tuple[float, float, float]:
        """The probabilities that a set contains its sender's value, and another; and one over their difference."""
        there = 1 - Fraction(self.miss.threshold, WHOLE)
        elsewhere = (self.size - there) / (self.values - 1)
        return float(there), float(elsewhere), float(1 / (there - elsewhere))


class SubsetCounts(PositionCounts):
    """Counts of the sets that contain each value."""

    def __init__(self, scope: Scope, local: SubsetSelection) -> None:
        super().__init__(scope, local.values, (local.values,))
        self._local = local

    def _checked(self, reports: Reports) -> Reports:
        rows = super()._checked(reports)
        if np.any(np.bitwise_count(rows).sum(axis=1, dtype=np.int64) != self._local.size):
            raise ValueError(f"a report must be a set of {self._local.size} values")
        return rows

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        there, elsewhere, _ = self._local._shares()
        rule = partial(subset_spread, values=self._local.values, size=self._local.size)
        return self._from_shares(n, beta, there, elsewhere, spread=rule)


class Present(randomizers.Present):
    """Presence, with its sums and its theory."""

    __slots__ = ()

    certainty: ClassVar[Certainty] = "exact"

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        return np.zeros(values.shape, dtype=np.uint64)

    def privacy_factor(self) -> Factor:
        return Factor([1.0], [1.0])

    def repeat_factor(self) -> Factor:
        return Factor([1.0], [1.0])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        return np.where(np.equal(reports, 0), 0.0, -np.inf)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        return Accuracy(people, beta, 0.0, 0.0, deviation=0.0)

    def aggregator(self, scope: Scope) -> Aggregator:
        return PresentAggregator(scope)


class PresentAggregator(Aggregator):
    """How many reports there are."""

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Everybody holds the only value."""
        return Estimate(np.ones(1), n, beta, np.zeros(1), span=np.ones(1), radii=lambda beta, count: np.zeros(1))

    def _outside(self) -> ValueError:
        return ValueError("a report must be 0")

    def _add(self, reports: Reports) -> None:
        self.n += reports.size


LARGEST_SLOTS = 1 << 53
"""The largest number of slots. Larger numbers cannot be counted exactly in floating point."""


class LocalWrapper(Mechanism):
    """A mechanism that sends reports of a local mechanism, its base."""

    __slots__ = ()
    base: Local

    @property
    def report_bits(self) -> int:
        return self.base.report_bits

    @property
    def capacity(self) -> int:
        return self.base.values

    @property
    def publications(self) -> str:
        return "; ".join(filter(None, (self.published, getattr(self.base, "published", ""))))

    @property
    def tells_shares(self) -> bool:
        return getattr(self.base, "tells_shares", True)

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        return self.base.accuracy(people, beta)

    def truthfulness(self) -> Truthfulness | None:
        return self.base.truthfulness() if isinstance(self.base, TruthfulLocal) else None

    def held_error(self, people: int, *, share: float, round: int = 1) -> float | None:
        """The error from one report of the base by each person, if the base can say."""
        return self.base.held_error(people, share) if isinstance(self.base, NoisyInnerProduct) else None

    def shift(self, *, round: int = 1) -> float | None:
        return self.base.largest_weight() if isinstance(self.base, WeightedLocal) else None

    def independent_errors(self, values: int) -> int:
        """One error for every value of the base. With one bit, both values have the same error."""
        if isinstance(self.base, NoisyInnerProduct) and self.base.bits == 1:
            return 1
        return min(self.base.values, 1 << (values - 1).bit_length())

    def _words(self) -> int:
        return getattr(self.base, "words", 2)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return local_population(self.base, values, rounds, may_change=self.changes_in_place)


def local_base(base: object) -> Local:
    """The local mechanism to build on, after checks."""
    if isinstance(base, Mechanism) or not isinstance(base, Local):
        raise TypeError(
            "base must be a local mechanism, such as RandomizedResponse or NoisyInnerProduct, "
            f"not {type(base).__name__}"
        )
    return base


class ReportSettings:
    """The settings of one report, as its noisy inner product has them."""

    __slots__ = ()
    base: NoisyInnerProduct
    __repr__ = repr_by_parameters

    @property
    def bits(self) -> int:
        """Width of a value in bits, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one report, ε′."""
        return self.base.eps

    @property
    def width(self) -> int:
        """Width of an answer in bits, w."""
        return self.base.width

    @classmethod
    def for_budget(
        cls,
        *,
        bits: int,
        slots: int,
        eps: float,
        delta: float,
        accounting: Accounting = "exact",
        width: int | None = None,
        **more: Any,
    ) -> Self:
        """The mechanism with the largest eps_report that keeps all that it stores (eps, delta)-private.

        Without a `width`, it is the one with the smallest error. `more` are the other parameters of the mechanism.
        """
        base = best_base(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width)
        return cls(bits=bits, slots=slots, eps_report=base.eps, width=base.width, **more)  # type: ignore[call-arg]


class Fresh(randomizers.Fresh, Unlinked, LocalWrapper):
    """Fresh reports, with their sums, their estimates and their theory."""

    __slots__ = ()
    base: Local

    persists = "nothing"
    pools = True

    def __post_init__(self) -> None:
        checks.settle(self, base=local_base(self.base))

    def client_part(self) -> Randomizer:
        with suppress(MechanismError):  # A base from outside this library has no description.
            description = self.to_json()
            if FORMS.knows(description):
                return from_json(description)
        return self

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        total: FloatArray = self.base.log_likelihood(reports, value).sum(axis=1)
        return total

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums. Rounds may be merged, because reports are independent."""
        round_number(round)
        return self.base.aggregator(Scope(self, 0, pools=True))

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """Privacy is the same whether values change or not. Without a last report, everything is revealed."""
        if reports is None:
            return everything_revealed("exact")
        return Experiment([(self.base.privacy_factor(), reports)], certainty=self.base.certainty)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds:
        if reports is None:
            raise ValueError("reports must be given: fresh reports have no last round")
        return [(self.base, reports)]

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """Each report after the change reveals it, with fresh noise."""
        apart = self.base.privacy_factor()
        return [
            Experiment([(apart, observed.reports - j)], certainty=self.base.certainty)
            for j in observed.detection_by_sides()
        ]

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        return self.base.simulate(per_round(values, len(rounds)), rng)


# --- with which probabilities a report counts for a value, where a share is estimated from a count ---------
#
# Reports about whole paths of answers count for an answer in one look: a report whose answer is as wide as the path
# names the true path, or with some probability one that is drawn from all.


class CountChances(NamedTuple):
    """A report counts for a value with probability `there` if its sender holds it, and `elsewhere` if not (exact).

    `span` is 1/(there - elsewhere). A count of n reports is an estimate of span·(count/n - elsewhere). If there is
    one value only of which the errors are the opposite of another's, the question `is_yes_no`.
    """

    there: float
    elsewhere: float
    span: float
    is_yes_no: bool


def count_chances(mechanism: Mechanism) -> CountChances | None:
    """The chances for a mechanism whose rounds are alike, and for one level of discovered strings; else None."""
    if not isinstance(mechanism, LocalWrapper) or not mechanism.independent or not mechanism.rounds_alike:
        return None
    return base_chances(mechanism.base)


def base_chances(base: Local) -> CountChances | None:
    """The chances for one report of a local mechanism, if it counts for values in this way."""
    if isinstance(base, Levelled):
        return base_chances(base.base)
    if not isinstance(base, NoisyInnerProduct):
        return None
    span = (1 << base.width) * inner_product_scale(base.bits, base.largest_loss(), base.width)
    return CountChances(base.chances()[0], base.answer_for_another(), span, base.bits == 1)


class PathChances(NamedTuple):
    """The true path is `kept` with probability α; else it is uniform, and has an answer in a look by the `rest`."""

    looks: int
    kept: float
    rest: float

    @property
    def there(self) -> float:
        """The probability that a report has an answer of its sender in a look."""
        return self.kept + self.elsewhere

    @property
    def elsewhere(self) -> float:
        """The probability that it has an answer that is not the sender's."""
        return (1 - self.kept) * self.rest

    def noise_of_mean(self, share: float) -> float:
        """The variance of what a report adds to the mean of all looks, if its sender gives an answer in this share.

        A drawn path has an answer in a look with probability r, so in h looks of B with variance r(1-r)/B. The
        variance is α(1-α)(h-r)²/α² + (1-α)·r(1-r)/(B·α²) (exact). That is convex in h, so people who always or
        never give the answer are the noisiest of all with the same mean.
        """
        given = self.kept * (1 - self.kept) * (share - self.rest) ** 2
        drawn = (1 - self.kept) * self.rest * (1 - self.rest) / self.looks
        return (given + drawn) / self.kept**2

    def spread_of_mean(self) -> Spread:
        """How far the share of an answer, on average over all looks, may be off (upper)."""
        span = 1 / self.kept
        return Spread(max(map(self.noise_of_mean, (0.0, 1.0))), span, span, independent=True)


def chances_of(mechanism: Mechanism, looks: int) -> PathChances | None:
    """The chances for a mechanism that sends reports about paths with this many looks, if it does."""
    return path_chances(mechanism.base, looks) if isinstance(mechanism, LocalWrapper) else None


def path_chances(base: Local, looks: int) -> PathChances | None:
    """The chances for reports about paths with this many looks; None if answers are not as wide as the path."""
    if not isinstance(base, Views) or base.whole is None or len(base.views) > 1 or base.width < base.bits:
        return None
    truth, lie = base.bases[0].chances()
    return PathChances(looks, truth - lie, 0.5 ** (base.bits // looks))
