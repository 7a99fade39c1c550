"""The regression behind decoding: counts without noise, a lasso for a first choice, least squares with tests.

The response is the share of people who have each bit of each cohort set; a candidate is the bits that it sets.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csc_array, csr_array, hstack
from scipy.sparse.linalg import lsqr
from scipy.stats import norm
from scipy.stats import t as student

from untrackable.arrays import FloatArray
from untrackable.errors import DecodeError
from untrackable.mechanisms.rappor import Rappor
from untrackable.progress import Progress, no_progress
from untrackable.rappor_decode.files import CandidateMap, Counts

Indices = NDArray[np.int64]


# --- counts without noise, and the regression -------------------------------------------------------------

_ITERATIONS = 200
"""The largest number of iterations to find out whether the candidates cover everything."""
_IN_SPAN = 1e-12
"""They do if a mixture of them equals a column of ones up to this mean squared error."""


@dataclass(frozen=True, slots=True, eq=False)
class _Denoised:
    """Unbiased counts by cohort and bit, and unbiased variances, given who is in which cohort.

    Neither is cut off: a count may be negative or larger than its cohort, and then so may its variance.
    """

    counts: FloatArray
    variances: FloatArray


def denoise(params: Rappor, counts: Counts) -> _Denoised:
    """Remove the noise: (count - p01·N)/(p11 - p01), with p11 = q(1 - f/2) + p·f/2 and p01 = p(1 - f/2) + q·f/2.

    If t of N people have the bit set, the count has variance t·p11(1 - p11) + (N - t)·p01(1 - p01).
    """
    shape = params.cohorts, params.bloom_bits
    if counts.bits.shape != shape:
        raise DecodeError(
            f"the counts must have {shape[0]} cohorts and {shape[1]} bits, as the parameters do, "
            f"not {counts.bits.shape[0]} and {counts.bits.shape[1]}"
        )
    one, zero = params.bit_rates
    if one == zero:
        raise DecodeError(
            "f must be below 1: with f = 1, reports do not depend on the value, so there is nothing to decode"
        )
    gap = one - zero
    people = counts.reports[:, None].astype(np.float64)
    held = (counts.bits - zero * people) / gap
    variances = (held * one * (1 - one) + (people - held) * zero * (1 - zero)) / gap**2
    return _Denoised(held, variances)


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
        return rate * (1 - rate) / self.people / (one - zero) ** 2

    def noise(self, shares: FloatArray) -> FloatArray:
        """The part of the variances that is due to noise. The rest is due to which people are in which cohort."""
        one, zero = self.rates
        held = np.clip(shares, 0.0, 1.0)
        spread = held * one * (1 - one) + (1 - held) * zero * (1 - zero)
        return spread / self.people / (one - zero) ** 2

    def evenly(self) -> FloatArray:
        """The bits that strings outside the list set on average: all bits alike."""
        return np.ones(self.shares.size)

    def mean_of(self, columns: NDArray[np.int64]) -> FloatArray | None:
        """The bits that candidates set on average; None if there are no candidates."""
        if columns.size == 0:
            return None
        return np.asarray(self.matrix[:, columns] @ np.full(columns.size, 1 / columns.size))

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
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(rows):
        first = np.ones(row.size, dtype=np.bool_)
        first[1:] = row[1:] != row[:-1]
        groups.setdefault(row[first].tobytes(), []).append(i)
    return tuple(tuple(group) for group in groups.values())


def _columns(rows: NDArray[np.int64], height: int) -> csc_array:
    """A matrix of zeros and ones. Two hashes that collide set one bit."""
    starts = np.arange(rows.shape[0] + 1) * rows.shape[1]
    matrix = csc_array((np.ones(rows.size), rows.reshape(-1), starts), shape=(height, rows.shape[0]))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


# --- non-negative lasso with a sparse design: a first choice of candidates --------------------------------

_STEPS = 25
"""The penalty goes down to its goal in this many steps."""
_TOLERANCE = 1e-3
"""The gradient of a candidate that is left out may exceed the penalty by this part of a standard error."""
_SMALLEST = 1e-5
"""Sweeps end when the largest step of one is below this part of a standard error."""
_SOLVED_AFTER = 5
"""The equations of the positive coefficients are solved each time after this many sweeps."""
_SWEEPS = 10_000
"""Sweeps end after this many in any case."""
_AT_ONCE = 256
"""At most this many candidates become active before the active ones are fitted again."""
_FLAT = 1e-9
"""A column whose variance is at most this part of the total weight counts as constant, and is never chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class LassoChoice:
    """The candidates with a positive coefficient, the largest first, and the penalty at which they were chosen."""

    columns: Indices
    coefficients: FloatArray
    penalty: float


