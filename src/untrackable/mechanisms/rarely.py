"""`Rarely`: few people answer, and they do so for ever. Its tracking is close to the floor (docs/floor.md).

It exists to be compared with, and no plan proposes it. Its small tracking is an average over all people: those few
who answer send the same report for ever, and are followed with certainty.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, Spread
from untrackable.mechanisms.interface import repr_by_parameters
from untrackable.mechanisms.stored import Stored
from untrackable.randomizers.randomness import Chance, Entropy, chance_toward, flip_chance, flip_eps
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor
from untrackable.theory.floor import le_cam_lower, le_cam_upper

SILENT = 2
"""The report that says nothing."""
NOT_PLANNED = (
    "Its small tracking is an average: the few people who answer are followed with certainty. It is for comparison "
    "with the floor only."
)
"""Why no plan proposes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RareResponse:
    """With probability `chance` a report is randomised response: the bit or its opposite. Else it is silence, 2."""

    eps: float
    chance: float
    flip: Chance = field(init=False, repr=False)
    answers: Chance = field(init=False, repr=False)

    values = 2
    report_bits = 2
    certainty: ClassVar[Certainty] = "exact"
    """The two values have the same factor in both directions."""

    def __post_init__(self) -> None:
        chance = checks.probability("chance", self.chance)
        checks.settle(self, eps=checks.epsilon("eps", self.eps), chance=chance)
        checks.settle(self, flip=flip_chance(self.eps), answers=chance_toward(chance, 0.0))
        if not self.answers.threshold:
            raise ValueError("chance must be above 0: nobody would answer")

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report: 8 bytes of entropy decide whether to answer, and for an answer 8 more whether it is a lie."""
        value = checks.private_integer("value", value, below=2)
        return value ^ self.flip.happens(entropy) if self.answers.happens(entropy) else SILENT

    def possible(self, report: int) -> bool:
        return report in (0, 1, SILENT)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        answered = self.answers.simulate(rng, values.shape)
        return np.where(answered, values ^ self.flip.simulate(rng, values.shape), np.uint64(SILENT))

    def _law(self) -> FloatArray:
        """The probabilities of a true answer, of a lie and of silence."""
        answered, lie = self.answers.probability, self.flip.probability
        return np.array([answered * (1 - lie), answered * lie, self.answers.opposite().probability])

    def privacy_factor(self) -> Factor:
        (truth, lie, silent), eps = self._law().tolist(), flip_eps(self.flip)
        return Factor([truth, lie, silent], [lie, truth, silent], [eps, -eps, 0.0])

    def repeat_factor(self) -> Factor:
        law = self._law()
        with np.errstate(divide="ignore"):
            losses = np.append(-np.log(law), -np.inf)
        seen = law > 0  # Nobody may be silent.
        rest = 2 * float(law[0] * law[1] + law[2] * (law[0] + law[1]))
        keep = np.append(seen, True)
        return Factor(np.append(law, 0.0)[keep], np.append(law**2, rest)[keep], losses[keep])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        truth, lie, silent = self._law()
        with np.errstate(divide="ignore"):
            chances = np.log([truth, lie, silent])
        kind = np.where(np.equal(reports, SILENT), 2, np.not_equal(reports, value))
        found: FloatArray = chances[kind]
        return found

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person. It is the same for both values, whatever people hold."""
        chance, gap = self.answers.probability, self.gap
        return Accuracy.of(people, beta, span=1 / (chance * gap), variance=(1 / (chance * gap**2) - 1) / 4)

    @property
    def gap(self) -> float:
        """How much likelier a 1 is among the answers of people who hold it: 1 - 2η."""
        return math.tanh(flip_eps(self.flip) / 2)

    def aggregator(self, scope: Scope) -> "RareAnswers":
        return RareAnswers(scope, chance=self.answers.probability, gap=self.gap)


class RareAnswers(Aggregator):
    """How many people answer 0, and how many 1. The others are silent."""

    _sums = ("zeros", "ones")
    _limits = (0, SILENT)

    def __init__(self, scope: Scope, *, chance: float, gap: float) -> None:
        super().__init__(scope)
        self._chance, self._span = chance, 1 / (chance * gap)
        self.zeros = self.ones = 0

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The frequency of 1 is ½ + (ones - zeros)/(2n·chance·gap)."""
        mean, square = (self.ones - self.zeros) / n, (self.ones + self.zeros) / n
        one = (1 + self._span * mean) / 2
        error = self._span / 2 * math.sqrt(max(0.0, square - mean**2) / n)
        return Estimate(
            np.array([1 - one, one]),
            n,
            beta,
            np.full(2, error),
            span=np.full(2, self._span),
            statistics=1,  # The errors of 0 and 1 are the same number.
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """A report adds 0 or ±(g(1) - g(0))·span/2, up to a constant."""
        reach = abs(float(weights[1] - weights[0])) * self._span
        return Spread.of_term(self._chance * reach**2 / 4, reach)

    def _add(self, reports: Reports) -> None:
        self.zeros += int(np.count_nonzero(np.equal(reports, 0)))
        self.ones += int(np.count_nonzero(np.equal(reports, 1)))
        self.n += reports.size


class Rarely(Stored):
    """With probability `chance` a client draws one noisy answer and sends it for ever; else it is silent for ever.

    All its reports are eps-private for ever. Of all mechanisms with this privacy and accuracy, none can be tracked
    less for ever, to first order in one over the variance.
    """

    __slots__ = ()
    base: RareResponse
    persists = "the answer, or the silence, word for word"
    published = "here: it attains the floor of tracking"
    __repr__ = repr_by_parameters

    def __init__(self, *, eps: float, chance: float) -> None:
        Stored.__init__(self, RareResponse(eps=eps, chance=chance), 1)

    @classmethod
    def for_variance(cls, *, eps: float, variance: float) -> Self:
        """The mechanism whose estimates have this variance, times the number of people: chance 1/(t²(1+4V))."""
        chance = le_cam_lower(variance) / le_cam_upper(eps)
        if chance > 1:
            raise ValueError(f"variance is too small for eps = {eps:g}: even if everybody answers, it is larger")
        return cls(eps=eps, chance=chance)

    @property
    def eps(self) -> float:
        """Privacy of all reports, for ever."""
        return self.base.eps

    @property
    def chance(self) -> float:
        """The probability that a client answers."""
        return self.base.chance
