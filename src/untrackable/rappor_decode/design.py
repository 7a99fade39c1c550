"""The regression that is solved: shares of people by cohort and bit, and the bits that each candidate sets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import lsqr

from untrackable.errors import DecodeError
from untrackable.estimation.aggregators import FloatArray
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.rappor_decode.candidate_map import CandidateMap
from untrackable.rappor_decode.denoising import denoise
from untrackable.rappor_decode.rappor_files import Counts

_ITERATIONS = 200
"""The largest number of iterations to find out whether the candidates cover everything."""
_IN_SPAN = 1e-12
"""They do if a mixture of them equals a column of ones up to this mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A row for each bit of each cohort that has reports, a column for each group of candidates with equal bits.

    `shares` has the share of people who set the bit of each row, with the noise removed; `people` has the number of
    reports that it comes from. `members[g]` are the candidates of column g. `positions[g, c]` are the bits that
    their hashes set in cohort c.
    """

    matrix: csc_array
    shares: FloatArray
    people: FloatArray
    members: tuple[tuple[int, ...], ...]
    bits: int
    rates: tuple[float, float]
    positions: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of reports of all cohorts."""
        return int(self.people[:: self.bits].sum())

    def variances(self, shares: FloatArray) -> FloatArray:
        """The variance of each row if these were the true shares: r(1 - r)/N/(p11 - p01)² for a reported rate r.

        A share counts as no closer to 0 or 1 than one report in a cohort can show.
        """
        one, zero = self.rates
        rate = zero + (one - zero) * np.clip(shares, 0.0, 1.0)
        rate = (rate * self.people + 0.5) / (self.people + 1)
        result: FloatArray = rate * (1 - rate) / self.people / (one - zero) ** 2
        return result

    def noise(self, shares: FloatArray) -> FloatArray:
        """The part of the variances that is due to noise. The rest is due to which people are in which cohort."""
        one, zero = self.rates
        held = np.clip(shares, 0.0, 1.0)
        spread = held * one * (1 - one) + (1 - held) * zero * (1 - zero)
        result: FloatArray = spread / self.people / (one - zero) ** 2
        return result

    def evenly(self) -> FloatArray:
        """The bits that strings outside the list set on average: all bits alike."""
        return np.ones(self.shares.size)

    def mean_of(self, columns: NDArray[np.int64]) -> FloatArray | None:
        """The bits that candidates set on average; None if there are no candidates."""
        if columns.size == 0:
            return None
        mean: FloatArray = self.matrix[:, columns] @ np.full(columns.size, 1 / columns.size)
        return mean

    def covers_everything(self) -> bool:
        """Whether a string that is not listed looks, on average, like a mixture of those that are.

        An example is basic RAPPOR, where each bit is a candidate. Unlisted strings then cannot be recognised.
        """
        rows, columns = self.matrix.shape
        if columns > rows:
            return False
        ones = np.ones(rows)
        mixed = lsqr(self.matrix, ones, atol=1e-12, btol=1e-12, iter_lim=_ITERATIONS)[0]
        return bool(np.sum((ones - self.matrix @ mixed) ** 2) < _IN_SPAN * rows)


def design(params: Rappor, counts: Counts, candidates: CandidateMap) -> Design:
    """Lay out the regression, without cohorts that have no reports."""
    candidates.check(params)
    clear = denoise(params, counts)
    if not candidates.names:
        raise DecodeError("there must be at least one candidate")
    used = np.flatnonzero(counts.reports)
    if used.size == 0:
        raise DecodeError("there are no reports to decode")
    people = counts.reports[used].astype(np.float64)
    bits = params.bloom_bits
    positions = candidates.positions[:, used, :].astype(np.int64)
    rows = positions + (np.arange(used.size) * bits)[None, :, None]
    rows = np.sort(rows.reshape(len(candidates.names), -1), axis=1)
    groups = _groups(rows)
    first = [group[0] for group in groups]
    matrix = _columns(rows[first], used.size * bits)
    shares = (clear.counts[used] / people[:, None]).reshape(-1)
    return Design(matrix, shares, np.repeat(people, bits), groups, bits, params.bit_rates, positions[first])


def _groups(rows: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Candidates that set the same bits, in the order in which they first appear."""
    found: dict[bytes, list[int]] = {}
    for i, row in enumerate(rows):
        first = np.ones(row.size, dtype=np.bool_)
        first[1:] = row[1:] != row[:-1]
        found.setdefault(row[first].tobytes(), []).append(i)
    return tuple(tuple(group) for group in found.values())


def _columns(rows: NDArray[np.int64], height: int) -> csc_array:
    """A matrix of zeros and ones. Two hashes that collide set one bit."""
    starts = np.arange(rows.shape[0] + 1) * rows.shape[1]
    matrix = csc_array((np.ones(rows.size), rows.reshape(-1), starts), shape=(height, rows.shape[0]))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
