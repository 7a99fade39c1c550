"""Reports about all parts of a value at once, each with its part of eps: several questions, divided."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from untrackable import checks
from untrackable.randomizers.inner_product import LARGEST_WIDTH, NoisyInnerProduct
from untrackable.randomizers.randomness import WHOLE, Entropy, log_ratio_upper
from untrackable.randomizers.views import LARGEST_WEIGHT

MOST_PARTS = 8
LARGEST_PART = 16
"""The largest number of bits of a part."""
MOST_BITS = 63
"""The largest number of bits of a value."""
_ROUNDED_DOWN = 1 - 2.0**-50
"""The parts of eps are smaller by this factor, so that rounding never makes them more than eps together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """One noisy inner product about each part of a value, with eps divided over them.

    The first part is the lowest bits of the value; `sizes` are the numbers of bits. The parts' eps are proportional
    to `weights`, and their answers have `widths` bits. A report is the reports about all parts, the first in the
    lowest bits. By sequential composition the parts of eps add up, so a person's eps is that of all parts together.
    """

    sizes: tuple[int, ...]
    eps: float
    weights: tuple[int, ...]
    widths: tuple[int, ...]
    bases: tuple[NoisyInnerProduct, ...] = field(init=False, repr=False, compare=False)

    base_type: ClassVar[type[NoisyInnerProduct]] = NoisyInnerProduct
    """The class of the bases."""

    def __post_init__(self) -> None:
        sizes, eps = checked_sizes(self.sizes), checks.epsilon("eps", self.eps)
        weights = checked_weights(self.weights, sizes)
        widths = _one_each("widths", self.widths, sizes, LARGEST_WIDTH)
        bases = tuple(
            self.base_type(bits=bits, eps=share, width=width)
            for bits, share, width in zip(sizes, shares(eps, weights), widths, strict=True)
        )
        checks.settle(self, sizes=sizes, eps=eps, weights=weights, widths=widths, bases=bases)

    @property
    def values(self) -> int:
        """The number of values, 2^bits."""
        return 1 << sum(self.sizes)

    @property
    def report_bits(self) -> int:
        """Width of the reports about all parts."""
        return sum(base.report_bits for base in self.bases)

    def parts(self, value: int) -> list[int]:
        """The parts of a value."""
        return [
            value >> start & (1 << size) - 1 for start, size in zip(starts(self.sizes), self.sizes, strict=True)
        ]

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. Each part takes entropy in its turn."""
        parts = self.parts(checks.private_integer("value", value, below=self.values))
        report = place = 0
        for base, part in zip(self.bases, parts, strict=True):
            report |= base.draw(part, entropy) << place
            place += base.report_bits
        return report

    def possible(self, report: int) -> bool:
        """Whether this can be a report: every part must be a report of its base."""
        places = starts([base.report_bits for base in self.bases])
        return 0 <= report < 1 << self.report_bits and all(
            base.possible(report >> place & (1 << base.report_bits) - 1)
            for base, place in zip(self.bases, places, strict=True)
        )

    def largest_loss(self) -> float:
        """The sum over all parts, rounded up once."""
        more = math.prod((WHOLE - base.flip.threshold) * ((1 << base.width) - 1) for base in self.bases)
        return log_ratio_upper(more, math.prod(base.flip.threshold for base in self.bases))


def checked_sizes(given: Sequence[int]) -> tuple[int, ...]:
    """The numbers of bits of all parts, after checks."""
    sizes = tuple(checks.integer("a size", size, low=1, high=LARGEST_PART) for size in given)
    if not 2 <= len(sizes) <= MOST_PARTS or sum(sizes) > MOST_BITS:
        raise ValueError(f"sizes must be between 2 and {MOST_PARTS} numbers, at most {MOST_BITS} together")
    return sizes


def checked_weights(given: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """One weight for each part, after checks."""
    return _one_each("weights", given, sizes, LARGEST_WEIGHT)


def shares(eps: float, weights: Sequence[int]) -> list[float]:
    """The eps of each part."""
    return [eps * weight / sum(weights) * _ROUNDED_DOWN for weight in weights]


def starts(sizes: Sequence[int]) -> list[int]:
    """The lowest bit of each part."""
    return [0, *itertools.accumulate(sizes)][:-1]


def _one_each(name: str, given: Sequence[int], sizes: Sequence[int], high: int) -> tuple[int, ...]:
    if len(given) != len(sizes):
        raise ValueError(f"{name} must be one number for each of {len(sizes)} parts, got {len(given)}")
    return tuple(checks.integer(f"one of {name}", number, low=1, high=high) for number in given)
