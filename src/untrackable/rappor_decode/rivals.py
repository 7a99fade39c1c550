"""Could other candidates be there in a candidate's stead? Its p-value beside those that would take its place."""

import math

import numpy as np
from scipy.sparse import csc_array

from untrackable.rappor_decode.design import Design
from untrackable.rappor_decode.regression import Fit, independent, model, p_value

_RIVALS = 16


def rivalled(design: Design, fit: Fit, column: int, penalty: float) -> float:
    """The p-value of a candidate of the model when its rivals are in it too; NaN if it cannot be told from them.

    Rivals are those that the residuals ask for, by more than the penalty, once the candidate is taken out.
    """
    lead = int(fit.background is not None)
    place = lead + int(np.flatnonzero(fit.columns == column)[0])
    columns = model(design, fit.columns, fit.background)
    step = fit.inverse[:, place] / fit.inverse[place, place]
    without = fit.rest + columns @ (step * fit.solution[place])
    asked = (design.matrix.T @ (fit.weights * without)) / np.sqrt(design.matrix.T @ fit.weights)
    asked[fit.columns] = -np.inf
    rivals = np.argsort(-asked, kind="stable")[:_RIVALS]
    rivals = rivals[asked[rivals] > penalty]
    if rivals.size == 0:
        return float(fit.p_values[column])
    if fit.untestable[rivals].any():
        return math.nan  # one of them is a mixture of this candidate and others
    added = design.matrix[:, rivals]
    heavy = csc_array(added.multiply(fit.weights[:, None]))
    shared = (columns.T @ heavy).toarray()
    through = fit.inverse @ shared
    gram = (added.T @ heavy).toarray() - shared.T @ through
    kept = independent(gram)
    through, gram = through[:, kept], gram[np.ix_(kept, kept)]
    moved = np.linalg.solve(gram, (heavy.T @ fit.rest)[kept])
    value = fit.solution[place] - through[place] @ moved
    wider = 1 + through[place] @ np.linalg.solve(gram, through[place]) / fit.inverse[place, place]
    bits = np.diff(design.matrix.indptr)[column]
    return float(p_value(value, fit.variances[column] * wider, fit.own[column] * wider, bits, fit.notable))
