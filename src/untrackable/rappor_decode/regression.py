"""Least squares for the chosen candidates, with standard errors and a one-sided p-value for every candidate."""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csc_array, csr_array, hstack
from scipy.stats import norm
from scipy.stats import t as student

from untrackable.estimation.aggregators import FloatArray
from untrackable.rappor_decode.design import Design
from untrackable.rappor_decode.lasso import Indices

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


class Solved(NamedTuple):
    """The solution of weighted least squares: the candidates and the columns of the model that were not dropped."""

    chosen: Indices
    columns: csc_array
    weights: FloatArray
    inverse: FloatArray
    solution: FloatArray
    fitted: FloatArray
    rest: FloatArray


def solve(design: Design, chosen: Indices, shares: FloatArray, *, background: FloatArray | None) -> Solved:
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
    return Solved(chosen[kept[lead:] - lead], columns, weights, inverse, solution, fitted, rest)


def least_squares(design: Design, chosen: Indices, shares: FloatArray, *, background: FloatArray | None) -> Fit:
    """Fit the chosen candidates, and test every candidate."""
    solved = solve(design, chosen, shares, background=background)
    chosen, columns, weights, inverse = solved.chosen, solved.columns, solved.weights, solved.inverse
    solution, fitted, rest = solved.solution, solved.fitted, solved.rest
    lead = int(background is not None)
    left = float(weights @ rest**2)
    free = max(1, rest.size - solution.size)
    dispersion = max(1.0, left / free)
    middle = float(weights @ design.shares / weights.sum()) if lead else 0.0
    spread = float(weights @ (design.shares - middle) ** 2)

    notable = left > free + _NOTABLE * np.sqrt(2 * free)
    proportions, variances, own = _added(design, columns, weights, rest, inverse)
    variances *= dispersion
    proportions[chosen] = solution[lead:]
    held = np.maximum(0.0, solution[lead:])
    rows = inverse[lead:]
    covariance = rows @ _spread(design, columns, weights, fitted, held, lead) @ rows.T
    # The people who reported are the whole population, so who they are is not a matter of chance.
    covariance -= (np.diag(held) - np.outer(held, held)) / design.total
    covariance *= dispersion
    seen = (columns.T @ columns.multiply((weights**2 * rest**2)[:, None])).toarray()
    own[chosen] = np.einsum("ij,jk,ik->i", rows, seen, rows)
    bits = np.diff(design.matrix.indptr)
    own *= np.where(bits > 1, bits / np.maximum(1, bits - 1), 0.0)
    variances[chosen] = np.diagonal(covariance)
    # A standard error is never smaller than half a person.
    variances = np.maximum(np.maximum(variances, own), (0.5 / design.total) ** 2)
    return Fit(
        columns=chosen,
        background=background,
        solution=solution,
        weights=weights,
        inverse=inverse,
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
        found = norm.sf(value / np.sqrt(variance))
        if notable:
            found = np.maximum(found, student.sf(value / np.sqrt(own), np.maximum(1, bits - 1)))
    return np.where(np.isnan(value), 1.0, found)


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


def _added(
    design: Design,
    columns: csc_array,
    weights: FloatArray,
    rest: FloatArray,
    inverse: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The proportion of each candidate if it alone were added to the model, and its two variances.

    A candidate that is a mixture of those in the model has the proportion NaN.
    """
    heavy = csr_array(columns.multiply(weights[:, None]).T)
    turned = design.matrix.T
    squares: FloatArray = turned @ weights
    new = squares.copy()
    for start in range(0, new.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        products = (heavy @ design.matrix[:, block]).toarray()
        new[block] -= np.einsum("ij,ij->j", products, inverse @ products)
    new[new <= _DEPENDENT * squares] = np.nan
    proportions: FloatArray = (turned @ (weights * rest)) / new
    # These are the residuals of its own bits once it has been added.
    own = turned @ (weights * rest) ** 2 - 2 * proportions * (turned @ (weights**2 * rest))
    own = np.maximum(0.0, own + proportions**2 * (turned @ weights**2)) / new**2
    return proportions, 1 / new, own


def _spread(
    design: Design, model: csc_array, weights: FloatArray, fitted: FloatArray, held: FloatArray, lead: int
) -> FloatArray:
    """Covariance of the products of the model's columns with the shares.

    Reports are independent. Given its Bloom filter, the noise of each bit of a report is independent. But the bits
    that one value sets are correlated: a person holds the value and sets all of them, or does not.
    """
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