@dataclass(frozen=True, slots=True, eq=False)
class WeightedDesign:
    """A design with weights, and products of its columns. With a background β₀, their means are removed."""

    matrix: csc_array
    weights: FloatArray
    background: bool

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def against(self, response: FloatArray) -> FloatArray:
        """The product of each column with a response."""
        heavy = self.weights * response
        if self.background:
            heavy = heavy - self.weights * (heavy.sum() / self.total)
        return self.matrix.T @ heavy

    def gram(self, columns: Indices) -> FloatArray:
        """The products of some columns with each other."""
        part = self.matrix[:, columns]
        heavy = part.multiply(self.weights[:, None])
        product: FloatArray = (part.T @ heavy).toarray()
        if self.background:
            sums = part.T @ self.weights
            product = product - np.outer(sums, sums) / self.total
        return product

    def squares(self) -> FloatArray:
        """The product of each column with itself. With a background, it is 0 for a column of ones."""
        sums: FloatArray = self.matrix.T @ self.weights
        return np.maximum(0.0, sums - sums**2 / self.total) if self.background else sums


def lasso_path(
    design: WeightedDesign,
    response: FloatArray,
    *,
    penalty: float,
    most: int,
    near: LassoChoice | None = None,
    without: int | None = None,
    progress: Progress = no_progress,
) -> LassoChoice:
    """Lower the penalty step by step to `penalty`; stop early where more than `most` candidates would be chosen.

    It minimises ½·Σ w·(y - β₀ - Xβ)² + λ·Σ s_j·β_j over β ≥ 0, where s_j² = Σ w·(x_j - mean)². If w is the inverse
    variance of y, the gradient of a candidate that nobody holds is s_j times a standard normal variable. So λ, the
    penalty, is in standard errors.

    If the solution of a similar problem is given as `near`, start there and go to `penalty` in one step.
    The candidate `without` is never chosen.
    """
    squares = design.squares()
    usable = squares > _FLAT * design.total
    if without is not None:
        usable[without] = False
    scale = np.sqrt(np.where(usable, squares, 1.0))
    toward = design.against(response)
    gradient = np.where(usable, toward, -np.inf) / scale
    highest = float(gradient.max(initial=-np.inf))
    chosen = LassoChoice(np.zeros(0, dtype=np.int64), np.zeros(0), max(highest, penalty))
    if highest <= penalty:
        return chosen
    ends = np.linspace(highest, penalty, _STEPS + 1)[1:] if near is None else np.array([penalty])
    active: Indices = np.zeros(0, dtype=np.int64) if near is None else near.columns
    start = np.zeros(0) if near is None else near.coefficients
    products, gram = toward[active], design.gram(active)
    if active.size:
        rest = response - design.matrix[:, active] @ start
        gradient = np.where(usable, design.against(rest), -np.inf) / scale
    for step, level in enumerate(ends):
        progress("choosing candidates", step / len(ends))
        changed = True
        while True:
            violating = np.flatnonzero(usable & (gradient > level + _TOLERANCE))
            new = np.setdiff1d(violating, active, assume_unique=True)
            if new.size:
                new = new[np.argsort(-gradient[new], kind="stable")[:_AT_ONCE]]
                active, start = np.concatenate((active, new)), np.concatenate((start, np.zeros(new.size)))
                gram, products = design.gram(active), toward[active]
            elif not changed:
                break
            start = _descend(gram, products, level * scale[active], start)
            if np.count_nonzero(start) > most:
                return chosen
            rest = response - design.matrix[:, active] @ start
            gradient = np.where(usable, design.against(rest), -np.inf) / scale
            changed = False
        order = np.argsort(-start, kind="stable")[: np.count_nonzero(start)]
        chosen = LassoChoice(active[order], start[order], float(level))
    return chosen


