"""The exact likelihood of reports that are drawn from a few stored ones.

A client fills L slots once, independently; a slot holds the report r with probability π(r). Every report that it
sends comes from a slot drawn uniformly. Equal reports may or may not come from the same slot: n equal reports use j
slots in S(n, j) ways (Stirling numbers of the second kind), each slot with probability π(r). J slots in all can be
chosen in L·(L-1)…(L-J+1) of the L^k ways. So the likelihood of k reports is linear in the coefficients of

    A(x) = Π over distinct reports r of Σ_j S(n_r, j)·π(r)^j·x^j.

The likelihood of two people's reports together is bilinear in their coefficients, if they share no report.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_PAIRS = 1 << 18
"""The number of pairs of rows that are compared at a time."""

FloatArray = NDArray[np.float64]
Identities = NDArray[np.int64]
"""One number per report, people × reports. Equal reports have equal numbers."""


def log_likelihood(reports: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """The log probability of each row. `log_chance` is ln π of every identity."""
    if slots == 1:
        return np.where((reports == reports[:, :1]).all(axis=1), log_chance[reports[:, 0]], -np.inf)
    from scipy.special import logsumexp

    weights = _log_weights(reports.shape[1], slots)
    rows = [_Row.of(row, log_chance) for row in reports]
    return np.array([logsumexp(row.ways + weights) + row.log_chance for row in rows])


def link_scores(first: Identities, second: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """ln(one person/two people) for every pair of rows, exact.

    Most pairs share no report. Their scores are one product of matrices, Σ a_i·b_j·(L)_(i+j)/((L)_i·(L)_j), where
    a and b are the laws of the numbers of slots behind the two rows, and (L)_i = L·(L-1)…(L-i+1). Pairs that share
    reports are grouped by pattern: how many of their reports, of each probability, occur how often. Each pattern is
    computed once.
    """
    if slots == 1:
        steady = np.outer(*((side == side[:, :1]).all(axis=1) for side in (first, second)))
        same = steady & (first[:, :1] == second[:, 0][None, :])
        return np.where(same, -log_chance[first[:, :1]], -np.inf)
    from scipy.special import logsumexp

    left, right = ([_Row.of(row, log_chance) for row in reports] for reports in (first, second))
    sizes = first.shape[1], second.shape[1]
    alone, laws = [], []
    for side, size in ((left, sizes[0]), (right, sizes[1])):
        terms = np.array([row.ways for row in side]) + _log_weights(size, slots)
        alone.append(logsumexp(terms, axis=1))
        laws.append(np.exp(terms - alone[-1][:, None]))
    falling = _log_falling(sum(sizes), slots)
    taken = [np.arange(size + 1) for size in sizes]
    with np.errstate(divide="ignore", invalid="ignore"):
        both_taken = falling[np.add.outer(*taken)]
        free = both_taken - falling[taken[0]][:, None] - falling[taken[1]][None, :]
        free = np.where(np.isneginf(both_taken), -np.inf, free)
        scores: FloatArray = np.log(laws[0] @ np.exp(free) @ laws[1].T)
    chances, kind = np.unique(log_chance, return_inverse=True)
    together = _log_weights(sum(sizes), slots)
    given = [
        ends + np.array([row.log_chance for row in rows]) for ends, rows in zip(alone, (left, right), strict=True)
    ]
    some = max(1, _PAIRS // max(1, len(right)))
    for start in range(0, len(left), some):
        for (rows, columns), pattern in _shared(first[start : start + some], second, kind.reshape(-1)):
            both = _Row.from_pattern(pattern, chances, sum(sizes))
            joint = logsumexp(both.ways + together) + both.log_chance
            scores[start + rows, columns] = joint - given[0][start + rows] - given[1][columns]
    return scores


def _shared(
    first: Identities, second: Identities, kind: Identities
) -> Iterator[tuple[tuple[Identities, Identities], dict[tuple[int, int], int]]]:
    """Pairs of rows with a report in common, by pattern.

    A pattern maps (kind, n) to the number of distinct reports of that kind that occur n times in the pair.
    """
    counts = [_counts(reports, kind.size) for reports in (first, second)]
    common = counts[0].astype(np.bool_).astype(np.int32) @ counts[1].astype(np.bool_).astype(np.int32).T
    rows, columns = common.nonzero()
    if rows.size == 0:
        return
    # A report that is on one side only counts by itself. Reports on both sides are subtracted there, and counted
    # with the sum of their two numbers.
    largest = [int(side.max()) for side in counts]
    features, found = [], []
    for k in np.unique(kind[np.unique(np.concatenate((first.reshape(-1), second.reshape(-1))))]):
        mine = [side[:, np.flatnonzero(kind == k)] for side in counts]
        exactly = [[_equal(side, n) for n in range(1, most + 1)] for side, most in zip(mine, largest, strict=True)]
        on_both = {
            (a, b): _at(exactly[0][a - 1] @ exactly[1][b - 1].T, rows, columns)
            for a in range(1, largest[0] + 1)
            for b in range(1, largest[1] + 1)
        }
        for n in range(1, sum(largest) + 1):
            total = np.zeros(rows.size, dtype=np.int64)
            if n <= largest[0]:
                total += np.asarray(exactly[0][n - 1].sum(axis=1)).reshape(-1)[rows]
                total -= sum(on_both[n, b] for b in range(1, largest[1] + 1))
            if n <= largest[1]:
                total += np.asarray(exactly[1][n - 1].sum(axis=1)).reshape(-1)[columns]
                total -= sum(on_both[a, n] for a in range(1, largest[0] + 1))
            total += sum(pairs for (a, b), pairs in on_both.items() if a + b == n)
            if total.any():
                features.append((int(k), n))
                found.append(total)
    table = np.array(found)
    order = np.lexsort(table)
    new = (table[:, order[1:]] != table[:, order[:-1]]).any(axis=0)
    for part in np.split(order, np.flatnonzero(new) + 1):
        numbers = zip(features, table[:, part[0]], strict=True)
        yield (rows[part], columns[part]), {feature: int(number) for feature, number in numbers if number}


def _counts(reports: Identities, identities: int) -> "csc_array":
    """The number of times that each row has each report."""
    from scipy.sparse import csc_array

    people = np.repeat(np.arange(reports.shape[0]), reports.shape[1])
    ones = np.ones(people.size, dtype=np.int32)
    return csc_array((ones, (people, reports.reshape(-1))), shape=(reports.shape[0], identities))


def _equal(counts: "csc_array", number: int) -> "csc_array":
    """1 where a count equals this number, which is not 0."""
    same = counts.copy()
    same.data = (same.data == number).astype(np.int32)
    return same


def _at(table: Any, rows: Identities, columns: Identities) -> Identities:
    return np.asarray(table.toarray()[rows, columns], dtype=np.int64)


class _Row:
    """Logarithms of the coefficients of A(x) up to x^k, divided by Π π(r). `log_chance` is ln Π π(r)."""

    __slots__ = ("log_chance", "ways")

    def __init__(self, groups: Iterable[tuple[float, int, int]], reports: int) -> None:
        """Each group is a log probability, a count, and the number of distinct reports with both."""
        self.log_chance, self.ways = 0.0, np.full(reports + 1, -np.inf)
        self.ways[0] = 0.0
        for chance, count, number in groups:
            self.log_chance += number * chance
            if count == 1:
                self.ways = np.concatenate((np.full(number, -np.inf), self.ways))[: reports + 1]
                continue
            # These are the logarithms of the coefficients of x, x², ….
            group = _log_stirling(count)[1:] + np.arange(count) * chance
            for _ in range(number):
                self.ways = _times(self.ways, group)

    @staticmethod
    def of(reports: Identities, log_chance: FloatArray) -> "_Row":
        """The coefficients for one row of reports."""
        distinct, counts = np.unique(reports, return_counts=True)
        groups = ((float(log_chance[r]), int(count), 1) for r, count in zip(distinct, counts, strict=True))
        return _Row(groups, reports.size)

    @staticmethod
    def from_pattern(pattern: dict[tuple[int, int], int], chances: FloatArray, reports: int) -> "_Row":
        """The coefficients for a pattern."""
        groups = ((float(chances[kind]), count, number) for (kind, count), number in pattern.items())
        return _Row(groups, reports)


def _times(ways: FloatArray, group: FloatArray) -> FloatArray:
    """The coefficients of the product with Σ e^(group_j)·x^(j+1), cut off where `ways` ends."""
    product = np.full(ways.size, -np.inf)
    for j, log in enumerate(group[: ways.size - 1]):
        np.logaddexp(product[j + 1 :], ways[: ways.size - j - 1] + log, out=product[j + 1 :])
    return product


@lru_cache(maxsize=1024)
def _log_stirling(n: int) -> FloatArray:
    """Ln S(n, 0) … ln S(n, n)."""
    row = np.zeros(1)
    for size in range(1, n + 1):
        longer = np.full(size + 1, -np.inf)
        longer[1:] = row
        with np.errstate(divide="ignore"):
            np.logaddexp(longer[:-1], row + np.log(np.arange(size)), out=longer[:-1])
        row = longer
    return row


def _log_falling(draws: int, slots: int) -> FloatArray:
    """Ln (L!/(L-J)!/L^J) for J = 0 … k."""
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(0.0, 1 - np.arange(draws) / slots))
    return np.concatenate(([0.0], np.cumsum(steps)))


def _log_weights(draws: int, slots: int) -> FloatArray:
    """Ln (L!/(L-J)!/L^k) for J = 0 … k."""
    weights: FloatArray = _log_falling(draws, slots) - (draws - np.arange(draws + 1)) * np.log(slots)
    return weights
