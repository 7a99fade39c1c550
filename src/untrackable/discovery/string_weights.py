"""The weight of each possible string: the tests of all strings share one error rate by their weights.

All lengths have the same weight, and so have all strings of a length: a string of l symbols out of q has weight
q^-l/(number of lengths), and all weights sum to one. So a short string has to stand out less than a long one, as
there are fewer of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.discovered_strings import DiscoveredStrings

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StringWeights:
    """Weights of strings and of prefixes.

    A prefix of m symbols is either a whole string of fewer than m symbols, with its end, or open.
    """

    symbols: int
    shortest: int
    longest: int

    @staticmethod
    def of(encoding: DiscoveredStrings) -> "StringWeights":
        """The weights of the strings that an encoding takes."""
        return StringWeights(encoding.symbols, encoding.shortest, encoding.longest)

    def string(self, length: int) -> float:
        """The weight of one string of `length` symbols."""
        return float(self.symbols) ** -length / (self.longest - self.shortest + 1)

    def prefix(self, length: int) -> float:
        """The weight of all strings that begin with the same `length` symbols."""
        lengths = self.longest - max(self.shortest, length) + 1
        return float(self.symbols) ** -length * lengths / (self.longest - self.shortest + 1)

    def prefix_weights(self, size: int) -> FloatArray:
        """Weights of prefixes of `size` symbols: entry l is for an end after l symbols, the last for no end."""
        ended = [self.string(length) if length >= self.shortest else 0.0 for length in range(size)]
        return np.array([*ended, self.prefix(size)])