def _descend(gram: FloatArray, products: FloatArray, penalties: FloatArray, start: FloatArray) -> FloatArray:
    """Cyclic coordinate descent: set each coefficient in turn to its best value, given the others.

    Soon it is clear which coefficients are positive. Then linear equations give their values.
    """
    pulls = products - penalties
    coefficients = start.copy()
    diagonal = np.diagonal(gram).copy()
    scale = np.sqrt(diagonal)
    slack = pulls - gram @ coefficients
    for sweep in range(1, _SWEEPS + 1):
        moved = 0.0
        for j in np.flatnonzero((coefficients > 0) | (slack > 0)).tolist():
            old = coefficients.item(j)
            new = max(0.0, old + slack.item(j) / diagonal.item(j))
            if new != old:
                coefficients[j] = new
                slack -= gram[j] * (new - old)
                moved = max(moved, abs(new - old) * scale.item(j))
        if moved < _SMALLEST:
            break
        if sweep % _SOLVED_AFTER == 0 and (solved := _minimum(gram, pulls, coefficients > 0)) is not None:
            return solved
    return coefficients


def _minimum(gram: FloatArray, pulls: FloatArray, positive: NDArray[np.bool_]) -> FloatArray | None:
    """The coefficients of the minimum, if just these are positive there."""
    inside = np.flatnonzero(positive)
    minimum = np.zeros(pulls.size)
    try:
        minimum[inside] = np.linalg.solve(gram[np.ix_(inside, inside)], pulls[inside])
    except np.linalg.LinAlgError:
        return None
    slack = (pulls - gram @ minimum) / np.sqrt(np.diagonal(gram))
    stays = (minimum[inside] > 0).all() and (np.abs(slack[inside]) <= _SMALLEST).all()
    return minimum if stays and (slack <= _SMALLEST).all() else None


# --- least squares, with standard errors and a one-sided p-value for every candidate ----------------------

_DEPENDENT = 1e-8
"""A column is a mixture of others if they explain all but this share of its square."""
_BLOCK = 1 << 12
"""This many candidates are added to the model at a time, each alone, which limits memory."""
_NOTABLE = 3.0
"""Residuals may vary more than noise does by this many standard deviations before that is notable."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Least squares of the candidates `columns` and a background, which is a column for all other strings, if any.

    Each candidate has a proportion, a variance and a p-value, under the hypothesis that nobody holds it. A
    candidate that is not one of `columns` gets them as if it alone were added. A candidate that is a mixture of
    others cannot be tested: its p-value is 1, and it has no proportion. `dispersion` is the variance of the
    residuals over that of noise, at least 1.

    There are two analytic variances, and the larger one counts: that of noise and chance times the dispersion, and
    `own`, from the residuals of the candidate's own bits. So a string that seems to be held in some cohorts only
    does not pass. If the dispersion is `notable`, residuals are not normal, and p-values come from Student's t.
    """

    columns: Indices
    background: FloatArray | None
    solution: FloatArray
    weights: FloatArray
    inverse: FloatArray
    rest: FloatArray
    proportions: FloatArray
    variances: FloatArray
    own: FloatArray
    p_values: FloatArray
    dispersion: float
    notable: bool
    explained: float
    missing: float
    covariance: FloatArray

    @property
    def untestable(self) -> NDArray[np.bool_]:
        """Candidates that look like mixtures of those in the model."""
        return np.isnan(self.proportions)

    def together(self, which: NDArray[np.bool_]) -> tuple[float, float]:
        """The sum of the proportions of some of `columns`, and its standard error."""
        picked = which[self.columns].astype(np.float64)
        spread = max(0.0, float(picked @ self.covariance @ picked))
        return float(picked @ self.proportions[self.columns]), float(np.sqrt(spread))


