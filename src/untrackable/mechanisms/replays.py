"""The exact likelihood of reports that are replayed from a few stored executions.

L executions are drawn once, independently, each being the report r with probability π(r); every report is one of
them, drawn uniformly. Reports that are equal may or may not come from the same execution: n equal reports use j
executions in S(n, j) ways (Stirling numbers of the second kind), each π(r) likely, and J executions in all can be
chosen in L·(L-1)…(L-J+1) of the L^k ways. So the likelihood of k reports is linear in the coefficients of

    A(x) = Π over distinct reports r of Σ_j S(n_r, j)·π(r)^j·x^j,

and that of two users' reports together, when they share none, is bilinear in their coefficients.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Identities = NDArray[np.int64]
"""One number per report, equal for equal reports: people × reports."""


def log_likelihood(reports: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """Log probability of each row, `log_chance` being ln π of every identity."""
    rows = [_Row(row, log_chance) for row in reports]
    weights = _weights(reports.shape[1], slots)
    with np.errstate(divide="ignore"):
        return np.array([np.log(row.ways @ weights[: row.ways.size]) + row.log_chance for row in rows])


def link_scores(first: Identities, second: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """ln(one user/two users) for every pair of rows, exact."""
    left, right = ([_Row(row, log_chance) for row in reports] for reports in (first, second))
    together = _weights(first.shape[1] + second.shape[1], slots)
    ways, others = (np.array([row.ways for row in rows]) for rows in (left, right))
    joint = together[np.add.outer(np.arange(ways.shape[1]), np.arange(others.shape[1]))]
    alone = ways @ _weights(first.shape[1], slots), others @ _weights(second.shape[1], slots)
    with np.errstate(divide="ignore"):
        scores: FloatArray = np.log(ways @ joint @ others.T) - np.log(alone[0])[:, None] - np.log(alone[1])[None, :]
        for i, j in _sharing(first, second):
            both = _Row(np.concatenate((first[i], second[j])), log_chance)
            shared = both.log_chance - left[i].log_chance - right[j].log_chance
            scores[i, j] = np.log(both.ways @ together) + shared - np.log(alone[0][i]) - np.log(alone[1][j])
    return scores


def _sharing(first: Identities, second: Identities) -> set[tuple[int, int]]:
    """Pairs of rows that have a report in common."""
    holders: dict[int, list[int]] = {}
    for j, row in enumerate(second.tolist()):
        for report in set(row):
            holders.setdefault(report, []).append(j)
    return {(i, j) for i, row in enumerate(first.tolist()) for report in set(row) for j in holders.get(report, ())}


class _Row:
    """Coefficients of A(x) up to x^k, divided by Π π(r), whose logarithm is kept apart."""

    __slots__ = ("log_chance", "ways")

    def __init__(self, reports: Identities, log_chance: FloatArray) -> None:
        distinct, counts = np.unique(reports, return_counts=True)
        self.log_chance = float(log_chance[distinct].sum())
        self.ways = np.zeros(reports.size + 1)
        self.ways[int((counts == 1).sum())] = 1.0
        for report, count in zip(distinct[counts > 1], counts[counts > 1], strict=True):
            group = np.array(_stirling(int(count))) * np.exp(np.arange(-1, count) * log_chance[report])
            group[0] = 0.0
            self.ways = np.convolve(self.ways, group)[: reports.size + 1]


@lru_cache(maxsize=256)
def _stirling(n: int) -> tuple[float, ...]:
    """S(n, 0) … S(n, n)."""
    row = [1.0]
    for _ in range(n):
        row = [0.0, *(row[j] * j + row[j - 1] for j in range(1, len(row))), 1.0]
    return tuple(row)


def _weights(draws: int, slots: int) -> FloatArray:
    """L!/(L-J)!/L^k for J = 0 … k."""
    used = np.arange(draws + 1)
    with np.errstate(divide="ignore"):
        steps = np.cumsum(np.concatenate(([0.0], np.log(np.maximum(0.0, 1 - used[:-1] / slots)))))
    weights: FloatArray = np.exp(steps - (draws - used) * np.log(slots))
    return weights
