"""Scores that say which value is behind a client's reports, learned from clients whose value is known."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2

from untrackable.auditing.evidence.report_streams import FEW, Streams

FloatArray = NDArray[np.float64]

_BINS = 12
"""If a bit has more different shares of ones than this, they are put into bins of about equal weight."""

_CHANCE = 0.01
"""A bit is left out if chance makes such a difference between the values at least this often."""


class Scorer(Protocol):
    """A model that gives log-likelihoods, clients × values."""

    def __call__(self, sample: Streams) -> FloatArray:
        """Score every client."""


class BitShares:
    """Naive Bayes on how often each bit is 1, with a table of probabilities for each bit.

    It needs no model of the noise. Even what never happens with a value has a cell in the table.
    """

    def __init__(self, fit: Sequence[Streams]) -> None:
        means = [sample.means() for sample in fit]
        together = np.concatenate(means)
        self._edges, self._tables = [], []
        for bit in range(together.shape[1]):
            edges = _edges(together[:, bit])
            cells = [np.bincount(np.searchsorted(edges, m[:, bit]), minlength=edges.size + 1) for m in means]
            counts = np.array(cells, dtype=np.float64)
            self._edges.append(edges)
            self._tables.append(_log_shares(counts) if _differ(counts) else np.zeros(counts.shape))

    def __call__(self, sample: Streams) -> FloatArray:
        """The sum over all bits."""
        means = sample.means()
        total = np.zeros((means.shape[0], self._tables[0].shape[0]))
        for bit, (edges, table) in enumerate(zip(self._edges, self._tables, strict=True)):
            if table.any():
                total += table[:, np.searchsorted(edges, means[:, bit])].T
        return total


class IndependentBits:
    """A model of independent reports with independent bits, whose probabilities depend on the value.

    If `by_kind`, they also depend on the report's kind, such as its cohort.
    """

    def __init__(self, fit: Sequence[Streams], *, by_kind: bool) -> None:
        self._by_kind = by_kind
        counted = [self._counts(sample) for sample in fit]
        ones = np.array([one.sum(axis=1) for one, _ in counted])
        total = np.array([every.sum(axis=1) for _, every in counted])[:, :, None]
        self._laws = (ones + 0.5) / (total + 1)

    def __call__(self, sample: Streams) -> FloatArray:
        """Log-likelihood of all reports."""
        score = np.zeros((sample.tokens.shape[0], self._laws.shape[0]))
        for kind, (ones, every) in enumerate(zip(*self._counts(sample), strict=True)):
            laws = self._laws[:, kind]
            score += ones @ np.log(laws).T + (every[:, None] - ones) @ np.log1p(-laws).T
        return score

    def _counts(self, sample: Streams) -> tuple[FloatArray, FloatArray]:
        """For each kind and client, how often each bit is 1, and the number of reports."""
        if not self._by_kind:
            ones = sample.bits.sum(axis=1, dtype=np.float64)[None]
            return ones, np.full(ones.shape[:2], float(sample.tokens.shape[1]))
        masks = [sample.kinds == kind for kind in range(sample.of_kinds)]
        ones = np.array([(sample.bits * mask[:, :, None]).sum(axis=1, dtype=np.float64) for mask in masks])
        return ones, np.array([mask.sum(axis=1, dtype=np.float64) for mask in masks])


class ReportFrequencies:
    """A model in which reports are independent. Each of the few possible reports has its own probability."""

    def __init__(self, fit: Sequence[Streams]) -> None:
        sent = np.array([sample.frequencies().sum(axis=0) * sample.tokens.shape[1] for sample in fit])
        self._logs = _log_shares(sent)

    def __call__(self, sample: Streams) -> FloatArray:
        """Log-likelihood of all reports."""
        return np.asarray(sample.frequencies() @ self._logs.T * sample.tokens.shape[1])


class FirstReport:
    """Another score, applied to the first report alone."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def __call__(self, sample: Streams) -> FloatArray:
        """Score every client."""
        return self._scorer(sample.between(0, 1))


def scorers(fit: Sequence[Streams]) -> dict[str, Scorer]:
    """Every score that applies, by name."""
    reports = fit[0].tokens.shape[1]
    found: dict[str, Scorer] = {
        "how often each bit is 1": BitShares(fit),
        "bits as independent coins": IndependentBits(fit, by_kind=False),
    }
    if fit[0].of_kinds > 1:
        found["bits of each kind of report"] = IndependentBits(fit, by_kind=True)
    if fit[0].distinct <= FEW:
        found["how often each report is sent"] = ReportFrequencies(fit)
    if reports > 1:
        alone = scorers([sample.between(0, 1) for sample in fit])
        found.update({f"{name}, first report alone": FirstReport(scorer) for name, scorer in alone.items()})
    return found


def _edges(shares: FloatArray) -> FloatArray:
    """The edges between bins: a bin for each share if there are few, else bins of equal weight and two extremes."""
    levels = np.unique(shares)
    if levels.size > _BINS:
        inner = np.quantile(shares, np.linspace(0, 1, _BINS - 1))
        levels = np.unique(np.concatenate([levels[:1], inner, levels[-1:]]))
        cuts = (levels[1:] + levels[:-1]) / 2
        ends = np.unique(shares)[[0, 1, -2, -1]]
        return np.unique(np.concatenate([[ends[:2].mean()], cuts, [ends[2:].mean()]]))
    return np.asarray((levels[1:] + levels[:-1]) / 2)


def _log_shares(counts: FloatArray) -> FloatArray:
    smooth = counts + 0.5
    return np.asarray(np.log(smooth / smooth.sum(axis=1, keepdims=True)))


def _differ(counts: FloatArray) -> bool:
    """Whether the tables of the values differ by more than chance, by the likelihood-ratio statistic."""
    pooled = counts.sum(axis=0) / counts.sum()
    expected = counts.sum(axis=1, keepdims=True) * pooled
    statistic = 2 * float((xlogy(counts, counts) - xlogy(counts, np.where(expected > 0, expected, 1))).sum())
    free = (np.count_nonzero(pooled) - 1) * (counts.shape[0] - 1)
    return free > 0 and statistic > float(chi2.isf(_CHANCE, free))