class _Solved(NamedTuple):
    """The solution of weighted least squares: the candidates and the columns of the model that were not dropped."""

    chosen: Indices
    columns: csc_array
    weights: FloatArray
    inverse: FloatArray
    solution: FloatArray
    fitted: FloatArray
    rest: FloatArray


def solve(design: Design, chosen: Indices, shares: FloatArray, *, background: FloatArray | None) -> _Solved:
    """Solve with the inverse variances at `shares` as weights. A column that depends on earlier ones is dropped."""
    weights = 1 / design.variances(shares)
    lead = int(background is not None)
    columns = model(design, chosen, background)
    gram = (columns.T @ columns.multiply(weights[:, None])).toarray()
    kept = independent(gram)
    if kept.size < gram.shape[0]:
        columns = csc_array(columns[:, kept])
    inverse = np.linalg.inv(gram[np.ix_(kept, kept)])
    solution = inverse @ (columns.T @ (weights * design.shares))
    fitted: FloatArray = columns @ solution
    rest = design.shares - fitted
    return _Solved(chosen[kept[lead:] - lead], columns, weights, inverse, solution, fitted, rest)


def least_squares(design: Design, chosen: Indices, shares: FloatArray, *, background: FloatArray | None) -> Fit:
    """Fit the chosen candidates, and test every candidate."""
    solved = solve(design, chosen, shares, background=background)
    chosen, weights, rest = solved.chosen, solved.weights, solved.rest
    lead = int(background is not None)
    left = float(weights @ rest**2)
    free = max(1, rest.size - solved.solution.size)
    dispersion = max(1.0, left / free)
    middle = float(weights @ design.shares / weights.sum()) if lead else 0.0
    spread = float(weights @ (design.shares - middle) ** 2)

    notable = left > free + _NOTABLE * np.sqrt(2 * free)
    proportions, variances, own = _added(design, solved)
    variances *= dispersion
    proportions[chosen] = solved.solution[lead:]
    held = np.maximum(0.0, solved.solution[lead:])
    rows = solved.inverse[lead:]
    covariance = rows @ _spread(design, solved, held) @ rows.T
    # The people who reported are the whole population, so who they are is not a matter of chance.
    covariance -= (np.diag(held) - np.outer(held, held)) / design.total
    covariance *= dispersion
    seen = (solved.columns.T @ solved.columns.multiply((weights**2 * rest**2)[:, None])).toarray()
    own[chosen] = np.einsum("ij,jk,ik->i", rows, seen, rows)
    bits = np.diff(design.matrix.indptr)
    own *= np.where(bits > 1, bits / np.maximum(1, bits - 1), 0.0)
    variances[chosen] = np.diagonal(covariance)
    # A standard error is never smaller than half a person.
    variances = np.maximum(np.maximum(variances, own), (0.5 / design.total) ** 2)
    return Fit(
        columns=chosen,
        background=background,
        solution=solved.solution,
        weights=weights,
        inverse=solved.inverse,
        rest=rest,
        proportions=proportions,
        variances=variances,
        own=own,
        p_values=p_value(proportions, variances, own, bits, notable),
        dispersion=dispersion,
        notable=notable,
        explained=max(0.0, 1 - left / spread) if spread > 0 else 0.0,
        missing=max(0.0, (left - free) / spread) if spread > 0 else 0.0,
        covariance=covariance,
    )


def p_value(
    value: FloatArray, variance: FloatArray, own: FloatArray, bits: NDArray[np.int32], notable: bool
) -> FloatArray:
    """The one-sided p-value of a value above 0. It is 1 for candidates that cannot be tested."""
    with np.errstate(divide="ignore"):
        chances = norm.sf(value / np.sqrt(variance))
        if notable:
            chances = np.maximum(chances, student.sf(value / np.sqrt(own), np.maximum(1, bits - 1)))
    return np.where(np.isnan(value), 1.0, chances)


