"""Plain questions: yes or no, one of a list, a number's mean; and presence, which has no content."""

import math
from dataclasses import dataclass, field

from untrackable import checks
from untrackable.randomizers import randomness

LARGEST_SET = 4096
"""The largest number of values of a list."""
MOST_VALUES = 1 << 32


class OneNoisyBit:
    """The common part of local mechanisms whose report is one bit, flipped with probability 1/(e^eps + 1)."""

    __slots__ = ()
    flip: randomness.Chance
    report_bits = 1

    def possible(self, report: int) -> bool:
        return report in (0, 1)

    def largest_loss(self) -> float:
        """ln((1-η)/η), rounded up."""
        return randomness.flip_eps_upper(self.flip)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(OneNoisyBit):
    """A report is the person's bit, or with probability 1/(e^eps + 1) the other one."""

    eps: float
    flip: randomness.Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checks.settle(self, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, flip=randomness.flip_chance(self.eps))

    values = 2

    def draw(self, value: int, entropy: randomness.Entropy) -> int:
        """The bit or its opposite, from 8 bytes of entropy."""
        return checks.private_integer("value", value, below=2) ^ self.flip.happens(entropy)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBitMean(OneNoisyBit):
    """A report is one bit: 1 with probability u/(values-1) for a value u, and then flipped with 1/(e^eps + 1).

    The rounding is drawn for every report, and nothing but the report is kept: a kept rounding would be a bit to
    follow people by. Only the mean can be estimated. Values stand for numbers at equal distances. The two ends of
    the range are rounded to different bits. Values between them are mixtures, and reveal less.
    """

    values: int
    eps: float
    flip: randomness.Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = checks.integer("values", self.values, low=2, high=MOST_VALUES)
        checks.settle(self, values=values, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, flip=randomness.flip_chance(self.eps))

    def draw(self, value: int, entropy: randomness.Entropy) -> int:
        """A report. The rounding takes 8 bytes of entropy or more, and then the noise 8 bytes."""
        value = checks.private_integer("value", value, below=self.values)
        rounded = randomness.below(self.values - 1, entropy) < value
        return int(rounded ^ self.flip.happens(entropy))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelection:
    """A report is a set of `size` (d) of the `values` (k). Sets with the true value are e^eps times as likely.

    The set misses the value with probability (k-d)/(d·e^eps + k-d). Its other elements are uniform. By default the
    size is the one with the smallest variance, about k/(e^eps + 1). A report is the set as a mask, with bit i for
    value i.
    """

    values: int
    eps: float
    size: int = 0
    miss: randomness.Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = checks.integer("values", self.values, low=2, high=LARGEST_SET)
        eps = checks.epsilon("eps", self.eps)
        size = checks.integer("size", self.size, low=0, high=values - 1) or best_size(values, eps)
        checks.settle(self, values=values, eps=eps, size=size, miss=randomness.flip_chance(eps, values, size))
        if self.odds[0] <= self.odds[1]:
            raise ValueError(
                f"eps is too small for {values} values and sets of {size}: reports reveal nothing, got {eps}"
            )

    @property
    def report_bits(self) -> int:
        return self.values

    @property
    def odds(self) -> tuple[int, int]:
        """The odds of a set with the value against one without it, as two integers: the exact e^eps."""
        missed = self.miss.threshold
        return (randomness.WHOLE - missed) * (self.values - self.size), missed * self.size

    def draw(self, value: int, entropy: randomness.Entropy) -> int:
        """A report: 8 bytes decide whether the set misses the value, and then each other element is drawn."""
        value = checks.private_integer("value", value, below=self.values)
        missed = self.miss.happens(entropy)
        others = randomness.draw_subset(self.size - (not missed), self.values - 1, entropy)
        lower = others & ((1 << value) - 1)
        return (others >> value) << (value + 1) | (not missed) << value | lower

    def possible(self, report: int) -> bool:
        """Whether this can be a report: it must be a set of the right size."""
        return 0 <= report < 1 << self.values and report.bit_count() == self.size

    def largest_loss(self) -> float:
        """The log of the odds of a set with the value and of one without it, rounded up."""
        return randomness.log_ratio_upper(*self.odds)


def best_size(values: int, eps: float) -> int:
    """The size with the smallest variance: k/(e^eps + 1), rounded up or down."""
    ideal = values / (math.exp(min(eps, 700.0)) + 1)
    sizes = {min(values - 1, max(1, rounded)) for rounded in (math.floor(ideal), math.ceil(ideal))}
    return min(sorted(sizes), key=lambda size: _variance(values, size, eps))


def _variance(values: int, size: int, eps: float) -> float:
    """The variance of one report's contribution to the estimate of a value that its sender does not hold."""
    there = size / (size + (values - size) * math.exp(-eps))
    elsewhere = (size - there) / (values - 1)
    # The gap is there - elsewhere, written so that it does not cancel.
    gap = there * (values - size) * -math.expm1(-eps) / (values - 1)
    return elsewhere * (1 - elsewhere) / gap**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A report is one bit, which is always 0. There is one value, so nothing about it can be learned: eps is 0."""

    values = 1
    report_bits = 1

    def draw(self, value: int, entropy: randomness.Entropy) -> int:
        """0, without any entropy."""
        return checks.private_integer("value", value, below=1)

    def possible(self, report: int) -> bool:
        return report == 0

    def largest_loss(self) -> float:
        return 0.0
