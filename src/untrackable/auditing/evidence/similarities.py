"""How similar the reports of two windows are: what an observer can use without knowing the mechanism."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from untrackable.auditing.evidence.report_streams import Streams

Index = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_STRONGEST = 0.999
"""Larger correlations are lowered to this one, so that no single bit decides alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The reports of each person in one window.

    `counts`: reports per person. `means`: people × bits, how often each bit is 1. `tokens`: people × different
    reports, how often each was sent; columns mean the same in both windows.
    """

    counts: NDArray[np.int64]
    means: FloatArray
    tokens: csr_array

    def take(self, people: Index) -> "Window":
        """Some of the people."""
        return Window(self.counts[people], self.means[people], self.tokens[people])


def halves(sample: Streams) -> tuple[Window, Window]:
    """The first half of each client's reports as one window and the rest as the other."""
    reports = sample.tokens.shape[1]
    middle = (reports + 1) // 2
    return _window(sample.between(0, middle)), _window(sample.between(middle, reports))


def _window(part: Streams) -> Window:
    clients, reports = part.tokens.shape
    rows = np.repeat(np.arange(clients), reports)
    shape = (clients, part.distinct)
    tokens = csr_array((np.ones(rows.size), (rows, part.tokens.reshape(-1))), shape=shape)
    tokens.sum_duplicates()
    return Window(np.full(clients, reports, dtype=np.int64), part.means(), tokens)


class Similarity(Protocol):
    """A score for pairs (person i in the first window, person j in the second); higher is more alike."""

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """Scores of row against row."""


class Repeats:
    """Share of reports that are exactly equal in both windows; rarer reports count for more if `rare`."""

    def __init__(self, fit: Sequence[Window], *, rare: bool) -> None:
        seen = np.sum([window.tokens.sum(axis=0) for window in fit], axis=0, dtype=np.float64).reshape(-1)
        self._weights = np.log((np.sum(seen) + seen.size) / (seen + 1)) if rare else np.ones(seen.size)

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """Weighted size of the common part, over the smaller number of reports."""
        common = first.tokens.minimum(second.tokens)
        return np.asarray(common @ self._weights / np.minimum(first.counts, second.counts))


class Agreement:
    """Mean squared difference of how often each bit is 1, with its sign changed."""

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """0 for equal means."""
        return np.asarray(-np.square(first.means - second.means).mean(axis=1))


class LearnedAgreement:
    """Naive Bayes, bit by bit: correlated normals (one person) against independent ones (two people).

    Learned from people seen in both windows: each bit's mean and spread in each window, and its correlation
    between them, ρ; the score is Σ ln(density with ρ / density with 0).
    """

    def __init__(self, fit: Sequence[Window]) -> None:
        self._centres = [window.means.mean(axis=0) for window in fit]
        spreads = [window.means.std(axis=0) for window in fit]
        self._varying = np.flatnonzero((spreads[0] > 0) & (spreads[1] > 0))
        self._spreads = spreads
        left, right = self._scaled(fit[0], 0), self._scaled(fit[1], 1)
        people = max(1, left.shape[0])
        rho = np.clip((left * right).mean(axis=0), 0, _STRONGEST)
        self._rho = np.where(rho > 2 / np.sqrt(people), rho, 0.0)

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """Log-likelihood ratio of the model."""
        left, right, rho = self._scaled(first, 0), self._scaled(second, 1), self._rho
        squares = rho**2 / (2 * (1 - rho**2))
        score = (left * right) @ (rho / (1 - rho**2)) - (left**2 + right**2) @ squares
        return np.asarray(score - np.log1p(-(rho**2)).sum() / 2)

    def _scaled(self, window: Window, which: int) -> FloatArray:
        kept = self._varying
        return np.asarray((window.means[:, kept] - self._centres[which][kept]) / self._spreads[which][kept])


def similarities(first: Window, second: Window) -> dict[str, Similarity]:
    """Every similarity, fitted where it needs fitting to people of whom both windows are given."""
    fit = (first, second)
    return {
        "exact repeats": Repeats(fit, rare=False),
        "repeats of rare reports": Repeats(fit, rare=True),
        "agreement of bits": Agreement(),
        "learned agreement of bits": LearnedAgreement(fit),
    }