def model(design: Design, chosen: Indices, background: FloatArray | None) -> csc_array:
    """The columns of the least squares, the background first."""
    part = csc_array(design.matrix[:, chosen])
    return part if background is None else csc_array(hstack((csc_array(background[:, None]), part), format="csc"))


def independent(gram: FloatArray) -> Indices:
    """The columns that are not mixtures of earlier ones, by a Cholesky decomposition, one column at a time.

    As a rule there are no mixtures, and one decomposition of all columns says so.
    """
    size = gram.shape[0]
    with suppress(np.linalg.LinAlgError):
        if np.all(np.diagonal(np.linalg.cholesky(gram)) ** 2 > _DEPENDENT * np.diagonal(gram)):
            return np.arange(size)
    lower = np.zeros((size, size))
    kept: list[int] = []
    for j in range(size):
        row = solve_triangular(lower[: len(kept), : len(kept)], gram[kept, j], lower=True) if kept else np.zeros(0)
        square = gram[j, j] - row @ row
        if square > _DEPENDENT * gram[j, j]:
            lower[len(kept), : len(kept)] = row
            lower[len(kept), len(kept)] = np.sqrt(square)
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _added(design: Design, solved: _Solved) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The proportion of each candidate if it alone were added to the model, and its two variances.

    A candidate that is a mixture of those in the model has the proportion NaN.
    """
    weights, rest, turned = solved.weights, solved.rest, design.matrix.T
    heavy = csr_array(solved.columns.multiply(weights[:, None]).T)
    squares: FloatArray = turned @ weights
    new = squares.copy()
    for start in range(0, new.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        products = (heavy @ design.matrix[:, block]).toarray()
        new[block] -= np.einsum("ij,ij->j", products, solved.inverse @ products)
    new[new <= _DEPENDENT * squares] = np.nan
    proportions: FloatArray = (turned @ (weights * rest)) / new
    # These are the residuals of its own bits once it has been added.
    own = turned @ (weights * rest) ** 2 - 2 * proportions * (turned @ (weights**2 * rest))
    own = np.maximum(0.0, own + proportions**2 * (turned @ weights**2)) / new**2
    return proportions, 1 / new, own


def _spread(design: Design, solved: _Solved, held: FloatArray) -> FloatArray:
    """Covariance of the products of the model's columns with the shares.

    Reports are independent. Given its Bloom filter, the noise of each bit of a report is independent. But the bits
    that one value sets are correlated: a person holds the value and sets all of them, or does not.
    """
    model, weights, fitted = solved.columns, solved.weights, solved.fitted
    lead = model.shape[1] - held.size
    background = max(0.0, float((fitted - model[:, lead:] @ held).mean())) if lead else 0.0
    alone = design.noise(fitted) + background / design.people
    spread: FloatArray = (model.T @ model.multiply((weights**2 * alone)[:, None])).toarray()
    # There is one column for each candidate and cohort: the candidate's bits in it.
    listed = csc_array(model[:, lead:])
    listed.sort_indices()
    cohorts = design.shares.size // design.bits
    by = np.repeat(np.arange(held.size), np.diff(listed.indptr)) * cohorts + listed.indices // design.bits
    apart = csc_array((np.ones(listed.nnz), (listed.indices, by)), shape=(design.shares.size, held.size * cohorts))
    heavy = csr_array(model.multiply(weights[:, None]).T)
    people = design.people[:: design.bits]
    met = heavy @ apart
    often = np.repeat(held, cohorts) / np.tile(people, held.size)
    spread += (met.multiply(often[None, :]) @ met.T).toarray()
    rows = np.arange(design.shares.size)
    cells = csc_array((np.clip(fitted, 0.0, 1.0), (rows, rows // design.bits)), shape=(rows.size, cohorts))
    means = (heavy @ cells).toarray()
    spread -= (means / people) @ means.T
    return spread
