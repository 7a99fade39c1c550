"""How similar the reports of two windows are. An observer can compute this without knowing the mechanism."""

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
"""Larger correlations are lowered to this one. Otherwise a single bit could decide alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The reports of each person in one window.

    `counts` has the number of reports of each person. `means` (people × bits) says how often each bit is 1.
    `tokens` (people × different reports) says how often each report was sent. Both windows have the same columns.
    """

    counts: NDArray[np.int64]
    means: FloatArray
    tokens: csr_array

    def take(self, people: Index) -> "Window":
        """The window of some of the people."""
        return Window(self.counts[people], self.means[people], self.tokens[people])


def halves(sample: Streams) -> tuple[Window, Window]:
    """Two windows: the first half of each client's reports, and the rest."""
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
    """A score for a person in the first window and a person in the second. A higher score means more alike."""

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """The scores of row i of the first window against row i of the second."""


class Repeats:
    """The share of reports that are exactly equal in both windows. If `rare`, rarer reports count for more."""

    def __init__(self, fit: Sequence[Window], *, rare: bool) -> None:
        seen = np.sum([window.tokens.sum(axis=0) for window in fit], axis=0, dtype=np.float64).reshape(-1)
        self._weights = np.log((np.sum(seen) + seen.size) / (seen + 1)) if rare else np.ones(seen.size)

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """The weighted number of common reports, divided by the smaller number of reports."""
        common = first.tokens.minimum(second.tokens)
        return np.asarray(common @ self._weights / np.minimum(first.counts, second.counts))


class Agreement:
    """Minus the mean squared difference of how often each bit is 1."""

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """The scores; 0 if the means are equal."""
        return np.asarray(-np.square(first.means - second.means).mean(axis=1))


class LearnedAgreement:
    """Naive Bayes, bit by bit: correlated normals for one person against independent ones for two people.

    People with reports in both windows give each bit's mean and spread in each window, and its correlation ρ
    between the windows. The score is Σ ln(density with ρ / density with 0).
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
        """The log-likelihood ratios of the model."""
        left, right, rho = self._scaled(first, 0), self._scaled(second, 1), self._rho
        squares = rho**2 / (2 * (1 - rho**2))
        score = (left * right) @ (rho / (1 - rho**2)) - (left**2 + right**2) @ squares
        return np.asarray(score - np.log1p(-(rho**2)).sum() / 2)

    def _scaled(self, window: Window, which: int) -> FloatArray:
        kept = self._varying
        return np.asarray((window.means[:, kept] - self._centres[which][kept]) / self._spreads[which][kept])


def similarities(first: Window, second: Window) -> dict[str, Similarity]:
    """Every similarity by name. Those that need fitting are fitted to these people."""
    fit = (first, second)
    return {
        "exact repeats": Repeats(fit, rare=False),
        "repeats of rare reports": Repeats(fit, rare=True),
        "agreement of bits": Agreement(),
        "learned agreement of bits": LearnedAgreement(fit),
    }
