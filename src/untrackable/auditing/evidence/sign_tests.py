"""Two exact sign tests with clients of one value. Does a client keep anything? Do two clients share randomness?

Both tests look at quadruples (a, b; c, d) of rows of numbers and at the sign of ⟨a - c, b - d⟩. It is positive if b
resembles a and d resembles c. Without any such connection, exchanging b and d changes only the sign. The sign is
then a fair coin, whatever the law of the rows. Every client is used once, so the coins are independent.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from untrackable.auditing.evidence.report_streams import Streams

ALARM = 1e-6
"""The largest probability of a false alarm: that a test finds something where there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignTest:
    """The number of quadruples with a positive sign, among those `decided`. `p_value` is exact and one-sided."""

    positive: int
    decided: int
    p_value: float

    @staticmethod
    def of(products: NDArray[np.float64]) -> "SignTest":
        """The test of these products. A product of zero decides nothing."""
        positive, decided = int(np.sum(products > 0)), int(np.count_nonzero(products))
        p = binomtest(positive, decided, alternative="greater").pvalue if decided else 1.0
        return SignTest(positive=positive, decided=decided, p_value=float(p))

    @property
    def found(self) -> bool:
        """Whether the result is hardly due to chance: fair coins give it with probability at most ALARM."""
        return self.p_value <= ALARM

    def as_dict(self) -> dict[str, Any]:
        """The test as JSON data."""
        return {**asdict(self), "found": self.found, "alarm": ALARM}


def persistence(samples: Sequence[Streams], rng: np.random.Generator) -> SignTest:
    """Do the two halves of a client's reports resemble each other more than those of two clients do?"""
    products = []
    for sample in samples:
        clients, reports = sample.tokens.shape
        order = rng.permutation(clients)[: clients // 2 * 2]
        left, right = sample.between(0, reports // 2).means(), sample.between(reports // 2, reports).means()
        a, c = order[::2], order[1::2]
        products.append(((left[a] - left[c]) * (right[a] - right[c])).sum(axis=1))
    return SignTest.of(_cleaned(products))


def sharing(samples: Sequence[Streams]) -> SignTest:
    """Do clients made one right after the other agree, report by report, more than other clients do?"""
    products = []
    for sample in samples:
        pairs = sample.tokens.shape[0] // 2
        for start in range(pairs // 2):
            a, c = 2 * start, 2 * (start + pairs // 2)
            rows = sample.bits[[a, a + 1, c, c + 1]].reshape(4, -1).astype(np.int16)
            products.append(np.array([float(((rows[0] - rows[2]) * (rows[1] - rows[3])).sum())]))
    return SignTest.of(_cleaned(products))


def identical(samples: Sequence[Streams]) -> bool:
    """Whether all clients of a value sent the same reports, although the reports of a client vary."""
    return any(
        bool(np.all(sample.tokens == sample.tokens[0])) and bool(np.any(sample.tokens[0] != sample.tokens[0, 0]))
        for sample in samples
    )


def _cleaned(products: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The products, with 0 for those that differ from 0 only by rounding."""
    together = np.concatenate(products)
    return np.where(np.abs(together) < 1e-9, 0.0, together)
