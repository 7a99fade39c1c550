"""The rivals of a candidate, which could explain the counts instead, and its p-value beside them."""

import math

import numpy as np
from scipy.sparse import csc_array

from untrackable.rappor_decode.design import Design
from untrackable.rappor_decode.regression import Fit, independent, model, p_value

_RIVALS = 16
"""The largest number of rivals that are added to the model."""


def p_value_with_rivals(design: Design, fit: Fit, column: int, penalty: float) -> float:
    """The p-value of a candidate in the model once its rivals are added; NaN if they cannot be distinguished.

    When the candidate is taken out of the model, the residuals point to other candidates. Those that they point to
    by more than the penalty are the rivals.
    """
    lead = int(fit.background is not None)
    index = lead + int(np.flatnonzero(fit.columns == column)[0])
    columns = model(design, fit.columns, fit.background)
    step = fit.inverse[:, index] / fit.inverse[index, index]
    without = fit.rest + columns @ (step * fit.solution[index])
    asked = (design.matrix.T @ (fit.weights * without)) / np.sqrt(design.matrix.T @ fit.weights)
    asked[fit.columns] = -np.inf
    rivals = np.argsort(-asked, kind="stable")[:_RIVALS]
    rivals = rivals[asked[rivals] > penalty]
    if rivals.size == 0:
        return float(fit.p_values[column])
    if fit.untestable[rivals].any():
        return math.nan  # One of the rivals is a mixture of this candidate and others.
    added = design.matrix[:, rivals]
    heavy = csc_array(added.multiply(fit.weights[:, None]))
    shared = (columns.T @ heavy).toarray()
    through = fit.inverse @ shared
    gram = (added.T @ heavy).toarray() - shared.T @ through
    kept = independent(gram)
    through, gram = through[:, kept], gram[np.ix_(kept, kept)]
    moved = np.linalg.solve(gram, (heavy.T @ fit.rest)[kept])
    value = fit.solution[index] - through[index] @ moved
    wider = 1 + through[index] @ np.linalg.solve(gram, through[index]) / fit.inverse[index, index]
    bits = np.diff(design.matrix.indptr)[column]
    return float(p_value(value, fit.variances[column] * wider, fit.own[column] * wider, bits, fit.notable))
