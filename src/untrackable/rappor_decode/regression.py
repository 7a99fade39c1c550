"""Least squares on the chosen candidates, with standard errors and a one-sided p-value for every candidate."""

from dataclasses import dataclass

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
_NOTABLE = 3.0
"""Standard deviations by which residuals may vary more than noise does."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Least squares with a background (if any) and the candidates `columns`.

    For every candidate: its proportion (by itself beside `columns`, if it is not one of them), its variance and
    the p-value of nobody holding it. Untestable ones, which are mixtures of the others, have p-value 1 and no
    proportion. `dispersion` is by how much the residuals vary more than noise does, at least 1.

    Variances are analytic: the larger of that of noise and chance, times the dispersion, and of `own`, which the
    residuals of the candidate's own bits say. So a string that is there in some cohorts and not in others does not
    pass. Where the dispersion is `notable`, residuals are not normal: p-values are of Student's t of the own bits.
    """

    columns: Indices
    background: bool
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
        """Candidates that cannot be told from mixtures of those in the model."""
        return np.isnan(self.proportions)

    def together(self, which: NDArray[np.bool_]) -> tuple[float, float]:
        """The sum of the proportions of some of `columns`, and its standard error."""
        picked = which[self.columns].astype(np.float64)
        spread = max(0.0, float(picked @ self.covariance @ picked))
        return float(picked @ self.proportions[self.columns]), float(np.sqrt(spread))


def least_squares(design: Design, chosen: Indices, shares: FloatArray, *, background: bool) -> Fit:
    """Weighted by the inverse variances that go with `shares`; of dependent columns the later ones are dropped."""
    weights = 1 / design.variances(shares)
    lead = int(background)
    columns = model(design, chosen, background)
    gram = (columns.T @ columns.multiply(weights[:, None])).toarray()
    kept = independent(gram)
    chosen, columns = chosen[kept[lead:] - lead], csc_array(columns[:, kept])
    inverse = np.linalg.inv(gram[np.ix_(kept, kept)])
    solution = inverse @ (columns.T @ (weights * design.shares))
    fitted: FloatArray = columns @ solution
    rest = design.shares - fitted
    left = float(weights @ rest**2)
    free = max(1, rest.size - kept.size)
    dispersion = max(1.0, left / free)
    middle = float(weights @ design.shares / weights.sum()) if background else 0.0
    spread = float(weights @ (design.shares - middle) ** 2)

    notable = left > free + _NOTABLE * np.sqrt(2 * free)
    proportions, variances, own = _added(design, columns, weights, rest, inverse)
    variances *= dispersion
    proportions[chosen] = solution[lead:]
    held = np.maximum(0.0, solution[lead:])
    rows = inverse[lead:]
    covariance = rows @ _spread(design, columns, weights, fitted, held, lead) @ rows.T
    covariance -= (
        np.diag(held) - np.outer(held, held)
    ) / design.total  # The people who reported are the whole population.
    covariance *= dispersion
    seen = (columns.T @ columns.multiply((weights**2 * rest**2)[:, None])).toarray()
    own[chosen] = np.einsum("ij,jk,ik->i", rows, seen, rows)
    bits = np.diff(design.matrix.indptr)
    own *= np.where(bits > 1, bits / np.maximum(1, bits - 1), 0.0)
    variances[chosen] = np.diagonal(covariance)
    variances = np.maximum(
        np.maximum(variances, own), (0.5 / design.total) ** 2
    )  # It is never finer than half a person.
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
    """One-sided, of a value above 0; 1 for those that cannot be tested."""
    with np.errstate(divide="ignore"):
        found = norm.sf(value / np.sqrt(variance))
        if notable:
            found = np.maximum(found, student.sf(value / np.sqrt(own), np.maximum(1, bits - 1)))
    return np.where(np.isnan(value), 1.0, found)


def model(design: Design, chosen: Indices, background: bool) -> csc_array:
    """The columns of the least squares, the background first."""
    part = design.matrix[:, chosen]
    ones = csc_array(np.ones((design.shares.size, 1)))
    return csc_array(hstack((ones, part), format="csc")) if background else csc_array(part)


def independent(gram: FloatArray) -> Indices:
    """Columns that are no mixtures of earlier ones, by Cholesky's decomposition one column at a time."""
    size = gram.shape[0]
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
    """Each candidate were it alone added to the model: its proportion, its variance, and that of its own bits.

    The proportion of one that is a mixture of the model's is NaN.
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

    Reports of a cohort are independent; the bits of one are noisy independently, given the filter. Over the values
    that people hold, bits that one value sets come and go together.
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
