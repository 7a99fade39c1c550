"""How much weight each string gets among all that could be held: the tests of all strings share one error rate.

Lengths are equally likely, and so are the strings of a length: a string of l of q symbols has weight q^-l/(number
of lengths), and all weights sum to one. So a short word has to stand out less than a long one: there are fewer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.discovered_strings import DiscoveredStrings

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """Weights of strings and of prefixes.

    A prefix of m symbols either has its end within, and is a whole string of fewer than m symbols, or is open.
    """

    symbols: int
    shortest: int
    longest: int

    @staticmethod
    def of(encoding: DiscoveredStrings) -> "Space":
        """Of what an encoding takes."""
        return Space(encoding.symbols, encoding.shortest, encoding.longest)

    def string(self, length: int) -> float:
        """The weight of one string of so many symbols."""
        return float(self.symbols) ** -length / (self.longest - self.shortest + 1)

    def prefix(self, length: int) -> float:
        """The weight of all strings that begin with given `length` symbols."""
        lengths = self.longest - max(self.shortest, length) + 1
        return float(self.symbols) ** -length * lengths / (self.longest - self.shortest + 1)

    def weights(self, size: int) -> FloatArray:
        """Of prefixes of `size` symbols: entry l is for one that ends after l of them, the last for an open one."""
        ended = [self.string(length) if length >= self.shortest else 0.0 for length in range(size)]
        return np.array([*ended, self.prefix(size)])
