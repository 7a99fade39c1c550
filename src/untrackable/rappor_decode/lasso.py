"""Non-negative lasso with a sparse design: a first choice of candidates.

It minimises ½·Σ w·(y - β₀ - Xβ)² + λ·Σ s_j·β_j over β ≥ 0, where s_j² = Σ w·(x_j - mean)². If w is the inverse
variance of y, the gradient of a candidate that nobody holds is s_j times a standard normal variable. So λ, the
penalty, is in standard errors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from untrackable.estimation.aggregators import FloatArray
from untrackable.progress import Progress, no_progress

Indices = NDArray[np.int64]

_STEPS = 25
"""The penalty goes down to its goal in this many steps."""
_TOLERANCE = 1e-3
"""The gradient of a candidate that is left out may exceed the penalty by this part of a standard error."""
_SMALLEST = 1e-5
"""Sweeps end when the largest step of one is below this part of a standard error."""
_SOLVED_AFTER = 5
"""After every so many sweeps, the equations of the positive coefficients are solved."""
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
        result: FloatArray = self.matrix.T @ heavy
        return result

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
    found = np.zeros(pulls.size)
    try:
        found[inside] = np.linalg.solve(gram[np.ix_(inside, inside)], pulls[inside])
    except np.linalg.LinAlgError:
        return None
    slack = (pulls - gram @ found) / np.sqrt(np.diagonal(gram))
    stays = (found[inside] > 0).all() and (np.abs(slack[inside]) <= _SMALLEST).all()
    return found if stays and (slack <= _SMALLEST).all() else None
