"""The exact likelihood of reports that are replayed from a few stored executions.

L executions are drawn once, independently, each being the report r with probability π(r); every report is one of
them, drawn uniformly. Reports that are equal may or may not come from the same execution: n equal reports use j
executions in S(n, j) ways (Stirling numbers of the second kind), each π(r) likely, and J executions in all can be
chosen in L·(L-1)…(L-J+1) of the L^k ways. So the likelihood of k reports is linear in the coefficients of

    A(x) = Π over distinct reports r of Σ_j S(n_r, j)·π(r)^j·x^j,

and that of two users' reports together, when they share none, is bilinear in their coefficients.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

_PAIRS = 1 << 18
"""Pairs of rows whose patterns are told apart at a time."""

FloatArray = NDArray[np.float64]
Identities = NDArray[np.int64]
"""One number per report, equal for equal reports: people × reports."""


def log_likelihood(reports: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """Log probability of each row, `log_chance` being ln π of every identity."""
    rows = [_Row.of(row, log_chance) for row in reports]
    weights = _weights(reports.shape[1], slots)
    with np.errstate(divide="ignore"):
        return np.array([np.log(row.ways @ weights[: row.ways.size]) + row.log_chance for row in rows])


def link_scores(first: Identities, second: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """ln(one user/two users) for every pair of rows, exact.

    Most pairs share no report, and all at once are a product of matrices. What others share matters only through
    how many of their reports, of each probability, occur how often; each such pattern is worked out once.
    """
    left, right = ([_Row.of(row, log_chance) for row in reports] for reports in (first, second))
    together = _weights(first.shape[1] + second.shape[1], slots)
    ways, others = (np.array([row.ways for row in rows]) for rows in (left, right))
    joint = together[np.add.outer(np.arange(ways.shape[1]), np.arange(others.shape[1]))]
    alone = ways @ _weights(first.shape[1], slots), others @ _weights(second.shape[1], slots)
    with np.errstate(divide="ignore"):
        scores: FloatArray = np.log(ways @ joint @ others.T)
        chances, kind = np.unique(log_chance, return_inverse=True)
        logs = [np.array([row.log_chance for row in rows]) for rows in (left, right)]
        some = max(1, _PAIRS // max(1, len(right)))
        for start in range(0, len(left), some):
            for (rows, columns), pattern in _shared(first[start : start + some], second, kind.reshape(-1)):
                both = _Row.from_pattern(pattern, chances, together.size - 1)
                apart = logs[0][start + rows] + logs[1][columns]
                scores[start + rows, columns] = np.log(both.ways @ together) + both.log_chance - apart
        return scores - np.log(alone[0])[:, None] - np.log(alone[1])[None, :]


def _shared(
    first: Identities, second: Identities, kind: Identities
) -> Iterator[tuple[tuple[Identities, Identities], dict[tuple[int, int], int]]]:
    """Pairs of rows with a report in common, by pattern: how many reports of each kind occur so often in both."""
    counts = [_counts(reports, kind.size) for reports in (first, second)]
    common = counts[0].astype(np.bool_).astype(np.int32) @ counts[1].astype(np.bool_).astype(np.int32).T
    rows, columns = common.nonzero()
    if rows.size == 0:
        return
    # Only kinds of reports that occur on both sides make a difference; those of one side are counted with them.
    largest = [int(side.max()) for side in counts]
    features, found = [], []
    for k in np.unique(kind[np.unique(np.concatenate((first.reshape(-1), second.reshape(-1))))]):
        mine = [side[:, np.flatnonzero(kind == k)] for side in counts]
        exactly = [[_equal(side, n) for n in range(1, most + 1)] for side, most in zip(mine, largest, strict=True)]
        seen = {
            (a, b): _at(exactly[0][a - 1] @ exactly[1][b - 1].T, rows, columns)
            for a in range(1, largest[0] + 1)
            for b in range(1, largest[1] + 1)
        }
        for n in range(1, sum(largest) + 1):
            total = np.zeros(rows.size, dtype=np.int64)
            if n <= largest[0]:
                total += np.asarray(exactly[0][n - 1].sum(axis=1)).reshape(-1)[rows]
                total -= sum(seen[n, b] for b in range(1, largest[1] + 1))
            if n <= largest[1]:
                total += np.asarray(exactly[1][n - 1].sum(axis=1)).reshape(-1)[columns]
                total -= sum(seen[a, n] for a in range(1, largest[0] + 1))
            total += sum(pairs for (a, b), pairs in seen.items() if a + b == n)
            if total.any():
                features.append((int(k), n))
                found.append(total)
    table = np.array(found)
    order = np.lexsort(table)
    new = (table[:, order[1:]] != table[:, order[:-1]]).any(axis=0)
    for part in np.split(order, np.flatnonzero(new) + 1):
        met = {feature: int(number) for feature, number in zip(features, table[:, part[0]], strict=True) if number}
        yield (rows[part], columns[part]), met


def _counts(reports: Identities, identities: int) -> csc_array:
    """How often each row has each report."""
    people = np.repeat(np.arange(reports.shape[0]), reports.shape[1])
    ones = np.ones(people.size, dtype=np.int32)
    return csc_array((ones, (people, reports.reshape(-1))), shape=(reports.shape[0], identities))


def _equal(counts: csc_array, number: int) -> csc_array:
    """1 where a count is this, which is not 0."""
    same = counts.copy()
    same.data = (same.data == number).astype(np.int32)
    return same


def _at(table: Any, rows: Identities, columns: Identities) -> Identities:
    return np.asarray(table.toarray()[rows, columns], dtype=np.int64)


class _Row:
    """Coefficients of A(x) up to x^k, divided by Π π(r), whose logarithm is kept apart."""

    __slots__ = ("log_chance", "ways")

    def __init__(self, groups: Iterable[tuple[float, int, int]], reports: int) -> None:
        """From groups of so many distinct reports of a log probability, each occurring so often."""
        self.log_chance, self.ways = 0.0, np.zeros(reports + 1)
        self.ways[0] = 1.0
        for chance, count, number in groups:
            self.log_chance += number * chance
            if count == 1:
                self.ways = np.concatenate((np.zeros(number), self.ways))[: reports + 1]
                continue
            group = np.array(_stirling(count)) * np.exp(np.arange(-1, count) * chance)
            group[0] = 0.0
            for _ in range(number):
                self.ways = np.convolve(self.ways, group)[: reports + 1]

    @staticmethod
    def of(reports: Identities, log_chance: FloatArray) -> "_Row":
        """Of the reports themselves."""
        distinct, counts = np.unique(reports, return_counts=True)
        groups = ((float(log_chance[r]), int(count), 1) for r, count in zip(distinct, counts, strict=True))
        return _Row(groups, reports.size)

    @staticmethod
    def from_pattern(pattern: dict[tuple[int, int], int], chances: FloatArray, reports: int) -> "_Row":
        """Of how many reports of each kind occur how often."""
        groups = ((float(chances[kind]), count, number) for (kind, count), number in pattern.items())
        return _Row(groups, reports)


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
